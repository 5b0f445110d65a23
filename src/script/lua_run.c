/* lua_run.c - a run in Lua: its fields, pause, stop, set. */
#include "script/lua_run.h"

#include "lab/note_text.h"
#include "script/lua_settings.h"
#include "script/lua_spec.h"
#include "script/state.h"

#include <math.h>
#include <string.h>

struct run_handle {
    qn_run_id id;
};

void qn_lua_push_run(lua_State *L, qn_run_id id)
{
    struct run_handle *h = lua_newuserdatauv(L, sizeof *h, 0);
    h->id = id;
    luaL_setmetatable(L, QN_LUA_RUN);
}

qn_run_id qn_lua_check_run(lua_State *L, int index)
{
    const struct run_handle *h = luaL_checkudata(L, index, QN_LUA_RUN);
    if (h->id == 0) {
        qn_interrupt_needs_result(L);
    }
    return h->id;
}

qn_run_id qn_lua_run_row(lua_State *L, int index, struct qn_lab_run *row)
{
    qn_run_id id = qn_lua_check_run(L, index);
    if (!qn_lab_run(qn_script_of(L)->lab, id, row)) {
        qn_lua_raisef(L, "not_found", "there is no run %d any more", id);
    }
    return id;
}

void qn_lua_move_run(lua_State *L, int index, qn_run_id id)
{
    struct run_handle *h = luaL_checkudata(L, index, QN_LUA_RUN);
    h->id = id;
}

/* --- fields ------------------------------------------------------------- */

static void push_number_or_nil(lua_State *L, double v)
{
    if (isfinite(v)) {
        lua_pushnumber(L, (lua_Number)v);
    } else {
        lua_pushnil(L);
    }
}

static void push_id(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, r->id);
}

static void push_name(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushstring(L, r->name);
}

static void push_run(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushstring(L, r->run);
}

static void push_state(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushstring(L, qn_lab_state_name(r->state));
}

static void push_step(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, (lua_Integer)r->step);
}

static void push_epoch(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushnumber(L, (lua_Number)r->epoch);
}

static void push_steps_total(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, (lua_Integer)r->steps_total);
}

static void push_steps_per_epoch(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, (lua_Integer)r->steps_per_epoch);
}

static void push_loss(lua_State *L, const struct qn_lab_run *r)
{
    push_number_or_nil(L, r->loss);
}

static void push_accuracy(lua_State *L, const struct qn_lab_run *r)
{
    push_number_or_nil(L, r->accuracy);
}

static void push_lr(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushnumber(L, (lua_Number)r->spec->optim.lr);
}

static void push_last_lr(lua_State *L, const struct qn_lab_run *r)
{
    if (r->step > 0 && r->lr > 0) { /* a fork begins with steps, and no rate */
        push_number_or_nil(L, r->lr);
    } else {
        lua_pushnil(L);
    }
}

static void push_grad_norm(lua_State *L, const struct qn_lab_run *r)
{
    push_number_or_nil(L, r->grad_norm);
}

static void push_rate(lua_State *L, const struct qn_lab_run *r)
{
    push_number_or_nil(L, r->tokens_per_s);
}

static void push_seconds(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushnumber(L, (lua_Number)r->seconds);
}

static void push_eta(lua_State *L, const struct qn_lab_run *r)
{
    push_number_or_nil(L, r->seconds_left);
}

static void push_seed(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, (lua_Integer)r->spec->seed);
}

static void push_threads(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushinteger(L, r->spec->threads);
}

static void push_dir(lua_State *L, const struct qn_lab_run *r)
{
    lua_pushstring(L, r->dir);
}

static void push_error(lua_State *L, const struct qn_lab_run *r)
{
    if (r->error[0] == '\0') {
        lua_pushnil(L);
    } else {
        lua_pushstring(L, r->error);
    }
}

static void push_config(lua_State *L, const struct qn_lab_run *r)
{
    qn_lua_push_config(L, r->spec);
}

static void push_text(lua_State *L, const struct qn_lab_run *r)
{
    if (r->sample[0] == '\0') {
        lua_pushnil(L);
    } else {
        lua_pushstring(L, r->sample);
    }
}

static void push_best(lua_State *L, const struct qn_lab_run *r)
{
    if (!r->has_best) {
        lua_pushnil(L);
        return;
    }
    bool by_accuracy = r->spec->checkpoint.metric == QN_VALID_ACCURACY;
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)r->best_step);
    lua_setfield(L, -2, "step");
    push_number_or_nil(L, by_accuracy ? r->best_accuracy : r->best_loss);
    lua_setfield(L, -2, "value");
    lua_pushstring(L, by_accuracy ? "valid.accuracy" : "valid.loss");
    lua_setfield(L, -2, "metric");
    push_number_or_nil(L, r->best_loss);
    lua_setfield(L, -2, "loss");
    push_number_or_nil(L, r->best_accuracy);
    lua_setfield(L, -2, "accuracy");
}

