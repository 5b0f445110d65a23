/* trouble.c - numbers that fail, disks that are full, people who interrupt. */
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Weights as they are, to be put back; the caller frees them. */
static float *read_weights(struct qn_trainer *t)
{
    struct qn_tensor w = qn_model_weights(t->model);
    float *copy = qn_xcalloc(w.count, sizeof *copy);
    struct qn_err err;
    assert_int_equal(t->be->ops->read(t->be, w, copy, &err), QN_OK);
    return copy;
}

static void write_weights(struct qn_trainer *t, const float *w)
{
    t->be->ops->write(t->be, qn_model_weights(t->model), w);
}

static void spoil_weights(struct qn_trainer *t)
{
    t->be->ops->fill(t->be, qn_model_weights(t->model), NAN);
}

static void a_loss_that_is_not_finite_pauses(void **state)
{
    struct fixture *f = *state;
    static const char *const backends[] = {"ref", "cpu"};
    for (int b = 0; b < 2; b++) {
        f->env.backend = backends[b];
        f->told.n_notes = 0;
        /* An update of this size leaves float. */
        static const char *const settings[] = {
            "optim.kind=sgd", "optim.lr=1e30", "optim.clip_norm=none", NULL};
        struct qn_trainer *t = fixture_create(f, settings);
        fixture_run(t, 20);
        assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
        assert_int_equal(qn_trainer_step_count(t), 2);
        assert_int_equal(fixture_note(f, QN_NOTE_NAN)->step, 2);
        assert_non_null(strstr(fixture_note(f, QN_NOTE_PAUSE)->text, "finite"));
        assert_int_equal(recorded_events(qn_trainer_dir(t), "nan"), 1);
        qn_trainer_free(t);
    }
}

static void a_step_without_update_leaves_weights_and_state(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 5);
    float *good = read_weights(t);
    spoil_weights(t);
    fixture_run(t, 6);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(t->at.updates, 5);
    write_weights(t, good);
    qn_trainer_unpause(t);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    fixture_run(t, 20);
    /* A state carried over from step 6 would spoil all that follow. */
    for (int i = 0; i < f->told.n_steps; i++) {
        assert_int_equal(isfinite(f->told.step[i].loss) != 0, i != 5);
    }
    free(good);
    qn_trainer_free(t);
}

/* The moments, the running statistics among the weights and the carried state
 * after a step that was not finite are the bits that were there before. */
static void a_step_without_update_leaves_every_bit(void **state)
{
    struct fixture *f = *state;
    static const char *const kinds[][5] = {
        {"model.batch_norm=true", "optim.kind=adam", "stop.nan=ignore", NULL},
        {"model.cell=lstm", "optim.kind=sgd", "optim.momentum=0.9",
         "stop.nan=ignore", NULL}};
    static const char *const backends[] = {"ref", "cpu"};
    for (int i = 0; i < 4; i++) {
        f->env.backend = backends[i / 2];
        struct qn_trainer *t = fixture_create(f, kinds[i % 2]);
        struct qn_err err;
        fixture_run(t, 5);
        assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
        float *good = read_weights(t);
        size_t n = qn_model_weights(t->model).count;
        float *bad = qn_xcalloc(n, sizeof *bad);
        memcpy(bad, good, n * sizeof *bad);
        bad[0] = NAN; /* of the embedding: it reaches everything */
        write_weights(t, bad);
        fixture_run(t, 6);
        assert_int_equal(t->at.updates, 5);
        float *after = read_weights(t);
        assert_memory_equal(after, bad, n * sizeof *bad);
        write_weights(t, good);
        assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
        assert_same_arrays(qn_trainer_dir(t), 5, 6);
        free(after);
        free(good);
        free(bad);
        qn_trainer_free(t);
    }
}

static void a_person_may_let_it_stop_or_go_on(void **state)
{
    struct fixture *f = *state;
    static const char *const stop[] = {"stop.nan=stop", NULL};
    struct qn_trainer *t = fixture_create(f, stop);
    fixture_run(t, 5);
    spoil_weights(t);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_STOPPED);
    assert_int_equal(qn_trainer_step_count(t), 6);
    qn_trainer_free(t);

    static const char *const ignore[] = {"stop.nan=ignore", NULL};
    t = fixture_create(f, ignore);
    fixture_run(t, 5);
    spoil_weights(t);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    assert_int_equal(t->at.updates, 5);
    assert_false(qn_trainer_best(t, &(struct qn_best){0}));
    qn_trainer_free(t);
}

