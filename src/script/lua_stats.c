/* lua_stats.c - counts in Lua: which share of c, z, h, f and o lies where.
 *
 * A table with the shares as plain fields. The histograms that they come from
 * stay behind it in a table of the registry, so that stats:at(t) can give the
 * shares by another threshold.
 */
#include "script/lua_stats.h"

#include "nn/settings.h"
#include "script/lua_run.h"
#include "script/state.h"

#include <stdio.h>
#include <stdlib.h>

#define STATS "quern.stats"
#define COUNTS "quern.counts" /* of the registry: stats -> struct counts */

struct counts {
    struct qn_lua_stats_look look;
    int64_t step;
    unsigned of;
    int n_layers, n_of;
    float threshold;
    struct qn_hist hist[]; /* [n_layers][n_of] */
};

/* --- counts -------------------------------------------------------------- */

static bool is_counted(unsigned of, int quantity)
{
    return (of & 1u << quantity) != 0;
}

static int n_counted(unsigned of)
{
    int n = 0;
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        n += is_counted(of, q);
    }
    return n;
}

enum qn_quantity qn_lua_first_counted(unsigned of)
{
    int q = QN_CELL;
    while (q < QN_N_QUANTITIES - 1 && !is_counted(of, q)) {
        q++;
    }
    return (enum qn_quantity)q;
}

/* Push a copy of the record's counts. */
static struct counts *push_counts(lua_State *L, const struct qn_stats_record *r,
                                  const struct qn_lua_stats_look *look)
{
    int n_of = n_counted(r->of);
    size_t n = (size_t)r->n_layers * (size_t)n_of;
    struct counts *c =
        lua_newuserdatauv(L, sizeof *c + n * sizeof c->hist[0], 0);
    c->look = *look;
    c->step = r->step;
    c->of = r->of;
    c->n_layers = r->n_layers;
    c->n_of = n_of;
    c->threshold = r->layer[0][look->first].threshold;
    struct qn_hist *h = c->hist;
    for (int i = 0; i < r->n_layers; i++) {
        for (int q = 0; q < QN_N_QUANTITIES; q++) {
            if (is_counted(r->of, q)) {
                *h++ = r->layer[i][q];
            }
        }
    }
    return c;
}

static const struct qn_hist *hist_of(const struct counts *c, int layer,
                                     enum qn_quantity of)
{
    int before = n_counted(c->of & ((1u << of) - 1));
    return &c->hist[layer * c->n_of + before];
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

/* --- as a table ---------------------------------------------------------- */

static void set_count(lua_State *L, const char *key, uint64_t n)
{
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, key);
}

