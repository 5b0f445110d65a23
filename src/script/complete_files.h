/* complete_files.h - names of files for a half-typed path in quotes. */
#ifndef QN_SCRIPT_COMPLETE_FILES_H
#define QN_SCRIPT_COMPLETE_FILES_H

#include <lua.h>
#include <stddef.h>

/* Add the files whose paths go on from path, which has len bytes, as keys of
 * the table at index set: folders with "/" behind, hidden ones only after a
 * point. A relative path begins at the working folder. */
void qn_complete_files(lua_State *L, int set, const char *path, size_t len);

#endif
