/* globals.c - a misspelt name at the prompt is an error, not a silent nil.
 *
 * A name that was ever assigned is known, even when it holds nil.
 */
#include "script/lua_util.h"
#include "script/state.h"

/* Whether a line typed at the prompt is what reads; modules that ask whether a
 * global exists are left alone. */
static bool typed(lua_State *L)
{
    lua_Debug ar;
    if (!qn_script_of(L)->at_prompt || !lua_getstack(L, 1, &ar)) {
        return false;
    }
    lua_getinfo(L, "S", &ar);
    return qn_str_eq(ar.source, "=prompt");
}

/* Upvalue 1: the names that were assigned. */
static int global_index(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING || !typed(L)) {
        return 0;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        return 0;
    }
    const char *name = lua_tostring(L, 2);
    qn_lua_push_hint_of(L, name, 1);
    return qn_lua_raisef(L, "usage", "undefined variable '%s'%s", name,
                         lua_tostring(L, -1));
}

static int global_newindex(lua_State *L)
{
    lua_pushvalue(L, 2);
    lua_pushboolean(L, true);
    lua_rawset(L, lua_upvalueindex(1));
    lua_rawset(L, 1);
    return 0;
}

void qn_globals_install(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 2);
    lua_newtable(L);
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "_"); /* the last result, also when there is none */
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, global_index, 1);
    lua_setfield(L, -3, "__index");
    lua_pushcclosure(L, global_newindex, 1);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
