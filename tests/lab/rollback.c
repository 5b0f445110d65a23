/* rollback.c - steps that are replaced leave the tables: curves end where the
 * run goes on, whatever order its records arrive in. */
#include "lab_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "lab/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void take_step(struct lab_run *run, int segment, int64_t step)
{
    struct qn_step_record r = {.segment = segment,
                               .step = step,
                               .loss = (double)(100 * segment + step),
                               .accuracy = (double)NAN,
                               .lr = 1.0 / segment};
    if (segment > run->newest.segment) {
        qn_lab_begin_segment(run, segment, step);
    }
    qn_lab_intake_step(run, &r);
}

static void take_eval(struct lab_run *run, int64_t step, double loss)
{
    struct qn_evaluation e = {
        .split = QN_VALID, .loss = loss, .accuracy = (double)NAN};
    qn_lab_intake_eval(run, step, &e);
}

/* A run at step 13, evaluated at 5, 10 and 13, the best of them the last. */
static struct lab_run *run_at_13(struct lab_fixture *f)
{
    struct qn_spec spec = fixture_spec(f->base, NULL);
    struct lab_run *run = qn_lab_add_run(f->lab, "/nowhere/run", &spec);
    run->steps_per_epoch = 40;
    for (int64_t step = 1; step <= 13; step++) {
        take_step(run, 1, step);
    }
    take_eval(run, 5, 3);
    take_eval(run, 10, 4);
    take_eval(run, 13, 2);
    assert_int_equal(run->best_step, 13);
    run->stats = qn_xcalloc(1, sizeof *run->stats);
    run->stats->segment = 1;
    run->stats->step = 12;
    return run;
}

static const struct qn_note back_to_10 = {
    .kind = QN_NOTE_ROLLBACK, .step = 10, .from = 13, .segment = 2};

static void assert_evals_to_10(const struct lab_run *run)
{
    const struct qn_series *valid = run->series[LAB_VALID_LOSS];
    assert_int_equal(qn_series_len(valid), 2);
    assert_true(qn_series_at(valid, 1).step == 10);
    assert_int_equal(run->best_step, 5);
    assert_true(run->best_loss == 3);
}

static void the_note_first(void **state)
{
    struct lab_run *run = run_at_13(*state);
    qn_lab_take_rollback(run, &back_to_10);
    assert_evals_to_10(run);
    assert_int_equal(qn_series_len(run->series[LAB_TRAIN_LOSS]), 10);
    assert_int_equal(qn_series_len(run->series[LAB_LR]), 10);
    assert_int_equal(run->newest.step, 10);
    assert_true(run->newest.loss == 110 && run->newest.epoch == 0.25);
    assert_null(run->stats);
    take_step(run, 2, 11);
    assert_int_equal(qn_series_len(run->series[LAB_TRAIN_LOSS]), 11);
    assert_true(qn_series_at(run->series[LAB_TRAIN_LOSS], 10).value == 211);
    assert_true(run->newest.loss == 211);
}

/* Its steps must not go when the note comes, and what was counted of them. */
static void the_steps_first(void **state)
{
    struct lab_run *run = run_at_13(*state);
    take_step(run, 2, 11);
    assert_int_equal(qn_series_len(run->series[LAB_TRAIN_LOSS]), 11);
    assert_null(run->stats);
    take_step(run, 2, 12);
    run->stats = qn_xcalloc(1, sizeof *run->stats);
    run->stats->segment = 2;
    run->stats->step = 12;
    qn_lab_take_rollback(run, &back_to_10);
    assert_evals_to_10(run);
    assert_int_equal(qn_series_len(run->series[LAB_TRAIN_LOSS]), 12);
    assert_int_equal(run->newest.step, 12);
    assert_non_null(run->stats);
}

static void write_metrics(struct lab_run *run)
{
    struct qn_str s = {0};
    struct qn_err err;
    for (int step = 1; step <= 13; step++) {
        qn_str_addf(&s, "{\"event\":\"step\",\"step\":%d,\"loss\":%d}\n", step,
                    100 + step);
    }
    qn_str_add(&s, "{\"segment\":2,\"from\":10}\n");
    for (int step = 11; step <= 15; step++) {
        qn_str_addf(&s, "{\"event\":\"step\",\"step\":%d,\"loss\":%d}\n", step,
                    200 + step);
    }
    char *path = qn_path_join(run->dir, "metrics.jsonl");
    assert_int_equal(qn_file_write(path, s.text, s.len, &err), QN_OK);
    free(path);
    qn_str_free(&s);
}

/* When nobody polls for long the ring drops the first steps of a segment: those
 * that they replace must not stay. */