const struct qn_lua_field *qn_lua_run_fields(void)
{
    static const struct qn_lua_field fields[] = {
        {"id", "number of the run in this session", push_id},
        {"name", "its name", push_name},
        {"run", "name of its folder, by which it is found again", push_run},
        {"dir", "path of its folder", push_dir},
        {"state", "held running paused stopping done stopped failed",
         push_state},
        {"error", "why it failed or paused by itself, else nil", push_error},
        {"step", "updates made", push_step},
        {"epoch", "passes over what trains, fractional", push_epoch},
        {"steps_total", "updates there will be", push_steps_total},
        {"steps_per_epoch", "updates of one pass", push_steps_per_epoch},
        {"loss", "newest training loss in nats, nil before one", push_loss},
        {"accuracy",
         "share of the newest batch that was right, nil before one and of "
         "texts",
         push_accuracy},
        {"best",
         "{ step, value, metric, loss, accuracy } of the best evaluation, or "
         "nil",
         push_best},
        {"lr", "the setting optim.lr, before any decay", push_lr},
        {"last_lr", "learning rate of the newest step, nil before one",
         push_last_lr},
        {"grad_norm", "norm of the newest gradient, before clipping",
         push_grad_norm},
        {"rate", "symbols a second", push_rate},
        {"seconds", "seconds of training, what was due after steps included",
         push_seconds},
        {"eta", "seconds left, nil when unknown", push_eta},
        {"seed", "seed of the run", push_seed},
        {"threads", "threads it splits a batch over", push_threads},
        {"config", "everything it was made of, as a spec", push_config},
        {"text", "the newest sample written while training, or nil", push_text},
        {"parent",
         "{ run, name, step, relation } of the run that it comes from, or nil",
         qn_lua_push_parent},
        {NULL, NULL, NULL},
    };
    return fields;
}

static int no_such_field(lua_State *L, const char *name)
{
    lua_newtable(L);
    for (const struct qn_lua_field *f = qn_lua_run_fields(); f->name; f++) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, f->name);
    }
    for (const struct qn_lua_doc *d = qn_lua_run_docs(); d->name; d++) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, d->name);
    }
    qn_lua_push_hint_of(L, name, -1);
    return qn_lua_raisef(L, "usage", "a run has no field '%s'%s", name,
                         lua_tostring(L, -1));
}

static int run_index(lua_State *L)
{
    luaL_checkudata(L, 1, QN_LUA_RUN);
    if (qn_lua_push_method(L, 2)) {
        return 1;
    }
    const char *name = luaL_checkstring(L, 2);
    for (const struct qn_lua_field *f = qn_lua_run_fields(); f->name; f++) {
        if (qn_str_eq(f->name, name)) {
            struct qn_lab_run row;
            (void)qn_lua_run_row(L, 1, &row);
            f->push(L, &row);
            return 1;
        }
    }
    return no_such_field(L, name);
}

static int run_newindex(lua_State *L)
{
    luaL_checkudata(L, 1, QN_LUA_RUN);
    return qn_lua_raisef(
        L, "usage", "a run's fields are read only: use run:set{ %s = ... }",
        luaL_tolstring(L, 2, NULL));
}

static int run_eq(lua_State *L)
{
    const struct run_handle *a = luaL_testudata(L, 1, QN_LUA_RUN);
    const struct run_handle *b = luaL_testudata(L, 2, QN_LUA_RUN);
    lua_pushboolean(L, a != NULL && b != NULL && a->id == b->id);
    return 1;
}

/* ", loss 1.31, best 1.22 at 100", of a classifier with its accuracies. */
static void add_figures(struct qn_str *s, const struct qn_lab_run *r)
{
    char reading[64];
    bool labels = r->spec->task == QN_TASK_CLASSIFY;
    if (isfinite(r->loss)) {
        qn_str_addf(s, ", loss %.4g", r->loss);
    }
    if (labels && isfinite(r->accuracy)) {
        qn_str_addf(s, ", %s",
                    qn_reading_text(reading, sizeof reading, QN_READ_ACCURACY,
                                    r->loss, r->accuracy));
    }
    if (!r->has_best) {
        return;
    }
    qn_str_addf(s, ", best %.4g", r->best_loss);
    if (labels) {
        qn_str_addf(s, " (%s)",
                    qn_reading_text(reading, sizeof reading, QN_READ_ACCURACY,
                                    r->best_loss, r->best_accuracy));
    }
    qn_str_addf(s, " at %lld", (long long)r->best_step);
}

