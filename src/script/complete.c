/* complete.c - what the word at the cursor may become.
 *
 * Names of globals and of fields, by raw access, so that looking never runs
 * anybody's code; fields and methods of our own objects; keys inside the braces
 * of a function that takes settings; presets, runs, choices and files inside
 * quotes.
 */
#include "base/mem.h"
#include "script/complete_files.h"
#include "script/complete_line.h"
#include "script/help.h"
#include "script/lua_run.h"
#include "script/lua_settings.h"
#include "script/lua_spec.h"
#include "script/lua_stats.h"
#include "script/state.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names are collected as the keys of the table at index SET. */
#define SET 1

struct job {
    const char *line;
    int point;
    int start; /* out */
};

static void add(lua_State *L, const char *name)
{
    lua_pushboolean(L, true);
    lua_setfield(L, SET, name);
}

static void add_names(lua_State *L, const char *const *names)
{
    for (; *names != NULL; names++) {
        add(L, *names);
    }
}

static void add_docs(lua_State *L, const struct qn_lua_doc *docs)
{
    for (; docs->name != NULL; docs++) {
        add(L, docs->name);
    }
}

/* The next part of every key below prefix. */
static void add_keys(lua_State *L, const char *prefix, bool live)
{
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *info = qn_key_at(i);
        const char *below = qn_lua_below(info->key, prefix);
        if (below != NULL && (info->live || !live)) {
            lua_pushlstring(L, below, strcspn(below, "."));
            add(L, lua_tostring(L, -1));
            lua_pop(L, 1);
        }
    }
}

/* String keys of the table at index. */
static void add_fields(lua_State *L, int table)
{
    table = lua_absindex(L, table);
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            lua_pushvalue(L, -2);
            lua_pushboolean(L, true);
            lua_rawset(L, SET);
        }
    }
}

/* --- values ------------------------------------------------------------- */

static bool is_module(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "quern");
    bool same = lua_rawequal(L, index, -1) != 0;
    lua_pop(L, 2);
    return same;
}

static bool is_ours(lua_State *L, int index)
{
    return luaL_testudata(L, index, QN_LUA_RUN) != NULL ||
           luaL_testudata(L, index, QN_LUA_SERIES) != NULL ||
           qn_lua_test_spec(L, index) != NULL || is_module(L, index);
}

/* Replace the value on top by its field; nil where only a metamethod of
 * somebody's would know. */
static void step_into(lua_State *L, const char *name)
{
    if (is_ours(L, -1)) {
        lua_getfield(L, -1, name);
    } else if (lua_istable(L, -1)) {
        lua_pushstring(L, name);
        lua_rawget(L, -2);
    } else {
        lua_pushnil(L);
    }
    lua_remove(L, -2);
}

/* Push the value of "a.b.c", which has len bytes. */
static void push_path(lua_State *L, const char *path, size_t len)
{
    lua_pushglobaltable(L);
    while (len > 0) {
        size_t part = 0;
        while (part < len && path[part] != '.' && path[part] != ':') {
            part++;
        }
        lua_pushlstring(L, path, part);
        lua_insert(L, -2);
        step_into(L, lua_tostring(L, -2));
        lua_remove(L, -2);
        part += part < len ? 1 : 0;
        path += part;
        len -= part;
    }
}

static void add_run(lua_State *L, bool methods)
{
    add_docs(L, qn_lua_run_docs());
    for (const struct qn_lua_field *f = qn_lua_run_fields();
         !methods && f->name != NULL; f++) {
        add(L, f->name);
    }
}

/* What may follow the value on top and a point or a colon. */
static void add_members(lua_State *L, char sep)
{
    const struct qn_lua_spec *spec = qn_lua_test_spec(L, -1);
    if (is_module(L, -1)) {
        add_docs(L, qn_lua_module_docs());
        add(L, "version");
    } else if (luaL_testudata(L, -1, QN_LUA_RUN) != NULL) {
        add_run(L, sep == ':');
    } else if (luaL_testudata(L, -1, QN_LUA_SERIES) != NULL) {
        add_docs(L, qn_lua_series_docs());
        if (sep == '.') {
            add_names(L, qn_lua_series_fields());
        }
    } else if (spec != NULL) {
        add_docs(L, qn_lua_spec_docs());
        if (!qn_lua_has_params(spec)) {
            lua_pushnil(L);
            lua_setfield(L, SET, "params");
        }
        if (sep == '.') {
            add_keys(L, spec->prefix, false);
            add_names(L, qn_lua_facts(spec));
        }
    } else if (lua_istable(L, -1)) {
        if (qn_lua_is_stats(L, -1)) {
            add_docs(L, qn_lua_stats_docs());
        }
        if (sep == '.' || !qn_lua_is_stats(L, -1)) {
            add_fields(L, -1);
        }
    } else if (lua_type(L, -1) == LUA_TSTRING && sep == ':') {
        lua_getglobal(L, "string");
        add_fields(L, -1);
        lua_pop(L, 1);
    }
}