static void a_full_disk_pauses_and_loses_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"steps=40", "stats.every=4", NULL};
    char *whole = fixture_finish(fixture_create(f, settings));
    struct qn_trainer *t = fixture_create(f, settings);
    f->told.n_notes = 0;
    rlim_t before = fixture_limit_files(2000);
    fixture_run(t, 40);
    enum qn_trainer_state full = qn_trainer_state(t);
    int64_t step = qn_trainer_step_count(t);
    int pauses = fixture_notes(f, QN_NOTE_PAUSE);
    qn_trainer_unpause(t);
    enum qn_trainer_state still_full = qn_trainer_state(t);
    int pauses_then = fixture_notes(f, QN_NOTE_PAUSE);
    (void)fixture_limit_files(before); /* the tests' own output needs it too */
    assert_int_equal(full, QN_RUN_PAUSED);
    assert_true(step > 1 && step < 40);
    assert_int_equal(pauses, 1);
    assert_int_equal(still_full, QN_RUN_PAUSED);
    assert_int_equal(pauses_then, 2);
    assert_non_null(strstr(fixture_note(f, QN_NOTE_PAUSE)->text, ".jsonl"));
    qn_trainer_unpause(t);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    char *run = fixture_finish(t);
    assert_same_training(run, whole, 40);
    assert_int_equal(recorded_events(run, "pause"), 1);
    assert_int_equal(recorded_events(run, "resume"), 1);
    free(run);
    free(whole);
}

static void a_checkpoint_that_fails_is_made_up_for(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"checkpoint.every=5", NULL};
    char *whole = fixture_finish(fixture_create(f, settings));
    struct qn_trainer *t = fixture_create(f, settings);
    f->told.n_notes = 0;
    rlim_t before = fixture_limit_files(2000); /* the weights take more */
    fixture_run(t, 20);
    enum qn_trainer_state full = qn_trainer_state(t);
    int64_t step = qn_trainer_step_count(t);
    qn_trainer_unpause(t);
    enum qn_trainer_state still_full = qn_trainer_state(t);
    int none = fixture_notes(f, QN_NOTE_CHECKPOINT);
    (void)fixture_limit_files(before);
    assert_int_equal(full, QN_RUN_PAUSED);
    /* It is known when the saver has tried, before the next one at latest. */
    assert_in_range(step, 5, 10);
    assert_int_equal(still_full, QN_RUN_PAUSED);
    assert_int_equal(none, 0);
    qn_trainer_unpause(t);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    assert_true(fixture_noted(f, QN_NOTE_CHECKPOINT, 5));
    char *run = fixture_finish(t);
    assert_same_training(run, whole, 20);
    free(run);
    free(whole);
}

static void the_last_checkpoint_is_tried_again(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"steps=5", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    rlim_t before = fixture_limit_files(2000);
    fixture_run(t, 5);
    enum qn_trainer_state full = qn_trainer_state(t);
    (void)fixture_limit_files(before);
    assert_int_equal(full, QN_RUN_PAUSED);
    qn_trainer_unpause(t);
    char *run = fixture_finish(t);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 1);
    assert_int_equal(fixture_notes(f, QN_NOTE_DONE), 1);
    free(run);
}

static void a_store_that_cannot_be_made_is_named(void **state)
{
    struct fixture *f = *state;
    f->env.store = f->text; /* a file */
    struct qn_spec spec = fixture_spec(f, NULL);
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_create(&f->env, &spec, NULL, &t, &err), QN_EIO);
    assert_non_null(strstr(err.text, "text.txt"));
}

static void a_model_without_enough_memory_makes_no_folder(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {
        "model.layers=64", "model.hidden=8192", "batch=40", NULL};
    struct qn_spec spec = fixture_spec(f, settings);
    struct qn_trainer *t;
    struct qn_err err;
    if (qn_mem_available() > (size_t)100e9) {
        skip(); /* this machine could hold it */
    }
    assert_int_equal(qn_trainer_create(&f->env, &spec, NULL, &t, &err),
                     QN_ENOMEM);
    assert_false(qn_path_exists(f->store));
}

