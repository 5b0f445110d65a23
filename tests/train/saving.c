/* saving.c - checkpoints on their way: training goes on, and nothing of them is
 * lost, whether the disk is slow or full. */
#include "between.h"
#include "fixture.h"

#include "base/mem.h"
#include "base/thread.h"
#include "model/checkpoint.h"
#include "train/trainer_self.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int setup(void **state)
{
    between_reset();
    return fixture_setup(state);
}

/* --- beside training ---------------------------------------------------- */

/* One checkpoint in the middle and one at the end. */
static const char *const settings[] = {"checkpoint.every=5 steps", "steps=9",
                                       "optim.kind=adam", NULL};

static int64_t step_named(const char *run, const char *which)
{
    char *folder;
    int64_t step;
    struct qn_err err;
    if (qn_run_dir_find_checkpoint(run, which, &folder, &step, &err) != QN_OK) {
        return -1;
    }
    free(folder);
    return step;
}

static void training_goes_on_while_a_checkpoint_is_written(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    between.syncs = 0;
    between_gate(true);
    fixture_run(t, 8);
    int64_t step = qn_trainer_step_count(t);
    int told = fixture_notes(f, QN_NOTE_CHECKPOINT);
    int64_t last = step_named(qn_trainer_dir(t), "last");
    int syncs = between.syncs;
    between_gate(false);
    assert_int_equal(step, 8);
    assert_int_equal(told, 0);
    assert_int_equal(last, -1);
    assert_int_equal(syncs, 0);
    fixture_settle(t);
    assert_int_equal(step_named(qn_trainer_dir(t), "last"), 5);
    const struct qn_note *n = fixture_note(f, QN_NOTE_CHECKPOINT);
    assert_int_equal(n->step, 5);
    assert_true(n->epoch == 5.0 / 40);
    assert_non_null(strstr(n->text, "/checkpoints/5"));
    char *run = fixture_finish(t);
    assert_int_equal(between.syncs, 0);
    assert_int_equal(recorded_events(run, "checkpoint"), 2);
    free(run);
}

/* Both files of this moment, written by the trainer's thread itself. */
static char *write_here(struct fixture *f, struct qn_trainer *t)
{
    struct qn_err err;
    char *run = qn_path_join(f->folder, "here");
    char *folder = qn_path_join(run, "checkpoints/5");
    char *model = qn_path_join(folder, "model.safetensors");
    char *moments = qn_path_join(folder, "state.safetensors");
    assert_int_equal(qn_make_dirs(folder, &err), QN_OK);
    assert_int_equal(qn_checkpoint_save(t->model, model, &err), QN_OK);
    assert_int_equal(qn_state_save(moments, &t->at, &t->optim, t->pass, &err),
                     QN_OK);
    free(moments);
    free(model);
    free(folder);
    return run;
}

static void a_checkpoint_holds_the_moment_at_which_it_was_taken(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    between_gate(true);
    fixture_run(t, 5);
    char *here = write_here(f, t);
    fixture_run(t, 8);
    between_gate(false);
    fixture_settle(t);
    assert_same_file(qn_trainer_dir(t), here, 5, "model.safetensors");
    assert_same_file(qn_trainer_dir(t), here, 5, "state.safetensors");
    qn_trainer_free(t);
    free(here);
}

static void one_is_on_its_way_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_saving what = {.at = t->at, .keep = {1, 1}};
    struct qn_saved saved;
    struct qn_err err;
    assert_false(qn_saver_wait(t->saver, &saved));
    between_gate(true);
    fixture_run(t, 5);
    assert_false(qn_saver_poll(t->saver, &saved));
    enum qn_status second = qn_saver_begin(t->saver, &what, &err);
    between_gate(false);
    assert_int_equal(second, QN_ESTATE);
    assert_non_null(strstr(err.text, "step 5 is not written yet"));
    assert_true(qn_saver_wait(t->saver, &saved));
    assert_int_equal(saved.step, 5);
    assert_int_equal(saved.status, QN_OK);
    assert_false(saved.is_best);
    free(saved.folder);
    assert_false(qn_saver_poll(t->saver, &saved));
    qn_trainer_free(t);
}

static void a_copy_takes_no_memory_while_training(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    f->env.backend = "cpu"; /* ref sums in arrays of its own */
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 6);
    fixture_settle(t);
    between_gate(true); /* so that only this thread does anything */
    uint64_t before = qn_mem_count();
    enum qn_status status = qn_trainer_begin_save(t, &err);
    uint64_t after = qn_mem_count();
    between_gate(false);
    assert_int_equal(status, QN_OK);
    assert_int_equal(after - before, 0);
    qn_trainer_free(t);
}

