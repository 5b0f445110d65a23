/* lua_runs.c - qn.train, qn.run and qn.runs: making runs and finding them. */
#include "script/lua_run.h"

#include "script/lua_settings.h"
#include "script/state.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS "quern.runs"

/* qn.train{...} -> run | nil, message, code
 *
 * Mistakes raise; a text that is not there is a fact of the world. */
int qn_lua_train(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    struct qn_lua_options o;
    struct qn_spec spec;
    struct qn_err err;
    qn_run_id id = 0;
    lua_settop(L, 1);
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 1, "");
    qn_lua_options_finish(L, &o, true, &spec);
    /* The handle first: an error after the run was made would lose it. */
    qn_lua_push_run(L, 0);
    if (s->check) {
        return 1;
    }
    enum qn_status status = qn_lab_train(s->lab, &spec, true, &id, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    qn_lua_move_run(L, -1, id);
    return 1;
}

/* --- finding ------------------------------------------------------------ */

/* The run of this session by its folder or its name, the newest first; 0. */
static qn_run_id find_open(const struct qn_lab *lab, const char *name)
{
    for (int i = qn_lab_n_runs(lab) - 1; i >= 0; i--) {
        struct qn_lab_run r;
        qn_run_id id = qn_lab_run_at(lab, i);
        if (qn_lab_run(lab, id, &r) &&
            (qn_str_eq(r.name, name) || qn_str_eq(r.run, name))) {
            return id;
        }
    }
    return 0;
}

static int find_by_id(lua_State *L)
{
    struct qn_lab_run row;
    lua_Integer id = lua_tointeger(L, 1);
    if (id < 1 || id > qn_lab_n_runs(qn_script_of(L)->lab) ||
        !qn_lab_run(qn_script_of(L)->lab, (qn_run_id)id, &row)) {
        lua_pushfstring(L, "this session has no run %I", (LUAI_UACINT)id);
        return qn_lua_nil(L, qn_status_name(QN_ENOTFOUND), lua_tostring(L, -1));
    }
    qn_lua_push_run(L, row.id);
    return 1;
}

/* qn.run(name or number) */
int qn_lua_find_run(lua_State *L)
{
    struct qn_lab *lab = qn_script_of(L)->lab;
    qn_interrupt_needs_result(L);
    if (lua_isinteger(L, 1)) {
        return find_by_id(L);
    }
    const char *name = luaL_checkstring(L, 1);
    qn_run_id id = find_open(lab, name);
    if (id == 0) {
        struct qn_err err;
        enum qn_status status = qn_lab_open_stored(lab, name, &id, &err);
        /* A name that no run has is no mistake of the script's. */
        if (status != QN_OK) {
            return qn_lua_nil(L, qn_status_name(status), err.text);
        }
    }
    qn_lua_push_run(L, id);
    return 1;
}

/* --- listing ------------------------------------------------------------ */

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* Set best_step, best_loss and, of a classifier, best_accuracy. */
static void set_best(lua_State *L, int64_t step, double loss, double accuracy)
{
    lua_pushinteger(L, (lua_Integer)step);
    lua_setfield(L, -2, "best_step");
    lua_pushnumber(L, (lua_Number)loss);
    lua_setfield(L, -2, "best_loss");
    if (isfinite(accuracy)) {
        lua_pushnumber(L, (lua_Number)accuracy);
        lua_setfield(L, -2, "best_accuracy");
    }
}

/* Push { run, name, state, step } and what set_best sets. */
static void push_stored(lua_State *L, const struct qn_run_summary *r)
{
    lua_createtable(L, 0, 8);
    set_text(L, "run", r->id);
    set_text(L, "name", r->name);
    set_text(L, "state", r->state);
    lua_pushinteger(L, (lua_Integer)r->step);
    lua_setfield(L, -2, "step");
    if (r->best_step > 0 && isfinite(r->best_loss)) {
        set_best(L, r->best_step, r->best_loss, r->best_accuracy);
    }
}

