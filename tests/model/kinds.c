/* kinds.c - what holds for every kind of network: carried state, memory, chance
 * and running statistics. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qn_spec noisy(struct qn_spec spec)
{
    spec.model.dropout = 0.3;
    spec.model.embed_dropout = 0.2;
    spec.model.zoneout = spec.model.cell == QN_CELL_QRNN ? 0.2 : 0;
    return spec;
}

/* --- carried state ------------------------------------------------------ */

/* Logits differ only by the order in which a product adds up its terms: some
 * roundings of numbers of size 1. */
static const double ROUNDING = 4e-6;

static void in_pieces(const char *backend, int kind, int room)
{
    static const int lengths[] = {5, 1, 2, 5, 4, 1, 1, 5, 5};
    struct net net;
    net_open(&net, backend, qn_test_kind(kind));
    struct qn_pass *whole = qn_test_pass(net.m, NET_BATCH, NET_LEN, false);
    struct qn_pass *pieces = qn_test_pass(net.m, NET_BATCH, room, false);
    (void)net_forward(&net, whole, 0, NET_LEN, 0);
    float *expected = net_logits(whole, NET_LEN);
    int from = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int n = lengths[i];
        (void)net_forward(&net, pieces, from, n, 0);
        qn_pass_carry(pieces);
        float *got = net_logits(pieces, n);
        for (int b = 0; b < NET_BATCH; b++) {
            double d =
                qn_test_distance(got + b * n * NET_VOCAB,
                                 expected + (b * NET_LEN + from) * NET_VOCAB,
                                 (size_t)(n * NET_VOCAB));
            if (!(d < ROUNDING)) {
                fail_msg("%s, kind %d: %g", backend, kind, d);
            }
        }
        free(got);
        from += n;
    }
    assert_int_equal(from, NET_LEN);
    free(expected);
    qn_pass_free(pieces);
    qn_pass_free(whole);
    net_close(&net);
}

static void segment_by_segment_equals_one_long_pass(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        in_pieces("ref", kind, 5);
        in_pieces("cpu", kind, 5);
        in_pieces("cpu", kind, 17);
    }
}

/* After an odd number of steps, so that step biases are in their middle. */
static void state_moves_to_another_pass(int kind)
{
    struct net net;
    struct qn_err err;
    net_open(&net, "cpu", noisy(qn_test_kind(kind)));
    struct qn_pass *a = qn_test_pass(net.m, NET_BATCH, 8, true);
    struct qn_pass *b = qn_test_pass(net.m, NET_BATCH, 8, true);
    size_t len = qn_pass_state_len(a);
    float *state = qn_xcalloc(2 * len, sizeof *state);
    (void)net_forward(&net, a, 0, 7, 0);
    qn_pass_carry(a);
    assert_int_equal(qn_pass_read_state(a, state, &err), QN_OK);
    qn_pass_write_state(b, state);
    assert_int_equal(qn_pass_read_state(b, state + len, &err), QN_OK);
    assert_memory_equal(state, state + len, len * sizeof *state);
    double carried = net_forward(&net, a, 7, 8, 1).loss_sum;
    assert_true(net_forward(&net, b, 7, 8, 1).loss_sum == carried);
    qn_pass_restart(b);
    double anew = net_forward(&net, b, 7, 8, 1).loss_sum;
    struct qn_pass *fresh = qn_test_pass(net.m, NET_BATCH, 8, true);
    assert_true(anew != carried);
    assert_true(net_forward(&net, fresh, 7, 8, 1).loss_sum == anew);
    qn_pass_free(fresh);
    free(state);
    qn_pass_free(a);
    qn_pass_free(b);
    net_close(&net);
}

static void carried_state_moves_and_restarts(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        state_moves_to_another_pass(kind);
    }
}