static void *free_trainer(void *trainer)
{
    qn_trainer_free(trainer);
    return NULL;
}

/* A run that ends without saving still has what was on its way. */
static void freeing_a_trainer_finishes_what_is_on_its_way(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    pthread_t thread;
    between_gate(true);
    fixture_run(t, 7);
    assert_int_equal(qn_thread_start(&thread, "free", free_trainer, t, NULL),
                     QN_OK);
    between_gate(false);
    qn_thread_join(thread);
    assert_int_equal(step_named(run, "last"), 5);
    assert_int_equal(fixture_note(f, QN_NOTE_CHECKPOINT)->step, 5);
    assert_int_equal(recorded_events(run, "checkpoint"), 1);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 5);
    qn_trainer_free(t);
    free(run);
}

static void a_pause_tells_what_was_on_its_way(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 5);
    qn_trainer_pause(t, "");
    assert_int_equal(fixture_note(f, QN_NOTE_CHECKPOINT)->step, 5);
    qn_trainer_free(t);
}

/* --- a full disk -------------------------------------------------------- */

/* Evaluated once, at 5, where it is the best so far. */
static const char *const one_best[] = {"eval.every=5", "steps=9",
                                       "stop.restore=none", NULL};

static void a_best_is_not_lost_to_a_full_disk(void **state)
{
    struct fixture *f = *state;
    char *whole = fixture_finish(fixture_create(f, one_best));
    struct qn_trainer *t = fixture_create(f, one_best);
    f->told.n_notes = 0;
    between_gate(true);
    fixture_run(t, 5);
    between.full = true;
    between_gate(false);
    while (between.refused == 0) {
        (void)poll(NULL, 0, 1); /* the saver comes to it */
    }
    fixture_run(t, 9); /* paused on the way by the first line or the saver */
    bool waits = qn_trainer_waits_for_disk(t);
    bool too_early = qn_trainer_try_disk(t) || qn_trainer_try_disk(t);
    int pauses = fixture_notes(f, QN_NOTE_PAUSE);
    between.full = false;
    assert_true(waits);
    assert_false(too_early);
    assert_int_equal(pauses, 1);
    assert_non_null(strstr(qn_trainer_disk_trouble(t), "No space left"));
    assert_true(qn_trainer_try_disk(t));
    assert_false(qn_trainer_waits_for_disk(t));
    assert_int_equal(step_named(qn_trainer_dir(t), "best"), 5);
    assert_same_file(qn_trainer_dir(t), whole, 5, "model.safetensors");
    assert_same_file(qn_trainer_dir(t), whole, 5, "state.safetensors");
    char *run = fixture_finish(t);
    assert_same_training(run, whole, 9);
    assert_int_equal(fixture_notes(f, QN_NOTE_RESUME), 1);
    free(run);
    free(whole);
}

/* The disk is full from the commit of the last checkpoint on. */
static void fill_after_checkpoint(void *user, const struct qn_note *n)
{
    struct fixture *f = user;
    between.full = between.full || n->kind == QN_NOTE_CHECKPOINT;
    f->sink.note(&f->told, n);
}

static void a_run_is_not_done_before_its_last_line_is_written(void **state)
{
    struct fixture *f = *state;
    static const char *const once[] = {"steps=4", NULL};
    struct qn_spec spec = fixture_spec(f, once);
    struct qn_sink sink = {.user = f, .note = fill_after_checkpoint};
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_create(&f->env, &spec, &sink, &t, &err), QN_OK);
    fixture_run(t, 4);
    enum qn_trainer_state full = qn_trainer_state(t);
    bool waits = qn_trainer_waits_for_disk(t);
    between.full = false;
    assert_int_equal(full, QN_RUN_PAUSED);
    assert_true(waits);
    assert_true(qn_trainer_try_disk(t));
    char *run = fixture_finish(t);
    assert_int_equal(recorded_events(run, "done"), 1);
    assert_int_equal(fixture_notes(f, QN_NOTE_CHECKPOINT), 1);
    free(run);
}

