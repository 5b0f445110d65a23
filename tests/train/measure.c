/* measure.c - what is measured is what a plain loop over the text finds. */
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "train/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const settings[] = {"steps=30", "eval.every=10 steps",
                                       "checkpoint.every=10",
                                       "checkpoint.keep.last=5", NULL};

static struct qn_measure *open_run(struct fixture *f, const char *run,
                                   const char *checkpoint, const char *change)
{
    struct qn_measure *m = NULL;
    struct qn_err err;
    if (qn_measure_open(&f->env, run, checkpoint, &change, change != NULL, &m,
                        &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return m;
}

static struct qn_evaluation evaluate(struct qn_measure *m, enum qn_split split)
{
    struct qn_evaluation e = {0};
    struct qn_err err;
    if (qn_measure_evaluate(m, split, &e, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return e;
}

/* The model of a run's checkpoint and its text, opened piece by piece. */
struct plain {
    struct qn_spec spec;
    struct qn_backend *be;
    struct qn_corpus *corpus;
    struct qn_model *model;
};

static void plain_open(struct plain *p, struct fixture *f, const char *run,
                       int step)
{
    struct qn_err err;
    p->spec = fixture_spec(f, settings);
    assert_int_equal(qn_backend_new("ref", NULL, 1, &p->be, &err), QN_OK);
    assert_int_equal(qn_text_open(&f->env, &p->spec, NULL, &p->corpus, &err),
                     QN_OK);
    int vocab = qn_vocab_size(qn_corpus_vocab(p->corpus));
    assert_int_equal(qn_model_new(p->be, &p->spec, vocab, &p->model, &err),
                     QN_OK);
    char *path = qn_xasprintf("%s/checkpoints/%d/model.safetensors", run, step);
    assert_int_equal(qn_checkpoint_load(p->model, path, &err), QN_OK);
    free(path);
}

static void plain_close(struct plain *p)
{
    qn_model_free(p->model);
    qn_corpus_free(p->corpus);
    qn_backend_free(p->be);
}

/* -log softmax(logits)[target] */
static double nats(const float *logits, int n, int target)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += exp((double)logits[i]);
    }
    return log(sum) - (double)logits[target];
}

/* One stream of n pairs from zero: its loss, and its cells into h[layer]. */
static double stream_loss(struct plain *p, const int32_t *ids, int n,
                          struct qn_hist *h)
{
    struct qn_pass *pass;
    struct qn_err err;
    int vocab = qn_model_vocab(p->model);
    size_t hidden = (size_t)p->spec.model.hidden;
    assert_int_equal(qn_pass_new(p->model, 1, n, false, &pass, &err), QN_OK);
    struct qn_segment segment = {.ids = ids, .steps = n};
    qn_pass_forward(pass, &segment);
    float *logits = qn_xcalloc((size_t)(n * vocab), sizeof *logits);
    float *cells = qn_xcalloc((size_t)n * hidden, sizeof *cells);
    assert_int_equal(qn_pass_logits(pass, logits, &err), QN_OK);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += nats(logits + i * vocab, vocab, ids[i + 1]);
    }
    for (int k = 0; k < p->spec.model.layers; k++) {
        assert_int_equal(qn_pass_cells(pass, k, cells, &err), QN_OK);
        qn_hist_add(&h[k], cells, (size_t)n * hidden);
    }
    free(logits);
    free(cells);
    qn_pass_free(pass);
    return sum;
}

/* The split in so many streams, each from zero, as the design describes. */
static double plain_loss(struct plain *p, enum qn_split split, int batch,
                         struct qn_hist *h)
{
    size_t n;
    const int32_t *ids = qn_corpus_ids(p->corpus, split, &n);
    int pairs = (int)n - 1;
    int length = (pairs + batch - 1) / batch;
    double sum = 0;
    for (int from = 0; from < pairs; from += length) {
        int here = pairs - from < length ? pairs - from : length;
        sum += stream_loss(p, ids + from, here, h);
    }
    return sum / pairs;
}

/* Both sum the same float losses in double; the products inside may be added
 * in another order, hence the tolerance of some float roundings. */
#define TOLERANCE 1e-5

static void a_loss_equals_a_plain_computation(void **state)
{
    struct fixture *f = *state;
    static const char *const backends[] = {"ref", "cpu"};
    static const char *const batches[] = {"eval.batch=1", "eval.batch=4",
                                          "eval.batch=7"};
    static const int batch[] = {1, 4, 7};
    char *run = fixture_finish(fixture_create(f, settings));
    struct plain p;
    struct qn_hist *h = qn_xcalloc(2, sizeof *h);
    plain_open(&p, f, run, 30);
    for (int i = 0; i < 6; i++) {
        f->env.backend = backends[i / 3];
        struct qn_measure *m = open_run(f, run, "last", batches[i % 3]);
        struct qn_evaluation e = evaluate(m, QN_VALID);
        size_t n;
        (void)qn_corpus_ids(p.corpus, QN_VALID, &n);
        assert_int_equal(e.predictions, n - 1);
        double plain = plain_loss(&p, QN_VALID, batch[i % 3], h);
        assert_true(fabs(e.loss - plain) < TOLERANCE);
        qn_measure_free(m);
    }
    plain_close(&p);
    free(h);
    free(run);
}

static void shares_equal_a_direct_count(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct plain p;
    struct qn_hist *h = qn_xcalloc(2, sizeof *h);
    struct qn_stats_record *stats = qn_xcalloc(1, sizeof *stats);
    plain_open(&p, f, run, 30);
    for (int k = 0; k < 2; k++) {
        qn_hist_init(&h[k], 0.05f);
    }
    (void)plain_loss(&p, QN_TEST, 4, h);
    struct qn_measure *m = open_run(f, run, "last", NULL);
    struct qn_err err;
    assert_int_equal(
        qn_measure_stats(m, QN_TEST, 1u << QN_CELL, 0.05, stats, &err), QN_OK);
    assert_int_equal(stats->step, 30);
    assert_int_equal(stats->n_layers, 2);
    for (int k = 0; k < 2; k++) {
        struct qn_shares s = qn_hist_shares(&stats->layer[k][QN_CELL]);
        assert_true(fabs(s.negative + s.near + s.positive - 1) < 1e-12);
        assert_memory_equal(&stats->layer[k][QN_CELL], &h[k], sizeof h[k]);
    }
    qn_measure_free(m);
    plain_close(&p);
    free(stats);
    free(h);
    free(run);
}

#define ALL ((1u << QN_N_QUANTITIES) - 1)

static struct qn_stats_record *count(struct qn_measure *m, unsigned of,
                                     double near)
{
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    struct qn_err err;
    if (qn_measure_stats(m, QN_TEST, of, near, r, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}

static void one_pass_counts_what_five_count(void **state)
{
    struct fixture *f = *state;
    static const char *const kinds[][2] = {{"model.dense=true", NULL},
                                           {"model.cell=lstm", NULL},
                                           {"model.batch_norm=true", NULL}};
    for (int i = 0; i < 3; i++) {
        char *run = fixture_finish(fixture_create(f, kinds[i]));
        struct qn_measure *m = open_run(f, run, "last", NULL);
        struct qn_stats_record *all = count(m, ALL, 0.1);
        assert_int_equal(all->of, ALL);
        for (int q = 0; q < QN_N_QUANTITIES; q++) {
            struct qn_stats_record *one = count(m, 1u << q, 0.1);
            assert_int_equal(one->of, 1u << q);
            for (int k = 0; k < 2; k++) {
                assert_memory_equal(&one->layer[k][q], &all->layer[k][q],
                                    sizeof all->layer[k][q]);
                /* Every pair of the split, padding left out. */
                assert_int_equal(qn_hist_shares(&all->layer[k][q]).count,
                                 71 * 12);
            }
            free(one);
        }
        free(all);
        qn_measure_free(m);
        free(run);
    }
}

static void gates_lie_between_0_and_1(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_measure *m = open_run(f, run, "last", "eval.batch=7");
    struct qn_stats_record *r = count(m, ALL, 1);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(r->layer[k][QN_FORGET].n_negative, 0);
        assert_int_equal(r->layer[k][QN_FORGET].n_near, 71 * 12);
        assert_int_equal(r->layer[k][QN_OUTGATE].n_near, 71 * 12);
        /* |h| = o |c| <= |c|: at least as much lies near zero. */
        assert_true(r->layer[k][QN_OUTPUT].n_near >=
                    r->layer[k][QN_CELL].n_near);
    }
    free(r);
    qn_measure_free(m);
    free(run);
}

static void what_a_layer_has_not_is_left_out(void **state)
{
    struct fixture *f = *state;
    static const char *const f_pooling[] = {"model.pooling=f", NULL};
    char *run = fixture_finish(fixture_create(f, f_pooling));
    struct qn_measure *m = open_run(f, run, "last", NULL);
    struct qn_stats_record *r = count(m, ALL, 0.1);
    struct qn_err err;
    assert_int_equal(r->of, ALL & ~(1u << QN_OUTGATE));
    assert_int_equal(
        qn_measure_stats(m, QN_TEST, 1u << QN_OUTGATE, 0.1, r, &err),
        QN_EUSAGE);
    assert_non_null(strstr(err.text, "no output gate"));
    /* h = c */
    assert_int_equal(r->layer[1][QN_OUTPUT].n_near,
                     r->layer[1][QN_CELL].n_near);
    free(r);
    qn_measure_free(m);
    free(run);
}

static void a_floor_lowers_the_loss_of_the_unlikely(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_measure *m = open_run(f, run, "last", NULL);
    double plain = evaluate(m, QN_TEST).loss;
    qn_measure_free(m);
    m = open_run(f, run, "last", "eval.floor=1e-6");
    double floored = evaluate(m, QN_TEST).loss;
    qn_measure_free(m);
    assert_true(floored < plain);
    /* -log(p + 1e-6) is less than -log p by about 1e-6 / p, and p is well
     * above 1e-3 on the mean of a learnt text. */
    assert_true(plain - floored < 1e-3);
    free(run);
}

static void a_checkpoint_is_found_by_word_and_by_step(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    static const char *const names[] = {"10", "20", "last", "best"};
    static const int steps[] = {10, 20, 30, 30};
    for (int i = 0; i < 4; i++) {
        struct qn_measure *m = open_run(f, run, names[i], NULL);
        assert_int_equal(qn_measure_checkpoint_step(m), steps[i]);
        /* The text is learnt steadily: each evaluation was the best. */
        struct qn_evaluation e = evaluate(m, QN_VALID);
        const struct qn_note *n = NULL;
        for (int k = 0; k < f->told.n_notes; k++) {
            if (f->told.note[k].kind == QN_NOTE_EVAL &&
                f->told.note[k].step == steps[i]) {
                n = &f->told.note[k];
            }
        }
        assert_non_null(n);
        assert_true(e.loss == n->loss);
        qn_measure_free(m);
    }
    struct qn_measure *m;
    struct qn_err err;
    assert_int_equal(qn_measure_open(&f->env, run, "11", NULL, 0, &m, &err),
                     QN_ENOTFOUND);
    free(run);
}

static void a_limit_takes_predictions_from_the_front(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_measure *m = open_run(f, run, "last", "eval.limit=10");
    assert_int_equal(evaluate(m, QN_VALID).predictions, 10);
    qn_measure_free(m);
    free(run);
}

static void the_limit_of_training_does_not_bind_who_asks_later(void **state)
{
    struct fixture *f = *state;
    static const char *const limited[] = {"eval.limit=10", NULL};
    char *run = fixture_finish(fixture_create(f, limited));
    assert_int_equal(fixture_note(f, QN_NOTE_EVAL)->predictions, 10);
    struct qn_measure *m = open_run(f, run, "last", NULL);
    assert_int_equal(evaluate(m, QN_VALID).predictions, 71);
    qn_measure_free(m);
    free(run);
}

static void the_limit_of_training_does_not_bind_who_asks_meanwhile(void **state)
{
    struct fixture *f = *state;
    static const char *const limited[] = {"eval.limit=10", "steps=4",
                                          "eval.every=2 steps", NULL};
    struct qn_trainer *t = fixture_create(f, limited);
    fixture_run(t, 2);
    struct qn_measure *m = qn_trainer_measure(t);
    assert_int_equal(evaluate(m, QN_VALID).predictions, 71);
    fixture_run(t, INT64_MAX);
    assert_int_equal(fixture_note(f, QN_NOTE_EVAL)->predictions, 10);
    qn_trainer_free(t);
}

static void another_text_is_read_with_the_vocabulary_of_the_run(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    char *other = fixture_write(f, "other.txt", "mat the sat cat; on the ");
    char *strange = fixture_write(f, "strange.txt", "QUITE OTHER SYMBOLS");
    char *change = qn_xasprintf("data.valid=%s", other);
    struct qn_measure *m = open_run(f, run, "last", change);
    qn_str_clear(&f->lines);
    assert_int_equal(evaluate(m, QN_VALID).predictions, 23);
    assert_int_equal(f->lines.len, 0); /* it is another text on purpose */
    qn_measure_free(m);
    free(change);
    change = qn_xasprintf("data.valid=%s", strange);
    m = open_run(f, run, "last", change);
    struct qn_evaluation e;
    struct qn_err err;
    assert_int_not_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_OK);
    assert_non_null(strstr(err.text, "Q"));
    qn_measure_free(m);
    free(change);
    free(other);
    free(strange);
    free(run);
}

static void a_text_that_changed_is_said(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_bytes text;
    struct qn_err err;
    assert_int_equal(qn_file_read(f->text, &text, &err), QN_OK);
    assert_int_equal(qn_file_write(f->text, text.data, text.len - 24, &err),
                     QN_OK);
    qn_bytes_free(&text);
    qn_str_clear(&f->lines);
    struct qn_measure *m = open_run(f, run, "last", NULL);
    (void)evaluate(m, QN_VALID);
    assert_non_null(strstr(f->lines.text, "has changed"));
    qn_measure_free(m);
    free(run);
}

static void a_text_that_is_gone_does_not_keep_it_from_writing(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_err err;
    assert_int_equal(qn_remove_tree(f->text, &err), QN_OK);
    struct qn_measure *m = open_run(f, run, "last", "sample.prompt=the ");
    struct qn_text_request own = {.temperature = -1, .seed = -1};
    struct qn_str a = {0}, b = {0};
    assert_int_equal(qn_measure_sample(m, &own, &a, &err), QN_OK);
    assert_int_equal(qn_measure_sample(m, &own, &b, &err), QN_OK);
    assert_int_equal(a.len, 204);
    assert_string_equal(a.text, b.text);
    own.seed = 77;
    qn_str_clear(&b);
    assert_int_equal(qn_measure_sample(m, &own, &b, &err), QN_OK);
    assert_string_not_equal(a.text, b.text);
    struct qn_evaluation e;
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_ENOTFOUND);
    qn_str_free(&a);
    qn_str_free(&b);
    qn_measure_free(m);
    free(run);
}

