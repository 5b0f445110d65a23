/* help.h - what can be called, in one place: help, completion and the module.
 */
#ifndef QN_SCRIPT_HELP_H
#define QN_SCRIPT_HELP_H

#include "script/lua_util.h"

/* The functions of qn, name NULL at the end. */
const struct qn_lua_doc *qn_lua_module_docs(void);

/* The methods of an object as it is called in signatures: "qn", "run",
 * "series", "stats", "spec"; NULL for another word. */
const struct qn_lua_doc *qn_help_methods(const char *object);
const char *const *qn_help_objects(void); /* NULL at the end */

/* qn.help([topic]) */
int qn_lua_help(lua_State *L);

#endif
