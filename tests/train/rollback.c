/* rollback.c - the way back to the last good checkpoint after a step that was
 * not applied. */
#include "fixture.h"

#include "base/mem.h"
#include "train/trainer_self.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void spoil_weights(struct qn_trainer *t)
{
    t->be->ops->fill(t->be, qn_model_weights(t->model), NAN);
}

static bool has_checkpoint(const char *run, int64_t step)
{
    char *path = qn_xasprintf("%s/checkpoints/%" PRId64 "/metric", run, step);
    bool there = qn_path_exists(path);
    free(path);
    return there;
}

static char *read_text(const char *run, const char *file)
{
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(qn_run_dir_read(run, file, &bytes, &err), QN_OK);
    return bytes.data;
}

/* A run whose weights are spoilt after step 12, and one that a person took back
 * to step 10 in her place. */
static const char *const rolling[] = {"checkpoint.every=5", "eval.every=5",
                                      "stop.nan=rollback", NULL};

static struct qn_trainer *spoilt_at_12(struct fixture *f)
{
    struct qn_trainer *t = fixture_create(f, rolling);
    fixture_run(t, 12);
    spoil_weights(t);
    return t;
}

static char *taken_back_to_10(struct fixture *f)
{
    struct qn_trainer *t = fixture_create(f, rolling);
    struct qn_err err;
    fixture_run(t, 10);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.005", &err), QN_OK);
    return fixture_finish(t);
}

static void a_rollback_goes_on_from_the_last_good_checkpoint(void **state)
{
    struct fixture *f = *state;
    char *want = taken_back_to_10(f);
    f->told.n_notes = f->told.n_steps = 0;
    struct qn_trainer *t = spoilt_at_12(f);
    double seconds = qn_trainer_seconds(t);
    struct qn_err err;
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_true(qn_trainer_seconds(t) > seconds); /* the time is spent */
    const struct qn_note *note = fixture_note(f, QN_NOTE_ROLLBACK);
    assert_int_equal(note->step, 10);
    assert_int_equal(note->from, 13);
    assert_non_null(strstr(note->text, "not finite"));
    assert_true(qn_trainer_spec(t)->optim.lr == 0.005);
    assert_int_equal(fixture_notes(f, QN_NOTE_PAUSE), 0);
    char *run = fixture_finish(t);
    json_t *line = recorded_event(run, "rollback");
    assert_true(recorded_number(line, "step") == 10);
    assert_true(recorded_number(line, "from") == 13);
    json_decref(line);
    assert_same_training(run, want, 20);
    /* Steps of the new segment say so: 13, then 11 to 20 again. */
    for (int i = 0; i < f->told.n_steps; i++) {
        assert_int_equal(f->told.step[i].segment, i < 13 ? 1 : 2);
    }
    assert_int_equal(f->told.n_steps, 23);
    free(run);
    free(want);
}

/* What is due right after the step that it goes back to is due again. */
static void every_step_is_evaluated_again(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"checkpoint.every=5", "eval.every=1",
                                           "stop.nan=rollback", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    fixture_run(t, 12);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    int64_t back = qn_trainer_step_count(t);
    assert_true(back < 12);
    assert_int_equal(t->at.evals, back);
    f->told.n_notes = 0;
    free(fixture_finish(t));
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 20 - back);
    assert_true(fixture_noted(f, QN_NOTE_EVAL, back + 1));
}

/* The weights that made the step are those of a checkpoint: an older one is
 * good. What was said of the steps that are replaced is gone. */
static void checkpoints_of_spoilt_weights_are_passed_over(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"checkpoint.every=5", "eval.every=5",
                                           "stop.nan=rollback",
                                           "checkpoint.keep.last=3", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    fixture_run(t, 14);
    t->at.best_loss = 100; /* so that 15 becomes the best */
    fixture_run(t, 15);
    assert_int_equal(t->at.best_step, 15);
    fixture_settle(t);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 10);
    const char *run = qn_trainer_dir(t);
    assert_false(has_checkpoint(run, 15));
    assert_true(has_checkpoint(run, 10));
    char *best = read_text(run, "best");
    assert_int_equal(atoi(best), t->at.best_step);
    assert_true(t->at.best_step <= 10);
    free(best);
    char *last = read_text(run, "last");
    assert_int_equal(atoi(last), 10);
    free(last);
    assert_int_equal(recorded_events(run, "nan"), 0);
    free(fixture_finish(t));
}

/* An update of this size leaves float, also at a 256th of it. */
static const char *const absurd[] = {"optim.kind=sgd", "optim.lr=1e30",
                                     "optim.clip_norm=none",
                                     "stop.nan=rollback", NULL};

