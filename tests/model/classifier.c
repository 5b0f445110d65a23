/* classifier.c - a padded batch gives each document what it gives alone. */
#include "base/mem.h"
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 13, DOCS = 5, BATCH = DOCS + 1, STEPS = 11 };
enum { HIDDEN = 10, EMBED = 7, FIRST_SAMPLE = 40 };
/* The last row of the batch is padding and nothing else; every row is longer
 * than the longest document. */
static const int N_REAL[BATCH] = {6, 1, 9, 4, 2, 0};
static const int32_t LABELS[BATCH] = {1, 0, 0, 1, 1, -1};

struct net {
    struct qn_backend *be;
    struct qn_spec spec;
    struct qn_model *m;
    int32_t *ids;          /* [BATCH, STEPS] */
    int32_t labels[BATCH]; /* of the batch */
};

static void open_net(struct net *net, const char *backend, struct qn_spec spec)
{
    net->be = qn_test_backend(backend);
    net->spec = spec;
    net->m = qn_test_model(net->be, &spec, VOCAB);
    net->ids = qn_test_ids((size_t)BATCH * STEPS, VOCAB, 21);
    /* Behind the ends of some documents there are words that nobody reads. */
    for (int b = 0; b < BATCH; b += 2) {
        for (int t = N_REAL[b]; t < STEPS; t++) {
            net->ids[b * STEPS + t] = -1;
        }
    }
    memcpy(net->labels, LABELS, sizeof LABELS);
}

static void close_net(struct net *net)
{
    free(net->ids);
    qn_model_free(net->m);
    qn_backend_free(net->be);
}

static struct qn_step_result forward_batch(struct net *net, struct qn_pass *p)
{
    const struct qn_segment seg = {net->ids, net->labels, STEPS,       N_REAL,
                                   9,        6,           FIRST_SAMPLE};
    return qn_test_forward(net->m, p, &seg);
}

/* Document b in a batch of its own, without any padding. */
static struct qn_step_result forward_alone(struct net *net, struct qn_pass *p,
                                           int b)
{
    const struct qn_segment seg = {
        net->ids + b * STEPS,      &LABELS[b], N_REAL[b], NULL, 9, 6,
        FIRST_SAMPLE + (uint64_t)b};
    return qn_test_forward(net->m, p, &seg);
}

static float *gradients(struct net *net, struct qn_pass *p)
{
    qn_pass_backward(p);
    return qn_test_read(net->m, qn_model_grads(net->m));
}

/* --- kinds -------------------------------------------------------------- */

static const enum qn_activation activations[] = {QN_TANH, QN_RELU, QN_ELU,
                                                 QN_DRELU, QN_DELU};
static const enum qn_pooling poolings[] = {QN_POOL_F, QN_POOL_FO, QN_POOL_IFO};

enum { N_ACTIVATIONS = 5, N_POOLINGS = 3 };
/* Each plain and dense; last the LSTMs. */
enum { N_QRNNS = 2 * N_ACTIVATIONS * N_POOLINGS, N_KINDS = N_QRNNS + 2 };

static struct qn_spec plain(void)
{
    return QN_SPEC("task=classify", "model.hidden=10", "model.embed=7",
                   "model.layers=3", "model.window=4,2,1");
}

/* Everything is dropped and zoned out that can be; every third kind learns its
 * embedding, the others have vectors. */
static struct qn_spec kind_of(int i)
{
    struct qn_spec spec = plain();
    if (i < N_QRNNS) {
        spec.model.activation = activations[i / 2 % N_ACTIVATIONS];
        spec.model.pooling = poolings[i / 2 / N_ACTIVATIONS];
        spec.model.zoneout = 0.2;
    } else {
        spec.model.cell = QN_CELL_LSTM;
    }
    spec.model.dense = i % 2 == 1;
    spec.model.dropout = 0.3;
    spec.model.embed_dropout = 0.2;
    if (i % 3 != 0) {
        (void)snprintf(spec.data.vectors, sizeof spec.data.vectors, "there");
    }
    return spec;
}

/* --- one by one --------------------------------------------------------- */

/* What two ways to the same number may differ by, of what is about 1 in size.
 * The ref backend adds the terms of each number up in the same order whatever
 * stands beside it; in the other, products of more rows go through other
 * kernels of the BLAS and add up in another order: some roundings. */
struct bounds {
    double number, gradient;
};

static struct bounds bounds_of(const char *backend)
{
    bool exact = strcmp(backend, "ref") == 0;
    return exact ? (struct bounds){0, 0} : (struct bounds){2e-6, 2e-6};
}

static void assert_near(const char *what, int kind, double distance,
                        double bound)
{
    if (!(distance <= bound)) {
        fail_msg("kind %d: %s differ by %g", kind, what, distance);
    }
}

