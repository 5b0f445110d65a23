/* lua_paper.c - run the Lua that is built in and hand over what it returns. */
#include "script/lua_paper.h"

#include "script/lua_util.h"

/* raise(code, text): a mistake of the script, as C functions raise it. */
static int l_raise(lua_State *L)
{
    const char *code = luaL_checkstring(L, 1);
    return qn_lua_raise(L, code, luaL_checkstring(L, 2));
}

/* hint(word, table): the nearest of its keys, " (did you mean 'x'?)", or "". */
static int l_hint(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    qn_lua_push_hint_of(L, word, 2);
    return 1;
}

void qn_lua_push_paper(lua_State *L)
{
    int status =
        luaL_loadbufferx(L, (const char *)qn_lua_paper_text, qn_lua_paper_size,
                         "@" QN_LUA_OWN "paper.lua", "t");
    if (status != LUA_OK) {
        lua_error(L);
    }
    lua_pushcfunction(L, l_raise);
    lua_pushcfunction(L, l_hint);
    lua_call(L, 2, 1);
}
