/* classifier.c - classifiers of documents: learnt, recorded, the best kept. */
#include "labelled.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "store/checkpoints.h"
#include "store/store.h"
#include "train/text.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- learning ------------------------------------------------------------ */

static const char *const learnt[] = {"steps=300", "eval.every=1 epoch",
                                     "model.dropout=0", NULL};

static void check_learnt(struct labelled *l, const char *const *settings)
{
    struct fixture *f = l->f;
    f->told.n_notes = f->told.n_steps = 0;
    struct qn_trainer *t = labelled_create(l, settings);
    struct qn_evaluation e;
    struct qn_err err;
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    for (int i = 0; i < f->told.n_steps; i++) {
        double accuracy = f->told.step[i].accuracy;
        assert_true(accuracy >= 0 && accuracy <= 1);
        assert_true(i < 250 || accuracy == 1);
    }
    const struct qn_note *eval = fixture_note(f, QN_NOTE_EVAL);
    assert_int_equal(eval->reading, QN_READ_ACCURACY);
    assert_int_equal(eval->predictions, 40);
    assert_true(eval->accuracy == 1);
    assert_int_equal(
        qn_measure_evaluate(qn_trainer_measure(t), QN_TEST, &e, &err), QN_OK);
    assert_int_equal(e.predictions, 12);
    assert_true(e.accuracy == 1);
    assert_true(fixture_note(f, QN_NOTE_DONE)->accuracy == 1);
    qn_trainer_free(t);
}

static void a_separable_task_is_learnt(void **state)
{
    struct labelled *l = *state;
    static const char *const others[][8] = {
        {"steps=300", "model.dropout=0", "model.cell=lstm", "model.dense=true",
         NULL},
        {"steps=300", "model.dropout=0", "data.vectors=none",
         "model.batch_norm=true", "optim.kind=rmsprop", "model.activation=delu",
         NULL}};
    static const char *const backends[] = {"ref", "cpu"};
    for (int b = 0; b < 2; b++) {
        l->f->env.backend = backends[b];
        check_learnt(l, learnt);
        check_learnt(l, others[0]);
        check_learnt(l, others[1]);
    }
}

static bool see_accuracy(void *user, const json_t *line)
{
    int *n = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    const json_t *accuracy = json_object_get(line, "accuracy");
    assert_null(json_object_get(line, "bpc"));
    assert_null(json_object_get(line, "perplexity"));
    assert_true(json_is_real(accuracy) || json_is_integer(accuracy));
    n[qn_str_eq(event, "eval")]++;
    return true;
}

static bool see_best(void *user, const json_t *line)
{
    int *n = user;
    const json_t *best = json_object_get(line, "best");
    if (json_is_object(best)) {
        assert_true(json_number_value(json_object_get(best, "accuracy")) == 1);
        assert_true(json_number_value(json_object_get(best, "loss")) > 0);
        *n += 1;
    }
    return true;
}

static void accuracy_is_recorded(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, learnt));
    struct qn_err err;
    int n[2] = {0}, n_best = 0;
    assert_int_equal(qn_run_dir_lines(run, QN_METRICS, see_accuracy, n, &err),
                     QN_OK);
    assert_int_equal(n[0], 300);
    assert_int_equal(n[1], fixture_notes(l->f, QN_NOTE_EVAL));
    assert_int_equal(qn_run_dir_lines(run, QN_EVENTS, see_best, &n_best, &err),
                     QN_OK);
    assert_int_equal(n_best, 1);
    free(run);
}

/* Adds up what was counted in layer 1. */
static bool add_count(void *user, const json_t *line)
{
    int64_t *sum = user;
    const json_t *layer = json_array_get(json_object_get(line, "layers"), 0);
    *sum += json_integer_value(json_object_get(layer, "count"));
    return true;
}

/* An epoch counts every word of the documents once, and no padding. */
static void statistics_are_of_real_words(void **state)
{
    static const char *const settings[] = {"epochs=1", "stats.every=1 steps",
                                           NULL};
    struct qn_trainer *t = labelled_create(*state, settings);
    struct qn_err err;
    size_t words;
    int64_t counted = 0;
    (void)qn_corpus_ids(t->corpus, QN_TRAIN, &words);
    assert_true(words > 160);
    char *run = fixture_finish(t);
    assert_int_equal(qn_run_dir_lines(run, QN_STATS, add_count, &counted, &err),
                     QN_OK);
    assert_int_equal(counted, words * 8);
    free(run);
}

