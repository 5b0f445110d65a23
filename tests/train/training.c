/* training.c - a run learns, repeats itself, and tells what it does. */
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

static const char *const backends[] = {"ref", "cpu"};
enum { N_BACKENDS = 2 };

static double mean_loss(const struct told *told, int from, int n)
{
    double sum = 0;
    for (int i = from; i < from + n; i++) {
        sum += told->step[i].loss;
    }
    return sum / n;
}

static void a_repetitive_text_is_learnt(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < N_BACKENDS; i++) {
        f->env.backend = backends[i];
        f->told.n_steps = 0;
        const char *const settings[] = {"steps=200", "optim.lr=0.02", NULL};
        free(fixture_finish(fixture_create(f, settings)));
        assert_int_equal(f->told.n_steps, 200);
        /* The text has 12 symbols: a blind guess costs about ln 12 = 2.5. */
        assert_true(mean_loss(&f->told, 0, 5) > 2.0);
        /* Within a stream nearly every symbol follows from the ones before. */
        assert_true(mean_loss(&f->told, 190, 10) < 0.4);
    }
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"eval.every=10", "stats.every=3", NULL};
    for (int i = 0; i < N_BACKENDS; i++) {
        f->env.backend = backends[i];
        char *a = fixture_finish(fixture_create(f, settings));
        char *b = fixture_finish(fixture_create(f, settings));
        assert_same_training(a, b, 20);
        free(a);
        free(b);
    }
}

static void another_seed_gives_other_losses(void **state)
{
    struct fixture *f = *state;
    const char *const one[] = {"seed=1", NULL};
    const char *const two[] = {"seed=2", NULL};
    char *a = fixture_finish(fixture_create(f, one));
    char *b = fixture_finish(fixture_create(f, two));
    double la[20], lb[20];
    assert_int_equal(recorded_losses(a, la, 20), 20);
    assert_int_equal(recorded_losses(b, lb, 20), 20);
    assert_true(la[0] != lb[0]);
    free(a);
    free(b);
}

static void every_step_is_told_and_recorded(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=12", NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    double loss[12];
    assert_int_equal(recorded_losses(run, loss, 12), 12);
    assert_int_equal(f->told.n_steps, 12);
    for (int i = 0; i < 12; i++) {
        const struct qn_step_record *r = &f->told.step[i];
        assert_int_equal(r->step, i + 1);
        assert_true(r->loss == loss[i]);
        assert_true(r->lr == 0.01);
        assert_true(r->grad_norm > 0);
        assert_true(r->tokens_per_s > 0);
        assert_true(fabs(r->epoch - (i + 1) / 40.0) < 1e-12);
    }
    free(run);
}

static void an_end_always_evaluates_and_saves(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=7", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, INT64_MAX);
    int64_t step;
    struct qn_best best;
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, 7);
    const struct qn_note *eval = fixture_note(f, QN_NOTE_EVAL);
    assert_int_equal(eval->step, 7);
    assert_true(eval->loss == best.loss && eval->is_best);
    assert_true(fixture_note(f, QN_NOTE_CHECKPOINT)->is_best);
    assert_int_equal(fixture_note(f, QN_NOTE_DONE)->step, 7);
    char *run = fixture_finish(t);
    char *folder;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_find_checkpoint(run, "best", &folder, &step, &err), QN_OK);
    assert_int_equal(step, 7);
    free(folder);
    free(run);
}

static void what_is_due_at_the_end_is_done_once(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=10", "eval.every=5",
                                    "checkpoint.every=5", NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 2);
    assert_int_equal(fixture_notes(f, QN_NOTE_CHECKPOINT), 2);
    assert_int_equal(recorded_events(run, "done"), 1);
    free(run);
}

static void epochs_count_in_segments(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"epochs=1.5", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    assert_int_equal(qn_trainer_steps_per_epoch(t), 40);
    assert_int_equal(qn_trainer_steps_total(t), 60);
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_step_count(t), 60);
    qn_trainer_free(t);
}