/* Logits in evaluation. */
static void check_logits(struct net *net, int kind, double bound)
{
    struct qn_err err;
    struct qn_pass *p = qn_test_pass(net->m, BATCH, STEPS, false);
    float logits[BATCH];
    struct qn_step_result r = forward_batch(net, p);
    double sum = 0;
    assert_int_equal((int)r.count, DOCS);
    assert_int_equal(qn_pass_logits(p, logits, &err), QN_OK);
    for (int b = 0; b < DOCS; b++) {
        float alone;
        struct qn_pass *one = qn_test_pass(net->m, 1, N_REAL[b], false);
        sum += forward_alone(net, one, b).loss_sum;
        assert_int_equal(qn_pass_logits(one, &alone, &err), QN_OK);
        assert_near("logits", kind, qn_test_distance(&alone, &logits[b], 1),
                    bound);
        qn_pass_free(one);
    }
    assert_near("losses", kind, fabs(sum - r.loss_sum), bound * DOCS);
    qn_pass_free(p);
}

/* Loss and gradients in training, when the document is the only one of the
 * batch whose label counts. */
static void check_document(struct net *net, struct qn_pass *batch, int b,
                           int kind, float *sum)
{
    struct bounds bounds = bounds_of(net->be->ops->name);
    size_t n = qn_model_grads(net->m).count;
    struct qn_pass *one = qn_test_pass(net->m, 1, N_REAL[b], true);
    memset(net->labels, -1, sizeof net->labels);
    net->labels[b] = LABELS[b];
    struct qn_step_result among = forward_batch(net, batch);
    float *got = gradients(net, batch);
    struct qn_step_result alone = forward_alone(net, one, b);
    float *expected = gradients(net, one);
    assert_true(among.count == 1 && among.correct == alone.correct);
    assert_near("losses", kind, fabs(among.loss_sum - alone.loss_sum),
                bounds.number);
    assert_near("gradients", kind, qn_test_distance(got, expected, n),
                bounds.gradient);
    for (size_t i = 0; i < n; i++) {
        sum[i] += expected[i];
    }
    free(expected);
    free(got);
    qn_pass_free(one);
}

/* The gradient of the whole batch is the mean of the documents': 1 / DOCS comes
 * before what is added up and not behind it, hence roundings on every backend.
 */
static void check_sum(struct net *net, struct qn_pass *batch, int kind,
                      const float *sum)
{
    size_t n = qn_model_grads(net->m).count;
    memcpy(net->labels, LABELS, sizeof LABELS);
    (void)forward_batch(net, batch);
    float *got = gradients(net, batch);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        got[i] *= DOCS;
        most = fmax(most, fabs((double)got[i]));
    }
    assert_true(most > 0.01);
    assert_near("sums of gradients", kind, qn_test_distance(got, sum, n), 4e-6);
    free(got);
}

static void check_kind(const char *backend, int kind)
{
    struct net net;
    open_net(&net, backend, kind_of(kind));
    check_logits(&net, kind, bounds_of(backend).number);
    struct qn_pass *batch = qn_test_pass(net.m, BATCH, STEPS, true);
    float *sum = qn_xcalloc(qn_model_grads(net.m).count, sizeof *sum);
    for (int b = 0; b < DOCS; b++) {
        check_document(&net, batch, b, kind, sum);
    }
    check_sum(&net, batch, kind, sum);
    free(sum);
    qn_pass_free(batch);
    close_net(&net);
}

static void a_padded_batch_gives_what_each_document_gives_alone(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        check_kind("ref", kind);
        check_kind("cpu", kind);
    }
}

static void a_batch_without_n_real_is_full(void **state)
{
    (void)state;
    static const int all[BATCH] = {STEPS, STEPS, STEPS, STEPS, STEPS, STEPS};
    for (int i = 0; i < 2; i++) {
        struct net net;
        open_net(&net, qn_test_backends[i], plain());
        struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, true);
        struct qn_segment seg = {net.ids, LABELS, STEPS, all, 9, 6, 0};
        struct qn_step_result with = qn_test_forward(net.m, p, &seg);
        float *expected = gradients(&net, p);
        seg.n_real = NULL;
        struct qn_step_result without = qn_test_forward(net.m, p, &seg);
        float *got = gradients(&net, p);
        assert_true(with.loss_sum == without.loss_sum && with.count == DOCS);
        assert_memory_equal(got, expected,
                            qn_model_grads(net.m).count * sizeof *got);
        free(got);
        free(expected);
        qn_pass_free(p);
        close_net(&net);
    }
}

