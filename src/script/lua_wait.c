/* lua_wait.c - methods of a run that wait for its thread.
 *
 * Waiting lets the host work in short turns, so that the screen and Ctrl-C stay
 * alive; nothing but Lua's own memory is held meanwhile, except a ticket, which
 * is forgotten when the wait ends early.
 */
#include "script/lua_run.h"

#include "base/clock.h"
#include "script/lua_settings.h"
#include "script/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TURN 0.1          /* seconds that the host may block at once */
#define RESUME_TURNS 20   /* that a thread may take to end */
#define UTF8_MAX 4        /* bytes of a code point */
#define PAUSE_SECONDS 10  /* that pause waits for the step to end */
#define UNPAUSE_SECONDS 2 /* that resume waits for the trainer to wake */

/* --- wait --------------------------------------------------------------- */

/* Seconds of the option, HUGE_VAL without one. */
static double check_timeout(lua_State *L, int options)
{
    int type = lua_getfield(L, options, "timeout");
    double seconds = HUGE_VAL;
    if (type == LUA_TNUMBER) {
        seconds = (double)lua_tonumber(L, -1);
    } else if (type != LUA_TNIL) {
        qn_lua_raisef(L, "usage", "timeout: seconds expected, got %s",
                      lua_typename(L, type));
    }
    if (!(seconds >= 0)) {
        qn_lua_raisef(L, "usage", "timeout: must be 0 or more");
    }
    lua_pop(L, 1);
    return seconds;
}

/* Push the function or nil. */
static void push_until(lua_State *L, int options)
{
    int type = lua_getfield(L, options, "until_");
    if (type != LUA_TNIL && type != LUA_TFUNCTION) {
        qn_lua_raisef(L, "usage", "until_: a function expected, got %s",
                      lua_typename(L, type));
    }
}

/* Whether the function at index 'until' says that it is enough. */
static bool is_enough(lua_State *L, int until)
{
    if (lua_isnil(L, until)) {
        return false;
    }
    lua_pushvalue(L, until);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    bool enough = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return enough;
}

/* nil, "run NAME paused: why", code */
static int ended_badly(lua_State *L, const struct qn_lab_run *r,
                       const char *code)
{
    lua_pushfstring(L, "run '%s' %s%s%s", r->name, qn_lab_state_name(r->state),
                    r->error[0] != '\0' ? ": " : "", r->error);
    return qn_lua_nil(L, code, lua_tostring(L, -1));
}

/* How a wait ends by the run's state: the number of results, or 0 to go on.
 * Without a screen nobody could let a paused run go on, unless it only waits
 * for room on its disk. */
static int state_result(lua_State *L, const struct qn_lab_run *r)
{
    if (r->state == QN_LAB_FAILED) {
        return ended_badly(L, r, "failed");
    }
    if (!qn_lab_state_active(r->state)) {
        lua_pushboolean(L, true);
        return 1;
    }
    if (r->state == QN_LAB_PAUSED && !r->waits &&
        !qn_script_of(L)->host.has_screen) {
        return ended_badly(L, r, qn_status_name(QN_ESTATE));
    }
    return 0;
}

/* run:wait{ timeout =, until_ = } */
int qn_lua_run_wait(lua_State *L)
{
    static const char *const names[] = {"timeout", "until_", NULL};
    struct qn_script *s = qn_script_of(L);
    struct qn_lab_run row;
    qn_interrupt_needs_result(L);
    (void)qn_lua_check_run(L, 1);
    lua_settop(L, 2);
    qn_lua_check_options(L, 2, "run:wait", names);
    double end = qn_clock_now() + check_timeout(L, 2);
    push_until(L, 2);
    qn_lab_release(s->lab);
    for (;;) {
        if (is_enough(L, 3)) {
            lua_pushboolean(L, true);
            return 1;
        }
        (void)qn_lua_run_row(L, 1, &row);
        int results = state_result(L, &row);
        if (results > 0) {
            return results;
        }
        double left = end - qn_clock_now();
        if (left <= 0) {
            return qn_lua_nil(L, "timeout", "the time is up");
        }
        if (qn_interrupt_pump(L, left < TURN ? left : TURN)) {
            return qn_interrupt_result(L);
        }
    }
}

/* --- pause and resume --------------------------------------------------- */

/* Wait a little until the run has left this state, so that the next line of the
 * script sees the new one. */
static int settle(lua_State *L, enum qn_lab_state from, double seconds)
{
    double end = qn_clock_now() + seconds;
    struct qn_lab_run row;
    for (;;) {
        (void)qn_lua_run_row(L, 1, &row);
        double left = end - qn_clock_now();
        if (row.state != from || left <= 0) {
            lua_pushboolean(L, true);
            return 1;
        }
        if (qn_interrupt_pump(L, left < TURN ? left : TURN)) {
            return qn_interrupt_result(L);
        }
    }
}