static void an_epoch_ends_with_streams_at_zero(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"epochs=2", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    size_t n = qn_pass_state_len(t->pass);
    float *carried = qn_xcalloc(n, sizeof *carried);
    struct qn_err err;
    for (int step = 39; step <= 41; step++) {
        fixture_run(t, step);
        assert_int_equal(qn_pass_read_state(t->pass, carried, &err), QN_OK);
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += fabs((double)carried[i]);
        }
        assert_int_equal(sum == 0, step == 40);
    }
    free(carried);
    qn_trainer_free(t);
}

static void each_split_has_its_share_of_the_text(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"data.valid=0.1", "data.test=0.2", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_evaluation valid, test;
    struct qn_err err;
    struct qn_measure *m = qn_trainer_measure(t);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &valid, &err), QN_OK);
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &test, &err), QN_OK);
    /* The first symbol of a split is not predicted; the text has 1440. */
    assert_int_equal(valid.predictions, 144 - 1);
    assert_int_equal(test.predictions, 288 - 1);
    qn_trainer_free(t);
}

static void a_folder_says_what_made_it(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, NULL);
    struct qn_bytes text;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_read(qn_trainer_dir(t), "code.json", &text, &err), QN_OK);
    json_t *code = json_loadb(text.data, text.len, 0, NULL);
    const char *sha = json_string_value(
        json_object_get(json_object_get(code, "data"), "train"));
    assert_string_equal(sha, qn_corpus_sha256(t->corpus, QN_TRAIN));
    assert_int_equal(strlen(sha), 64);
    assert_string_equal(json_string_value(json_object_get(code, "backend")),
                        "ref");
    assert_int_equal(json_integer_value(json_object_get(code, "threads")), 2);
    assert_non_null(json_string_value(json_object_get(code, "commit")));
    json_decref(code);
    qn_bytes_free(&text);
    qn_trainer_free(t);
}

static void asking_does_not_change_training(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 10);
    struct qn_measure *m = qn_trainer_measure(t);
    struct qn_evaluation e;
    struct qn_err err;
    struct qn_str text = {0};
    struct qn_text_request r = {.prompt = "the ", .length = 5, .seed = 3};
    struct qn_stats_record *stats = qn_xcalloc(1, sizeof *stats);
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_OK);
    assert_int_equal(
        qn_measure_stats(m, QN_TEST, 1u << QN_CELL, 0.1, stats, &err), QN_OK);
    assert_int_equal(stats->step, 10);
    assert_int_equal(qn_measure_sample(m, &r, &text, &err), QN_OK);
    assert_int_equal(strncmp(text.text, "the ", 4), 0);
    assert_int_equal(text.len, 9);
    qn_str_free(&text);
    free(stats);
    char *a = fixture_finish(t);
    char *b = fixture_finish(fixture_create(f, NULL));
    assert_same_training(a, b, 20);
    free(a);
    free(b);
}

static void samples_come_by_their_period(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=9", "sample.every=4",
                                    "sample.length=6", "sample.prompt=the",
                                    NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    assert_int_equal(fixture_notes(f, QN_NOTE_SAMPLE), 2);
    assert_int_equal(recorded_events(run, "sample"), 2);
    const struct qn_note *n = fixture_note(f, QN_NOTE_SAMPLE);
    assert_int_equal(strncmp(n->text, "the", 3), 0);
    assert_int_equal(strlen(n->text), 9);
    free(run);
}

static void a_prompt_of_unknown_symbols_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"sample.prompt=Zoe", NULL};
    struct qn_spec spec = fixture_spec(f, settings);
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_create(&f->env, &spec, NULL, &t, &err),
                     QN_EUSAGE);
    assert_non_null(strstr(err.text, "\"Z\""));
    assert_false(qn_path_exists(f->store));
}