/* "run 2 'ptb-small': running, step 120 of 900, loss 1.31, best 1.22 at 100" */
static int run_tostring(lua_State *L)
{
    const struct run_handle *h = luaL_checkudata(L, 1, QN_LUA_RUN);
    struct qn_lab_run r;
    if (!qn_lab_run(qn_script_of(L)->lab, h->id, &r)) {
        lua_pushfstring(L, "run %d", h->id);
        return 1;
    }
    struct qn_str *s = qn_lua_str(L);
    qn_str_addf(s, "run %d '%s': %s, step %lld of %lld", r.id, r.name,
                qn_lab_state_name(r.state), (long long)r.step,
                (long long)r.steps_total);
    add_figures(s, &r);
    if (r.error[0] != '\0') {
        qn_str_addf(s, " (%s)", r.error);
    }
    lua_pushlstring(L, s->text, s->len);
    return 1;
}

/* --- commands ----------------------------------------------------------- */

/* true, or what went wrong. */
static int done(lua_State *L, enum qn_status status, const struct qn_err *err)
{
    if (status != QN_OK) {
        return qn_lua_fail(L, status, err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* run:stop{ save = true } */
static int l_stop(lua_State *L)
{
    static const char *const names[] = {"save", NULL};
    qn_run_id id = qn_lua_check_run(L, 1);
    lua_settop(L, 2);
    qn_lua_check_options(L, 2, "run:stop", names);
    int type = lua_getfield(L, 2, "save");
    if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
        qn_lua_raisef(L, "usage", "save: true or false expected, got %s",
                      lua_typename(L, type));
    }
    struct qn_lab *lab = qn_script_of(L)->lab;
    struct qn_lab_run row;
    if (qn_lab_run(lab, id, &row) && !qn_lab_state_active(row.state)) {
        lua_pushboolean(L, true); /* it has ended already */
        return 1;
    }
    bool save = type == LUA_TNIL || lua_toboolean(L, -1);
    struct qn_err err;
    return done(L, qn_lab_stop(lab, id, save, &err), &err);
}

/* local run <close> = qn.train{...}: stopped and saved at the block's end. */
static int run_close(lua_State *L)
{
    const struct run_handle *h = luaL_checkudata(L, 1, QN_LUA_RUN);
    (void)qn_lab_stop(qn_script_of(L)->lab, h->id, true, NULL);
    return 0;
}

/* Short names of what is changed most, to their keys; all else stands as it is.
 * Pushes a new table. */
static void push_long_names(lua_State *L, int index)
{
    static const char *const shorts[][2] = {
        {"lr", "optim.lr"},
        {"clip_norm", "optim.clip_norm"},
        {"dropout", "model.dropout"},
    };
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, index) != 0;) {
        lua_pushvalue(L, -2);
        for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++) {
            if (lua_type(L, -1) == LUA_TSTRING &&
                qn_str_eq(lua_tostring(L, -1), shorts[i][0])) {
                lua_pushstring(L, shorts[i][1]);
                lua_replace(L, -2);
            }
        }
        /* table key value name: of two names of one key neither is first. */
        lua_pushvalue(L, -1);
        if (lua_rawget(L, -5) != LUA_TNIL) {
            qn_lua_raisef(L, "usage", "%s is given twice", lua_tostring(L, -2));
        }
        lua_pop(L, 1);
        lua_insert(L, -2); /* table key name value */
        lua_rawset(L, -4);
    }
}

/* Check every change on a copy first, so that all of them hold or none. */
static void check_changes(lua_State *L, const struct qn_lua_options *o,
                          const struct qn_spec *spec)
{
    struct qn_spec copy = *spec;
    for (lua_pushnil(L); lua_next(L, o->map) != 0; lua_pop(L, 1)) {
        struct qn_err err;
        const char *key = lua_tostring(L, -2);
        if (qn_settings_change(&copy, key, lua_tostring(L, -1), &err) !=
            QN_OK) {
            lua_pushstring(L, err.text);
            lua_rawseti(L, o->problems,
                        (lua_Integer)lua_rawlen(L, o->problems) + 1);
        }
    }
    if (qn_lua_options_problems(L, o)) {
        qn_lua_raise(L, "usage", lua_tostring(L, -1));
    }
}

/* run:set{ lr = 0.01, ["stats.every"] = "10 steps" } */
static int l_set(lua_State *L)
{
    struct qn_lab_run row;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    qn_run_id id = qn_lua_run_row(L, 1, &row);
    struct qn_lab *lab = qn_script_of(L)->lab;
    struct qn_lua_options o;
    push_long_names(L, 2);
    lua_replace(L, 2);
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 2, "");
    check_changes(L, &o, row.spec);
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        if (lua_getfield(L, o.map, key) == LUA_TSTRING) {
            struct qn_err err;
            enum qn_status status =
                qn_lab_set(lab, id, key, lua_tostring(L, -1), &err);
            if (status != QN_OK) {
                return qn_lua_fail(L, status, &err);
            }
        }
        lua_pop(L, 1);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* --- the class ---------------------------------------------------------- */