int qn_lua_run_pause(lua_State *L)
{
    struct qn_err err;
    qn_run_id id = qn_lua_check_run(L, 1);
    enum qn_status status = qn_lab_pause(qn_script_of(L)->lab, id, &err);
    return status != QN_OK ? qn_lua_fail(L, status, &err)
                           : settle(L, QN_LAB_RUNNING, PAUSE_SECONDS);
}

const char *const *qn_lua_push_changes(lua_State *L, int *n)
{
    struct qn_lua_options o;
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 2, "");
    if (qn_lua_options_problems(L, &o)) {
        qn_lua_raise(L, "usage", lua_tostring(L, -1));
    }
    size_t room = 1;
    for (lua_pushnil(L); lua_next(L, o.map) != 0; lua_pop(L, 1)) {
        room++;
    }
    const char **changes = lua_newuserdatauv(L, room * sizeof *changes, 1);
    lua_newtable(L); /* keeps the strings */
    *n = 0;
    for (lua_pushnil(L); lua_next(L, o.map) != 0; lua_pop(L, 1)) {
        const char *text = lua_pushfstring(L, "%s=%s", lua_tostring(L, -2),
                                           lua_tostring(L, -1));
        changes[(*n)++] = text;
        lua_rawseti(L, -4, *n);
    }
    lua_setiuservalue(L, -2, 1);
    return changes;
}

/* run:resume{ changes }: an ended run goes on from its last checkpoint. */
static int resume_ended(lua_State *L, const char *folder, bool is_done)
{
    int n;
    qn_run_id id;
    struct qn_err err;
    lua_pushstring(L, folder); /* the row's text goes with the next poll */
    const char *run = lua_tostring(L, -1);
    const char *const *changes = qn_lua_push_changes(L, &n);
    struct qn_lab *lab = qn_script_of(L)->lab;
    enum qn_status status;
    for (int turn = 0;; turn++) {
        status = qn_lab_resume_stored(lab, run, changes, n, &id, &err);
        /* A run says that it has stopped a moment before its thread is gone. */
        if (status != QN_ESTATE || is_done || turn == RESUME_TURNS) {
            break;
        }
        if (qn_interrupt_pump(L, TURN)) {
            return qn_interrupt_result(L);
        }
    }
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    qn_lua_move_run(L, 1, id);
    lua_pushboolean(L, true);
    return 1;
}

int qn_lua_run_resume(lua_State *L)
{
    struct qn_lab_run row;
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_newtable(L);
        lua_replace(L, 2);
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    qn_run_id id = qn_lua_run_row(L, 1, &row);
    if (!qn_lab_state_active(row.state)) {
        return resume_ended(L, row.run, row.state == QN_LAB_DONE);
    }
    lua_pushnil(L);
    if (lua_next(L, 2) != 0) {
        return qn_lua_raise(L, "usage",
                            "changes are for a run that has ended: use "
                            "run:set for this one");
    }
    struct qn_err err;
    enum qn_status status = qn_lab_unpause(qn_script_of(L)->lab, id, &err);
    return status != QN_OK ? qn_lua_fail(L, status, &err)
                           : settle(L, QN_LAB_PAUSED, UNPAUSE_SECONDS);
}

/* --- questions ---------------------------------------------------------- */

int qn_lua_wait_answer(lua_State *L, qn_ticket ticket, struct qn_note *note,
                       struct qn_stats_record **counts)
{
    struct qn_lab *lab = qn_script_of(L)->lab;
    qn_lab_release(lab);
    while (counts != NULL ? !qn_lab_counts(lab, ticket, note, counts)
                          : !qn_lab_answer(lab, ticket, note)) {
        if (qn_interrupt_pump(L, TURN)) {
            qn_lab_forget(lab, ticket);
            return qn_interrupt_result(L);
        }
    }
    return 0;
}

int qn_lua_take_answer(lua_State *L, qn_ticket ticket, struct qn_note *note,
                       struct qn_stats_record **counts)
{
    int results = qn_lua_wait_answer(L, ticket, note, counts);
    if (results > 0 || note->status == QN_OK) {
        return results;
    }
    struct qn_err err;
    (void)snprintf(err.text, sizeof err.text, "%.*s", (int)sizeof err.text - 1,
                   note->text);
    return qn_lua_fail(L, (enum qn_status)note->status, &err);
}

static void set_number(lua_State *L, const char *key, double v)
{
    if (isfinite(v)) {
        lua_pushnumber(L, (lua_Number)v);
        lua_setfield(L, -2, key);
    }
}

/* Push { split, step, loss, predictions, seconds } and accuracy of documents,
 * bpc and perplexity of a text. */
static void push_evaluation(lua_State *L, enum qn_split split,
                            const struct qn_note *note, enum qn_task task)
{
    lua_createtable(L, 0, 7);
    lua_pushstring(L, qn_split_name(split));
    lua_setfield(L, -2, "split");
    lua_pushinteger(L, (lua_Integer)note->step);
    lua_setfield(L, -2, "step");
    lua_pushinteger(L, (lua_Integer)note->predictions);
    lua_setfield(L, -2, "predictions");
    set_number(L, "loss", note->loss);
    if (task == QN_TASK_CLASSIFY) {
        set_number(L, "accuracy", note->accuracy);
    } else {
        set_number(L, "bpc", qn_bpc(note->loss));
        set_number(L, "perplexity", qn_perplexity(note->loss));
    }
    set_number(L, "seconds", note->seconds);
}