static void the_first_steps_never(void **state)
{
    struct lab_fixture *f = *state;
    struct lab_run *run = run_at_13(f);
    free(run->dir);
    run->dir = qn_xstrdup(f->base->folder);
    run->folder = qn_path_base(run->dir);
    write_metrics(run);
    take_step(run, 2, 13);
    qn_lab_take_rollback(run, &back_to_10);
    const struct qn_series *loss = run->series[LAB_TRAIN_LOSS];
    assert_int_equal(qn_series_len(loss), 15);
    for (size_t i = 10; i < 15; i++) {
        assert_true(qn_series_at(loss, i).step == (double)i + 1);
        assert_true(qn_series_at(loss, i).value == (double)i + 201);
    }
    assert_int_equal(run->newest.step, 15);
}

static struct qn_stats_record *stats_of(int segment, int64_t step)
{
    struct qn_stats_record *stats = qn_xcalloc(1, sizeof *stats);
    stats->segment = segment;
    stats->step = step;
    return stats;
}

/* What was counted of a step that is replaced may come after the note. */
static void statistics_of_replaced_steps_are_not_taken(void **state)
{
    struct lab_run *run = run_at_13(*state);
    struct qn_stats_record *replaced = stats_of(1, 12), *good = stats_of(1, 10);
    qn_lab_take_rollback(run, &back_to_10);
    qn_lab_intake_stats(run, replaced);
    assert_null(run->stats);
    qn_lab_intake_stats(run, good);
    assert_int_equal(run->stats->step, 10);
    free(replaced);
    free(good);
}

static void what_is_not_replaced_stays(void **state)
{
    struct lab_run *run = run_at_13(*state);
    struct qn_note back_to_13 = back_to_10;
    back_to_13.step = 13;
    qn_lab_take_rollback(run, &back_to_13);
    assert_int_equal(run->best_step, 13);
    assert_int_equal(qn_series_len(run->series[LAB_TRAIN_LOSS]), 13);
    assert_int_equal(qn_series_len(run->series[LAB_VALID_LOSS]), 3);
    assert_int_equal(run->newest.step, 13);
    assert_non_null(run->stats);
}

static void without_an_evaluation_left_there_is_no_best(void **state)
{
    struct lab_run *run = run_at_13(*state);
    struct qn_note back_to_0 = back_to_10;
    back_to_0.step = 0;
    qn_lab_take_rollback(run, &back_to_0);
    assert_false(run->has_best);
    assert_true(isnan(run->best_loss));
    assert_int_equal(run->newest.step, 0);
    assert_true(isnan(run->newest.loss));
}

/* Goes back several times by itself, as tests/train/rollback.c shows. */
static const char *const wild[] = {"stop.nan=rollback", "stop.spike=1.1",
                                   "optim.kind=sgd",    "optim.lr=24",
                                   "optim.clip_norm=5", "checkpoint.every=3",
                                   "eval.every=1",      "stats.every=1",
                                   "steps=40",          NULL};

/* What the live run shows at its end is what its folder says. */
static void a_live_run_shows_what_its_folder_says(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, wild, false);
    wait_state(f, id, QN_LAB_DONE);
    char *log = take_log(f);
    assert_non_null(strstr(log, "at half the learning rate"));
    assert_non_null(strstr(log, "times the usual"));
    free(log);
    struct qn_train_env env = f->base->env;
    struct qn_lab *other = NULL;
    qn_run_id again;
    env.log = NULL;
    assert_ok(qn_lab_new(&env, &other, &err));
    assert_ok(qn_lab_open_stored(other, view(f, id).run, &again, &err));
    for (const char *const *m = qn_lab_metric_names(); *m != NULL; m++) {
        assert_same_series(qn_lab_series(f->lab, id, *m),
                           qn_lab_series(other, again, *m));
    }
    struct qn_lab_run stored;
    assert_true(qn_lab_run(other, again, &stored));
    assert_int_equal(qn_series_len(qn_lab_series(f->lab, id, "train.loss")),
                     40);
    assert_int_equal(view(f, id).best_step, stored.best_step);
    assert_true(view(f, id).spec->optim.lr == stored.spec->optim.lr);
    assert_int_equal(qn_lab_stats(f->lab, id)->step, 40);
    qn_lab_free(other, false);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_note_first),
        CASE(the_steps_first),
        CASE(the_first_steps_never),
        CASE(statistics_of_replaced_steps_are_not_taken),
        CASE(what_is_not_replaced_stays),
        CASE(without_an_evaluation_left_there_is_no_best),
        CASE(a_live_run_shows_what_its_folder_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
