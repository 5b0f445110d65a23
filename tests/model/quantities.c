/* quantities.c - what a probe counts of z, c, h, f and o, against a plain
 * recomputation of the network. */
#include "base/mem.h"
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 13, BATCH = 4, STEPS = 9, ROWS = BATCH * STEPS };
enum { HIDDEN = 10, EMBED = 7 };
static const float NEAR = 0.1f;
static const unsigned ALL = (1u << QN_N_QUANTITIES) - 1;
/* Rows that count: all, some, none. */
static const int N_REAL[BATCH] = {9, 3, 0, 8};

typedef struct qn_hist hists[QN_N_QUANTITIES];

struct net {
    struct qn_backend *be;
    struct qn_spec spec;
    struct qn_model *m;
    int32_t *ids, *targets;
};

static void open_net(struct net *net, const char *backend, struct qn_spec spec)
{
    net->be = qn_test_backend(backend);
    net->spec = spec;
    net->m = qn_test_model(net->be, &spec, VOCAB);
    net->ids = qn_test_ids(ROWS, VOCAB, 21);
    net->targets = qn_test_ids(ROWS, VOCAB, 22);
}

static void close_net(struct net *net)
{
    free(net->ids);
    free(net->targets);
    qn_model_free(net->m);
    qn_backend_free(net->be);
}

static hists *new_hists(void)
{
    hists *h = qn_xcalloc(QN_MAX_LAYERS, sizeof *h);
    for (int k = 0; k < QN_MAX_LAYERS; k++) {
        for (int i = 0; i < QN_N_QUANTITIES; i++) {
            qn_hist_init(&h[k][i], NEAR);
        }
    }
    return h;
}

static double loss_counting(struct net *net, struct qn_pass *p, unsigned of,
                            const int *n_real, hists *h)
{
    struct qn_segment seg = {net->ids, net->targets, STEPS, n_real, 9, 1, 0};
    struct qn_probe probe = {of, h};
    struct qn_step_result result;
    struct qn_err err;
    net->be->ops->step_begin(net->be);
    assert_int_equal(qn_pass_forward_counting(p, &seg, &probe, &err), QN_OK);
    assert_int_equal(net->be->ops->step_end(net->be, &result, &err), QN_OK);
    return result.loss_sum;
}

/* --- by hand ------------------------------------------------------------ */

/* A DReLU layer with fo-pooling and window 2, from zero, over x [ROWS, in]. */
struct by_hand {
    float z[ROWS * HIDDEN], c[ROWS * HIDDEN], h[ROWS * HIDDEN];
    float f[ROWS * HIDDEN], o[ROWS * HIDDEN];
};

static const float *weight(struct net *net, const float *flat, int layer,
                           const char *name)
{
    char full[64];
    struct qn_param_list list;
    (void)snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    qn_param_list_init(&list, &net->spec, VOCAB);
    size_t offset = qn_param_find(&list, full)->offset;
    qn_param_list_fini(&list);
    return flat + offset;
}

/* The bias and two taps of output g. */
static double product(const float *w, const float *bias, const float *x, int in,
                      int row, int g)
{
    double a = (double)bias[g];
    for (int tap = row % STEPS == 0 ? 1 : 0; tap < 2; tap++) {
        for (int d = 0; d < in; d++) {
            a += (double)w[(g * 2 + tap) * in + d] *
                 (double)x[(row - 1 + tap) * in + d];
        }
    }
    return a;
}

static double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

static void compute(struct net *net, const float *flat, int layer,
                    const float *x, int in, struct by_hand *y)
{
    const float *w = weight(net, flat, layer, "conv.weight");
    const float *b = weight(net, flat, layer, "conv.bias");
    for (int row = 0; row < ROWS; row++) {
        for (int j = 0; j < HIDDEN; j++) {
            int at = row * HIDDEN + j;
            double a[4];
            for (int g = 0; g < 4; g++) {
                a[g] = product(w, b, x, in, row, g * HIDDEN + j);
            }
            double z = fmax(a[0], 0) - fmax(a[1], 0);
            double f = sigmoid(a[2]);
            double before = row % STEPS == 0 ? 0 : (double)y->c[at - HIDDEN];
            double c = f * before + (1 - f) * z;
            y->z[at] = (float)z;
            y->f[at] = (float)f;
            y->o[at] = (float)sigmoid(a[3]);
            y->c[at] = (float)c;
            y->h[at] = (float)(sigmoid(a[3]) * c);
        }
    }
}

/* Equal counts; the bins behind them may differ where rounding does. */
static void check_counts(const struct qn_hist *got, const float *values)
{
    struct qn_hist h;
    qn_hist_init(&h, NEAR);
    for (int b = 0; b < BATCH; b++) {
        qn_hist_add(&h, values + b * STEPS * HIDDEN,
                    (size_t)(N_REAL[b] * HIDDEN));
    }
    assert_int_equal(got->n_negative, h.n_negative);
    assert_int_equal(got->n_near, h.n_near);
    assert_int_equal(got->n_positive, h.n_positive);
    assert_int_equal(got->n_zero, h.n_zero);
    assert_int_equal(got->n_nan, 0);
}

static void check_layer(hists *h, int layer, const struct by_hand *y)
{
    check_counts(&h[layer][QN_CANDIDATE], y->z);
    check_counts(&h[layer][QN_CELL], y->c);
    check_counts(&h[layer][QN_OUTPUT], y->h);
    check_counts(&h[layer][QN_FORGET], y->f);
    check_counts(&h[layer][QN_OUTGATE], y->o);
}