/* --- options ------------------------------------------------------------ */

/* Where the keys of a call's table stand, or NULL. */
static const char *prefix_of(lua_State *L, const char *callee)
{
    static const char *const calls[][2] = {
        {"qn.train", ""},        {"qn.preset", ""},     {"qn.qrnn", "model"},
        {"qn.lstm", "model"},    {"qn.sgd", "optim"},   {"qn.adam", "optim"},
        {"qn.rmsprop", "optim"}, {"qn.corpus", "data"}, {"qn.labelled", "data"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (qn_str_eq(callee, calls[i][0])) {
            return calls[i][1];
        }
    }
    if (qn_ends_with(callee, ":set") || qn_ends_with(callee, ":resume") ||
        qn_ends_with(callee, ":fork")) {
        return "";
    }
    if (qn_ends_with(callee, ":with")) {
        push_path(L, callee, strlen(callee) - strlen(":with"));
        const struct qn_lua_spec *spec = qn_lua_test_spec(L, -1);
        return spec == NULL ? NULL : spec->prefix; /* stays on the stack */
    }
    return NULL;
}

/* Push the prefix of the keys in the innermost braces: those of the call and
 * every "key =" since. False: none are known. */
static bool push_prefix(lua_State *L, const struct qn_cursor *c, int n)
{
    int i = n - 1;
    while (i >= 0 && c->frame[i].bracket == '{' && c->frame[i].key[0] != '\0') {
        i--;
    }
    if (i < 0 || c->frame[i].bracket != '{') {
        return false;
    }
    const char *prefix = prefix_of(L, c->frame[i].callee);
    if (prefix == NULL) {
        return false;
    }
    lua_pushstring(L, prefix);
    for (i++; i < n; i++) {
        lua_pushfstring(L, "%s%s%s", lua_tostring(L, -1),
                        lua_tostring(L, -1)[0] == '\0' ? "" : ".",
                        c->frame[i].key);
        lua_remove(L, -2);
    }
    return true;
}

/* Options of these calls: those that are no settings, and the settings that
 * data of one kind have. */
static const struct call_options {
    const char *call; /* what it ends with */
    const char *names[10];
} call_options[] = {
    {":wait", {"timeout", "until_"}},
    {":stop", {"save"}},
    {":sample", {"prompt", "length", "temperature", "seed"}},
    {":measure", {"split", "checkpoint", "of", "layers", "near"}},
    {":evaluate", {"checkpoint"}},
    {"qn.corpus",
     {"train", "valid", "test", "level", "lower", "stream", "eos", "unk",
      "vocab_size"}},
    {"qn.labelled",
     {"train", "valid", "test", "fold", "vectors", "lower", "max_words",
      "vocab_size"}},
    {"paper.activation_table", {"size", "runs", "train", "changes", "split"}},
    {"paper.sentiment_table", {"folds", "names", "changes", "train"}},
};

static bool add_call_options(lua_State *L, const char *callee)
{
    for (size_t i = 0; i < sizeof call_options / sizeof call_options[0]; i++) {
        if (qn_ends_with(callee, call_options[i].call)) {
            add_names(L, call_options[i].names);
            return true;
        }
    }
    return false;
}

/* What a fork is given beside settings, without those that stay. */
static void add_fork(lua_State *L)
{
    static const char *const stays[] = {"task", "data", "batch", "seq"};
    for (size_t i = 0; i < sizeof stays / sizeof stays[0]; i++) {
        lua_pushnil(L);
        lua_setfield(L, SET, stays[i]);
    }
    add(L, "from");
}

/* Keys, when the cursor stands where one begins. */
static bool add_options(lua_State *L, const struct qn_cursor *c)
{
    if (c->n_frames == 0 || strchr("{,;", c->before) == NULL ||
        c->before == '\0') {
        return false;
    }
    const struct qn_frame *f = &c->frame[c->n_frames - 1];
    if (f->bracket == '{' && add_call_options(L, f->callee)) {
        return true;
    }
    if (!push_prefix(L, c, c->n_frames)) {
        return false;
    }
    bool live = qn_ends_with(f->callee, ":set");
    add_keys(L, lua_tostring(L, -1), live);
    if (live) {
        add_names(L, (const char *const[]){"lr", "clip_norm", "dropout", NULL});
    }
    if (qn_str_eq(f->callee, "qn.train")) {
        add(L, "preset");
    } else if (qn_ends_with(f->callee, ":fork") && f->key[0] == '\0') {
        add_fork(L);
    }
    return true;
}

/* --- inside quotes ------------------------------------------------------ */

static void add_presets(lua_State *L)
{
    for (int i = 0; i < qn_n_presets(); i++) {
        add(L, qn_preset_at(i)->name);
    }
}

/* Names of the runs of this session and of the store. */
static void add_runs(lua_State *L)
{
    const struct qn_lab *lab = qn_script_of(L)->lab;
    for (int i = 0; i < qn_lab_n_runs(lab); i++) {
        struct qn_lab_run r;
        if (qn_lab_run(lab, qn_lab_run_at(lab, i), &r)) {
            add(L, r.name);
        }
    }
    struct qn_lua_box *box = qn_lua_box(L, free);
    struct qn_run_summary *runs = NULL;
    int n = 0;
    if (qn_store_list(qn_lab_env(lab)->store, &runs, &n, NULL, NULL) == QN_OK) {
        box->p = runs;
        for (int i = 0; i < n; i++) {
            add(L, runs[i].name);
        }
    }
    qn_lua_box_free(box);
    lua_pop(L, 1);
}

/* Those that the run of "run:metric" can have; all where it is not known. */
static void add_metrics(lua_State *L, const char *callee)
{
    struct qn_lab_run row;
    push_path(L, callee, strlen(callee) - strlen(":metric"));
    bool known =
        luaL_testudata(L, -1, QN_LUA_RUN) != NULL &&
        qn_lab_run(qn_script_of(L)->lab, qn_lua_check_run(L, -1), &row);
    for (const char *const *name = qn_lab_metric_names(); *name; name++) {
        if (!known || qn_lab_has_metric(row.spec, *name)) {
            add(L, *name);
        }
    }
    lua_pop(L, 1);
}

static void add_topics(lua_State *L)
{
    for (const char *const *o = qn_help_objects(); *o != NULL; o++) {
        add(L, *o);
        add_docs(L, qn_help_methods(*o));
    }
    for (int i = 0; i < qn_n_keys(); i++) {
        add(L, qn_key_at(i)->key);
    }
    add(L, "settings");
}

static void add_files(lua_State *L, const struct job *job)
{
    qn_complete_files(L, SET, job->line + job->start,
                      (size_t)(job->point - job->start));
}

/* Choices of options that are no settings; false: they are. */
static bool add_plain_choices(lua_State *L, const struct qn_cursor *c)
{
    static const char *const splits[] = {"train", "valid", "test", NULL};
    static const char *const places[] = {"best", "last", NULL};
    static const char *const layers[] = {"pooled", "all", NULL};
    const char *callee =
        c->n_frames > 0 ? c->frame[c->n_frames - 1].callee : "";
    const char *key = c->string.key;
    bool measure = qn_ends_with(callee, ":measure");
    if (qn_ends_with(callee, ":fork") && qn_str_eq(key, "from")) {
        add_names(L, places);
        add(L, "last_good");
        return true;
    }
    if (!measure && !qn_ends_with(callee, ":evaluate")) {
        return false;
    }
    if (qn_str_eq(key, "checkpoint")) {
        add_names(L, places);
    } else if (measure && qn_str_eq(key, "split")) {
        add_names(L, splits);
    } else if (measure && qn_str_eq(key, "layers")) {
        add_names(L, layers);
    } else if (measure && qn_str_eq(key, "of")) {
        add_names(L, qn_key_find("stats.of")->choices);
    }
    return true;
}

/* An item of a list: of = { "c", "f" }. */
static bool add_items(lua_State *L, const struct qn_cursor *c)
{
    if (c->n_frames == 0 || c->frame[c->n_frames - 1].bracket != '{' ||
        c->frame[c->n_frames - 1].key[0] == '\0' ||
        !push_prefix(L, c, c->n_frames)) {
        return false;
    }
    const struct qn_key_info *info = qn_key_find(lua_tostring(L, -1));
    if (info != NULL && info->choices != NULL) {
        add_names(L, info->choices);
    }
    return info != NULL;
}

/* The choices of the key that the string is given to; a file for one that is a
 * path, and for a name that is no key. */
static void add_choices(lua_State *L, const struct qn_cursor *c,
                        const struct job *job)
{
    if (c->n_frames > 0 && qn_str_eq(c->string.key, "preset") &&
        qn_str_eq(c->frame[c->n_frames - 1].callee, "qn.train")) {
        add_presets(L);
        return;
    }
    if (!push_prefix(L, c, c->n_frames)) {
        add_files(L, job);
        return;
    }
    const char *prefix = lua_tostring(L, -1);
    const struct qn_key_info *info = qn_key_find(lua_pushfstring(
        L, "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", c->string.key));
    if (info == NULL || info->type == QN_KEY_PATH ||
        info->type == QN_KEY_PATH_OR_FRACTION) {
        add_files(L, job);
    } else if (info->choices != NULL) {
        add_names(L, info->choices);
    }
}

static void add_in_string(lua_State *L, const struct qn_cursor *c,
                          const struct job *job)
{
    const char *callee = c->string.callee;
    if (c->string.key[0] != '\0') {
        if (!add_plain_choices(L, c)) {
            add_choices(L, c, job);
        }
    } else if (callee[0] == '\0' && add_items(L, c)) {
        return;
    } else if (qn_str_eq(callee, "qn.preset")) {
        add_presets(L);
    } else if (qn_str_eq(callee, "qn.run")) {
        add_runs(L);
    } else if (qn_str_eq(callee, "qn.help")) {
        add_topics(L);
    } else if (qn_ends_with(callee, ":metric")) {
        add_metrics(L, callee);
    } else if (qn_ends_with(callee, ":classify")) {
        return; /* a person's own words */
    } else if (qn_ends_with(callee, ":evaluate")) {
        add_names(L, (const char *const[]){"train", "valid", "test", NULL});
    } else {
        add_files(L, job);
    }
}

/* --- the word ----------------------------------------------------------- */

static void add_globals(lua_State *L)
{
    lua_pushglobaltable(L);
    add_fields(L, -1);
    lua_pop(L, 1);
    add_names(L, qn_lua_keywords());
}

/* The names for the word at the cursor, which moves *start behind the last
 * point or colon. */
static void add_words(lua_State *L, const struct qn_cursor *c, struct job *job)
{
    int last = job->point;
    while (last > c->start && job->line[last - 1] != '.' &&
           job->line[last - 1] != ':') {
        last--;
    }
    job->start = last;
    if (last > c->start) {
        push_path(L, job->line + c->start, (size_t)(last - 1 - c->start));
        add_members(L, job->line[last - 1]);
    } else if (!add_options(L, c)) {
        add_globals(L);
    }
}

/* Push the sorted array of the collected names that go on from the word. */
static void push_matches(lua_State *L, const struct job *job)
{
    const char *word = job->line + job->start;
    size_t len = (size_t)(job->point - job->start);
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, SET) != 0; lua_pop(L, 1)) {
        if (strncmp(lua_tostring(L, -2), word, len) == 0) {
            lua_pushvalue(L, -2);
            lua_rawseti(L, -4, ++n);
        }
    }
    qn_lua_sort(L, -1, NULL);
}