/* Memory is planned for what any split may ask of it. */
static void the_longest_document_of_all_splits_is_planned_for(void **state)
{
    struct labelled *l = *state;
    struct qn_trainer *t = labelled_create(l, NULL);
    assert_int_equal(qn_text_longest(t->corpus, &t->spec),
                     qn_feed_steps(t->feed));
    qn_trainer_free(t);
    free(fixture_write(l->f, "test.tsv",
                       "0\t0\tdull plot\n"
                       "1\t0\tthe film was bright and the plot and the actors "
                       "with its ends was the film\n"));
    t = labelled_create(l, NULL);
    assert_true(qn_feed_steps(t->feed) < 16);
    assert_int_equal(qn_text_longest(t->corpus, &t->spec), 16);
    qn_trainer_free(t);
    t = fixture_create(l->f, NULL);
    assert_int_equal(qn_text_longest(t->corpus, &t->spec), t->spec.seq);
    qn_trainer_free(t);
}

/* --- the best ------------------------------------------------------------ */

/* The step of the first evaluation that none was better than. */
static int64_t best_told(const struct fixture *f, bool by_accuracy)
{
    double best = (double)INFINITY;
    int64_t step = -1;
    for (int i = 0; i < f->told.n_notes; i++) {
        const struct qn_note *n = &f->told.note[i];
        double value = by_accuracy ? -n->accuracy : n->loss;
        if (n->kind == QN_NOTE_EVAL && value < best) {
            best = value;
            step = n->step;
        }
    }
    return step;
}

static int64_t check_best(struct labelled *l, const char *metric,
                          bool by_accuracy)
{
    struct fixture *f = l->f;
    const char *const settings[] = {"steps=100", "eval.every=4 steps", metric,
                                    "checkpoint.keep.last=1", NULL};
    f->told.n_notes = 0;
    struct qn_trainer *t = labelled_create(l, settings);
    fixture_run(t, INT64_MAX);
    int64_t step = best_told(f, by_accuracy);
    struct qn_best best;
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, step);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);

    char *folder;
    int64_t found;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_find_checkpoint(run, "best", &folder, &found, &err), QN_OK);
    assert_int_equal(found, step);
    free(folder);
    struct qn_run_summary *runs;
    int n;
    assert_int_equal(qn_store_list(f->store, &runs, &n, NULL, &err), QN_OK);
    assert_true(runs[n - 1].of_labels);
    assert_true(runs[n - 1].best_loss == best.loss);
    assert_true(runs[n - 1].best_accuracy == best.accuracy);
    free(runs);
    char *checkpoints = qn_path_join(run, "checkpoints");
    char **names;
    size_t n_names;
    assert_int_equal(qn_dir_list(checkpoints, &names, &n_names, &err), QN_OK);
    assert_int_equal(n_names, step == 100 ? 1 : 2); /* the best, the last */
    for (size_t i = 0; i < n_names; i++) {
        free(names[i]);
    }
    free(names);
    free(checkpoints);
    free(run);
    return step;
}

/* Loss falls on when accuracy has reached its most. */
static void the_best_is_by_the_metric_that_was_asked_for(void **state)
{
    struct labelled *l = *state;
    int64_t by_accuracy =
        check_best(l, "checkpoint.metric=valid.accuracy", true);
    int64_t by_loss = check_best(l, "checkpoint.metric=valid.loss", false);
    assert_true(by_accuracy < by_loss);
}

/* Else the first evaluation would be, of a network that says nothing. */
static void an_accuracy_without_a_loss_is_never_the_best(void **state)
{
    static const char *const settings[] = {"checkpoint.metric=valid.accuracy",
                                           "eval.every=none", NULL};
    struct qn_trainer *t = labelled_create(*state, settings);
    struct labelled *l = *state;
    struct qn_best best;
    struct qn_err err;
    fixture_run(t, 5);
    size_t n = qn_model_weights(t->model).count;
    float *bad = qn_xcalloc(n, sizeof *bad);
    for (size_t i = 0; i < n; i++) {
        bad[i] = NAN;
    }
    t->be->ops->write(t->be, qn_model_weights(t->model), bad);
    free(bad);
    assert_int_equal(qn_trainer_evaluate(t, &err), QN_OK);
    const struct qn_note *eval = fixture_note(l->f, QN_NOTE_EVAL);
    assert_true(isnan(eval->loss) && eval->accuracy == 0);
    assert_false(eval->is_best);
    assert_false(qn_trainer_best(t, &best));
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    assert_true(isnan(qn_run_checkpoint_figures(qn_trainer_dir(t), 5).metric));
    qn_trainer_free(t);
}

