/* passes.c - carried state, short segments, counts and chance in passes. */
#include "base/mem.h"
#include "model/net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qn_spec plain(void)
{
    return QN_SPEC("model.hidden=10", "model.embed=7", "model.layers=3",
                   "model.window=6,3,1");
}

static struct qn_spec dropping(void)
{
    struct qn_spec spec = plain();
    spec.model.dropout = 0.3;
    spec.model.embed_dropout = 0.2;
    return spec;
}

/* Logits differ only by the order in which a product adds up its terms: some
 * roundings of numbers of size 1. */
static const double ROUNDING = 2e-6;

static void in_pieces(const char *backend, int room)
{
    static const int lengths[] = {5, 1, 2, 5, 4, 1, 1, 5, 5};
    struct net net;
    net_open(&net, backend, plain());
    struct qn_pass *whole = qn_test_pass(net.m, NET_BATCH, NET_LEN, false);
    struct qn_pass *pieces = qn_test_pass(net.m, NET_BATCH, room, false);
    double loss = net_forward(&net, whole, 0, NET_LEN, 0).loss_sum;
    float *expected = net_logits(whole, NET_LEN);
    double sum = 0;
    int from = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int n = lengths[i];
        sum += net_forward(&net, pieces, from, n, 0).loss_sum;
        qn_pass_carry(pieces);
        float *got = net_logits(pieces, n);
        for (int b = 0; b < NET_BATCH; b++) {
            double d =
                qn_test_distance(got + b * n * NET_VOCAB,
                                 expected + (b * NET_LEN + from) * NET_VOCAB,
                                 (size_t)(n * NET_VOCAB));
            assert_true(d < ROUNDING);
        }
        free(got);
        from += n;
    }
    assert_int_equal(from, NET_LEN);
    assert_true(fabs(sum / loss - 1) < ROUNDING);
    free(expected);
    qn_pass_free(pieces);
    qn_pass_free(whole);
    net_close(&net);
}

static void segment_by_segment_equals_one_long_pass(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        in_pieces(qn_test_backends[i], 5);
        in_pieces(qn_test_backends[i], 17);
    }
}

static void a_forward_without_carry_can_be_repeated(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", dropping());
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    (void)net_forward(&net, p, 0, 8, 1);
    qn_pass_carry(p);
    double first = net_forward(&net, p, 8, 8, 2).loss_sum;
    assert_true(net_forward(&net, p, 8, 8, 3).loss_sum != first);
    assert_true(net_forward(&net, p, 8, 8, 2).loss_sum == first);
    qn_pass_free(p);
    net_close(&net);
}

static void restart_begins_streams_anew(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", plain());
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, false);
    double first = net_forward(&net, p, 0, 8, 0).loss_sum;
    qn_pass_carry(p);
    double carried = net_forward(&net, p, 0, 8, 0).loss_sum;
    assert_true(carried != first);
    qn_pass_restart(p);
    assert_true(net_forward(&net, p, 0, 8, 0).loss_sum == first);
    qn_pass_free(p);
    net_close(&net);
}

static void carried_state_moves_to_another_pass(void **state)
{
    (void)state;
    struct net net;
    struct qn_err err;
    net_open(&net, "cpu", plain());
    struct qn_pass *a = qn_test_pass(net.m, NET_BATCH, 8, true);
    struct qn_pass *b = qn_test_pass(net.m, NET_BATCH, 8, true);
    size_t len = qn_pass_state_len(a);
    /* c of 10 in three layers; contexts 5 x 7, 2 x 10 and none. */
    assert_int_equal(len, NET_BATCH * (3 * 10 + 5 * 7 + 2 * 10));
    float *state_a = qn_xcalloc(len, sizeof *state_a);
    float *state_b = qn_xcalloc(len, sizeof *state_b);
    (void)net_forward(&net, a, 0, 8, 0);
    qn_pass_carry(a);
    assert_int_equal(qn_pass_read_state(a, state_a, &err), QN_OK);
    qn_pass_write_state(b, state_a);
    assert_int_equal(qn_pass_read_state(b, state_b, &err), QN_OK);
    assert_memory_equal(state_a, state_b, len * sizeof *state_a);
    assert_true(net_forward(&net, a, 8, 8, 1).loss_sum ==
                net_forward(&net, b, 8, 8, 1).loss_sum);
    free(state_a);
    free(state_b);
    qn_pass_free(a);
    qn_pass_free(b);
    net_close(&net);
}

/* The end of the embedded text, rows of embed_dropout included, is the context
 * of layer 0: nothing is looked up or dropped again. */
static void the_context_is_what_the_layer_read(void **state)
{
    (void)state;
    struct net net;
    struct qn_err err;
    net_open(&net, "ref", dropping());
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    size_t len = qn_pass_state_len(p);
    float *carried = qn_xcalloc(len, sizeof *carried);
    float *weights = qn_test_read(net.m, qn_model_weights(net.m));
    (void)net_forward(&net, p, 0, 8, 4);
    qn_pass_carry(p);
    assert_int_equal(qn_pass_read_state(p, carried, &err), QN_OK);
    int n_dropped = 0;
    for (int b = 0; b < NET_BATCH; b++) {
        const float *rows = carried + NET_BATCH * 10 + b * 5 * 7;
        for (int i = 0; i < 5 * 7; i++) {
            int id = net.ids[b * NET_LEN + 3 + i / 7];
            float whole = weights[id * 7 + i % 7] / 0.8f;
            bool dropped = rows[i] == 0;
            n_dropped += dropped;
            assert_true(dropped || fabsf(rows[i] - whole) < 1e-6f);
        }
    }
    assert_in_range(n_dropped, 10, 80);
    free(weights);
    free(carried);
    qn_pass_free(p);
    net_close(&net);
}