static enum qn_split check_split(lua_State *L, int index)
{
    static const char *const names[] = {"train", "valid", "test"};
    const char *name = luaL_optstring(L, index, "valid");
    enum qn_split split;
    if (!qn_split_parse(name, &split)) {
        qn_lua_push_hint(L, name, names, 3);
        qn_lua_raisef(L, "usage", "'%s' is none of train, valid, test%s", name,
                      lua_tostring(L, -1));
    }
    return split;
}

/* run:evaluate(split, { checkpoint = }) */
int qn_lua_run_evaluate(lua_State *L)
{
    static const char *const names[] = {"checkpoint", NULL};
    char checkpoint[32];
    qn_interrupt_needs_result(L);
    struct qn_lab_run row;
    qn_run_id id = qn_lua_run_row(L, 1, &row);
    enum qn_task task = row.spec->task;
    lua_settop(L, 3);
    enum qn_split split = check_split(L, 2);
    qn_lua_check_options(L, 3, "run:evaluate", names);
    (void)lua_getfield(L, 3, "checkpoint");
    if (!qn_lua_checkpoint_text(L, checkpoint, sizeof checkpoint)) {
        return qn_lua_raise(L, "usage",
                            "checkpoint: must be best, last or a step");
    }
    qn_ticket ticket;
    struct qn_err err;
    enum qn_status status = qn_lab_evaluate_at(qn_script_of(L)->lab, id, split,
                                               checkpoint, &ticket, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    struct qn_note note;
    int results = qn_lua_take_answer(L, ticket, &note, NULL);
    if (results > 0) {
        return results;
    }
    push_evaluation(L, split, &note, task);
    return 1;
}

/* Complaints of one options table, all at once; see check_request. */
static void complain(struct qn_str *problems, const char *key,
                     const char *wanted, const char *got)
{
    qn_str_addf(problems, "%s%s: %s expected, got %s",
                problems->len > 0 ? "\n" : "", key, wanted, got);
}

/* A number at least 'least' of options at index 2; absent leaves *out. */
static void check_number(lua_State *L, struct qn_str *problems, const char *key,
                         double least, double *out)
{
    int type = lua_getfield(L, 2, key);
    double v = (double)lua_tonumber(L, -1);
    if (type == LUA_TNUMBER && v >= least && v <= 9007199254740992.0) {
        *out = v;
    } else if (type != LUA_TNIL) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "a number of %g or more", least);
        complain(problems, key, wanted,
                 type == LUA_TNUMBER ? luaL_tolstring(L, -1, NULL)
                                     : lua_typename(L, type));
    }
}

static void check_request(lua_State *L, struct qn_text_request *out)
{
    double length = 0, temperature = -1, seed = -1;
    struct qn_str *problems = qn_lua_str(L);
    int top = lua_gettop(L);
    check_number(L, problems, "length", 1, &length);
    check_number(L, problems, "temperature", 0, &temperature);
    check_number(L, problems, "seed", 0, &seed);
    lua_settop(L, top);
    int type = lua_getfield(L, 2, "prompt");
    if (type != LUA_TNIL && type != LUA_TSTRING) {
        complain(problems, "prompt", "text", lua_typename(L, type));
    }
    if (problems->len > 0) {
        qn_lua_raise(L, "usage", problems->text);
    }
    *out = (struct qn_text_request){
        .prompt = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL,
        .length = length > 1000000 ? 1000000 : (int)length,
        .temperature = temperature,
        .seed = (int64_t)seed,
    };
}

int qn_lua_run_sample(lua_State *L)
{
    static const char *const names[] = {"prompt", "length", "temperature",
                                        "seed", NULL};
    qn_interrupt_needs_result(L);
    struct qn_lab_run row;
    qn_run_id id = qn_lua_run_row(L, 1, &row);
    bool classifier = row.spec->task == QN_TASK_CLASSIFY;
    lua_settop(L, 2);
    qn_lua_check_options(L, 2, "run:sample", names);
    struct qn_text_request request;
    check_request(L, &request);
    qn_ticket ticket;
    struct qn_err err;
    enum qn_status status =
        qn_lab_sample(qn_script_of(L)->lab, id, &request, &ticket, &err);
    if (status == QN_EUSAGE && classifier) {
        /* What a run is for is no mistake of the script's. */
        return qn_lua_nil(L, qn_status_name(status), err.text);
    }
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    struct qn_note note;
    int results = qn_lua_take_answer(L, ticket, &note, NULL);
    if (results > 0) {
        return results;
    }
    if (strlen(note.text) + UTF8_MAX >= sizeof note.text) {
        lua_warning(L, "run:sample: the text is longer than an answer holds",
                    0);
    }
    lua_pushstring(L, note.text);
    return 1;
}