static void set_number(lua_State *L, const char *key, double v)
{
    lua_pushnumber(L, (lua_Number)v);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* Into the table on top: the shares by a threshold, and the counts that are
 * exact for it. */
static void set_shares(lua_State *L, const struct qn_hist *h, double threshold)
{
    bool exact = (float)threshold == h->threshold;
    struct qn_shares s =
        exact ? qn_hist_shares(h) : qn_hist_shares_at(h, threshold);
    set_number(L, "negative", s.negative);
    set_number(L, "near", s.near);
    set_number(L, "positive", s.positive);
    set_number(L, "zero", s.zero);
    set_number(L, "nan", s.nan);
    set_count(L, "count", s.count);
    set_count(L, "n_zero", h->n_zero);
    set_count(L, "n_nan", h->n_nan);
    if (exact) {
        set_count(L, "n_negative", h->n_negative);
        set_count(L, "n_near", h->n_near);
        set_count(L, "n_positive", h->n_positive);
    }
}

static struct qn_hist pool(const struct counts *c, enum qn_quantity of)
{
    struct qn_hist pooled = *hist_of(c, 0, of);
    for (int i = 1; i < c->n_layers; i++) {
        qn_hist_merge(&pooled, hist_of(c, i, of));
    }
    return pooled;
}

/* Push { [1] = shares, [2] = ..., pooled = shares } of one quantity. */
static void push_layers(lua_State *L, const struct counts *c,
                        enum qn_quantity of, double threshold)
{
    lua_createtable(L, c->n_layers, 1);
    for (int i = 0; i < c->n_layers; i++) {
        lua_createtable(L, 0, 13);
        set_count(L, "layer", (uint64_t)i + 1);
        set_text(L, "of", qn_quantity_name(of));
        set_shares(L, hist_of(c, i, of), threshold);
        lua_rawseti(L, -2, i + 1);
    }
    struct qn_hist pooled = pool(c, of);
    lua_createtable(L, 0, 12);
    set_text(L, "of", qn_quantity_name(of));
    set_shares(L, &pooled, threshold);
    lua_setfield(L, -2, "pooled");
}

/* The shares of one layer, or of all, into the table on top itself. */
static void set_top(lua_State *L, const struct counts *c, double threshold)
{
    if (c->look.top == QN_LUA_TOP_NONE) {
        return;
    }
    struct qn_hist h = c->look.top == QN_LUA_TOP_POOLED
                           ? pool(c, c->look.first)
                           : *hist_of(c, c->look.top - 1, c->look.first);
    set_shares(L, &h, threshold);
}

/* Push the table of the counts at index, by this threshold. */
static void push_table(lua_State *L, int index, double threshold)
{
    const struct counts *c = lua_touserdata(L, index);
    lua_newtable(L);
    int stats = lua_gettop(L);
    set_count(L, "step", (uint64_t)c->step);
    set_number(L, "threshold", threshold);
    set_text(L, "of", qn_quantity_name(c->look.first));
    if (c->look.split != NULL) {
        set_text(L, "split", c->look.split);
    }
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        if (is_counted(c->of, q)) {
            push_layers(L, c, (enum qn_quantity)q, threshold);
            lua_setfield(L, stats, qn_quantity_name((enum qn_quantity)q));
        }
    }
    lua_getfield(L, stats, qn_quantity_name(c->look.first));
    lua_getfield(L, -1, "pooled");
    lua_setfield(L, stats, "pooled");
    lua_setfield(L, stats, "layers");
    set_top(L, c, threshold);
    luaL_setmetatable(L, STATS);
    lua_getfield(L, LUA_REGISTRYINDEX, COUNTS);
    lua_pushvalue(L, stats);
    lua_pushvalue(L, index);
    lua_rawset(L, -3);
    lua_settop(L, stats);
}

void qn_lua_push_stats(lua_State *L, const struct qn_stats_record *r,
                       const struct qn_lua_stats_look *look)
{
    const struct counts *c = push_counts(L, r, look);
    push_table(L, lua_gettop(L), shortest(c->threshold));
    lua_remove(L, -2);
}

bool qn_lua_is_stats(lua_State *L, int index)
{
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) {
        return false;
    }
    luaL_getmetatable(L, STATS);
    bool same = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 2);
    return same;
}

/* run:stats() */
int qn_lua_run_stats(lua_State *L)
{
    qn_interrupt_needs_result(L);
    qn_run_id id = qn_lua_check_run(L, 1);
    const struct qn_stats_record *r = qn_lab_stats(qn_script_of(L)->lab, id);
    if (r == NULL || r->n_layers == 0 || r->of == 0) {
        return qn_lua_nil(L, qn_status_name(QN_ESTATE),
                          "there are no statistics yet");
    }
    const struct qn_lua_stats_look look = {.first = qn_lua_first_counted(r->of),
                                           .top = QN_LUA_TOP_NONE};
    qn_lua_push_stats(L, r, &look);
    return 1;
}

/* --- methods ------------------------------------------------------------- */

bool qn_lua_is_threshold(double t)
{
    return (float)t >= qn_hist_edge(0) &&
           (float)t <= qn_hist_edge(QN_HIST_EDGES - 1);
}

/* Push the counts behind the stats at index 1, or raise. */
static void push_counts_of(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, LUA_REGISTRYINDEX, COUNTS);
    lua_pushvalue(L, 1);
    if (lua_rawget(L, -2) != LUA_TUSERDATA) {
        qn_lua_raise(L, "usage",
                     "stats:at: what run:stats() or run:measure() "
                     "gave is expected");
    }
}

/* stats:at(threshold) */
static int l_at(lua_State *L)
{
    push_counts_of(L);
    double threshold = (double)luaL_checknumber(L, 2);
    if (!qn_lua_is_threshold(threshold)) {
        return qn_lua_raisef(L, "usage",
                             "stats:at: the threshold is %g, must be %s",
                             threshold, qn_key_find("stats.near")->range_text);
    }
    push_table(L, lua_gettop(L), threshold);
    return 1;
}