static void a_person_who_pauses_keeps_it_paused_when_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 2);
    between.full = true;
    fixture_run(t, 3);
    qn_trainer_pause(t, "");
    qn_trainer_pause(t, "");
    between.full = false;
    assert_int_equal(fixture_notes(f, QN_NOTE_PAUSE), 2);
    assert_false(qn_trainer_try_disk(t));
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_false(qn_trainer_waits_for_disk(t));
    qn_trainer_unpause(t);
    char *run = fixture_finish(t);
    assert_int_equal(recorded_events(run, "pause"), 2);
    assert_int_equal(recorded_events(run, "resume"), 1);
    free(run);
}

/* A checkpoint that a person wanted of a run that waits for them. */
static void a_paused_run_writes_what_it_owes_and_stays_paused(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    fixture_run(t, 3);
    qn_trainer_pause(t, "");
    between.full = true;
    enum qn_status status = qn_trainer_checkpoint(t, &err);
    bool waits = qn_trainer_waits_for_disk(t);
    between.full = false;
    assert_int_equal(status, QN_EIO);
    assert_true(waits);
    assert_false(qn_trainer_try_disk(t));
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(fixture_note(f, QN_NOTE_CHECKPOINT)->step, 3);
    qn_trainer_free(t);
}

/* Room alone does not let a run train on that a number was to end. */
static void what_is_not_finite_still_counts_when_there_is_room(void **state)
{
    struct fixture *f = *state;
    static const char *const stop[] = {"stop.nan=stop", NULL};
    struct qn_trainer *t = fixture_create(f, stop);
    fixture_run(t, 3);
    t->be->ops->fill(t->be, qn_model_weights(t->model), NAN);
    between.full = true;
    fixture_run(t, 4);
    bool waits = qn_trainer_waits_for_disk(t);
    between.full = false;
    assert_true(waits);
    assert_false(qn_trainer_try_disk(t));
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_non_null(strstr(fixture_note(f, QN_NOTE_PAUSE)->text, "finite"));
    qn_trainer_free(t);
}

static void a_stop_on_a_full_disk_fails_with_a_sentence(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    fixture_run(t, 3);
    between.full = true;
    enum qn_status status = qn_trainer_stop(t, true, &err);
    int evals = fixture_notes(f, QN_NOTE_EVAL);
    between.full = false;
    assert_int_equal(status, QN_EIO);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(evals, 0);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(step_named(qn_trainer_dir(t), "last"), 3);
    qn_trainer_free(t);
}

/* All is in its checkpoint, but nobody would read that it paused and ended. */
static void so_does_one_whose_last_lines_cannot_be_written(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    fixture_run(t, 3);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    assert_int_equal(qn_trainer_evaluate(t, &err), QN_OK);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    between.full = true;
    qn_trainer_pause(t, "");
    enum qn_status status = qn_trainer_stop(t, true, &err);
    between.full = false;
    assert_int_equal(status, QN_EIO);
    assert_non_null(strstr(err.text, "events.jsonl"));
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(recorded_events(qn_trainer_dir(t), "pause"), 1);
    assert_int_equal(recorded_events(qn_trainer_dir(t), "stop"), 1);
    qn_trainer_free(t);
}

static void lines_that_memory_cannot_hold_are_counted(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    between.full = true;
    for (int i = 0; i < 10003; i++) {
        qn_trainer_tell_set(t, "optim.lr", "0.1");
    }
    fixture_run(t, 2);
    between.full = false;
    assert_true(qn_trainer_try_disk(t));
    /* Three, the step's and the pause. */
    if (strstr(f->lines.text, "5 lines of the run's history are lost") ==
        NULL) {
        fail_msg("%s", f->lines.text);
    }
    qn_trainer_free(t);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(training_goes_on_while_a_checkpoint_is_written),
        CASE(a_checkpoint_holds_the_moment_at_which_it_was_taken),
        CASE(one_is_on_its_way_at_a_time),
        CASE(a_copy_takes_no_memory_while_training),
        CASE(freeing_a_trainer_finishes_what_is_on_its_way),
        CASE(a_pause_tells_what_was_on_its_way),
        CASE(a_best_is_not_lost_to_a_full_disk),
        CASE(a_run_is_not_done_before_its_last_line_is_written),
        CASE(a_person_who_pauses_keeps_it_paused_when_there_is_room),
        CASE(a_paused_run_writes_what_it_owes_and_stays_paused),
        CASE(what_is_not_finite_still_counts_when_there_is_room),
        CASE(a_stop_on_a_full_disk_fails_with_a_sentence),
        CASE(so_does_one_whose_last_lines_cannot_be_written),
        CASE(lines_that_memory_cannot_hold_are_counted),
    };
    between_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
