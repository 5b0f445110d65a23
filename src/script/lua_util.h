/* lua_util.h - helpers of the bindings: boxes, errors, classes, their docs.
 *
 * A C resource lives in a box or a string of Lua's while Lua may raise, so that
 * the collector frees what a jump leaves behind.
 */
#ifndef QN_SCRIPT_LUA_UTIL_H
#define QN_SCRIPT_LUA_UTIL_H

#include "base/status.h"
#include "base/str.h"

#include <lauxlib.h>
#include <lua.h>

/* How the names of chunks begin that are built in. */
#define QN_LUA_OWN "quern/"
/* The line of the script that is at work: of the innermost Lua function that
 * is not built in; false when there is none. */
bool qn_lua_script_line(lua_State *L, lua_Debug *out);

/* --- memory ------------------------------------------------------------- */

struct qn_lua_box {
    void *p;
    void (*free)(void *p);
};
/* Push an empty box; its pointer is freed with the box. */
struct qn_lua_box *qn_lua_box(lua_State *L, void (*fn)(void *p));
void qn_lua_box_free(struct qn_lua_box *box); /* now */
/* Push an empty string buffer that Lua frees. */
struct qn_str *qn_lua_str(lua_State *L);

/* --- errors ------------------------------------------------------------- */

/* Raise a mistake of the script: a table with code, message, items (the lines
 * of text) and where (file:line of the first Lua function). No return. */
int qn_lua_raise(lua_State *L, const char *code, const char *text);
int qn_lua_raisef(lua_State *L, const char *code, const char *fmt, ...)
    QN_PRINTF(3, 4);
/* Whether the value at index is what these raise. */
bool qn_lua_is_error(lua_State *L, int index);
/* QN_EUSAGE raises; everything else returns nil, message, code. */
int qn_lua_fail(lua_State *L, enum qn_status status, const struct qn_err *err);
/* nil, text, code */
int qn_lua_nil(lua_State *L, const char *code, const char *text);

/* "(did you mean 'x'?)" with a space before it, or "", pushed. names is an
 * array of n. */
void qn_lua_push_hint(lua_State *L, const char *word, const char *const *names,
                      int n);
/* The same with the string keys of the table at index. */
void qn_lua_push_hint_of(lua_State *L, const char *word, int table);
/* --- names and lists ----------------------------------------------------- */

/* Sort the array at index; less is a C function of two values, or NULL for <.
 */
void qn_lua_sort(lua_State *L, int array, lua_CFunction less);
const char *const *qn_lua_keywords(void); /* NULL at the end */

/* --- classes ------------------------------------------------------------ */

/* A function or method, and what help says about it. */
struct qn_lua_doc {
    const char *name, *signature, *help, *example;
    lua_CFunction fn;
};

/* Make the metatable of a class: these metamethods, and methods under
 * __methods. docs ends with a name of NULL. */
void qn_lua_class(lua_State *L, const char *name, const luaL_Reg *meta,
                  const struct qn_lua_doc *docs);
/* Push the method that the key at index 'key' names for the object at index 1,
 * or push nothing and return false. */
bool qn_lua_push_method(lua_State *L, int key);

/* The options table at index (absent: an empty one is pushed in its place):
 * unknown names raise, all of them at once. names ends with NULL. */
void qn_lua_check_options(lua_State *L, int index, const char *what,
                          const char *const *names);

/* First of all: it keeps what the others need of Lua's libraries. */
void qn_lua_util_install(lua_State *L);

#endif