/* A method; nil for what was not counted or asked for; else a mistake. */
static int stats_index(lua_State *L)
{
    static const char *const names[] = {
        "step",   "threshold",  "of",     "split", "layers", "pooled",
        "c",      "z",          "h",      "f",     "o",      "negative",
        "near",   "positive",   "zero",   "nan",   "count",  "n_negative",
        "n_near", "n_positive", "n_zero", "n_nan", "at"};
    const int n = (int)(sizeof names / sizeof names[0]);
    if (qn_lua_push_method(L, 2)) {
        return 1;
    }
    const char *name = luaL_checkstring(L, 2);
    for (int i = 0; i < n; i++) {
        if (qn_str_eq(names[i], name)) {
            return 0;
        }
    }
    qn_lua_push_hint(L, name, names, n);
    return qn_lua_raisef(L, "usage", "statistics have no field '%s'%s", name,
                         lua_tostring(L, -1));
}

/* --- text ---------------------------------------------------------------- */

/* Push a field of the table at index as it stands in it. */
static int raw_field(lua_State *L, int index, const char *key)
{
    index = lua_absindex(L, index);
    lua_pushstring(L, key);
    return lua_rawget(L, index);
}

/* Append the row of the table on top, "    1     45.3%    10.0%    44.7%". */
static void add_row(lua_State *L, struct qn_str *text, const char *name)
{
    static const char *const keys[] = {"negative", "near", "positive"};
    qn_str_addf(text, "\n%6s", name);
    for (int i = 0; i < 3; i++) {
        (void)raw_field(L, -1, keys[i]);
        qn_str_addf(text, "  %7.2f%%", 100 * (double)lua_tonumber(L, -1));
        lua_pop(L, 1);
    }
}

/* Append all rows of the quantity whose table is on top. */
static void add_quantity(lua_State *L, struct qn_str *text)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%lld", (long long)i);
        if (lua_rawgeti(L, -1, i) == LUA_TTABLE) {
            add_row(L, text, name);
        }
        lua_pop(L, 1);
    }
    if (raw_field(L, -1, "pooled") == LUA_TTABLE) {
        add_row(L, text, "all");
    }
    lua_pop(L, 1);
}

/* "cell states c at step 20, near zero below 0.1", then a table for each
 * quantity. */
static int stats_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct qn_str *text = qn_lua_str(L);
    (void)raw_field(L, 1, "step");
    (void)raw_field(L, 1, "threshold");
    (void)raw_field(L, 1, "split");
    int top = lua_gettop(L);
    const char *split = lua_tostring(L, top);
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        enum qn_quantity of = (enum qn_quantity)q;
        if (raw_field(L, 1, qn_quantity_name(of)) == LUA_TTABLE) {
            qn_str_addf(text,
                        "%s%s at step %lld%s%s, near zero below %g\n"
                        " layer  negative      near  positive",
                        text->len > 0 ? "\n" : "", qn_lab_quantity_title(of),
                        (long long)lua_tointeger(L, top - 2),
                        split != NULL ? " on " : "", split != NULL ? split : "",
                        (double)lua_tonumber(L, top - 1));
            add_quantity(L, text);
        }
        lua_settop(L, top);
    }
    lua_pushlstring(L, text->text == NULL ? "" : text->text, text->len);
    return 1;
}

/* --- the class ----------------------------------------------------------- */

const struct qn_lua_doc *qn_lua_stats_docs(void)
{
    static const struct qn_lua_doc docs[] = {
        {"at", "stats:at(threshold) -> stats",
         "The same counts by another threshold of near zero: exact where bins "
         "end, interpolated between.",
         "print(run:stats():at(0.05))", l_at},
        {NULL, NULL, NULL, NULL, NULL},
    };
    return docs;
}

void qn_lua_stats_install(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__index", stats_index}, {"__tostring", stats_tostring}, {NULL, NULL}};
    qn_lua_class(L, STATS, meta, qn_lua_stats_docs());
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k"); /* counts go with their table */
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, COUNTS);
}
