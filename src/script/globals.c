/* globals.c - a misspelt name at the prompt is an error, not a silent nil. */
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

static int global_index(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING || !typed(L)) {
        return 0;
    }
    const char *name = lua_tostring(L, 2);
    if (qn_str_eq(name, "_")) {
        return 0; /* no result yet */
    }
    qn_lua_push_hint_of(L, name, 1);
    return qn_lua_raisef(L, "usage", "undefined variable '%s'%s", name,
                         lua_tostring(L, -1));
}

void qn_globals_install(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, global_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
