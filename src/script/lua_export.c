/* lua_export.c - run:export: a run as files of other programs. */
#include "lab/lab_export.h"
#include "script/lua_run.h"
#include "script/state.h"

#define TURN 0.02 /* seconds that the host may block at once */

/* The option to: a folder, below the options at index 2. */
static const char *check_to(lua_State *L)
{
    int type = lua_getfield(L, 2, "to");
    if (type != LUA_TSTRING || lua_rawlen(L, -1) == 0) {
        qn_lua_raisef(L, "usage", "to: a folder to write into expected, got %s",
                      type == LUA_TSTRING ? "\"\"" : lua_typename(L, type));
    }
    return lua_tostring(L, -1);
}

static void add_format(lua_State *L, struct qn_str *list)
{
    if (lua_type(L, -1) != LUA_TSTRING) {
        qn_lua_raisef(L, "usage", "formats: names of formats expected, got %s",
                      luaL_typename(L, -1));
    }
    qn_str_addf(list, "%s%s", list->len > 0 ? "," : "", lua_tostring(L, -1));
}

/* The option formats, a name or a list of them, as text; NULL: all. */
static const char *check_formats(lua_State *L)
{
    struct qn_str *list = qn_lua_str(L);
    int type = lua_getfield(L, 2, "formats");
    if (type == LUA_TNIL) {
        return NULL;
    }
    if (type != LUA_TTABLE) {
        add_format(L, list);
        return list->text;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    if (n == 0) {
        qn_lua_raise(L, "usage", "formats: names none");
    }
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        add_format(L, list);
        lua_pop(L, 1);
    }
    return list->text;
}

static void free_export(void *p)
{
    qn_lab_export_free(p);
}

/* The list of files, or nil, message, code. */
static int push_result(lua_State *L, const struct qn_lab_export *x)
{
    struct qn_err err;
    const char *const *files;
    int n;
    enum qn_status status = qn_lab_export_result(x, &files, &n, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, files[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* run:export{ to =, formats = } */
int qn_lua_run_export(lua_State *L)
{
    static const char *const names[] = {"to", "formats", NULL};
    struct qn_lab_export *x;
    struct qn_err err;
    qn_interrupt_needs_result(L);
    qn_run_id id = qn_lua_check_run(L, 1);
    lua_settop(L, 2);
    qn_lua_check_options(L, 2, "run:export", names);
    const char *to = check_to(L);
    const char *formats = check_formats(L);
    struct qn_lua_box *box = qn_lua_box(L, free_export);
    enum qn_status status =
        qn_lab_export_start(qn_script_of(L)->lab, id, to, formats, &x, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    box->p = x;
    while (!qn_lab_export_done(x)) {
        if (qn_interrupt_pump(L, TURN)) {
            qn_lua_box_free(box);
            return qn_interrupt_result(L);
        }
    }
    int results = push_result(L, x);
    qn_lua_box_free(box);
    return results;
}