/* A stored position may be damaged; then the stream begins. */
static void a_senseless_position_is_a_start(void **state)
{
    (void)state;
    struct net net;
    struct qn_err err;
    net_open(&net, "cpu",
             QN_SPEC("model.hidden=6", "model.bias=step", "seq=9"));
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, false);
    size_t len = qn_pass_state_len(p);
    /* c of 6 in two layers, contexts of one vector of 64 and of 6. */
    assert_int_equal(len, NET_BATCH * (2 * 6 + 64 + 6) + 1);
    float *carried = qn_xcalloc(len, sizeof *carried);
    double start = net_forward(&net, p, 0, 8, 0).loss_sum;
    static const float wrong[] = {-1, 9, 1e30f, -1e30f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        carried[len - 1] = wrong[i];
        qn_pass_write_state(p, carried);
        assert_true(net_forward(&net, p, 0, 8, 0).loss_sum == start);
    }
    carried[len - 1] = 8;
    qn_pass_write_state(p, carried);
    assert_true(net_forward(&net, p, 0, 8, 0).loss_sum != start);
    assert_int_equal(qn_pass_read_state(p, carried, &err), QN_OK);
    assert_true(carried[len - 1] == 8);
    free(carried);
    qn_pass_free(p);
    net_close(&net);
}

/* What an LSTM drops it still remembers: with one layer the state carried on
 * is that of no dropout. */
static void an_lstm_carries_what_it_had_before_dropout(void **state)
{
    (void)state;
    struct net net;
    struct qn_err err;
    float carried[2][NET_BATCH * 2 * 6];
    for (int i = 0; i < 2; i++) {
        net_open(&net, "cpu",
                 QN_SPEC("model.cell=lstm", "model.layers=1", "model.hidden=6",
                         i == 0 ? "model.dropout=0" : "model.dropout=0.5"));
        struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
        (void)net_forward(&net, p, 0, 8, 0);
        qn_pass_backward(p);
        qn_pass_carry(p);
        assert_int_equal(qn_pass_state_len(p), NET_BATCH * 2 * 6);
        assert_int_equal(qn_pass_read_state(p, carried[i], &err), QN_OK);
        qn_pass_free(p);
        net_close(&net);
    }
    assert_memory_equal(carried[0], carried[1], sizeof carried[0]);
}

/* --- steps -------------------------------------------------------------- */

static float *weights_of(struct net *net)
{
    return qn_test_read(net->m, qn_model_weights(net->m));
}

/* Forward and back as often as one likes: losses, gradients and weights are as
 * if it had been once. */
static void repeat_without_carry(int kind)
{
    struct net net;
    net_open(&net, "cpu", noisy(qn_test_kind(kind)));
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    (void)net_forward(&net, p, 0, 7, 0);
    qn_pass_carry(p);
    float *weights = weights_of(&net);
    double first = net_forward(&net, p, 7, 8, 2).loss_sum;
    qn_pass_backward(p);
    float *grads = qn_test_read(net.m, qn_model_grads(net.m));
    assert_true(net_forward(&net, p, 7, 8, 3).loss_sum != first);
    qn_pass_backward(p);
    assert_true(net_forward(&net, p, 7, 8, 2).loss_sum == first);
    qn_pass_backward(p);
    float *again = qn_test_read(net.m, qn_model_grads(net.m));
    float *after = weights_of(&net);
    size_t n = qn_model_grads(net.m).count;
    assert_memory_equal(grads, again, n * sizeof *grads);
    n = qn_model_n_params(net.m);
    assert_memory_equal(weights, after, n * sizeof *weights);
    free(weights);
    free(after);
    free(grads);
    free(again);
    qn_pass_free(p);
    net_close(&net);
}

static void a_step_without_carry_leaves_no_trace(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        repeat_without_carry(kind);
    }
}

/* ref is an oracle and takes scratch memory as it goes; cpu must not. */
static void a_running_pass_allocates_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        struct net net;
        net_open(&net, "cpu", noisy(qn_test_kind(kind)));
        struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
        uint64_t before = 0;
        for (uint64_t step = 0; step < 3; step++) {
            (void)net_forward(&net, p, 8 * (int)step, 8, step);
            qn_pass_backward(p);
            qn_pass_carry(p);
            before = step == 0 ? qn_mem_count() : before;
        }
        assert_int_equal(qn_mem_count(), before);
        qn_pass_free(p);
        net_close(&net);
    }
}