static void without_a_checkpoint_it_begins_anew(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.nan=rollback",
                                           "optim.kind=adam", NULL};
    static const char *const halved[] = {"optim.lr=0.005", "optim.kind=adam",
                                         "stop.nan=rollback", NULL};
    char *want = fixture_finish(fixture_create(f, halved));
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 7);
    spoil_weights(t);
    struct qn_err err;
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 0);
    assert_int_equal(t->checkpoint_step, -1);
    char *run = fixture_finish(t);
    assert_same_training(run, want, 20);
    free(run);
    free(want);
}

/* Which is where this run began, whoever saved it there. */
static void so_it_does_when_the_checkpoint_of_step_0_is_not_good(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.nan=rollback", NULL};
    static const char *const halved[] = {"stop.nan=rollback", "optim.lr=0.005",
                                         NULL};
    struct qn_err err;
    char *want = fixture_finish(fixture_create(f, halved));
    f->told.n_notes = 0;
    struct qn_trainer *t = fixture_create(f, settings);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 1);
    assert_int_equal(qn_trainer_step_count(t), 0);
    char *run = fixture_finish(t);
    assert_same_training(run, want, 20);
    free(run);
    free(want);
}

static void eight_rollbacks_to_one_step_are_enough(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, absurd);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(qn_trainer_step_count(t), 2);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 8);
    assert_int_equal(recorded_events(qn_trainer_dir(t), "rollback"), 8);
    assert_true(qn_trainer_spec(t)->optim.lr == 1e30 / 256);
    const char *why = fixture_note(f, QN_NOTE_PAUSE)->text;
    assert_non_null(strstr(why, "8 rollbacks to step 0"));
    /* A person may go on all the same, and hears it again. */
    qn_trainer_unpause(t);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 8);
    assert_int_equal(fixture_notes(f, QN_NOTE_PAUSE), 2);
    qn_trainer_free(t);
}

/* The count is on record: a resume does not begin it anew. */
static void rollbacks_are_counted_across_resumes(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, absurd);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    for (int i = 0; i < 8; i++) {
        while (fixture_notes(f, QN_NOTE_ROLLBACK) <= i) {
            assert_int_equal(qn_trainer_step(t, NULL), QN_OK);
        }
        qn_trainer_free(t);
        t = fixture_resume(f, run, NULL, 0);
    }
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 8);
    qn_trainer_free(t);
    free(run);
}

/* What a person did after the step that it goes back to is done again, but for
 * the learning rate, which the rollback has replaced. */
static void later_changes_are_made_again(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, rolling);
    fixture_run(t, 11);
    assert_int_equal(qn_trainer_set(t, "optim.clip_norm", "0.5", &err), QN_OK);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.5", &err), QN_OK);
    fixture_run(t, 12);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_true(qn_trainer_spec(t)->optim.clip_norm == 1);
    fixture_run(t, 12);
    assert_true(qn_trainer_spec(t)->optim.clip_norm == 0.5);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.005);
    free(fixture_finish(t));
}

/* A fork begins elsewhere than at the weights of its seed. */
/* Set after a pause and before the next step, which is not applied either. */
static void what_was_answered_to_a_pause_holds(void **state)
{
    static const char *const pausing[] = {"checkpoint.every=5",
                                          "stop.nan=pause", NULL};
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, pausing);
    fixture_run(t, 12);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(qn_trainer_set(t, "stop.nan", "rollback", &err), QN_OK);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.002", &err), QN_OK);
    qn_trainer_unpause(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.002);
    assert_int_equal(qn_trainer_spec(t)->stop.nan, QN_NAN_ROLLBACK);
    const struct qn_note *note = fixture_note(f, QN_NOTE_ROLLBACK);
    assert_non_null(strstr(note->text, "the learning rate given, 0.002"));

    /* It is no answer to what comes later. */
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.001);
    assert_int_equal(qn_trainer_spec(t)->stop.nan, QN_NAN_ROLLBACK);
    qn_trainer_free(t);
}

/* A change that was itself the trouble goes with the steps after it. */
static void what_led_to_the_trouble_does_not_hold(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, rolling);
    fixture_run(t, 12);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "1e30", &err), QN_OK);
    spoil_weights(t);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.005);
    qn_trainer_free(t);
}

static void a_fork_has_no_step_0_to_go_back_to(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, absurd);
    char *path = qn_path_join(qn_trainer_dir(t), "parent.json");
    static const char text[] =
        "{\"relation\":\"fork\",\"run\":\"r\",\"name\":\"n\",\"step\":0,"
        "\"sha256\":\"ab\"}\n";
    struct qn_err err;
    assert_int_equal(qn_file_write(path, text, strlen(text), &err), QN_OK);
    free(path);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(qn_trainer_step_count(t), 2);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 0);
    assert_non_null(strstr(fixture_note(f, QN_NOTE_PAUSE)->text,
                           "no checkpoint is good to go back to"));
    qn_trainer_free(t);
}