/* What this session knows better: the table on top is the row of run r. */
static void refresh(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, r->id);
    lua_setfield(L, -2, "id");
    set_text(L, "state", qn_lab_state_name(r->state));
    lua_pushinteger(L, (lua_Integer)r->step);
    lua_setfield(L, -2, "step");
    if (r->has_best) {
        set_best(L, r->best_step, r->best_loss, r->best_accuracy);
    }
}

static void refresh_open(lua_State *L, const char *folder)
{
    const struct qn_lab *lab = qn_script_of(L)->lab;
    for (int i = 0; i < qn_lab_n_runs(lab); i++) {
        struct qn_lab_run r;
        if (qn_lab_run(lab, qn_lab_run_at(lab, i), &r) &&
            qn_str_eq(r.run, folder)) {
            refresh(L, &r);
        }
    }
}

/* qn.runs() -> rows, oldest first */
int qn_lua_list_runs(lua_State *L)
{
    const struct qn_train_env *env = qn_lab_env(qn_script_of(L)->lab);
    struct qn_run_summary *runs = NULL;
    struct qn_err err;
    int n = 0;
    qn_interrupt_needs_result(L);
    struct qn_lua_box *box = qn_lua_box(L, free);
    enum qn_status status = qn_store_list(env->store, &runs, &n, NULL, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    box->p = runs;
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_stored(L, &runs[i]);
        refresh_open(L, runs[i].id);
        lua_rawseti(L, -2, i + 1);
    }
    qn_lua_box_free(box);
    luaL_setmetatable(L, RUNS);
    return 1;
}

/* The text of a field of the row on top, "-" without one. */
static const char *field_text(lua_State *L, const char *key, char *buf,
                              size_t size)
{
    int type = lua_getfield(L, -1, key);
    if (type == LUA_TNUMBER && !lua_isinteger(L, -1)) {
        (void)snprintf(buf, size, "%.4f", (double)lua_tonumber(L, -1));
    } else if (type == LUA_TNUMBER || type == LUA_TSTRING) {
        (void)snprintf(buf, size, "%s", lua_tostring(L, -1));
    } else {
        (void)snprintf(buf, size, "-");
    }
    lua_pop(L, 1);
    return buf;
}

/* Whether one of the n rows of the table at index 1 is of a classifier. */
static bool any_accuracy(lua_State *L, lua_Integer n)
{
    bool any = false;
    for (lua_Integer i = 1; i <= n && !any; i++) {
        if (lua_rawgeti(L, 1, i) == LUA_TTABLE) {
            any = lua_getfield(L, -1, "best_accuracy") == LUA_TNUMBER;
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return any;
}

static int runs_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct qn_str *text = qn_lua_str(L);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    bool labels = any_accuracy(L, n);
    qn_str_addf(text, "%-30s %-8s %9s %9s %9s%s", "name", "state", "step",
                "best", "at", labels ? "  accuracy" : "");
    for (lua_Integer i = 1; i <= n; i++) {
        char name[256], state[32], step[32], best[32], at[32], right[32];
        lua_rawgeti(L, 1, i);
        if (lua_istable(L, -1)) {
            qn_str_addf(text, "\n%-30s %-8s %9s %9s %9s",
                        field_text(L, "name", name, sizeof name),
                        field_text(L, "state", state, sizeof state),
                        field_text(L, "step", step, sizeof step),
                        field_text(L, "best_loss", best, sizeof best),
                        field_text(L, "best_step", at, sizeof at));
            if (labels) {
                qn_str_addf(
                    text, " %9s",
                    field_text(L, "best_accuracy", right, sizeof right));
            }
        }
        lua_pop(L, 1);
    }
    lua_pushstring(L, n == 0 ? "no runs yet" : text->text);
    return 1;
}

void qn_lua_runs_install(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__tostring", runs_tostring},
                                    {NULL, NULL}};
    qn_lua_class(L, RUNS, meta, NULL);
}
