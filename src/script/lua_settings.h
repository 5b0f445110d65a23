/* lua_settings.h - Lua tables of options into the dotted settings, and back. */
#ifndef QN_SCRIPT_LUA_SETTINGS_H
#define QN_SCRIPT_LUA_SETTINGS_H

#include "nn/settings.h"

#include <lauxlib.h>
#include <lua.h>

/* Options being collected, as tables of Lua's: dotted key -> text. Indices are
 * absolute. */
struct qn_lua_options {
    int map;            /* what the script says */
    int base;           /* what a spec that it names brings along */
    int problems;       /* array: values of a wrong type */
    const char *preset; /* anchored on the stack or static, or NULL */
};

/* Push the tables. */
void qn_lua_options_begin(lua_State *L, struct qn_lua_options *o);
/* Add the table or spec at index; its keys stand under prefix ("" or "model").
 * Later values win. */
void qn_lua_options_add(lua_State *L, struct qn_lua_options *o, int index,
                        const char *prefix);
/* Check everything; raises with all problems at once. with_set: --set too. */
void qn_lua_options_finish(lua_State *L, const struct qn_lua_options *o,
                           bool with_set, struct qn_spec *out);

/* Push the problems as one text, or nothing and return false. */
bool qn_lua_options_problems(lua_State *L, const struct qn_lua_options *o);

/* Push the value of a key as Lua has it: integer, number, boolean, string,
 * list; nil when it is not set. */
void qn_lua_push_setting(lua_State *L, const struct qn_spec *spec,
                         const struct qn_key_info *info);
/* Push its text. */
const char *qn_lua_push_setting_text(lua_State *L, const struct qn_spec *spec,
                                     const char *key);

/* Whether keys stand under this prefix; "" is one. */
bool qn_lua_is_group(const char *prefix);
/* The part of key below prefix, or NULL when it is not below. */
const char *qn_lua_below(const char *key, const char *prefix);

#endif
