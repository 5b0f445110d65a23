/* lua_paper.h - qn.paper, written in Lua and built into the program. */
#ifndef QN_SCRIPT_LUA_PAPER_H
#define QN_SCRIPT_LUA_PAPER_H

#include <lua.h>
#include <stddef.h>

/* lua/quern/paper.lua, made into C while building. */
extern const size_t qn_lua_paper_size;
extern const unsigned char qn_lua_paper_text[];

/* Push qn.paper; require "quern" must give the module already. */
void qn_lua_push_paper(lua_State *L);

#endif
