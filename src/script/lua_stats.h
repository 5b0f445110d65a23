/* lua_stats.h - counts of a run as a table of Lua's. */
#ifndef QN_SCRIPT_LUA_STATS_H
#define QN_SCRIPT_LUA_STATS_H

#include "script/lua_util.h"
#include "train/event.h"

/* Whose shares stand in the table itself, beside those of the layers: those of
 * a layer from 1, or of ... */
enum qn_lua_top { QN_LUA_TOP_POOLED = 0, QN_LUA_TOP_NONE = -1 };

struct qn_lua_stats_look {
    enum qn_quantity first; /* what layers, pooled and the top speak of */
    int top;                /* enum qn_lua_top, or a layer */
    const char *split;      /* static; NULL: one step of training */
};

/* Push the table of a record that has layers and quantities, first among them.
 */
void qn_lua_push_stats(lua_State *L, const struct qn_stats_record *r,
                       const struct qn_lua_stats_look *look);
/* c when it was counted, else the first that was. */
enum qn_quantity qn_lua_first_counted(unsigned of);

/* Whether bins know about t: the range of stats.near. NaN is outside. */
bool qn_lua_is_threshold(double t);

/* Whether the value at index is such a table. */
bool qn_lua_is_stats(lua_State *L, int index);
const struct qn_lua_doc *qn_lua_stats_docs(void);

#endif