static int complete(lua_State *L)
{
    struct job *job = lua_touserdata(L, 1);
    struct qn_cursor c;
    lua_settop(L, 0);
    lua_newtable(L); /* SET */
    luaL_checkstack(L, 40, "completion");
    qn_cursor_find(job->line, job->point, &c);
    job->start = c.start;
    if (c.in_string) {
        add_in_string(L, &c, job);
    } else if (!c.is_lost) {
        add_words(L, &c, job);
    }
    push_matches(L, job);
    return 1;
}

/* The array on top as C strings; raises nothing. */
static char **take_words(lua_State *L)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    if (n == 0) {
        return NULL;
    }
    char **words = qn_xcalloc((size_t)n + 1, sizeof *words);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, -1, i + 1);
        words[i] = qn_xstrdup(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    return words;
}

char **qn_script_complete(struct qn_script *s, const char *line, int point,
                          int *start)
{
    lua_State *L = s->L;
    struct job job = {.line = line, .point = point, .start = point};
    if (s->running) {
        return NULL; /* the state is in use */
    }
    lua_settop(L, 0);
    lua_pushcfunction(L, complete);
    lua_pushlightuserdata(L, &job);
    char **words = NULL;
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        words = take_words(L);
        *start = job.start;
    }
    lua_settop(L, 0);
    return words;
}