static void a_full_disk_puts_a_rollback_off(void **state)
{
    struct fixture *f = *state;
    char *want = taken_back_to_10(f);
    struct qn_trainer *t = spoilt_at_12(f);
    fixture_settle(t);
    f->told.n_notes = 0;
    rlim_t before = fixture_limit_files(1);
    enum qn_status status = qn_trainer_step(t, NULL);
    bool waits = qn_trainer_waits_for_disk(t);
    bool tried = qn_trainer_try_disk(t);
    enum qn_status saved = qn_trainer_checkpoint(t, NULL);
    int pauses = fixture_notes(f, QN_NOTE_PAUSE);
    (void)fixture_limit_files(before);
    assert_int_equal(status, QN_OK);
    assert_true(waits);
    assert_false(tried);
    assert_int_equal(saved, QN_ESTATE); /* of a step that will not have been */
    assert_int_equal(pauses, 1);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 0);
    assert_true(qn_trainer_try_disk(t));
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 1);
    char *run = fixture_finish(t);
    assert_same_training(run, want, 20);
    free(run);
    free(want);
}

/* What a checkpoint of the step that was not applied would hold is not to be
 * gone on from: the stop goes back first, and says so when it cannot. */
static void a_stop_makes_the_rollback_that_is_owed(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    char *want = taken_back_to_10(f);
    struct qn_trainer *t = spoilt_at_12(f);
    fixture_settle(t);
    rlim_t before = fixture_limit_files(1);
    enum qn_status status = qn_trainer_step(t, NULL);
    enum qn_status full = qn_trainer_stop(t, true, &err);
    enum qn_trainer_state still = qn_trainer_state(t);
    (void)fixture_limit_files(before);
    assert_int_equal(status, QN_OK);
    assert_int_equal(full, QN_EIO);
    assert_int_equal(still, QN_RUN_PAUSED);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(qn_trainer_state(t), QN_RUN_STOPPED);
    assert_int_equal(qn_trainer_step_count(t), 10);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    assert_same_training(run, want, 20);
    free(run);
    free(want);
}

/* Goes back several times by itself, to its beginning and to later steps. */
static const char *const wild[] = {
    "stop.nan=rollback", "stop.spike=1.1",    "optim.kind=sgd",
    "optim.lr=24",       "optim.clip_norm=5", "checkpoint.every=3",
    "eval.every=6",      "steps=40",          NULL};

static void rollbacks_are_the_same_every_time(void **state)
{
    struct fixture *f = *state;
    char *a = fixture_finish(fixture_create(f, wild));
    char *b = fixture_finish(fixture_create(f, wild));
    assert_true(fixture_notes(f, QN_NOTE_ROLLBACK) >= 6);
    assert_same_training(a, b, 40);
    free(a);
    free(b);
}

/* Killed after every so many calls, before and after rollbacks, and resumed: as
 * if nothing had been. */
static void a_run_that_is_killed_rolls_back_all_the_same(void **state)
{
    struct fixture *f = *state;
    char *whole = fixture_finish(fixture_create(f, wild));
    for (int calls = 5; calls <= 13; calls += 4) {
        struct qn_trainer *t = fixture_create(f, wild);
        char *run = qn_xstrdup(qn_trainer_dir(t));
        for (int i = 1; qn_trainer_state(t) == QN_RUN_ACTIVE; i++) {
            assert_int_equal(qn_trainer_step(t, NULL), QN_OK);
            if (i % calls == 0 && qn_trainer_state(t) == QN_RUN_ACTIVE) {
                qn_trainer_free(t);
                t = fixture_resume(f, run, NULL, 0);
            }
        }
        free(fixture_finish(t));
        assert_same_training(run, whole, 40);
        free(run);
    }
    free(whole);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rollback_goes_on_from_the_last_good_checkpoint),
        CASE(every_step_is_evaluated_again),
        CASE(checkpoints_of_spoilt_weights_are_passed_over),
        CASE(without_a_checkpoint_it_begins_anew),
        CASE(so_it_does_when_the_checkpoint_of_step_0_is_not_good),
        CASE(eight_rollbacks_to_one_step_are_enough),
        CASE(rollbacks_are_counted_across_resumes),
        CASE(later_changes_are_made_again),
        CASE(what_was_answered_to_a_pause_holds),
        CASE(what_led_to_the_trouble_does_not_hold),
        CASE(a_fork_has_no_step_0_to_go_back_to),
        CASE(a_full_disk_puts_a_rollback_off),
        CASE(a_stop_makes_the_rollback_that_is_owed),
        CASE(rollbacks_are_the_same_every_time),
        CASE(a_run_that_is_killed_rolls_back_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
