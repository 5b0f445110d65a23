/* runs.c - runs from Lua: made, watched, steered, found again. */
#include "script_fixture.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void must_file(struct script_fixture *f, const char *name)
{
    enum qn_script_result result = run_file(f, name);
    if (result != QN_SCRIPT_OK) {
        fail_msg("%s gave %d: %s", name, (int)result, complained(f));
    }
}

static void a_run_goes_from_table_to_last_number(void **state)
{
    must_file(*state, "lifecycle.lua");
}

static void a_whole_split_is_counted_on_request(void **state)
{
    must_file(*state, "measuring.lua");
}

static void the_papers_table_stands_beside_ours(void **state)
{
    must_file(*state, "paper.lua");
}

static void the_papers_first_table_stands_beside_ours(void **state)
{
    must_file(*state, "sentiment.lua");
}

static void a_classifier_is_made_watched_and_asked(void **state)
{
    must_file(*state, "classifier.lua");
}

static void the_same_script_gives_the_same_losses(void **state)
{
    must_file(*state, "same_twice.lua");
}

static void a_run_takes_commands_while_it_trains(void **state)
{
    must_file(*state, "commands.lua");
}

static void a_run_is_forked(void **state)
{
    must_file(*state, "forks.lua");
}

static void a_stored_run_is_found_again(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.name = 'kept' qn.train(SMALL):wait()");
    /* Another session over the same store. */
    struct qn_train_env env = *qn_lab_env(f->lab);
    struct qn_lab *old = f->lab;
    struct qn_err err;
    env.log = NULL;
    assert_int_equal(qn_lab_new(&env, &f->lab, &err), QN_OK);
    qn_lab_free(old, true);
    struct qn_script *first = f->s;
    struct qn_script_host host = script_fixture_host(f);
    assert_int_equal(qn_script_new(f->lab, &host, NULL, &f->s, &err), QN_OK);
    qn_script_free(first);
    must_file(f, "stored.lua");
}

static void runs_of_a_chunk_wait_for_its_end(void **state)
{
    struct script_fixture *f = *state;
    must(f, "run = qn.train(SMALL) print(run.state) for i = 1, 3000000 do end "
            "print(run.state, run.step)");
    assert_string_equal(printed(f), "held\nheld\t0\n");
    must(f, "print(run.state ~= 'held', run:wait())");
    assert_string_equal(printed(f), "true\ttrue\n");
    must(f, "qn.train(SMALL)");
    assert_holds(printed(f), "running, step 0 of 20");
    must(f, "_:wait()");
}

static void a_failing_chunk_lets_its_runs_begin_too(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "run = qn.train(SMALL) error('after')", "after");
    must(f, "print(run.state ~= 'held') print(run:wait(), run.state)");
    assert_string_equal(printed(f), "true\ntrue\tdone\n");
}

static void set_on_the_command_line_wins_over_the_script(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.seed = 3 run = qn.train(SMALL)");
    assert_prints(f, "run.seed, run.config.model.hidden", "7\t10\n");
    assert_prints(f, "qn.qrnn{}.hidden", "256\n");
    must(f, "run:wait()");
}

static void a_question_that_makes_no_sense_is_a_mistake(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.data.test = 0 run = qn.train(SMALL) run:wait()");
    assert_fails(f, "run:evaluate('test')", "prompt:1: ");
    assert_fails(f, "run:sample{ prompt = 'Z' }", "prompt");
    assert_fails(f, "qn.train{ data = { train = TEXT }, seq = 100000 }",
                 "prompt:1: ");
}

static void a_long_sample_says_that_it_is_cut(void **state)
{
    struct script_fixture *f = *state;
    must(f, "run = qn.train(SMALL) run:wait()");
    must(f, "text = run:sample{ length = 5000 }");
    assert_holds(complained(f), "warning: run:sample: the text is longer");
    assert_prints(f, "#text > 4000 and #text <= 5000", "true\n");
    must(f, "text = run:sample{ length = 1000 }");
    assert_string_equal(complained(f), "");
}

static void handles_are_values_that_may_go_any_time(void **state)
{
    struct script_fixture *f = *state;
    must(f, "for i = 1, 20 do qn.run(1); collectgarbage() end "
            "run = qn.train(SMALL) s = run:metric('train.loss') "
            "again = qn.run(1) print(run == again, run == 1, rawequal(run, "
            "again))");
    assert_string_equal(printed(f), "true\tfalse\tfalse\n");
    must(f, "run = nil collectgarbage() again:wait() print(#s)");
    assert_string_equal(printed(f), "20\n");
    assert_fails(f, "again.wait({})", "quern.run expected");
    assert_fails(f, "s.lst",
                 "a series has no field 'lst' (did you mean "
                 "'last'?)");
    must(f, "print(#qn.runs())");
    assert_string_equal(printed(f), "1\n");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_goes_from_table_to_last_number),
        TEST(a_whole_split_is_counted_on_request),
        TEST(the_papers_table_stands_beside_ours),
        TEST(the_papers_first_table_stands_beside_ours),
        TEST(a_classifier_is_made_watched_and_asked),
        TEST(the_same_script_gives_the_same_losses),
        TEST(a_run_takes_commands_while_it_trains),
        TEST(a_run_is_forked),
        TEST(a_stored_run_is_found_again),
        TEST(runs_of_a_chunk_wait_for_its_end),
        TEST(a_failing_chunk_lets_its_runs_begin_too),
        cmocka_unit_test_setup_teardown(
            set_on_the_command_line_wins_over_the_script,
            script_fixture_setup_set, script_fixture_teardown),
        TEST(a_question_that_makes_no_sense_is_a_mistake),
        TEST(a_long_sample_says_that_it_is_cut),
        TEST(handles_are_values_that_may_go_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