/* On cpu: ref sums in arrays of its own, being an oracle. */
static void a_training_run_does_not_allocate(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=30", NULL};
    f->env.backend = "cpu";
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 3);
    uint64_t before = qn_mem_count();
    fixture_run(t, 12);
    assert_int_equal(qn_mem_count() - before, 0);
    qn_trainer_free(t);
}

static void a_run_without_valid_split_trains(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"data.valid=0", "data.test=0",
                                    "eval.every=5", NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 0);
    assert_int_equal(fixture_notes(f, QN_NOTE_CHECKPOINT), 1);
    assert_non_null(strstr(f->lines.text, "no valid split"));
    free(run);
}

static void a_stop_that_saves_can_be_resumed(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 8);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(qn_trainer_state(t), QN_RUN_STOPPED);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 1);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    assert_int_equal(fixture_notes(f, QN_NOTE_STOPPED), 1);
    assert_int_equal(qn_trainer_step(t, &err), QN_ESTATE);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 8);
    free(fixture_finish(t));
    char *whole = fixture_finish(fixture_create(f, NULL));
    assert_same_file(run, whole, 20, "model.safetensors");
    free(whole);
    free(run);
}

/* The weights are saved before they are evaluated, and what the evaluation
 * found is saved, too, whether it was the best or not. */
static void a_stop_saves_its_evaluation_with_the_weights(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"eval.every=4", NULL};
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 4);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "1000", &err), QN_OK);
    fixture_run(t, 6);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    const struct qn_note *eval = fixture_note(f, QN_NOTE_EVAL);
    struct qn_best best;
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, 4);
    struct qn_bytes metric;
    double saved;
    assert_int_equal(qn_run_dir_read(qn_trainer_dir(t), "checkpoints/6/metric",
                                     &metric, &err),
                     QN_OK);
    metric.data[strcspn(metric.data, "\n")] = '\0';
    assert_true(qn_parse_double(metric.data, &saved));
    assert_true(saved == eval->loss && saved > best.loss);
    qn_bytes_free(&metric);
    qn_trainer_free(t);
}

static int recorded_stats(const char *run)
{
    struct qn_bytes text;
    struct qn_err err;
    int n = 0;
    assert_int_equal(qn_run_dir_read(run, "stats.jsonl", &text, &err), QN_OK);
    for (const char *at = text.data;
         (at = strstr(at, "\"event\":\"stats\"")) != NULL; at++) {
        n++;
    }
    qn_bytes_free(&text);
    return n;
}

/* The evaluation that a stop makes is none of those that periods count. */
static void a_stop_does_not_shift_periods_in_evaluations(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {
        "steps=16",           "eval.every=3",
        "stats.every=1 eval", "checkpoint.every=2 evals",
        "stop.restore=none",  NULL};
    struct qn_err err;
    char *whole = fixture_finish(fixture_create(f, settings));
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 7);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    struct qn_best best;
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, 7); /* it may become the best all the same */
    assert_int_equal(t->at.evals, 2);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    assert_same_training(run, whole, 16);
    assert_int_equal(recorded_stats(run), recorded_stats(whole));
    free(run);
    free(whole);
}

static void a_stop_that_discards_leaves_the_last_checkpoint(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"checkpoint.every=5", NULL};
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 8);
    assert_int_equal(qn_trainer_stop(t, false, &err), QN_OK);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), 0);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 5);
    qn_trainer_free(t);
    free(run);
}

static void a_run_ends_after_its_time(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"stop.after=0.000001 s", NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    assert_int_equal(qn_trainer_step_count(t), 1);
    assert_int_equal(fixture_notes(f, QN_NOTE_CHECKPOINT), 1);
    qn_trainer_free(t);
}