/* Gradients and running statistics after a step on this pool. */
static float *trained_on(struct qn_pool *pool, int kind, float **weights)
{
    struct net net = {.spec = noisy(qn_test_kind(kind))};
    struct qn_err err;
    assert_int_equal(qn_backend_new("cpu", pool, 3, &net.be, &err), QN_OK);
    net.m = qn_test_model(net.be, &net.spec, NET_VOCAB);
    net.ids = qn_test_ids(NET_BATCH * NET_LEN, NET_VOCAB, 21);
    net.targets = qn_test_ids(NET_BATCH * NET_LEN, NET_VOCAB, 22);
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    (void)net_forward(&net, p, 0, 7, 1);
    qn_pass_carry(p);
    (void)net_forward(&net, p, 7, 8, 2);
    qn_pass_backward(p);
    float *grads = qn_test_read(net.m, qn_model_grads(net.m));
    *weights = weights_of(&net);
    qn_pass_free(p);
    net_close(&net);
    return grads;
}

static void results_do_not_depend_on_who_computes_them(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(3);
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        struct qn_spec spec = qn_test_kind(kind);
        struct qn_param_list list;
        float *weights[2];
        qn_param_list_init(&list, &spec, NET_VOCAB);
        float *alone = trained_on(NULL, kind, &weights[0]);
        float *together = trained_on(pool, kind, &weights[1]);
        assert_memory_equal(alone, together, list.trained * sizeof *alone);
        assert_memory_equal(weights[0], weights[1],
                            list.count * sizeof *weights[0]);
        free(alone);
        free(together);
        free(weights[0]);
        free(weights[1]);
        qn_param_list_fini(&list);
    }
    qn_pool_free(pool);
}

/* --- running statistics ------------------------------------------------- */

static const struct qn_param *find(const struct qn_param_list *list,
                                   const char *name)
{
    const struct qn_param *p = qn_param_find(list, name);
    assert_non_null(p);
    return p;
}

/* One layer, so that its pre-activations are products of the embedding: their
 * mean over the segment is the product of the mean embedding. */
static void running_means_move_by_a_tenth_at_each_carry(void **state)
{
    (void)state;
    enum { H = 3, E = 4, ROWS = NET_BATCH * 8 };
    struct net net;
    struct qn_param_list list;
    net_open(&net, "cpu",
             QN_SPEC("model.hidden=3", "model.embed=4", "model.layers=1",
                     "model.window=1", "model.batch_norm=true",
                     "model.activation=tanh"));
    qn_param_list_init(&list, &net.spec, NET_VOCAB);
    size_t mean_at = find(&list, "layers.0.norm.running_mean")->offset;
    size_t var_at = find(&list, "layers.0.norm.running_var")->offset;
    size_t table_at = find(&list, "embedding.weight")->offset;
    size_t weight_at = find(&list, "layers.0.conv.weight")->offset;
    assert_true(mean_at >= list.trained && var_at >= list.trained);
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    float *before = weights_of(&net);
    (void)net_forward(&net, p, 0, 8, 1);
    qn_pass_backward(p);
    qn_pass_carry(p);
    float *after = weights_of(&net);
    for (size_t g = 0; g < 3 * H; g++) {
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < ROWS; i++) {
            int id = net.ids[i / 8 * NET_LEN + i % 8];
            double a = 0;
            for (size_t e = 0; e < E; e++) {
                a += (double)before[weight_at + g * E + e] *
                     (double)before[table_at + (size_t)id * E + e];
            }
            sum += a;
            squares += a * a;
        }
        double mean = sum / ROWS;
        double var = squares / ROWS - mean * mean;
        /* Roundings of float32 numbers of size 1. */
        assert_true(fabs(0.9 * (double)before[mean_at + g] + 0.1 * mean -
                         (double)after[mean_at + g]) < 1e-6);
        assert_true(fabs(0.9 * (double)before[var_at + g] + 0.1 * var -
                         (double)after[var_at + g]) < 1e-6);
    }
    assert_memory_equal(before, after, list.trained * sizeof *before);
    free(before);
    free(after);
    qn_pass_free(p);
    qn_param_list_fini(&list);
    net_close(&net);
}

static void evaluation_leaves_running_statistics_alone(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", QN_SPEC("model.hidden=6", "model.batch_norm=true"));
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, false);
    float *before = weights_of(&net);
    (void)net_forward(&net, p, 0, 8, 1);
    qn_pass_carry(p);
    float *after = weights_of(&net);
    assert_memory_equal(before, after,
                        qn_model_n_params(net.m) * sizeof *before);
    free(before);
    free(after);
    qn_pass_free(p);
    net_close(&net);
}

