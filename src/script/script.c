/* script.c - the Lua state, and how a typed chunk or a file is run in it. */
#include "script/state.h"

#include "base/assert.h"
#include "base/mem.h"
#include "script/lua_util.h"

#include <stdlib.h>
#include <string.h>

struct qn_script *qn_script_of(lua_State *L)
{
    struct qn_script *s;
    memcpy(&s, lua_getextraspace(L), sizeof s);
    return s;
}

/* --- making ------------------------------------------------------------- */

/* Under pcall: only memory can fail here. */
static int install(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    luaL_openlibs(L);
    qn_lua_util_install(L);
    qn_io_install(s);
    qn_interrupt_install(s);
    qn_globals_install(L);
    qn_module_install(L);
    return 0;
}

/* What every setting is when nothing is said. */
static enum qn_status fill_defaults(struct qn_spec *out, struct qn_err *err)
{
    struct qn_settings *settings = qn_settings_new();
    /* A run without a text is no run; any will do here. */
    qn_settings_set(settings, "data.train", "builtin:kjv", QN_FROM_DEFAULT);
    enum qn_status status = qn_settings_finish(settings, out, err);
    qn_settings_free(settings);
    if (status == QN_OK) {
        out->data.train[0] = '\0';
    }
    return status;
}

static void copy_options(struct qn_script *s,
                         const struct qn_script_options *options)
{
    if (options == NULL) {
        return;
    }
    s->check = options->check;
    s->set = qn_xcalloc((size_t)options->n_set + 1, sizeof *s->set);
    for (int i = 0; i < options->n_set; i++) {
        s->set[i] = qn_xstrdup(options->set[i]);
    }
    s->n_set = options->n_set;
}

enum qn_status qn_script_new(struct qn_lab *lab,
                             const struct qn_script_host *host,
                             const struct qn_script_options *options,
                             struct qn_script **out, struct qn_err *err)
{
    struct qn_script *s = qn_xcalloc(1, sizeof *s);
    s->lab = lab;
    s->host = *host;
    atomic_init(&s->interrupts, 0);
    copy_options(s, options);
    enum qn_status status = fill_defaults(&s->defaults, err);
    if (status != QN_OK) {
        qn_script_free(s);
        return status;
    }
    s->L = luaL_newstate();
    if (s->L == NULL) {
        qn_script_free(s);
        return qn_fail(err, QN_ENOMEM, "no memory for Lua");
    }
    memcpy(lua_getextraspace(s->L), &s, sizeof s);
    lua_pushcfunction(s->L, install);
    if (lua_pcall(s->L, 0, 0, 0) != LUA_OK) {
        status = qn_fail(err, QN_ENOMEM, "Lua does not start: %s",
                         lua_tostring(s->L, -1));
        qn_script_free(s);
        return status;
    }
    *out = s;
    return QN_OK;
}

void qn_script_free(struct qn_script *s)
{
    if (s == NULL) {
        return;
    }
    if (s->L != NULL) {
        lua_close(s->L);
    }
    for (int i = 0; i < s->n_set; i++) {
        free(s->set[i]);
    }
    free(s->set);
    qn_str_free(&s->warned);
    free(s);
}

int qn_script_exit_code(const struct qn_script *s)
{
    return s->exit_code;
}

/* --- errors ------------------------------------------------------------- */

/* Replace the error value, alone on the stack, by its text. */
static void to_message(lua_State *L)
{
    bool has_text = luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL;
    lua_settop(L, 1);
    if (has_text || lua_type(L, 1) == LUA_TSTRING) {
        (void)luaL_tolstring(L, 1, NULL);
    } else {
        lua_pushfstring(L, "the error value is a %s", luaL_typename(L, 1));
    }
    lua_replace(L, 1);
}

/* Whether text ends with a line like this, which is then cut off. */
static bool cut_line(char *text, const char *line)
{
    char *end = strrchr(text, '\n');
    if (end == NULL || !qn_str_eq(end + 1, line)) {
        return false;
    }
    *end = '\0';
    return true;
}

/* Cut what lies below the chunk, which is the program's own. Returns whether
 * anything but a line typed at the prompt is left. */
static bool cut_traceback(char *text)
{
    while (cut_line(text, "\t[C]: in ?") ||
           cut_line(text, "\t(...tail calls...)")) {
    }
    int functions = 0;
    for (char *line = strchr(text, '\n'); line != NULL;
         line = strchr(line + 1, '\n')) {
        size_t len = strcspn(line + 1, "\n");
        bool typed = strncmp(line + 1, "\tprompt:", 8) == 0 && len > 13 &&
                     strncmp(line + 1 + len - 13, "in main chunk", 13) == 0;
        functions += !typed && strncmp(line + 1, "\t[C]: ", 6) != 0;
    }
    return functions > 0;
}

