/* spike.c - steps whose loss is far above the usual one are not applied. */
#include "fixture.h"

#include "base/mem.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* All weights times 'factor'. */
static void scale_weights(struct qn_trainer *t, double factor)
{
    struct qn_tensor w = qn_model_weights(t->model);
    t->be->ops->combine(t->be, w, w, 0.0, factor);
}

/* The definition, over the losses as they were told. */
static double usual_of(const struct fixture *f, int n)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < n; i++) {
        sum = 0.99 * sum + 0.01 * f->told.step[i].loss;
        weights = 0.99 * weights + 0.01;
    }
    return sum / weights;
}

static void a_spike_is_told_and_not_applied(void **state)
{
    struct fixture *f = *state;
    static const char *const backends[] = {"ref", "cpu"};
    static const char *const settings[] = {"stop.spike=1.5", "steps=40",
                                           "model.batch_norm=true",
                                           "stop.nan=ignore", NULL};
    for (int b = 0; b < 2; b++) {
        f->env.backend = backends[b];
        f->told.n_steps = f->told.n_notes = 0;
        struct qn_trainer *t = fixture_create(f, settings);
        struct qn_err err;
        fixture_run(t, 25);
        double usual = usual_of(f, 25);
        scale_weights(t, 30);
        assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
        fixture_run(t, 26);
        assert_int_equal(t->at.updates, 25);
        assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
        /* Weights and running statistics, moments and carried state. */
        assert_same_arrays(qn_trainer_dir(t), 25, 26);
        const struct qn_note *note = fixture_note(f, QN_NOTE_SPIKE);
        assert_int_equal(note->step, 26);
        assert_true(note->loss == f->told.step[25].loss);
        assert_true(note->loss > 1.5 * usual);
        assert_int_equal(fixture_notes(f, QN_NOTE_NAN), 0);
        json_t *line = recorded_event(qn_trainer_dir(t), "spike");
        assert_true(recorded_number(line, "step") == 26);
        assert_true(recorded_number(line, "loss") == note->loss);
        assert_true(fabs(recorded_number(line, "usual") - usual) < 1e-12);
        assert_string_equal(json_string_value(json_object_get(line, "text")),
                            note->text);
        assert_non_null(strstr(note->text, "times the usual"));
        json_decref(line);
        scale_weights(t, 1.0 / 30);
        fixture_run(t, 30);
        assert_int_equal(t->at.updates, 29);
        qn_trainer_free(t);
    }
}

/* There is nothing before it that could be usual. */
static void the_first_step_is_no_spike(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.spike=1.01", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    assert_true(qn_trainer_most_loss(t) == 0);
    scale_weights(t, 30);
    fixture_run(t, 1);
    assert_int_equal(t->at.updates, 1);
    assert_int_equal(fixture_notes(f, QN_NOTE_SPIKE), 0);
    qn_trainer_free(t);
}

static void the_first_loss_is_usual_to_the_second_step(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.spike=1.5", "stop.nan=ignore",
                                           NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 1);
    double most = 1.5 * f->told.step[0].loss;
    assert_true(fabs(qn_trainer_most_loss(t) - most) < 1e-12);
    scale_weights(t, 30);
    fixture_run(t, 2);
    assert_true(f->told.step[1].loss > most);
    assert_int_equal(t->at.updates, 1);
    assert_true(fixture_noted(f, QN_NOTE_SPIKE, 2));
    assert_true(fabs(qn_trainer_most_loss(t) - most) < 1e-12);
    qn_trainer_free(t);
}

/* An explosion that is applied would be what is usual from then on. */
static void a_run_that_explodes_at_once_recovers(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {
        "optim.kind=sgd", "optim.lr=50",       "optim.clip_norm=none",
        "stop.spike=3",   "stop.nan=rollback", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    int back = fixture_notes(f, QN_NOTE_ROLLBACK);
    assert_in_range(back, 1, 8);
    double first = f->told.step[0].loss;
    double last = f->told.step[f->told.n_steps - 1].loss;
    assert_true(last < first);
    qn_trainer_free(t);
}

/* A batch may be padding alone. */
static void a_step_without_predictions_leaves_the_usual_loss(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.spike=1.5", NULL};
    static const struct qn_step_result empty = {.finite = true};
    struct qn_trainer *t = fixture_create(f, settings);
    qn_trainer_count_update(t, &empty);
    assert_true(qn_trainer_most_loss(t) == 0);
    fixture_run(t, 2);
    double most = qn_trainer_most_loss(t);
    qn_trainer_count_update(t, &empty);
    assert_true(fabs(qn_trainer_most_loss(t) - most) < 1e-12);
    qn_trainer_free(t);
}

/* As in a fork with another optimiser, which counts its updates anew, and in a
 * state that an older program saved. */
static void what_is_usual_begins_anew_with_the_updates(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.spike=1.5", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 5);
    t->at.updates = 0;
    fixture_run(t, 6);
    assert_true(fabs(t->at.usual_loss / (1 - 0.99) - f->told.step[5].loss) <
                1e-12);
    t->at.updates = 500;
    t->at.usual_loss = (double)NAN;
    assert_true(qn_trainer_most_loss(t) == 0);
    fixture_run(t, 7);
    assert_true(fabs(qn_trainer_most_loss(t) - 1.5 * f->told.step[6].loss) <
                1e-12);
    qn_trainer_free(t);
}

static void a_spike_pauses_as_what_is_not_finite_does(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {"stop.spike=1.5", "steps=40", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 25);
    scale_weights(t, 30);
    fixture_run(t, 40);
    assert_int_equal(qn_trainer_state(t), QN_RUN_PAUSED);
    assert_int_equal(qn_trainer_step_count(t), 26);
    assert_string_equal(fixture_note(f, QN_NOTE_PAUSE)->text,
                        fixture_note(f, QN_NOTE_SPIKE)->text);
    qn_trainer_free(t);
}

/* Which steps are spikes depends on the steps before a resume, too. */
static void spikes_are_the_same_after_a_resume(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = {
        "stop.spike=1.01",    "steps=60",     "stop.nan=ignore",
        "checkpoint.every=7", "optim.lr=0.2", NULL};
    char *whole = fixture_finish(fixture_create(f, settings));
    assert_true(recorded_events(whole, "spike") > 3);
    struct qn_trainer *t = fixture_create(f, settings);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    for (int64_t step = 10; step < 60; step += 10) {
        fixture_run(t, step);
        fixture_settle(t);
        qn_trainer_free(t);
        t = fixture_resume(f, run, NULL, 0);
    }
    free(fixture_finish(t));
    assert_same_training(run, whole, 60);
    assert_int_equal(recorded_events(run, "spike"),
                     recorded_events(whole, "spike"));
    free(run);
    free(whole);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_spike_is_told_and_not_applied),
        CASE(the_first_step_is_no_spike),
        CASE(the_first_loss_is_usual_to_the_second_step),
        CASE(a_run_that_explodes_at_once_recovers),
        CASE(a_step_without_predictions_leaves_the_usual_loss),
        CASE(what_is_usual_begins_anew_with_the_updates),
        CASE(a_spike_pauses_as_what_is_not_finite_does),
        CASE(spikes_are_the_same_after_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
