/* runs.c - the table of runs: from start to end, side by side, held. */
#include "lab_fixture.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_run_goes_from_running_to_done(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(
        f, (const char *[]){"steps=30", "stats.every=10", "name=first", NULL},
        false);
    struct qn_lab_run run = view(f, id);
    assert_int_equal(run.state, QN_LAB_RUNNING);
    assert_int_equal(run.steps_total, 30);
    assert_int_equal(run.steps_per_epoch, 40);
    assert_string_equal(run.name, "first");
    wait_state(f, id, QN_LAB_DONE);
    run = view(f, id);
    assert_int_equal(run.step, 30);
    assert_true(isfinite(run.loss));
    assert_true(run.has_best);
    assert_int_equal(run.best_step, 30);
    assert_true(run.seconds_left == 0);
    assert_true(run.epochs_total == 0.75);
    assert_int_equal(qn_series_len(qn_lab_series(f->lab, id, "train.loss")),
                     30);
    assert_int_equal(qn_series_len(qn_lab_series(f->lab, id, "valid.loss")), 1);
    assert_non_null(qn_lab_stats(f->lab, id));
    assert_int_equal(qn_lab_stats(f->lab, id)->step, 30);
    assert_int_equal(qn_lab_n_active(f->lab), 0);
}

static void unknown_runs_and_metrics_are_no_crash(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_lab_run run;
    qn_run_id id = start_run(f, (const char *[]){"steps=1", NULL}, false);
    assert_false(qn_lab_run(f->lab, 0, &run));
    assert_false(qn_lab_run(f->lab, id + 1, &run));
    assert_null(qn_lab_series(f->lab, id, "loss"));
    assert_null(qn_lab_series(f->lab, 99, "train.loss"));
    assert_null(qn_lab_stats(f->lab, 99));
    for (const char *const *name = qn_lab_metric_names(); *name; name++) {
        assert_non_null(qn_lab_series(f->lab, id, *name));
    }
}

static void two_runs_train_side_by_side_with_their_own_numbers(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id a = start_run(f, (const char *[]){"steps=40", NULL}, true);
    qn_run_id b =
        start_run(f, (const char *[]){"steps=40", "seed=2", NULL}, true);
    qn_run_id c = start_run(f, (const char *[]){"steps=40", NULL}, true);
    assert_int_equal(qn_lab_n_active(f->lab), 3);
    qn_lab_release(f->lab);
    wait_state(f, a, QN_LAB_DONE);
    wait_state(f, b, QN_LAB_DONE);
    wait_state(f, c, QN_LAB_DONE);
    assert_string_not_equal(view(f, a).run, view(f, b).run);
    /* Equal specs train equally, beside whatever else runs. */
    assert_same_series(qn_lab_series(f->lab, a, "train.loss"),
                       qn_lab_series(f->lab, c, "train.loss"));
    assert_true(view(f, a).loss != view(f, b).loss);
}

static void a_mistake_in_the_data_is_an_error_at_once(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_spec spec = fixture_spec(
        f->base, (const char *[]){"data.train=/nowhere/x.txt", NULL});
    struct qn_err err = {""};
    qn_run_id id = -1;
    assert_int_equal(qn_lab_train(f->lab, &spec, false, &id, &err),
                     QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/nowhere/x.txt"));
    assert_int_equal(qn_lab_n_runs(f->lab), 0);
    assert_int_equal(id, -1);
}

static void a_held_run_waits_for_release(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=3", NULL}, true);
    qn_ticket ticket;
    assert_int_equal(view(f, id).state, QN_LAB_HELD);
    /* The answer comes between steps, of which there are none. */
    assert_ok(qn_lab_evaluate(f->lab, id, QN_VALID, &ticket, &err));
    assert_int_equal(wait_answer(f, ticket).step, 0);
    assert_int_equal(view(f, id).state, QN_LAB_HELD);
    assert_int_equal(view(f, id).step, 0);
    assert_true(isinf(view(f, id).seconds_left));
    qn_lab_release(f->lab);
    wait_state(f, id, QN_LAB_DONE);
    assert_int_equal(view(f, id).step, 3);
}

static void a_run_paused_while_held_stays_paused(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=3", NULL}, true);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    qn_lab_release(f->lab);
    wait_state(f, id, QN_LAB_PAUSED);
    assert_int_equal(view(f, id).step, 0);
    assert_ok(qn_lab_unpause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_DONE);
}

static void a_failing_number_pauses_and_says_why(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f,
                             (const char *[]){"steps=1000", "optim.kind=sgd",
                                              "optim.lr=1e30",
                                              "optim.clip_norm=none", NULL},
                             false);
    wait_state(f, id, QN_LAB_PAUSED);
    assert_non_null(strstr(view(f, id).error, "not finite"));
    assert_ok(qn_lab_stop(f->lab, id, false, &err));
    assert_int_equal(view(f, id).state, QN_LAB_STOPPING);
    wait_state(f, id, QN_LAB_STOPPED);
}

static void freeing_the_lab_ends_running_paused_and_held_runs(void **state)
{
    struct lab_fixture *f = *state;
    const char *const settings[] = {"steps=1000000", NULL};
    qn_run_id running = start_run(f, settings, false);
    qn_run_id paused = start_run(f, settings, false);
    (void)start_run(f, settings, true);
    assert_ok(qn_lab_pause(f->lab, paused, &err));
    wait_step(f, running, 2);
    char *dir = qn_xstrdup(view(f, running).dir);
    qn_lab_free(f->lab, true);
    f->lab = NULL;
    int64_t step;
    char *folder = NULL;
    assert_ok(qn_run_dir_find_checkpoint(dir, "best", &folder, &step, &err));
    assert_true(step >= 2);
    free(folder);
    free(dir);
}

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(qn_lab_state_name(QN_LAB_HELD), "held");
    assert_string_equal(qn_lab_state_name(QN_LAB_FAILED), "failed");
    assert_true(qn_lab_state_active(QN_LAB_STOPPING));
    assert_false(qn_lab_state_active(QN_LAB_DONE));
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(a_run_goes_from_running_to_done),
        WITH_LAB(unknown_runs_and_metrics_are_no_crash),
        WITH_LAB(two_runs_train_side_by_side_with_their_own_numbers),
        WITH_LAB(a_mistake_in_the_data_is_an_error_at_once),
        WITH_LAB(a_held_run_waits_for_release),
        WITH_LAB(a_run_paused_while_held_stays_paused),
        WITH_LAB(a_failing_number_pauses_and_says_why),
        WITH_LAB(freeing_the_lab_ends_running_paused_and_held_runs),
        cmocka_unit_test(states_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
