/* lua_fork.c - run:fork and run.parent: runs that come from other runs. */
#include "script/lua_run.h"

#include "script/lua_settings.h"
#include "script/state.h"
#include "store/parent.h"

#include <stdio.h>
#include <string.h>

/* The option 'from' of the table at index 2 as text; "last" without one. */
static void check_from(lua_State *L, char *out, size_t size)
{
    static const char *const names[] = {"best", "last", "last_good"};
    int type = lua_getfield(L, 2, "from"), whole = 0;
    lua_Integer step = lua_tointegerx(L, -1, &whole);
    (void)snprintf(out, size, "last");
    if (type == LUA_TNUMBER && whole && step >= 0) {
        (void)snprintf(out, size, "%lld", (long long)step);
        type = LUA_TNIL;
    }
    for (size_t i = 0; i < 3 && type == LUA_TSTRING; i++) {
        if (qn_str_eq(lua_tostring(L, -1), names[i])) {
            (void)snprintf(out, size, "%s", names[i]);
            type = LUA_TNIL;
        }
    }
    if (type != LUA_TNIL) {
        qn_lua_raise(L, "usage",
                     "from: must be best, last, last_good or a step");
    }
    lua_pop(L, 1);
}

/* Replace the table at index 2 by a copy without what is no setting. */
static void take_settings(lua_State *L)
{
    if (lua_getfield(L, 2, "preset") != LUA_TNIL) {
        qn_lua_raise(L, "usage",
                     "preset: a fork has the settings of its parent; give "
                     "those that change");
    }
    lua_pop(L, 1);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 2) != 0;) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_pushnil(L);
    lua_setfield(L, -2, "from");
    lua_replace(L, 2);
}

/* What cuts the data is the parent's, whatever new runs get. */
static bool stays(const char *assignment)
{
    return qn_starts_with(assignment, "data.") ||
           qn_starts_with(assignment, "task=") ||
           qn_starts_with(assignment, "batch=") ||
           qn_starts_with(assignment, "seq=");
}

/* Push the array of the changes and, over them, of --set; *n of them. */
static const char *const *push_all_changes(lua_State *L, int *n)
{
    const struct qn_script *s = qn_script_of(L);
    const char *const *own = qn_lua_push_changes(L, n);
    size_t room = (size_t)*n + (size_t)s->n_set + 1;
    const char **all = lua_newuserdatauv(L, room * sizeof *all, 0);
    memcpy(all, own, (size_t)*n * sizeof *all);
    for (int i = 0; i < s->n_set; i++) {
        if (!stays(s->set[i])) {
            all[(*n)++] = s->set[i];
        }
    }
    return all;
}

/* run:fork{ from =, name =, key = value, ... } -> run | nil, message, code */
int qn_lua_run_fork(lua_State *L)
{
    char from[32];
    int n;
    struct qn_lab_run row;
    struct qn_err err;
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_newtable(L);
        lua_replace(L, 2);
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    qn_run_id parent = qn_lua_run_row(L, 1, &row);
    check_from(L, from, sizeof from);
    take_settings(L);
    const char *const *changes = push_all_changes(L, &n);
    /* The handle first: an error after the run was made would lose it. */
    qn_lua_push_run(L, 0);
    qn_run_id id = 0;
    enum qn_status status = qn_lab_fork(qn_script_of(L)->lab, parent, from,
                                        changes, n, true, &id, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    qn_lua_move_run(L, -1, id);
    return 1;
}

void qn_lua_push_parent(lua_State *L, const struct qn_lab_run *r)
{
    struct qn_parent parent;
    if (qn_parent_read(r->dir, &parent, NULL) != QN_OK) {
        lua_pushnil(L);
        return;
    }
    lua_createtable(L, 0, 4);
    lua_pushstring(L, parent.run);
    lua_setfield(L, -2, "run");
    lua_pushstring(L, parent.name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, (lua_Integer)parent.step);
    lua_setfield(L, -2, "step");
    lua_pushstring(L, qn_relation_name(parent.relation));
    lua_setfield(L, -2, "relation");
}
