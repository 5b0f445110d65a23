/* lua_series.c - a curve of a run in Lua: #s, s[i], s.last, s:each(). */
#include "base/series.h"

#include "script/lua_run.h"
#include "script/state.h"

#include <math.h>

struct series_handle {
    qn_run_id run;
    const char *metric; /* one of qn_lab_metric_names, static */
};

/* The series at index; NULL when its run is gone. It is looked up at each use,
 * since it may grow or move with a poll. */
static const struct qn_series *series_at(lua_State *L, int index)
{
    const struct series_handle *h = luaL_checkudata(L, index, QN_LUA_SERIES);
    return qn_lab_series(qn_script_of(L)->lab, h->run, h->metric);
}

static size_t length(const struct qn_series *s)
{
    return s == NULL ? 0 : qn_series_len(s);
}

/* run:metric(name) */
int qn_lua_run_metric(lua_State *L)
{
    qn_run_id id = qn_lua_check_run(L, 1);
    const char *name = luaL_checkstring(L, 2);
    const char *const *names = qn_lab_metric_names();
    int n = 0;
    for (; names[n] != NULL; n++) {
        if (qn_str_eq(names[n], name)) {
            struct series_handle *h = lua_newuserdatauv(L, sizeof *h, 0);
            h->run = id;
            h->metric = names[n];
            luaL_setmetatable(L, QN_LUA_SERIES);
            return 1;
        }
    }
    qn_lua_push_hint(L, name, names, n);
    return qn_lua_raisef(L, "usage", "a run has no metric '%s'%s", name,
                         lua_tostring(L, -1));
}

/* --- reading ------------------------------------------------------------ */

/* Push { step =, value = } of point i from 1, or nil. */
static void push_point(lua_State *L, const struct qn_series *s, lua_Integer i)
{
    if (i < 1 || (size_t)i > length(s)) {
        lua_pushnil(L);
        return;
    }
    struct qn_point p = qn_series_at(s, (size_t)i - 1);
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, (lua_Integer)p.step);
    lua_setfield(L, -2, "step");
    lua_pushnumber(L, (lua_Number)p.value);
    lua_setfield(L, -2, "value");
}

static void push_last(lua_State *L, const struct qn_series *s)
{
    if (length(s) == 0) {
        lua_pushnil(L);
        return;
    }
    lua_pushnumber(L, (lua_Number)qn_series_at(s, length(s) - 1).value);
}

/* The least or greatest finite value. */
static void push_extreme(lua_State *L, const struct qn_series *s, bool least)
{
    struct qn_summary sum = {0};
    if (s != NULL) {
        sum = qn_series_summary(s, 0, qn_series_len(s));
    }
    if (sum.n == 0) {
        lua_pushnil(L);
    } else {
        lua_pushnumber(L, (lua_Number)(least ? sum.min : sum.max));
    }
}

const char *const *qn_lua_series_fields(void)
{
    static const char *const fields[] = {"last", "min", "max", NULL};
    return fields;
}

static int no_such_field(lua_State *L, const char *name)
{
    static const char *const names[] = {"last", "min", "max", "at", "each"};
    qn_lua_push_hint(L, name, names, (int)(sizeof names / sizeof names[0]));
    return qn_lua_raisef(L, "usage", "a series has no field '%s'%s", name,
                         lua_tostring(L, -1));
}

static int series_index(lua_State *L)
{
    const struct qn_series *s = series_at(L, 1);
    if (lua_isinteger(L, 2)) {
        push_point(L, s, lua_tointeger(L, 2));
        return 1;
    }
    if (qn_lua_push_method(L, 2)) {
        return 1;
    }
    const char *name = luaL_checkstring(L, 2);
    if (qn_str_eq(name, "last")) {
        push_last(L, s);
    } else if (qn_str_eq(name, "min") || qn_str_eq(name, "max")) {
        push_extreme(L, s, qn_str_eq(name, "min"));
    } else {
        return no_such_field(L, name);
    }
    return 1;
}

static int series_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)length(series_at(L, 1)));
    return 1;
}

/* s:at(step) -> value at the first point from this step on, or nil */
static int l_at(lua_State *L)
{
    const struct qn_series *s = series_at(L, 1);
    double step = (double)luaL_checknumber(L, 2);
    size_t i = s == NULL ? 0 : qn_series_find(s, step);
    if (i >= length(s)) {
        lua_pushnil(L);
    } else {
        lua_pushnumber(L, (lua_Number)qn_series_at(s, i).value);
    }
    return 1;
}

/* Upvalues: the series, points given so far. */
static int next_point(lua_State *L)
{
    const struct qn_series *s = series_at(L, lua_upvalueindex(1));
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
    if ((size_t)i >= length(s)) {
        lua_pushnil(L);
        return 1;
    }
    struct qn_point p = qn_series_at(s, (size_t)i);
    lua_pushinteger(L, i + 1);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushinteger(L, (lua_Integer)p.step);
    lua_pushnumber(L, (lua_Number)p.value);
    return 2;
}

static int l_each(lua_State *L)
{
    (void)series_at(L, 1);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_point, 2);
    return 1;
}

/* "train.loss of run 2: 120 points, last 1.31, min 1.2, max 4.8" */
static int series_tostring(lua_State *L)
{
    const struct series_handle *h = luaL_checkudata(L, 1, QN_LUA_SERIES);
    const struct qn_series *s = series_at(L, 1);
    struct qn_str *text = qn_lua_str(L);
    qn_str_addf(text, "%s of run %d: %zu point%s", h->metric, h->run, length(s),
                length(s) == 1 ? "" : "s");
    if (length(s) > 0) {
        struct qn_summary sum = qn_series_summary(s, 0, length(s));
        qn_str_addf(text, ", last %.4g", qn_series_at(s, length(s) - 1).value);
        if (sum.n > 0) {
            qn_str_addf(text, ", min %.4g, max %.4g", sum.min, sum.max);
        }
    }
    lua_pushlstring(L, text->text, text->len);
    return 1;
}

static int series_eq(lua_State *L)
{
    const struct series_handle *a = luaL_testudata(L, 1, QN_LUA_SERIES);
    const struct series_handle *b = luaL_testudata(L, 2, QN_LUA_SERIES);
    lua_pushboolean(L, a != NULL && b != NULL && a->run == b->run &&
                           a->metric == b->metric);
    return 1;
}

const struct qn_lua_doc *qn_lua_series_docs(void)
{
    static const struct qn_lua_doc docs[] = {
        {"each", "series:each() -> iterator of step, value",
         "Every point in order.",
         "for step, loss in run:metric(\"train.loss\"):each() do print(step, "
         "loss) end",
         l_each},
        {"at", "series:at(step) -> value | nil",
         "The value at the first point from this step on.",
         "run:metric(\"train.loss\"):at(2)", l_at},
        {NULL, NULL, NULL, NULL, NULL},
    };
    return docs;
}

void qn_lua_series_install(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__index", series_index},
        {"__len", series_len},
        {"__tostring", series_tostring},
        {"__eq", series_eq},
        {NULL, NULL},
    };
    qn_lua_class(L, QN_LUA_SERIES, meta, qn_lua_series_docs());
}
