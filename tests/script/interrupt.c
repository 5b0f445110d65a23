/* interrupt.c - Ctrl-C in running Lua, and the screen that lives meanwhile. */
#include "script_fixture.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_interrupt_ends_an_endless_loop(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    assert_fails(f, "while true do end", "prompt:1: interrupted");
    f->interrupt_at = 1;
    assert_fails(f, "function f() while true do end end f() x = 1",
                 "in function 'f'");
    assert_prints(f, "1 + 1", "2\n");
}

static void the_first_interrupt_may_be_caught_for_tidying_up(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    must(f, "ok, err = pcall(function() while true do end end) "
            "print(ok, err.code)");
    assert_string_equal(printed(f), "false\tinterrupted\n");
}

static void no_pcall_swallows_the_second(void **state)
{
    struct script_fixture *f = *state;
    static const char *const chunks[] = {
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, print) end",
        "while true do coroutine.resume(coroutine.create(function() while "
        "true do end end)) end",
        "while true do pcall(coroutine.wrap(function() while true do pcall("
        "function() while true do end end) end end)) end",
        "local function f() while true do pcall(f) end end f()",
        "setmetatable({}, { __close = nil }) repeat local t <close> = "
        "setmetatable({}, { __close = function() while true do end end }) "
        "pcall(function() while true do end end) until false",
        NULL};
    for (int i = 0; chunks[i] != NULL; i++) {
        f->interrupt_at = 1;
        f->interrupt_every = 1;
        assert_fails(f, chunks[i], "interrupted");
        f->interrupt_at = 0;
        assert_prints(f, "1 + 1", "2\n");
    }
}

static void two_at_once_are_two(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_more = 1;
    f->interrupt_at = 1;
    assert_fails(f, "pcall(function() while true do end end) print('caught')",
                 "interrupted");
    assert_string_equal(printed(f), "");
    f->interrupt_at = 1;
    assert_fails(f, "SMALL.steps = 1000000 run = qn.train(SMALL) run:wait()",
                 "interrupted");
    must(f, "run:stop{ save = false } run:wait()");
}

static void an_interrupt_reaches_a_coroutine(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    assert_fails(f, "coroutine.wrap(function() while true do end end)()",
                 "interrupted");
    must(f, "co = coroutine.create(function() coroutine.yield() while true do "
            "end end) coroutine.resume(co)");
    f->interrupt_at = 1;
    must(f, "ok, err = coroutine.resume(co) print(ok, err.code)");
    assert_string_equal(printed(f), "false\tinterrupted\n");
}

static void an_interrupt_does_not_outlive_its_chunk(void **state)
{
    struct script_fixture *f = *state;
    must(f, "qn.run('nothing');");
    f->interrupt_at = 1;
    assert_fails(f, "while true do end", "interrupted");
    must(f, "for i = 1, 1000000 do end");
    f->interrupt_at = 1;
    must(f, "pcall(function() while true do end end)");
    f->interrupt_at = 1; /* the first of this chunk */
    must(f, "pcall(function() while true do end end)");
}

static void long_lua_lets_the_host_work(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 3;
    assert_fails(f, "while true do end", "interrupted");
    assert_int_equal(f->n_pumps, 3);
    assert_string_equal(printed(f), "");
}

static void an_interrupt_ends_the_wait_and_not_the_run(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    must(f, "SMALL.steps = 1000000 run = qn.train(SMALL) print(run:wait())");
    assert_string_equal(printed(f), "nil\tinterrupted\tinterrupted\n");
    must(f, "print(run.state)");
    assert_string_equal(printed(f), "running\n");
    must(f, "run:stop{ save = false } run:wait() print(run.state)");
    assert_string_equal(printed(f), "stopped\n");
}

static void a_loop_of_waits_ends_with_the_second_interrupt(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.steps = 1000000 run = qn.train(SMALL)");
    f->interrupt_at = 1;
    f->interrupt_every = 1;
    assert_fails(f, "while true do run:wait() end", "interrupted");
    f->interrupt_at = 0;
    f->interrupt_every = 0;
    must(f, "run:stop{ save = false } run:wait()");
}

static void in_a_script_an_interrupted_wait_is_an_error(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    assert_int_equal(run_text(f, "SMALL.steps = 1000000 "
                                 "run = qn.train(SMALL)\nrun:wait()"),
                     QN_SCRIPT_ERROR);
    assert_int_equal(strncmp(complained(f), "quern: ", 7), 0);
    assert_holds(complained(f), "script.lua:2: interrupted\n");
    assert_null(strstr(complained(f), "traceback"));
    must(f, "run:stop{ save = false } run:wait()");
}

static void with_a_screen_a_script_goes_on_after_its_wait(void **state)
{
    struct script_fixture *f = *state;
    f->interrupt_at = 1;
    assert_int_equal(run_text(f, "SMALL.steps = 1000000 "
                                 "run = qn.train(SMALL) print(run:wait())"),
                     QN_SCRIPT_OK);
    assert_string_equal(printed(f), "nil\tinterrupted\tinterrupted\n");
    assert_int_equal(run_text(f, "io.read()"), QN_SCRIPT_ERROR);
    assert_holds(complained(f), "standard input belongs to the prompt");
    must(f, "qn.view() run:pause() print(run:wait{ timeout = 0 })");
    assert_string_equal(printed(f), "nil\tthe time is up\ttimeout\n");
    must(f, "run:stop{ save = false } run:wait()");
}

static void an_interrupted_question_is_forgotten(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.steps = 1000000 run = qn.train(SMALL)");
    f->interrupt_at = 1;
    must(f, "print(run:evaluate('test'))");
    assert_string_equal(printed(f), "nil\tinterrupted\tinterrupted\n");
    f->interrupt_at = 0;
    must(f, "assert(run:evaluate('test').loss > 0)");
    struct qn_note
        note; /* the first ticket of this lab was the forgotten one */
    assert_true(qn_lab_answer(f->lab, 1, &note));
    assert_int_equal(note.status, QN_ENOTFOUND);
    must(f, "run:stop{ save = false } run:wait()");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_interrupt_ends_an_endless_loop),
        TEST(the_first_interrupt_may_be_caught_for_tidying_up),
        TEST(no_pcall_swallows_the_second),
        TEST(two_at_once_are_two),
        TEST(an_interrupt_reaches_a_coroutine),
        TEST(an_interrupt_does_not_outlive_its_chunk),
        TEST(long_lua_lets_the_host_work),
        TEST(an_interrupt_ends_the_wait_and_not_the_run),
        TEST(a_loop_of_waits_ends_with_the_second_interrupt),
        TEST(in_a_script_an_interrupted_wait_is_an_error),
        cmocka_unit_test_setup_teardown(
            with_a_screen_a_script_goes_on_after_its_wait,
            script_fixture_setup_screen, script_fixture_teardown),
        TEST(an_interrupted_question_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
