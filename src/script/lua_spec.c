/* lua_spec.c - specs as values: qn.qrnn, qn.lstm, optimisers, texts, presets.
 */
#include "script/lua_spec.h"

#include "script/lua_settings.h"
#include "script/state.h"

#include <stdio.h>
#include <string.h>

struct qn_lua_spec *qn_lua_test_spec(lua_State *L, int index)
{
    return luaL_testudata(L, index, QN_LUA_SPEC);
}

static struct qn_lua_spec *check_spec(lua_State *L, int index)
{
    return luaL_checkudata(L, index, QN_LUA_SPEC);
}

/* --- making ------------------------------------------------------------- */

/* The program's own name of a preset, which lives as long as it. */
static const char *static_preset(const char *name)
{
    for (int i = 0; name != NULL && i < qn_n_presets(); i++) {
        if (qn_str_eq(qn_preset_at(i)->name, name)) {
            return qn_preset_at(i)->name;
        }
    }
    return NULL;
}

/* Push a spec over these values; its user value 1 is the table on top, which is
 * popped. */
static struct qn_lua_spec *push_spec(lua_State *L, const struct qn_spec *values,
                                     const char *prefix)
{
    struct qn_lua_spec *spec = lua_newuserdatauv(L, sizeof *spec, 2);
    spec->spec = *values;
    spec->preset = NULL;
    (void)snprintf(spec->prefix, sizeof spec->prefix, "%s", prefix);
    luaL_setmetatable(L, QN_LUA_SPEC);
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    return spec;
}

/* Check what was collected and push it as a spec. A part of a run is checked
 * as if the rest were the defaults. */
struct qn_lua_spec *qn_lua_finish_spec(lua_State *L,
                                       const struct qn_lua_options *o,
                                       const char *prefix)
{
    if (prefix[0] != '\0' && !qn_str_eq(prefix, "data")) {
        lua_pushliteral(L, "builtin:kjv");
        lua_setfield(L, o->base, "data.train");
    }
    struct qn_spec values;
    qn_lua_options_finish(L, o, false, &values);
    lua_pushvalue(L, o->map);
    return push_spec(L, &values, prefix);
}

static void set_text(lua_State *L, int table, const char *key,
                     const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, table, key);
}

/* qn.NAME{...}: a table or a spec of this group, with key = value added. */
static int make(lua_State *L, const char *prefix, const char *key,
                const char *value)
{
    struct qn_lua_options o;
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_newtable(L);
        lua_replace(L, 1);
    }
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 1, prefix);
    set_text(L, o.map, key, value);
    (void)qn_lua_finish_spec(L, &o, prefix);
    return 1;
}

int qn_lua_qrnn(lua_State *L)
{
    return make(L, "model", "model.cell", "qrnn");
}

int qn_lua_lstm(lua_State *L)
{
    return make(L, "model", "model.cell", "lstm");
}

int qn_lua_sgd(lua_State *L)
{
    return make(L, "optim", "optim.kind", "sgd");
}

int qn_lua_rmsprop(lua_State *L)
{
    return make(L, "optim", "optim.kind", "rmsprop");
}

int qn_lua_adam(lua_State *L)
{
    return make(L, "optim", "optim.kind", "adam");
}

/* qn.preset(name [, changes]) */
int qn_lua_preset(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 2);
    struct qn_lua_options o;
    qn_lua_options_begin(L, &o);
    if (!lua_isnil(L, 2)) {
        qn_lua_options_add(L, &o, 2, "");
    }
    o.preset = lua_tostring(L, 1);
    struct qn_lua_spec *spec = qn_lua_finish_spec(L, &o, "");
    spec->preset = static_preset(o.preset);
    return 1;
}

/* --- methods ------------------------------------------------------------ */

/* spec:with{...}: a changed copy */
static int l_with(lua_State *L)
{
    const struct qn_lua_spec *spec = check_spec(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    struct qn_lua_options o;
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 1, spec->prefix);
    qn_lua_options_add(L, &o, 2, spec->prefix);
    struct qn_lua_spec *changed = qn_lua_finish_spec(L, &o, spec->prefix);
    changed->preset = spec->preset;
    bool data = qn_str_eq(spec->prefix, "data");
    return data && !qn_script_of(L)->check ? qn_lua_open_data(L, changed) : 1;
}