/* Whether the error value is Ctrl-C, which no line of a script has to answer
 * for. */
static bool is_interrupt(lua_State *L)
{
    bool is = qn_lua_is_error(L, 1) &&
              lua_getfield(L, 1, "code") == LUA_TSTRING &&
              qn_str_eq(lua_tostring(L, -1), "interrupted");
    lua_settop(L, 1);
    return is;
}

static void add_traceback(lua_State *L, struct qn_str *text)
{
    luaL_traceback(L, L, NULL, 1);
    struct qn_str *trace = qn_lua_str(L);
    qn_str_add(trace, lua_tostring(L, -2));
    bool worth = cut_traceback(trace->text);
    if (worth || !qn_script_of(L)->at_prompt) {
        qn_str_addf(text, "\n%s", trace->text);
    }
}

/* The message handler: the error as a text with its traceback. */
static int on_error(lua_State *L)
{
    if (qn_script_of(L)->unwind != QN_UNWIND_NONE) {
        lua_settop(L, 1);
        return 1;
    }
    bool has_culprit = qn_script_of(L)->at_prompt || !is_interrupt(L);
    to_message(L);
    struct qn_str *text = qn_lua_str(L);
    qn_str_add(text, lua_tostring(L, 1));
    if (has_culprit) {
        add_traceback(L, text);
    }
    lua_pushlstring(L, text->text, text->len);
    return 1;
}

/* --- running ------------------------------------------------------------ */

struct job {
    struct qn_script *s;
    const char *text; /* of a typed chunk */
    const char *path; /* or the file */
    const char *const *args;
    int n_args;
    bool incomplete, syntax;
};

/* Without a screen the shell has other programs' errors too. */
static void emit_program_name(struct qn_script *s)
{
    static const char name[] = "quern: ";
    if (!s->at_prompt && !s->host.has_screen) {
        qn_io_emit(s, name, sizeof name - 1, true);
    }
}

/* Print the text on top to the errors. */
static void emit_error(struct qn_script *s)
{
    emit_program_name(s);
    size_t len;
    const char *text = lua_tolstring(s->L, -1, &len);
    if (text == NULL) {
        text = "an error without a text";
        len = strlen(text);
    }
    qn_io_emit(s, text, len, true);
    qn_io_emit(s, "\n", 1, true);
}

static enum qn_script_result end_unwound(struct qn_script *s)
{
    switch (s->unwind) {
    case QN_UNWIND_QUIT:
        return QN_SCRIPT_QUIT;
    case QN_UNWIND_CHECKED: {
        struct qn_str text = {0};
        qn_str_addf(&text, "checked up to line %d\n", s->checked_line);
        qn_io_emit(s, text.text, text.len, false);
        qn_str_free(&text);
        return QN_SCRIPT_CHECKED;
    }
    case QN_UNWIND_INTERRUPT:
    case QN_UNWIND_NONE:
        break;
    }
    emit_program_name(s);
    qn_io_emit(s, "interrupted\n", 12, true);
    return QN_SCRIPT_ERROR;
}

/* Run fn(job) under the message handler, and say how it went. Runs that the
 * chunk made begin now, unless the program is about to end. */
static enum qn_script_result run(lua_CFunction fn, struct job *job)
{
    struct qn_script *s = job->s;
    lua_State *L = s->L;
    QN_ASSERT(!s->running); /* the host's pump never runs Lua */
    qn_interrupt_begin(s, job->text != NULL);
    lua_settop(L, 0);
    lua_pushcfunction(L, on_error);
    lua_pushcfunction(L, fn);
    lua_pushlightuserdata(L, job);
    int status = lua_pcall(L, 1, 0, 1);
    enum qn_script_result result = QN_SCRIPT_OK;
    if (s->unwind != QN_UNWIND_NONE) {
        result = end_unwound(s);
    } else if (status != LUA_OK) {
        emit_error(s);
        result = QN_SCRIPT_ERROR;
    } else if (job->incomplete) {
        result = QN_SCRIPT_INCOMPLETE;
    } else if (job->syntax) {
        result = QN_SCRIPT_ERROR;
    }
    lua_settop(L, 0);
    if (result != QN_SCRIPT_QUIT) {
        qn_lab_release(s->lab);
    }
    qn_interrupt_end(s);
    return result;
}