static void targets_below_zero_do_not_count(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", plain());
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    for (int i = 0; i < NET_BATCH * NET_LEN; i++) {
        net.targets[i] = -1;
    }
    struct qn_step_result r = net_forward(&net, p, 0, 8, 0);
    assert_true(r.count == 0 && r.loss_sum == 0);
    qn_pass_backward(p);
    float *grads = qn_test_read(net.m, qn_model_grads(net.m));
    for (size_t i = 0; i < qn_model_n_params(net.m); i++) {
        assert_true(grads[i] == 0);
    }
    net.targets[3] = 1;
    assert_true(net_forward(&net, p, 0, 8, 0).count == 1);
    free(grads);
    qn_pass_free(p);
    net_close(&net);
}

/* Two passes of fewer streams drop what one pass of all streams drops. */
static void dropout_belongs_to_the_sample_not_to_its_place(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", dropping());
    struct qn_pass *all = qn_test_pass(net.m, NET_BATCH, NET_LEN, true);
    struct qn_pass *one = qn_test_pass(net.m, 1, NET_LEN, true);
    double expected = net_forward(&net, all, 0, NET_LEN, 6).loss_sum;
    double sum = 0;
    for (int b = 0; b < NET_BATCH; b++) {
        struct qn_segment seg = {net.ids + b * NET_LEN,
                                 net.targets + b * NET_LEN,
                                 NET_LEN,
                                 NULL,
                                 9,
                                 6,
                                 (uint64_t)b};
        qn_pass_restart(one);
        sum += qn_test_forward(net.m, one, &seg).loss_sum;
    }
    assert_true(fabs(sum / expected - 1) < ROUNDING);
    qn_pass_free(one);
    qn_pass_free(all);
    net_close(&net);
}

static void a_changed_spec_changes_the_dropout_alone(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", plain());
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    struct qn_pass *eval = qn_test_pass(net.m, NET_BATCH, 8, false);
    double before = net_forward(&net, p, 0, 8, 0).loss_sum;
    assert_true(net_forward(&net, eval, 0, 8, 0).loss_sum == before);
    struct qn_spec spec = dropping();
    qn_model_set_spec(net.m, &spec);
    assert_true(net_forward(&net, p, 0, 8, 0).loss_sum != before);
    assert_true(net_forward(&net, eval, 0, 8, 0).loss_sum == before);
    qn_pass_free(eval);
    qn_pass_free(p);
    net_close(&net);
}

/* ref is an oracle and takes scratch memory as it goes; cpu must not. */
static void a_running_pass_allocates_nothing(void **state)
{
    (void)state;
    struct net net;
    net_open(&net, "cpu", dropping());
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

/* Gradients of one step of training on this pool. */
static float *trained_on(struct qn_pool *pool)
{
    struct net net;
    struct qn_err err;
    net_open(&net, "ref", dropping());
    qn_model_free(net.m);
    qn_backend_free(net.be);
    assert_int_equal(qn_backend_new("cpu", pool, 3, &net.be, &err), QN_OK);
    net.m = qn_test_model(net.be, &net.spec, NET_VOCAB);
    struct qn_pass *p = qn_test_pass(net.m, NET_BATCH, 8, true);
    (void)net_forward(&net, p, 0, 8, 1);
    qn_pass_carry(p);
    (void)net_forward(&net, p, 8, 8, 2);
    qn_pass_backward(p);
    float *grads = qn_test_read(net.m, qn_model_grads(net.m));
    qn_pass_free(p);
    net_close(&net);
    return grads;
}

static void gradients_do_not_depend_on_who_computes_them(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(3);
    struct qn_spec spec = dropping();
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, NET_VOCAB);
    float *alone = trained_on(NULL);
    float *together = trained_on(pool);
    assert_memory_equal(alone, together, list.count * sizeof *alone);
    free(alone);
    free(together);
    qn_param_list_fini(&list);
    qn_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_by_segment_equals_one_long_pass),
        cmocka_unit_test(a_forward_without_carry_can_be_repeated),
        cmocka_unit_test(restart_begins_streams_anew),
        cmocka_unit_test(carried_state_moves_to_another_pass),
        cmocka_unit_test(the_context_is_what_the_layer_read),
        cmocka_unit_test(targets_below_zero_do_not_count),
        cmocka_unit_test(dropout_belongs_to_the_sample_not_to_its_place),
        cmocka_unit_test(a_changed_spec_changes_the_dropout_alone),
        cmocka_unit_test(a_running_pass_allocates_nothing),
        cmocka_unit_test(gradients_do_not_depend_on_who_computes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