static void an_empty_prompt_is_not_the_prompt_of_the_run(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_measure *m = open_run(f, run, "last", "sample.prompt=the ");
    struct qn_text_request r = {.length = 6, .temperature = -1, .seed = -1};
    struct qn_str own = {0}, empty = {0};
    struct qn_err err;
    assert_int_equal(qn_measure_sample(m, &r, &own, &err), QN_OK);
    r.prompt = "";
    assert_int_equal(qn_measure_sample(m, &r, &empty, &err), QN_OK);
    assert_int_equal(own.len, 10);
    assert_memory_equal(own.text, "the ", 4);
    assert_int_equal(empty.len, 6);
    qn_str_free(&own);
    qn_str_free(&empty);
    qn_measure_free(m);
    free(run);
}

static void an_unknown_symbol_of_a_prompt_is_named(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    struct qn_measure *m = open_run(f, run, "last", NULL);
    struct qn_text_request r = {.prompt = "the \xc3\xa9", .seed = -1};
    struct qn_str text = {0};
    struct qn_err err;
    assert_int_equal(qn_measure_sample(m, &r, &text, &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "\xc3\xa9"));
    assert_non_null(strstr(err.text, "U+00E9"));
    r.prompt = "\xff";
    assert_int_equal(qn_measure_sample(m, &r, &text, &err), QN_EUSAGE);
    assert_int_equal(text.len, 0);
    qn_measure_free(m);
    free(run);
}