/* --- a typed chunk ------------------------------------------------------ */

/* Load before .. text .. after; the function or the message is pushed. */
static bool load(lua_State *L, const char *before, const char *text,
                 const char *after)
{
    const char *chunk = lua_pushfstring(L, "%s%s%s", before, text, after);
    int status = luaL_loadbufferx(L, chunk, strlen(chunk), "=prompt", "t");
    lua_remove(L, -2);
    return status == LUA_OK;
}

/* Whether the message on top says that the chunk ended too early. */
static bool ends_too_early(lua_State *L)
{
    static const char mark[] = "<eof>";
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    return len >= sizeof mark - 1 &&
           strcmp(text + len - (sizeof mark - 1), mark) == 0;
}

/* Push the chunk as a function; *print: its values are to be shown. False: it
 * is incomplete or wrong, which the job then says. */
static bool load_typed(lua_State *L, struct job *job, bool *print)
{
    *print = false;
    if (load(L, "return ", job->text, "")) {
        /* "x;" shows nothing: it cannot be followed by a comma. */
        *print = load(L, "return ", job->text, "\n,nil");
        lua_pop(L, 1);
        return true;
    }
    bool more = ends_too_early(L); /* as in "1 +" */
    lua_pop(L, 1);
    if (load(L, "", job->text, "")) {
        *print = true; /* what its own return says */
        return true;
    }
    if (more || ends_too_early(L)) {
        job->incomplete = true;
    } else {
        job->syntax = true;
        emit_error(job->s);
    }
    lua_pop(L, 1);
    return false;
}

/* Print the values from index first on: on one line, unless one needs more. */
static void print_values(lua_State *L, int first)
{
    int last = lua_gettop(L);
    struct qn_str *line = qn_lua_str(L);
    for (int i = first; i <= last; i++) {
        qn_print_value(L, i);
        size_t len;
        const char *text = lua_tolstring(L, -1, &len);
        bool breaks = i > first && (strchr(text, '\n') != NULL ||
                                    strchr(line->text, '\n') != NULL);
        qn_str_add(line, i == first ? "" : breaks ? "\n" : "\t");
        qn_str_add_bytes(line, text, len);
        lua_pop(L, 1);
    }
    qn_str_add(line, "\n");
    qn_io_emit(qn_script_of(L), line->text, line->len, false);
    lua_settop(L, last);
}

static int eval_chunk(lua_State *L)
{
    struct job *job = lua_touserdata(L, 1);
    bool print;
    lua_settop(L, 0);
    if (!load_typed(L, job, &print)) {
        return 0;
    }
    lua_call(L, 0, LUA_MULTRET);
    int n = lua_gettop(L);
    luaL_checkstack(L, 20, "too many values");
    qn_lab_release(job->s->lab); /* so that a run shows that it runs */
    if (n > 0 && print) {
        print_values(L, 1);
    }
    if (n > 0 && !lua_isnil(L, 1)) {
        lua_pushvalue(L, 1);
        lua_setglobal(L, "_");
    }
    return 0;
}

enum qn_script_result qn_script_eval(struct qn_script *s, const char *text)
{
    struct job job = {.s = s, .text = text};
    return run(eval_chunk, &job);
}

/* --- a file ------------------------------------------------------------- */

/* Global 'arg' as lua has it: 0 is the script. */
static void set_arg(lua_State *L, const struct job *job)
{
    lua_createtable(L, job->n_args, 1);
    lua_pushstring(L, job->path);
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < job->n_args; i++) {
        lua_pushstring(L, job->args[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
}

static int run_file(lua_State *L)
{
    struct job *job = lua_touserdata(L, 1);
    lua_settop(L, 0);
    set_arg(L, job);
    if (luaL_loadfile(L, job->path) != LUA_OK) {
        job->syntax = true;
        emit_error(job->s);
        return 0;
    }
    luaL_checkstack(L, job->n_args, "too many arguments");
    for (int i = 0; i < job->n_args; i++) {
        lua_pushstring(L, job->args[i]);
    }
    lua_call(L, job->n_args, 0);
    return 0;
}

enum qn_script_result qn_script_file(struct qn_script *s, const char *path,
                                     const char *const *args, int n_args)
{
    struct job job = {.s = s, .path = path, .args = args, .n_args = n_args};
    enum qn_script_result result = run(run_file, &job);
    if (s->check && result == QN_SCRIPT_OK) {
        static const char text[] = "checked to the end\n";
        qn_io_emit(s, text, sizeof text - 1, false);
    }
    return result;
}