/* --- zoneout ------------------------------------------------------------ */

/* Whether the zoneout of that layer's unit lets its gate be used. */
static bool is_used(int layer, int b, int t, int unit)
{
    uint64_t key = qn_rng_key(9, 4, (uint64_t)layer, QN_RNG_ZONEOUT);
    uint32_t row = qn_rng_row(key, (uint64_t)b, (uint64_t)t);
    return qn_rng_bits(row, (uint32_t)unit) >= qn_rng_threshold(0.4);
}

/* Where the key says so, and there alone, a cell is exactly as it was. */
static void zoneout_keeps_the_cells_that_its_key_draws(void **state)
{
    (void)state;
    enum { H = 10, STEPS = 8 };
    for (int i = 0; i < 2; i++) {
        struct net net;
        struct qn_err err;
        float c[NET_BATCH * STEPS * H];
        net_open(&net, qn_test_backends[i],
                 QN_SPEC("model.hidden=10", "model.activation=tanh",
                         "model.zoneout=0.4", "model.dropout=0.4"));
        struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, STEPS, true);
        (void)net_forward(&net, p, 0, STEPS, 4);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(qn_pass_cells(p, k, c, &err), QN_OK);
            for (int at = 0; at < NET_BATCH * STEPS * H; at++) {
                int t = at / H % STEPS;
                bool used = is_used(k, at / H / STEPS, t, at % H);
                float before = t == 0 ? 0 : c[at - H];
                assert_int_equal(c[at] != before, used);
            }
        }
        qn_pass_free(p);
        net_close(&net);
    }
}

/* --- weight decay ------------------------------------------------------- */

/* The gradient of one tensor after k times the weights was added to zeros. */
static void check_l2(struct net *net, const struct qn_param_list *list,
                     enum qn_l2_on on)
{
    net->be->ops->fill(net->be, qn_model_grads(net->m), 0.0f);
    qn_model_add_l2(net->m, 0.5, on);
    float *w = weights_of(net);
    float *g = qn_test_read(net->m, qn_model_grads(net->m));
    for (int i = 0; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        bool last = strcmp(p->name, "decoder.weight") == 0;
        bool wanted = on == QN_L2_ALL || last ||
                      (on == QN_L2_WEIGHTS && strstr(p->name, "bias") == NULL &&
                       strstr(p->name, "norm") == NULL);
        for (size_t j = 0; j < p->count && !p->fixed; j++) {
            float expected = wanted ? 0.5f * w[p->offset + j] : 0.0f;
            assert_true(g[p->offset + j] == expected);
        }
    }
    free(w);
    free(g);
}

static void l2_holds_for_what_was_asked(void **state)
{
    (void)state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        struct net net;
        struct qn_param_list list;
        net_open(&net, "cpu", qn_test_kind(kind));
        qn_param_list_init(&list, &net.spec, NET_VOCAB);
        assert_int_equal(qn_model_grads(net.m).count, list.trained);
        assert_int_equal(qn_model_trained(net.m).count, list.trained);
        check_l2(&net, &list, QN_L2_ALL);
        check_l2(&net, &list, QN_L2_WEIGHTS);
        check_l2(&net, &list, QN_L2_LAST);
        qn_param_list_fini(&list);
        net_close(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_by_segment_equals_one_long_pass),
        cmocka_unit_test(carried_state_moves_and_restarts),
        cmocka_unit_test(a_senseless_position_is_a_start),
        cmocka_unit_test(an_lstm_carries_what_it_had_before_dropout),
        cmocka_unit_test(a_step_without_carry_leaves_no_trace),
        cmocka_unit_test(a_running_pass_allocates_nothing),
        cmocka_unit_test(results_do_not_depend_on_who_computes_them),
        cmocka_unit_test(running_means_move_by_a_tenth_at_each_carry),
        cmocka_unit_test(evaluation_leaves_running_statistics_alone),
        cmocka_unit_test(zoneout_keeps_the_cells_that_its_key_draws),
        cmocka_unit_test(l2_holds_for_what_was_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