/* Push the keys below prefix whose values are not the defaults, as text. */
static void push_given(lua_State *L, const struct qn_spec *spec,
                       const char *prefix)
{
    const struct qn_spec *defaults = &qn_script_of(L)->defaults;
    lua_newtable(L);
    int given = lua_gettop(L);
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        if (qn_lua_below(key, prefix) == NULL) {
            continue;
        }
        qn_lua_push_setting_text(L, spec, key);
        qn_lua_push_setting_text(L, defaults, key);
        if (!lua_rawequal(L, -1, -2)) {
            lua_pushvalue(L, -2);
            lua_setfield(L, given, key);
        }
        lua_settop(L, given);
    }
}

void qn_lua_push_config(lua_State *L, const struct qn_spec *spec)
{
    push_given(L, spec, "");
    (void)push_spec(L, spec, "");
}

/* What else could be meant: the names at this level. */
static int no_such_field(lua_State *L, const struct qn_lua_spec *spec,
                         const char *name)
{
    lua_newtable(L);
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *below = qn_lua_below(qn_key_at(i)->key, spec->prefix);
        if (below != NULL) {
            lua_pushlstring(L, below, strcspn(below, "."));
            lua_pushboolean(L, true);
            lua_rawset(L, -3);
        }
    }
    qn_lua_push_hint_of(L, name, -1);
    return qn_lua_raisef(L, "usage", "a spec of %s has no field '%s'%s",
                         spec->prefix[0] == '\0' ? "a run" : spec->prefix, name,
                         lua_tostring(L, -1));
}

static int spec_index(lua_State *L)
{
    const struct qn_lua_spec *spec = check_spec(L, 1);
    if (qn_lua_push_method(L, 2)) {
        return 1;
    }
    const char *name = luaL_checkstring(L, 2);
    if (qn_lua_push_fact(L, spec, name)) {
        return 1;
    }
    const char *path = spec->prefix[0] == '\0'
                           ? name
                           : lua_pushfstring(L, "%s.%s", spec->prefix, name);
    const struct qn_key_info *info = qn_key_find(path);
    if (info != NULL) {
        qn_lua_push_setting(L, &spec->spec, info);
        return 1;
    }
    if (name[0] == '\0' || !qn_lua_is_group(path) ||
        strlen(path) >= sizeof spec->prefix) {
        return no_such_field(L, spec, name);
    }
    push_given(L, &spec->spec, path);
    (void)push_spec(L, &spec->spec, path);
    return 1;
}

static int spec_newindex(lua_State *L)
{
    (void)check_spec(L, 1);
    return qn_lua_raisef(L, "usage",
                         "a spec does not change: use spec:with{ %s = ... }",
                         luaL_tolstring(L, 2, NULL));
}

/* Whether a key has the same value in both; of paths, whether they name one
 * file. */
static bool same_value(lua_State *L, const struct qn_key_info *info,
                       const struct qn_lua_spec *a, const struct qn_lua_spec *b)
{
    const char *one = qn_lua_push_setting_text(L, &a->spec, info->key);
    const char *other = qn_lua_push_setting_text(L, &b->spec, info->key);
    bool path =
        info->type == QN_KEY_PATH || info->type == QN_KEY_PATH_OR_FRACTION;
    bool same =
        qn_str_eq(one, other) || (path && qn_lua_same_file(L, one, other));
    lua_pop(L, 2);
    return same;
}

static int spec_eq(lua_State *L)
{
    const struct qn_lua_spec *a = qn_lua_test_spec(L, 1);
    const struct qn_lua_spec *b = qn_lua_test_spec(L, 2);
    bool same = a != NULL && b != NULL && qn_str_eq(a->prefix, b->prefix);
    if (same && qn_str_eq(a->prefix, "data")) {
        same = a->spec.task == b->spec.task; /* a text is no documents */
    }
    for (int i = 0; same && i < qn_n_keys(); i++) {
        const struct qn_key_info *info = qn_key_at(i);
        if (qn_lua_below(info->key, a->prefix) != NULL) {
            same = same_value(L, info, a, b);
        }
    }
    lua_pushboolean(L, same);
    return 1;
}

/* --- text --------------------------------------------------------------- */

/* Push the name of what would make it again; *said is the key that the name
 * says already. */