static void a_person_pauses_and_goes_on(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 5);
    qn_trainer_pause(t, "");
    qn_trainer_pause(t, "");
    assert_int_equal(fixture_notes(f, QN_NOTE_PAUSE), 1);
    assert_int_equal(qn_trainer_step(t, &err), QN_ESTATE);
    /* Settings and checkpoints are possible while it waits. */
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.02", &err), QN_OK);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    qn_trainer_unpause(t);
    qn_trainer_unpause(t);
    assert_int_equal(fixture_notes(f, QN_NOTE_RESUME), 1);
    char *run = fixture_finish(t);
    assert_true(f->told.step[5].lr == 0.02);
    free(run);
}

static void a_wrong_setting_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, NULL);
    static const char *const wrong[][2] = {{"optim.lr", "fast"},
                                           {"model.hidden", "3"},
                                           {"sample.prompt", "Zoe"},
                                           {"no.such", "1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(qn_trainer_set(t, wrong[i][0], wrong[i][1], &err),
                         QN_EUSAGE);
    }
    assert_int_equal(fixture_notes(f, QN_NOTE_SET), 0);
    assert_int_equal(recorded_events(qn_trainer_dir(t), "set"), 0);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.5", &err), QN_OK);
    const struct qn_note *n = fixture_note(f, QN_NOTE_SET);
    assert_string_equal(n->key, "optim.lr");
    assert_string_equal(n->text, "0.5");
    qn_trainer_free(t);
}

static enum qn_status lose_device(struct qn_backend *be,
                                  struct qn_step_result *out,
                                  struct qn_err *err)
{
    (void)be;
    (void)out;
    return qn_fail(err, QN_EIO, "the device is gone");
}

static void a_device_that_fails_ends_the_run(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 3);
    const struct qn_backend_ops *good = t->be->ops;
    struct qn_backend_ops bad = *good;
    bad.step_end = lose_device;
    t->be->ops = &bad;
    assert_int_equal(qn_trainer_step(t, &err), QN_EIO);
    t->be->ops = good;
    assert_string_equal(err.text, "the device is gone");
    assert_int_equal(qn_trainer_state(t), QN_RUN_FAILED);
    assert_string_equal(fixture_note(f, QN_NOTE_FAILED)->text,
                        "the device is gone");
    assert_int_equal(recorded_events(qn_trainer_dir(t), "failed"), 1);
    assert_int_equal(qn_trainer_step(t, &err), QN_ESTATE);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_ESTATE);
    qn_trainer_free(t);
}

static bool yes(void *user)
{
    (void)user;
    return true;
}

static void an_interrupt_cuts_evaluations_short(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    static const char *const settings[] = {"eval.every=5", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    qn_trainer_set_interrupt(t, yes, NULL);
    fixture_run(t, 12);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 0);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_ESTOPPED);
    assert_int_equal(qn_trainer_state(t), QN_RUN_ACTIVE);
    qn_trainer_set_interrupt(t, NULL, NULL);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 1);
    qn_trainer_free(t);
}

static void an_interrupt_cuts_samples_short(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, NULL);
    struct qn_measure *m = qn_trainer_measure(t);
    struct qn_text_request long_text = {
        .length = 1000000, .temperature = -1, .seed = -1};
    struct qn_str text = {0};
    struct qn_err err;
    qn_trainer_set_interrupt(t, yes, NULL);
    assert_int_equal(qn_measure_sample(m, &long_text, &text, &err),
                     QN_ESTOPPED);
    assert_int_equal(text.len, 0);
    qn_str_free(&text);
    qn_trainer_free(t);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_loss_that_is_not_finite_pauses),
        CASE(a_step_without_update_leaves_weights_and_state),
        CASE(a_step_without_update_leaves_every_bit),
        CASE(a_person_may_let_it_stop_or_go_on),
        CASE(a_full_disk_pauses_and_loses_nothing),
        CASE(a_checkpoint_that_fails_is_made_up_for),
        CASE(the_last_checkpoint_is_tried_again),
        CASE(a_store_that_cannot_be_made_is_named),
        CASE(a_model_without_enough_memory_makes_no_folder),
        CASE(a_person_pauses_and_goes_on),
        CASE(a_wrong_setting_changes_nothing),
        CASE(a_device_that_fails_ends_the_run),
        CASE(an_interrupt_cuts_evaluations_short),
        CASE(an_interrupt_cuts_samples_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