static void counts_are_those_of_a_plain_recomputation_on(const char *backend)
{
    struct net net;
    open_net(&net, backend,
             QN_SPEC("model.hidden=10", "model.embed=7", "model.layers=2",
                     "model.window=2", "model.activation=drelu",
                     "model.init.gain=2"));
    float *flat = qn_test_read(net.m, qn_model_weights(net.m));
    float *x = qn_xcalloc(ROWS * EMBED, sizeof *x);
    struct by_hand *y = qn_xcalloc(2, sizeof *y);
    for (int i = 0; i < ROWS * EMBED; i++) {
        x[i] = flat[net.ids[i / EMBED] * EMBED + i % EMBED];
    }
    compute(&net, flat, 0, x, EMBED, &y[0]);
    compute(&net, flat, 1, y[0].h, HIDDEN, &y[1]);
    for (int training = 0; training < 2; training++) {
        hists *h = new_hists();
        struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, training == 1);
        (void)loss_counting(&net, p, ALL, N_REAL, h);
        check_layer(h, 0, &y[0]);
        check_layer(h, 1, &y[1]);
        qn_pass_free(p);
        free(h);
    }
    free(x);
    free(y);
    free(flat);
    close_net(&net);
}

static void counts_are_those_of_a_plain_recomputation(void **state)
{
    (void)state;
    counts_are_those_of_a_plain_recomputation_on("ref");
    counts_are_those_of_a_plain_recomputation_on("cpu");
}

/* --- every kind --------------------------------------------------------- */

static void counting_changes_nothing(struct net *net, bool training)
{
    struct qn_segment seg = {net->ids, net->targets, STEPS, NULL, 9, 1, 0};
    struct qn_pass *p = qn_test_pass(net->m, BATCH, STEPS, training);
    hists *h = new_hists();
    double loss = qn_test_forward(net->m, p, &seg).loss_sum;
    assert_true(loss_counting(net, p, ALL, NULL, h) == loss);
    qn_pass_free(p);
    free(h);
}

/* The cells as they are read, and of what a layer has as many as there are. */
static void check_kind(struct net *net, bool training)
{
    struct qn_err err;
    struct qn_pass *p = qn_test_pass(net->m, BATCH, STEPS, training);
    hists *h = new_hists();
    float *c = qn_xcalloc(ROWS * HIDDEN, sizeof *c);
    unsigned has = qn_model_quantities(&net->spec, ALL);
    (void)loss_counting(net, p, ALL, N_REAL, h);
    for (int k = 0; k < net->spec.model.layers; k++) {
        assert_int_equal(qn_pass_cells(p, k, c, &err), QN_OK);
        check_counts(&h[k][QN_CELL], c);
        for (int i = 0; i < QN_N_QUANTITIES; i++) {
            uint64_t n = (has >> i & 1u) != 0 ? (9 + 3 + 8) * HIDDEN : 0;
            assert_int_equal(qn_hist_shares(&h[k][i]).count, n);
        }
    }
    free(c);
    free(h);
    qn_pass_free(p);
}

static void every_kind_is_counted_without_being_changed(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        for (int i = 0; i < 2; i++) {
            struct net net;
            open_net(&net, qn_test_backends[i], qn_test_kind(kind));
            counting_changes_nothing(&net, false);
            counting_changes_nothing(&net, true);
            check_kind(&net, false);
            check_kind(&net, true);
            close_net(&net);
        }
    }
}

static void only_what_is_asked_for_is_counted(void **state)
{
    (void)state;
    struct net net;
    open_net(&net, "cpu", QN_SPEC("model.hidden=10", "model.embed=7"));
    struct qn_pass *p = qn_test_pass(net.m, BATCH, STEPS, false);
    hists *h = new_hists();
    (void)loss_counting(&net, p, 1u << QN_FORGET, NULL, h);
    assert_int_equal(qn_hist_shares(&h[1][QN_FORGET]).count, ROWS * HIDDEN);
    assert_int_equal(qn_hist_shares(&h[1][QN_CELL]).count, 0);
    assert_int_equal(qn_hist_shares(&h[1][QN_OUTPUT]).count, 0);
    free(h);
    qn_pass_free(p);
    close_net(&net);
}

static void networks_have_the_quantities_of_their_equations(void **state)
{
    (void)state;
    unsigned without_o = ALL & ~(1u << QN_OUTGATE);
    struct qn_spec f = QN_SPEC("model.pooling=f");
    struct qn_spec fo = QN_SPEC("model.pooling=fo");
    struct qn_spec ifo = QN_SPEC("model.pooling=ifo");
    struct qn_spec lstm = QN_SPEC("model.cell=lstm");
    assert_int_equal(qn_model_quantities(&f, ALL), without_o);
    assert_int_equal(qn_model_quantities(&fo, ALL), ALL);
    assert_int_equal(qn_model_quantities(&ifo, ALL), ALL);
    assert_int_equal(qn_model_quantities(&lstm, ALL), ALL);
    assert_int_equal(qn_model_quantities(&f, 1u << QN_OUTGATE), 0);
    assert_int_equal(qn_model_quantities(&fo, 1u << QN_FORGET),
                     1u << QN_FORGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_a_plain_recomputation),
        cmocka_unit_test(every_kind_is_counted_without_being_changed),
        cmocka_unit_test(only_what_is_asked_for_is_counted),
        cmocka_unit_test(networks_have_the_quantities_of_their_equations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