const struct qn_lua_doc *qn_lua_run_docs(void)
{
    static const struct qn_lua_doc docs[] = {
        {"wait",
         "run:wait{ timeout = seconds, until_ = function(run) } -> true | "
         "nil, message, code",
         "Wait until the run has ended, or until_ says so. Ctrl-C ends the "
         "wait and not the run.",
         "run:wait{ until_ = function(r) return r.step >= 100 end }",
         qn_lua_run_wait},
        {"pause", "run:pause() -> true | nil, message, code",
         "Let the run wait after its current step.", "run:pause()",
         qn_lua_run_pause},
        {"resume",
         "run:resume{ key = value, ... } -> true | nil, message, code",
         "Go on with a paused run, or with a stopped one from its last "
         "checkpoint; changes are for the latter.",
         "run:resume{ steps = 2000 }", qn_lua_run_resume},
        {"fork",
         "run:fork{ from =, name =, key = value, ... } -> run | nil, message, "
         "code",
         "A new run from a checkpoint of this one (last, if nothing is said; "
         "best, last_good, or a step) with changed settings. Only task, data, "
         "batch and seq stay.",
         "run:fork{ from = \"best\", optim = { lr = run.lr / 4 } }",
         qn_lua_run_fork},
        {"stop", "run:stop{ save = true } -> true | nil, message, code",
         "End the run after its current step. It can be resumed when it was "
         "saved.",
         "run:stop()", l_stop},
        {"set", "run:set{ key = value, ... } -> true | nil, message, code",
         "Change settings of a live run: all of them, or none when one is "
         "wrong. lr, clip_norm and dropout need no group.",
         "run:set{ lr = 0.0005, [\"stats.every\"] = \"10 steps\" }", l_set},
        {"metric", "run:metric(name) -> series",
         "A curve: train.loss valid.loss test.loss lr grad_norm tokens_per_s, "
         "and of a classifier train.accuracy valid.accuracy test.accuracy.",
         "run:metric(\"train.loss\").last", qn_lua_run_metric},
        {"stats", "run:stats() -> stats | nil, message, code",
         "The newest counts of what stats.of names, as trained: layers[i] and "
         "pooled, or c[i], f[i], c.pooled and so on, hold the shares negative, "
         "near, positive, zero, nan and the counts n_*.",
         "run:stats().layers[1].near", qn_lua_run_stats},
        {"measure",
         "run:measure{ split =, checkpoint =, of =, layers =, near = } -> "
         "stats "
         "| nil, message, code",
         "The shares of c, z, h, f or o over a whole split, in evaluation. The "
         "table has, beside all that of run:stats(), the shares pooled over "
         "the layers, or those of the layer that layers names, as its own "
         "fields.",
         "run:measure{ split = \"test\", checkpoint = \"best\" }.near",
         qn_lua_run_measure},
        {"sample",
         "run:sample{ prompt =, length =, temperature =, seed = } -> text | "
         "nil, message, code",
         "Text written by the network as it is now.",
         "print(run:sample{ prompt = \"In the \", length = 80 })",
         qn_lua_run_sample},
        {"evaluate",
         "run:evaluate([split, { checkpoint = }]) -> table | nil, message, "
         "code",
         "The loss on train, valid (if nothing is said) or test: loss in nats, "
         "bpc and perplexity or, of a classifier, accuracy; predictions, "
         "seconds.",
         "run:evaluate(\"test\").loss", qn_lua_run_evaluate},
        {"classify", "run:classify(text) -> table | nil, message, code",
         "What a classifier says of a text: label is \"positive\" or "
         "\"negative\", probability that of positive, words how many there "
         "are and known how many of them were read.",
         "run:classify(\"What a waste of a good cast.\").label",
         qn_lua_run_classify},
        {"export",
         "run:export{ to =, formats = } -> files | nil, message, code",
         "Write the run as files of other programs into the folder to: some of "
         "csv, jsonl, safetensors, tfevents, svg, png, or all that it has "
         "something for. The answer lists their paths.",
         "run:export{ to = \"figures\", formats = { \"svg\", \"png\" } }",
         qn_lua_run_export},
        {NULL, NULL, NULL, NULL, NULL},
    };
    return docs;
}

void qn_lua_run_install(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__index", run_index}, {"__newindex", run_newindex},
        {"__eq", run_eq},       {"__tostring", run_tostring},
        {"__close", run_close}, {NULL, NULL},
    };
    qn_lua_class(L, QN_LUA_RUN, meta, qn_lua_run_docs());
}