/* --- without updates or evaluations --------------------------------------- */

static void
without_documents_to_validate_the_last_weights_are_the_best(void **state)
{
    struct labelled *l = *state;
    static const char *const whole[] = {"data.fold=none", "eval.every=1 epoch",
                                        NULL};
    struct qn_measure *m;
    struct qn_evaluation e;
    struct qn_err err;
    char *run = fixture_finish(labelled_create(l, whole));
    assert_non_null(strstr(l->f->lines.text, "there is no valid split"));
    assert_int_equal(fixture_notes(l->f, QN_NOTE_EVAL), 0);
    assert_int_equal(
        qn_measure_open(&l->f->env, run, "best", NULL, 0, &m, &err), QN_OK);
    assert_int_equal(qn_measure_checkpoint_step(m), 20);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_EUSAGE);
    assert_string_equal(err.text, "the run has no valid split");
    qn_measure_free(m);
    free(run);
}

static float *weights_of(struct qn_trainer *t)
{
    struct qn_tensor w = qn_model_weights(t->model);
    float *copy = qn_xcalloc(w.count, sizeof *copy);
    struct qn_err err;
    assert_int_equal(t->be->ops->read(t->be, w, copy, &err), QN_OK);
    return copy;
}

/* A batch of documents whose loss is not a number is passed over: what follows
 * is as if the weights had been good. */
static void a_step_without_update_leaves_every_bit(void **state)
{
    struct labelled *l = *state;
    static const char *const settings[] = {
        "model.batch_norm=true", "optim.kind=adam", "stop.nan=ignore", NULL};
    static const char *const files[] = {"model", "state"};
    struct qn_trainer *t = labelled_create(l, settings);
    size_t n = qn_model_weights(t->model).count;
    struct qn_err err;
    fixture_run(t, 5);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    float *good = weights_of(t);
    float *bad = weights_of(t);
    bad[0] = NAN;
    t->be->ops->write(t->be, qn_model_weights(t->model), bad);
    fixture_run(t, 6);
    assert_int_equal(t->at.updates, 5);
    float *after = weights_of(t);
    assert_memory_equal(after, bad, n * sizeof *bad);
    t->be->ops->write(t->be, qn_model_weights(t->model), good);
    /* With the counters as they were the files are the same bytes. */
    struct qn_progress at = t->at;
    t->at.step = 5;
    t->at.segment = 5;
    for (int i = 0; i < 2; i++) {
        char *old = qn_xasprintf("%s/checkpoints/5/%s.safetensors",
                                 qn_trainer_dir(t), files[i]);
        char *new = qn_path_join(l->f->folder, "new.safetensors");
        struct qn_bytes a, b;
        assert_int_equal(
            i == 0 ? qn_checkpoint_save(t->model, new, &err)
                   : qn_state_save(new, &t->at, &t->optim, t->pass, &err),
            QN_OK);
        assert_int_equal(qn_file_read(old, &a, &err), QN_OK);
        assert_int_equal(qn_file_read(new, &b, &err), QN_OK);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        qn_bytes_free(&a);
        qn_bytes_free(&b);
        free(old);
        free(new);
    }
    t->at = at;
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    free(good);
    free(bad);
    free(after);
    qn_trainer_free(t);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, labelled_setup, labelled_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_separable_task_is_learnt),
        CASE(accuracy_is_recorded),
        CASE(statistics_are_of_real_words),
        CASE(the_longest_document_of_all_splits_is_planned_for),
        CASE(the_best_is_by_the_metric_that_was_asked_for),
        CASE(an_accuracy_without_a_loss_is_never_the_best),
        CASE(without_documents_to_validate_the_last_weights_are_the_best),
        CASE(a_step_without_update_leaves_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