static void a_batch_of_padding_alone_teaches_nothing(void **state)
{
    (void)state;
    static const int none[BATCH] = {0};
    struct net net;
    open_net(&net, "cpu", kind_of(1));
    struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, true);
    memset(net.labels, -1, sizeof net.labels);
    struct qn_segment seg = {net.ids, net.labels, STEPS, none, 9, 6, 0};
    struct qn_step_result r = qn_test_forward(net.m, p, &seg);
    assert_true(r.count == 0 && r.loss_sum == 0 && r.correct == 0);
    float *got = gradients(&net, p);
    for (size_t i = 0; i < qn_model_grads(net.m).count; i++) {
        assert_true(got[i] == 0);
    }
    free(got);
    qn_pass_free(p);
    close_net(&net);
}

/* cpu alone: ref takes scratch memory as it goes. */
static void batches_of_documents_allocate_nothing(void **state)
{
    (void)state;
    struct net net;
    open_net(&net, "cpu", kind_of(1));
    struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, true);
    uint64_t before = 0;
    for (int step = 0; step < 3; step++) {
        (void)forward_batch(&net, p);
        qn_pass_backward(p);
        qn_pass_carry(p);
        qn_pass_restart(p);
        before = step == 0 ? qn_mem_count() : before;
    }
    assert_int_equal(qn_mem_count(), before);
    qn_pass_free(p);
    close_net(&net);
}

static void a_restart_forgets_the_last_batch(void **state)
{
    (void)state;
    for (int kind = N_QRNNS - 2; kind < N_KINDS; kind++) {
        struct net net;
        open_net(&net, "cpu", kind_of(kind));
        struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, true);
        double first = forward_batch(&net, p).loss_sum;
        qn_pass_carry(p);
        qn_pass_restart(p);
        assert_true(forward_batch(&net, p).loss_sum == first);
        qn_pass_free(p);
        close_net(&net);
    }
}

/* Gradients of one batch on this pool. */
static float *trained_on(struct qn_pool *pool, struct qn_spec spec)
{
    struct net net;
    struct qn_err err;
    open_net(&net, "ref", spec);
    qn_model_free(net.m);
    qn_backend_free(net.be);
    assert_int_equal(qn_backend_new("cpu", pool, 3, &net.be, &err), QN_OK);
    net.m = qn_test_model(net.be, &spec, VOCAB);
    struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, true);
    (void)forward_batch(&net, p);
    float *grads = gradients(&net, p);
    qn_pass_free(p);
    close_net(&net);
    return grads;
}

static void gradients_do_not_depend_on_who_computes_them(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(3);
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct qn_spec spec = kind_of(kind);
        struct qn_param_list list;
        spec.model.batch_norm = spec.model.cell == QN_CELL_QRNN && kind > 15;
        qn_param_list_init(&list, &spec, VOCAB);
        float *alone = trained_on(NULL, spec);
        float *together = trained_on(pool, spec);
        assert_memory_equal(alone, together, list.trained * sizeof *alone);
        free(alone);
        free(together);
        qn_param_list_fini(&list);
    }
    qn_pool_free(pool);
}

/* --- statistics --------------------------------------------------------- */

typedef struct qn_hist hists[QN_N_QUANTITIES];

static hists *count_documents(struct net *net, const struct qn_segment *seg,
                              int batch, hists *h)
{
    struct qn_pass *p = qn_test_pass(net->m, batch, seg->steps, false);
    struct qn_probe probe = {(1u << QN_N_QUANTITIES) - 1, h};
    struct qn_err err;
    assert_int_equal(qn_pass_forward_counting(p, seg, &probe, &err), QN_OK);
    qn_pass_free(p);
    return h;
}

static hists *new_hists(void)
{
    hists *h = qn_xcalloc(QN_MAX_LAYERS, sizeof *h);
    for (int k = 0; k < QN_MAX_LAYERS; k++) {
        for (int i = 0; i < QN_N_QUANTITIES; i++) {
            qn_hist_init(&h[k][i], 0.1f);
        }
    }
    return h;
}

static void check_statistics(int kind)
{
    struct net net;
    open_net(&net, "ref", kind_of(kind));
    hists *among = new_hists();
    hists *alone = new_hists();
    struct qn_segment seg = {.ids = net.ids, .steps = STEPS, .n_real = N_REAL};
    int n = 0;
    count_documents(&net, &seg, BATCH, among);
    for (int b = 0; b < DOCS; b++) {
        seg =
            (struct qn_segment){.ids = net.ids + b * STEPS, .steps = N_REAL[b]};
        count_documents(&net, &seg, 1, alone);
        n += N_REAL[b];
    }
    assert_memory_equal(among, alone, QN_MAX_LAYERS * sizeof *among);
    for (int k = 0; k < net.spec.model.layers; k++) {
        const struct qn_hist *h = &among[k][QN_CELL];
        assert_int_equal(h->n_negative + h->n_near + h->n_positive, n * HIDDEN);
    }
    free(alone);
    free(among);
    close_net(&net);
}