static void push_maker(lua_State *L, const struct qn_lua_spec *spec,
                       const char **said)
{
    *said = "";
    if (spec->preset != NULL) {
        lua_pushfstring(L, "qn.preset(\"%s\", ", spec->preset);
    } else if (qn_str_eq(spec->prefix, "model")) {
        *said = "model.cell";
        lua_pushfstring(L, "qn.%s",
                        qn_lua_push_setting_text(L, &spec->spec, *said));
        lua_remove(L, -2);
    } else if (qn_str_eq(spec->prefix, "optim")) {
        *said = "optim.kind";
        lua_pushfstring(L, "qn.%s",
                        qn_lua_push_setting_text(L, &spec->spec, *said));
        lua_remove(L, -2);
    } else if (qn_str_eq(spec->prefix, "data")) {
        lua_pushstring(L, spec->spec.task == QN_TASK_CLASSIFY ? "qn.labelled"
                                                              : "qn.corpus");
    } else {
        lua_pushstring(L, spec->prefix);
    }
}

/* Push the value of a setting as Lua would write it. */
static void push_literal(lua_State *L, const struct qn_lua_spec *spec,
                         const struct qn_key_info *info)
{
    const char *text = qn_lua_push_setting_text(L, &spec->spec, info->key);
    bool plain = info->type == QN_KEY_INT || info->type == QN_KEY_DOUBLE ||
                 info->type == QN_KEY_BOOL;
    double number;
    bool fraction =
        info->type == QN_KEY_PATH_OR_FRACTION && qn_parse_double(text, &number);
    if (fraction || (plain && !qn_str_eq(text, "none"))) {
        return;
    }
    /* In a table of its own, so that it is quoted as items are. */
    lua_createtable(L, 1, 0);
    lua_insert(L, -2);
    if (info->type == QN_KEY_INT_LIST || info->type == QN_KEY_SET) {
        qn_lua_push_setting(L, &spec->spec, info);
        lua_replace(L, -2);
    }
    lua_rawseti(L, -2, 1);
    qn_print_value(L, -1);
    size_t len;
    text = lua_tolstring(L, -1, &len); /* "{ VALUE }" */
    lua_pushlstring(L, text + 2, len - 4);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* Push "hidden = 160", or ["init.kind"] = "normal". */
static void push_assignment(lua_State *L, const struct qn_lua_spec *spec,
                            const struct qn_key_info *info)
{
    const char *name = qn_lua_below(info->key, spec->prefix);
    bool dotted = strchr(name, '.') != NULL;
    push_literal(L, spec, info);
    lua_pushfstring(L, "%s%s%s = %s", dotted ? "[\"" : "", name,
                    dotted ? "\"]" : "", lua_tostring(L, -1));
    lua_remove(L, -2);
}

static int spec_tostring(lua_State *L)
{
    const struct qn_lua_spec *spec = check_spec(L, 1);
    const char *said;
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    push_maker(L, spec, &said);
    lua_pushliteral(L, "{");
    lua_concat(L, 2);
    bool any = false;
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *info = qn_key_at(i);
        bool given = lua_getfield(L, 2, info->key) != LUA_TNIL;
        lua_pop(L, 1);
        if (given && !qn_str_eq(info->key, said)) {
            lua_pushstring(L, any ? ", " : " ");
            push_assignment(L, spec, info);
            lua_concat(L, 3);
            any = true;
        }
    }
    lua_pushfstring(L, "%s}%s", any ? " " : "", spec->preset ? ")" : "");
    lua_concat(L, 2);
    return 1;
}

/* --- the class ---------------------------------------------------------- */

const struct qn_lua_doc *qn_lua_spec_docs(void)
{
    static const struct qn_lua_doc docs[] = {
        {"with", "spec:with{ key = value, ... } -> spec",
         "A changed copy. A spec itself never changes.",
         "wide = qn.qrnn{ layers = 2 }:with{ hidden = 512 }", l_with},
        {"params", "spec:params([corpus | symbols]) -> table",
         "Every tensor of a model or of a whole run: tensors[i] has name, "
         "shape "
         "and count; all and trainable are their sums.",
         "print(qn.qrnn{ layers = 2 }:params(10000))", qn_lua_spec_params},
        {NULL, NULL, NULL, NULL, NULL},
    };
    return docs;
}

void qn_lua_spec_install(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__index", spec_index},
        {"__newindex", spec_newindex},
        {"__eq", spec_eq},
        {"__tostring", spec_tostring},
        {NULL, NULL},
    };
    qn_lua_class(L, QN_LUA_SPEC, meta, qn_lua_spec_docs());
}
