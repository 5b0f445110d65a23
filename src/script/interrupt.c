/* interrupt.c - stop running Lua, and let the screen go on while it runs.
 *
 * A count hook looks for interrupts every few thousand instructions. Coroutines
 * take the hook over from the thread that makes them. The first interrupt of a
 * chunk is an ordinary error, so that a script may clean up; the second cannot
 * be caught.
 */
#include "base/clock.h"
#include "script/lua_util.h"
#include "script/state.h"

#define HOOK_INSTRUCTIONS 10000
#define PUMP_INTERVAL 0.05 /* seconds */

/* Whether there were any since the last call. They are counted: from the
 * chunk's second on, which may come together with the first, nothing catches
 * them. */
static bool take_interrupts(struct qn_script *s)
{
    int n = atomic_exchange(&s->interrupts, 0);
    s->n_interrupts += n;
    if (s->n_interrupts > 1 && s->unwind == QN_UNWIND_NONE) {
        s->unwind = QN_UNWIND_INTERRUPT;
    }
    return n > 0;
}

static int raise_interrupted(lua_State *L)
{
    return qn_lua_raise(L, "interrupted", "interrupted");
}

static void on_count(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    struct qn_script *s = qn_script_of(L);
    if (s->unwind != QN_UNWIND_NONE) {
        raise_interrupted(L);
    }
    double now = qn_clock_now();
    if (now - s->last_pump >= PUMP_INTERVAL) {
        s->host.pump(s->host.user, 0);
        s->last_pump = qn_clock_now();
    }
    if (take_interrupts(s)) {
        raise_interrupted(L);
    }
}

void qn_interrupt_begin(struct qn_script *s, bool at_prompt)
{
    s->running = true;
    s->at_prompt = at_prompt;
    s->n_interrupts = 0;
    s->unwind = QN_UNWIND_NONE;
    s->last_pump = qn_clock_now();
}

/* An interrupt that came too late for this chunk is none for the next. */
void qn_interrupt_end(struct qn_script *s)
{
    s->running = false;
    s->at_prompt = false;
    atomic_store(&s->interrupts, 0);
}

void qn_script_interrupt(struct qn_script *s)
{
    atomic_fetch_add(&s->interrupts, 1);
}

bool qn_interrupt_pump(lua_State *L, double timeout)
{
    struct qn_script *s = qn_script_of(L);
    s->host.pump(s->host.user, timeout);
    s->last_pump = qn_clock_now();
    return take_interrupts(s);
}

/* Where a person sits at the prompt, Ctrl-C only ends the wait. */
int qn_interrupt_result(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    if (s->n_interrupts > 1 || !(s->at_prompt || s->host.has_screen)) {
        return raise_interrupted(L);
    }
    return qn_lua_nil(L, "interrupted", "interrupted");
}

int qn_interrupt_unwind(lua_State *L, enum qn_unwind why)
{
    qn_script_of(L)->unwind = why;
    lua_pushliteral(L, "the chunk ends here");
    return lua_error(L);
}

void qn_interrupt_needs_result(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    if (!s->check) {
        return;
    }
    lua_Debug ar;
    if (qn_lua_script_line(L, &ar)) {
        s->checked_line = ar.currentline;
    }
    qn_interrupt_unwind(L, QN_UNWIND_CHECKED);
}

/* --- what catches errors ------------------------------------------------ */

/* Results stand from index 'first' on, below them true; on failure the error is
 * on top. */
static int end_pcall(lua_State *L, int status, lua_KContext first)
{
    if (status == LUA_OK || status == LUA_YIELD) {
        return lua_gettop(L) - (int)first + 1;
    }
    if (qn_script_of(L)->unwind != QN_UNWIND_NONE) {
        return lua_error(L);
    }
    lua_pushboolean(L, false);
    lua_insert(L, -2);
    return 2;
}

static int l_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, true);
    lua_insert(L, 1);
    int n = lua_gettop(L) - 2;
    return end_pcall(L, lua_pcallk(L, n, LUA_MULTRET, 0, 1, end_pcall), 1);
}

/* A script's message handler, which is not asked when the chunk has to end. */
static int on_message(lua_State *L)
{
    if (qn_script_of(L)->unwind == QN_UNWIND_NONE) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, 1, 1);
    }
    return 1;
}

static int l_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int n = lua_gettop(L) - 2;
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, on_message, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, true);
    lua_insert(L, 1); /* true function handler args */
    lua_pushvalue(L, 3);
    lua_insert(L, 1);
    lua_remove(L, 4); /* handler true function args */
    return end_pcall(L, lua_pcallk(L, n, LUA_MULTRET, 1, 2, end_pcall), 2);
}

/* Upvalue 1: Lua's own. */
static int l_resume(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    if (!lua_toboolean(L, 1) && qn_script_of(L)->unwind != QN_UNWIND_NONE) {
        return lua_error(L);
    }
    return lua_gettop(L);
}

void qn_interrupt_install(struct qn_script *s)
{
    lua_State *L = s->L;
    lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    lua_register(L, "pcall", l_pcall);
    lua_register(L, "xpcall", l_xpcall);
    lua_getglobal(L, "coroutine");
    lua_getfield(L, -1, "resume");
    lua_pushcclosure(L, l_resume, 1);
    lua_setfield(L, -2, "resume");
    lua_pop(L, 1);
}