static void statistics_are_those_of_the_documents_alone(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        check_statistics(kind);
    }
}

/* --- batch norm --------------------------------------------------------- */

static struct qn_spec normed(void)
{
    struct qn_spec spec = plain();
    spec.model.batch_norm = true;
    spec.model.window[0] = 1;
    return spec;
}

/* The running statistics after one batch: all weights of the model, whose
 * others are not touched. */
static float *weights_after(struct net *net, const struct qn_segment *seg,
                            int batch)
{
    struct qn_tensor flat = qn_model_weights(net->m);
    float *before = qn_test_read(net->m, flat);
    struct qn_pass *p = qn_test_pass(net->m, batch, seg->steps, true);
    (void)qn_test_forward(net->m, p, seg);
    qn_pass_carry(p);
    float *after = qn_test_read(net->m, flat);
    net->be->ops->write(net->be, flat, before);
    qn_pass_free(p);
    free(before);
    return after;
}

/* Layer 0 has window 1: it takes single words of all documents as it takes a
 * batch of documents of one word each. */
static void check_first_norm(struct net *net, const float *got)
{
    int32_t words[BATCH * STEPS];
    int n = 0;
    for (int b = 0; b < BATCH; b++) {
        for (int t = 0; t < N_REAL[b]; t++) {
            words[n++] = net->ids[b * STEPS + t];
        }
    }
    struct qn_segment seg = {.ids = words, .steps = 1};
    struct qn_param_list list;
    float *expected = weights_after(net, &seg, n);
    qn_param_list_init(&list, &net->spec, VOCAB);
    for (int i = 0; i < 2; i++) {
        const struct qn_param *p =
            qn_param_find(&list, i == 0 ? "layers.0.norm.running_mean"
                                        : "layers.0.norm.running_var");
        assert_true(p->fixed);
        /* The order of 22 terms: roundings of numbers of size 1. */
        assert_true(qn_test_distance(got + p->offset, expected + p->offset,
                                     p->count) < 1e-6);
    }
    qn_param_list_fini(&list);
    free(expected);
}

static void batch_norm_sees_real_rows_alone_on(const char *backend)
{
    struct net net;
    open_net(&net, backend, normed());
    struct qn_segment seg = {net.ids, LABELS, STEPS, N_REAL, 9, 6, 0};
    size_t bytes = qn_model_n_params(net.m) * sizeof(float);
    float *still = qn_test_read(net.m, qn_model_weights(net.m));
    float *first = weights_after(&net, &seg, BATCH);
    assert_memory_not_equal(first, still, bytes);
    check_first_norm(&net, first);
    /* Other words behind the ends change nothing in any layer. */
    for (int b = 0; b < BATCH; b++) {
        for (int t = N_REAL[b]; t < STEPS; t++) {
            net.ids[b * STEPS + t] = (b + t) % VOCAB;
        }
    }
    float *second = weights_after(&net, &seg, BATCH);
    assert_memory_equal(first, second, bytes);
    free(second);
    free(first);
    free(still);
    close_net(&net);
}

static void batch_norm_sees_real_rows_alone(void **state)
{
    (void)state;
    batch_norm_sees_real_rows_alone_on("ref");
    batch_norm_sees_real_rows_alone_on("cpu");
}

/* What the norm had of an earlier batch, or of none, is not taken again. */
static void padding_alone_moves_no_running_statistics(void **state)
{
    (void)state;
    static const char *const backends[] = {"ref", "cpu"};
    static const int none[BATCH] = {0};
    for (int i = 0; i < 2; i++) {
        struct net net;
        open_net(&net, backends[i], normed());
        struct qn_segment seg = {net.ids, NULL, STEPS, none, 9, 6, 0};
        size_t bytes = qn_model_n_params(net.m) * sizeof(float);
        float *before = qn_test_read(net.m, qn_model_weights(net.m));
        float *after = weights_after(&net, &seg, BATCH);
        assert_memory_equal(after, before, bytes);
        free(after);
        free(before);
        close_net(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padded_batch_gives_what_each_document_gives_alone),
        cmocka_unit_test(a_batch_without_n_real_is_full),
        cmocka_unit_test(a_batch_of_padding_alone_teaches_nothing),
        cmocka_unit_test(batches_of_documents_allocate_nothing),
        cmocka_unit_test(a_restart_forgets_the_last_batch),
        cmocka_unit_test(gradients_do_not_depend_on_who_computes_them),
        cmocka_unit_test(statistics_are_those_of_the_documents_alone),
        cmocka_unit_test(batch_norm_sees_real_rows_alone),
        cmocka_unit_test(padding_alone_moves_no_running_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
