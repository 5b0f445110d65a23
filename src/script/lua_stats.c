/* lua_stats.c - run:stats(): where the cell states of each layer lie. */
#include "base/hist.h"

#include "script/lua_run.h"
#include "script/state.h"

#include <stdio.h>
#include <stdlib.h>

#define STATS "quern.stats"

static void set_count(lua_State *L, const char *key, uint64_t n)
{
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, key);
}

static void set_share(lua_State *L, const char *key, double share)
{
    lua_pushnumber(L, (lua_Number)share);
    lua_setfield(L, -2, key);
}

/* 0.1f as the 0.1 that was meant, not as 0.10000000149. */
static double shortest(float x)
{
    char buf[32];
    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(buf, sizeof buf, "%.*g", digits, (double)x);
        if (strtof(buf, NULL) == x) {
            break;
        }
    }
    return strtod(buf, NULL);
}

/* Push the shares and counts of one histogram; layer 0: none. */
static void push_shares(lua_State *L, const struct qn_hist *h, int layer)
{
    struct qn_shares s = qn_hist_shares(h);
    lua_createtable(L, 0, 13);
    if (layer > 0) {
        set_count(L, "layer", (uint64_t)layer);
    }
    lua_pushliteral(L, "c");
    lua_setfield(L, -2, "of");
    set_share(L, "negative", s.negative);
    set_share(L, "near", s.near);
    set_share(L, "positive", s.positive);
    set_share(L, "zero", s.zero);
    set_share(L, "nan", s.nan);
    set_count(L, "count", s.count);
    set_count(L, "n_negative", h->n_negative);
    set_count(L, "n_near", h->n_near);
    set_count(L, "n_positive", h->n_positive);
    set_count(L, "n_zero", h->n_zero);
    set_count(L, "n_nan", h->n_nan);
}

/* run:stats() */
int qn_lua_run_stats(lua_State *L)
{
    qn_interrupt_needs_result(L);
    qn_run_id id = qn_lua_check_run(L, 1);
    const struct qn_stats_record *r = qn_lab_stats(qn_script_of(L)->lab, id);
    if (r == NULL || r->n_layers == 0) {
        return qn_lua_nil(L, qn_status_name(QN_ESTATE),
                          "there are no statistics yet");
    }
    lua_createtable(L, 0, 4);
    set_count(L, "step", (uint64_t)r->step);
    set_share(L, "threshold", shortest(r->layer[0][QN_CELL].threshold));
    struct qn_hist pooled = r->layer[0][QN_CELL];
    lua_createtable(L, r->n_layers, 0);
    for (int i = 0; i < r->n_layers; i++) {
        if (i > 0) {
            qn_hist_merge(&pooled, &r->layer[i][QN_CELL]);
        }
        push_shares(L, &r->layer[i][QN_CELL], i + 1);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "layers");
    push_shares(L, &pooled, 0);
    lua_setfield(L, -2, "pooled");
    luaL_setmetatable(L, STATS);
    return 1;
}

/* Append the row of the table on top, "    1     45.3%    10.0%    44.7%". */
static void add_row(lua_State *L, struct qn_str *text, const char *name)
{
    static const char *const keys[] = {"negative", "near", "positive"};
    qn_str_addf(text, "\n%6s", name);
    for (int i = 0; i < 3; i++) {
        lua_getfield(L, -1, keys[i]);
        qn_str_addf(text, "  %7.2f%%", 100 * (double)lua_tonumber(L, -1));
        lua_pop(L, 1);
    }
}

static int stats_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct qn_str *text = qn_lua_str(L);
    lua_getfield(L, 1, "step");
    lua_getfield(L, 1, "threshold");
    qn_str_addf(text,
                "cell states at step %lld, near zero below %g\n"
                " layer  negative      near  positive",
                (long long)lua_tointeger(L, -2), (double)lua_tonumber(L, -1));
    if (lua_getfield(L, 1, "layers") == LUA_TTABLE) {
        lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, i);
            lua_pushfstring(L, "%I", (LUAI_UACINT)i);
            lua_insert(L, -2);
            add_row(L, text, lua_tostring(L, -2));
            lua_pop(L, 2);
        }
    }
    if (lua_getfield(L, 1, "pooled") == LUA_TTABLE) {
        add_row(L, text, "all");
    }
    lua_pushlstring(L, text->text, text->len);
    return 1;
}

void qn_lua_stats_install(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__tostring", stats_tostring},
                                    {NULL, NULL}};
    qn_lua_class(L, STATS, meta, NULL);
}