static void what_weights_mean_cannot_be_changed(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    const char *wrong[] = {"model.hidden=3", "eval.batch=none at all"};
    for (int i = 0; i < 2; i++) {
        struct qn_measure *m;
        struct qn_err err;
        assert_int_equal(
            qn_measure_open(&f->env, run, "last", &wrong[i], 1, &m, &err),
            QN_EUSAGE);
    }
    free(run);
}

static void a_split_that_is_not_there_is_said(void **state)
{
    struct fixture *f = *state;
    static const char *const no_test[] = {"data.test=0", NULL};
    struct qn_trainer *t = fixture_create(f, no_test);
    struct qn_evaluation e;
    struct qn_err err;
    assert_int_equal(
        qn_measure_evaluate(qn_trainer_measure(t), QN_TEST, &e, &err),
        QN_EUSAGE);
    assert_non_null(strstr(err.text, "test"));
    qn_trainer_free(t);
}

static void statistics_are_written_as_shares_and_counts(void **state)
{
    (void)state;
    static const float x[] = {-1, -0.05f, 0, 0.5f};
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    r->n_layers = 1;
    r->of = 1u << QN_CELL;
    qn_hist_init(&r->layer[0][QN_CELL], 0.1f);
    qn_hist_add(&r->layer[0][QN_CELL], x, 4);
    struct qn_json out = {0};
    qn_stats_json(r, true, &out); /* the other quantities were not counted */
    assert_string_equal(
        out.text.text,
        "[{\"layer\":1,\"of\":\"c\",\"negative\":0.25,\"near\":0.5,"
        "\"positive\":0.25,\"zero\":0.25,\"nan\":0,\"count\":4,"
        "\"n_negative\":1,\"n_near\":2,\"n_positive\":1,\"n_zero\":1,"
        "\"n_nan\":0}]");
    qn_json_free(&out);
    free(r);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void a_run_finds_its_text_from_any_folder(void **state)
{
    struct fixture *f = *state;
    static const char *const relative[] = {"data.train=text.txt", NULL};
    char here[4096];
    struct qn_measure *m;
    struct qn_evaluation e;
    struct qn_err err;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(f->folder), 0);
    char *run = fixture_finish(fixture_create(f, relative));
    assert_int_equal(chdir(here), 0);
    if (qn_measure_open(&f->env, run, "last", NULL, 0, &m, &err) != QN_OK ||
        qn_measure_evaluate(m, QN_VALID, &e, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_measure_free(m);
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_loss_equals_a_plain_computation),
        CASE(shares_equal_a_direct_count),
        CASE(one_pass_counts_what_five_count),
        CASE(gates_lie_between_0_and_1),
        CASE(what_a_layer_has_not_is_left_out),
        CASE(a_floor_lowers_the_loss_of_the_unlikely),
        CASE(a_checkpoint_is_found_by_word_and_by_step),
        CASE(a_limit_takes_predictions_from_the_front),
        CASE(the_limit_of_training_does_not_bind_who_asks_later),
        CASE(the_limit_of_training_does_not_bind_who_asks_meanwhile),
        CASE(another_text_is_read_with_the_vocabulary_of_the_run),
        CASE(a_text_that_changed_is_said),
        CASE(a_text_that_is_gone_does_not_keep_it_from_writing),
        CASE(an_empty_prompt_is_not_the_prompt_of_the_run),
        CASE(an_unknown_symbol_of_a_prompt_is_named),
        CASE(what_weights_mean_cannot_be_changed),
        CASE(a_split_that_is_not_there_is_said),
        CASE(a_run_finds_its_text_from_any_folder),
        cmocka_unit_test(statistics_are_written_as_shares_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