static void threads_that_help_do_not_change_the_numbers(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"threads=3", NULL};
    f->env.backend = "cpu";
    char *alone = fixture_finish(fixture_create(f, settings));
    struct qn_pool *pool = qn_pool_new(3);
    f->env.pool = pool;
    char *helped = fixture_finish(fixture_create(f, settings));
    assert_same_training(alone, helped, 20);
    qn_pool_free(pool);
    free(alone);
    free(helped);
}

static void a_text_can_be_read_as_bytes(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"data.level=byte", "sample.every=10",
                                    "sample.prompt=sat", NULL};
    free(fixture_finish(fixture_create(f, settings)));
    assert_int_equal(fixture_notes(f, QN_NOTE_SAMPLE), 2);
    struct qn_spec spec = fixture_spec(f, settings);
    strcpy(spec.sample.prompt, "\xe9");
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_create(&f->env, &spec, NULL, &t, &err),
                     QN_EUSAGE);
    assert_non_null(strstr(err.text, "byte 0xe9"));
}

static void fewer_steps_than_done_end_a_run_at_once(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, NULL);
    struct qn_err err;
    fixture_run(t, 8);
    assert_int_equal(qn_trainer_set(t, "steps", "5", &err), QN_OK);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    assert_int_equal(qn_trainer_step_count(t), 8);
    qn_trainer_free(t);
}

/* Train well to step 20, then badly to the end; the loss of the weights that
 * the model holds after it. */
static double loss_after_end(struct fixture *f, const char *restore,
                             double *best)
{
    const char *const settings[] = {"steps=30", "eval.every=10 steps", restore,
                                    NULL};
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_evaluation e;
    struct qn_err err;
    struct qn_best at;
    fixture_run(t, 20);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "2", &err), QN_OK);
    fixture_run(t, INT64_MAX);
    assert_true(qn_trainer_best(t, &at));
    assert_int_equal(at.step, 20);
    *best = at.loss;
    assert_int_equal(
        qn_measure_evaluate(qn_trainer_measure(t), QN_VALID, &e, &err), QN_OK);
    qn_trainer_free(t);
    return e.loss;
}

static void the_best_weights_come_back_at_the_end(void **state)
{
    struct fixture *f = *state;
    double best;
    assert_true(loss_after_end(f, "stop.restore=best", &best) == best);
    assert_true(loss_after_end(f, "stop.restore=none", &best) > best);
}

static void a_text_that_is_too_short_makes_no_folder(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"batch=400", NULL};
    struct qn_spec spec = fixture_spec(f, settings);
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_create(&f->env, &spec, NULL, &t, &err),
                     QN_EUSAGE);
    assert_false(qn_path_exists(f->store));
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_repetitive_text_is_learnt),
        CASE(the_same_seed_gives_the_same_bytes),
        CASE(another_seed_gives_other_losses),
        CASE(every_step_is_told_and_recorded),
        CASE(an_end_always_evaluates_and_saves),
        CASE(what_is_due_at_the_end_is_done_once),
        CASE(epochs_count_in_segments),
        CASE(an_epoch_ends_with_streams_at_zero),
        CASE(each_split_has_its_share_of_the_text),
        CASE(a_folder_says_what_made_it),
        CASE(asking_does_not_change_training),
        CASE(samples_come_by_their_period),
        CASE(a_prompt_of_unknown_symbols_is_refused),
        CASE(a_training_run_does_not_allocate),
        CASE(a_run_without_valid_split_trains),
        CASE(a_stop_that_saves_can_be_resumed),
        CASE(a_stop_saves_its_evaluation_with_the_weights),
        CASE(a_stop_does_not_shift_periods_in_evaluations),
        CASE(a_stop_that_discards_leaves_the_last_checkpoint),
        CASE(a_run_ends_after_its_time),
        CASE(threads_that_help_do_not_change_the_numbers),
        CASE(a_text_can_be_read_as_bytes),
        CASE(fewer_steps_than_done_end_a_run_at_once),
        CASE(the_best_weights_come_back_at_the_end),
        CASE(a_text_that_is_too_short_makes_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
