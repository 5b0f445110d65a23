/* counting.c - statistics of a whole split, asked of live and ended runs. */
#include "lab_fixture.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Of the test split of the fixture's text: 71 predictions. */
#define POSITIONS 71

static const char *const endless[] = {"steps=1000000", "checkpoint.every=5",
                                      NULL};

static qn_ticket ask(struct lab_fixture *f, qn_run_id id,
                     const char *checkpoint)
{
    const struct qn_lab_measurement what = {.split = QN_TEST,
                                            .checkpoint = checkpoint,
                                            .of = 1u << QN_CELL,
                                            .near = 0.25};
    qn_ticket ticket = 0;
    assert_ok(qn_lab_measure(f->lab, id, &what, &ticket, &err));
    return ticket;
}

static struct qn_stats_record *wait_counts(struct lab_fixture *f,
                                           qn_ticket ticket)
{
    struct qn_note note;
    struct qn_stats_record *counts = NULL;
    (void)qn_lab_poll(f->lab);
    while (!qn_lab_counts(f->lab, ticket, &note, &counts)) {
        wait_news(f);
    }
    if (note.status != QN_OK) {
        fail_msg("%s", note.text);
    }
    assert_non_null(counts);
    return counts;
}

static void assert_whole(struct lab_fixture *f, qn_run_id id,
                         const struct qn_stats_record *counts)
{
    const struct qn_spec *spec = view(f, id).spec;
    assert_int_equal(counts->of, 1u << QN_CELL);
    assert_int_equal(counts->n_layers, spec->model.layers);
    for (int i = 0; i < counts->n_layers; i++) {
        struct qn_shares s = qn_hist_shares(&counts->layer[i][QN_CELL]);
        assert_int_equal(s.count, POSITIONS * spec->model.hidden);
        assert_true(counts->layer[i][QN_CELL].threshold == 0.25f);
    }
}

static void a_live_run_counts_a_whole_split(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    wait_step(f, id, 3);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_PAUSED);
    struct qn_stats_record *counts = wait_counts(f, ask(f, id, ""));
    assert_whole(f, id, counts);
    assert_int_equal(counts->step, view(f, id).step);
    free(counts);
}

static void an_ended_run_counts_with_the_weights_of_its_folder(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=6", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_stats_record *best = wait_counts(f, ask(f, id, ""));
    struct qn_stats_record *last = wait_counts(f, ask(f, id, "last"));
    assert_whole(f, id, best);
    assert_whole(f, id, last);
    assert_int_equal(best->step, view(f, id).best_step);
    assert_int_equal(last->step, 6);
    free(best);
    free(last);
}

/* It is written beside training, and may be on its way when the run pauses. */
static void wait_checkpoint(struct lab_fixture *f, qn_run_id id)
{
    char *last = qn_path_join(view(f, id).dir, "last");
    while (!qn_path_exists(last)) {
        wait_news(f);
    }
    free(last);
}

static void a_checkpoint_is_asked_while_the_run_trains(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_note note;
    struct qn_stats_record *counts = NULL;
    qn_run_id id = start_run(f, endless, false);
    wait_step(f, id, 6);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_PAUSED);
    wait_checkpoint(f, id);
    counts = wait_counts(f, ask(f, id, "last"));
    assert_int_equal(counts->step % 5, 0);
    assert_true(counts->step > 0);
    free(counts);
    qn_ticket ticket = ask(f, id, "4");
    while (!qn_lab_counts(f->lab, ticket, &note, &counts)) {
        wait_news(f);
    }
    assert_int_equal(note.status, QN_ENOTFOUND);
    assert_null(counts);
}

static void counts_that_nobody_takes_are_freed(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    qn_lab_forget(f->lab, ask(f, id, ""));
    assert_int_equal(wait_answer(f, ask(f, id, "")).status, QN_OK);
    (void)ask(f, id, ""); /* left in the worker or in the table */
}

static void a_checkpoint_of_a_silly_name_is_refused(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_ticket ticket = 0;
    qn_run_id id = start_run(f, endless, true);
    const struct qn_lab_measurement what = {
        .checkpoint = "a name that is longer than any checkpoint's",
        .of = 1u << QN_CELL,
        .near = 0.1};
    assert_int_equal(qn_lab_measure(f->lab, id, &what, &ticket, &err),
                     QN_EUSAGE);
    assert_int_equal(ticket, 0);
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(a_live_run_counts_a_whole_split),
        WITH_LAB(an_ended_run_counts_with_the_weights_of_its_folder),
        WITH_LAB(a_checkpoint_is_asked_while_the_run_trains),
        WITH_LAB(counts_that_nobody_takes_are_freed),
        WITH_LAB(a_checkpoint_of_a_silly_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
