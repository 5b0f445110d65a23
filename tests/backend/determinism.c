/* determinism.c - the cpu backend gives the same bits whatever the threads. */
#include "layer.h"
#include "layer_agree.h"
#include "place.h"
#include "base/mem.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define SLICES 3

static const int threads[] = {1, 2, 4};

static void same_layer(struct layer_shape shape)
{
    struct layer_data *first = layer_new(shape, 5);
    struct qn_backend *be = place_backend("cpu", NULL, SLICES);
    layer_run(be, first, true);
    qn_backend_free(be);
    for (int k = 0; k < 3; k++) {
        struct qn_pool *pool = qn_pool_new(threads[k]);
        struct layer_data *again = layer_new(shape, 5);
        be = place_backend("cpu", pool, SLICES);
        layer_run(be, again, true);
        for (int i = 0; i < LAYER_N_ARRAYS; i++)
            assert_memory_equal(again->array[i], first->array[i],
                                first->count[i] * sizeof(float));
        qn_backend_free(be);
        layer_free(again);
        qn_pool_free(pool);
    }
    layer_free(first);
}

/* On whole sequences, and split by time, where slices read one another's rows.
 */
static void same_by_pairs(struct layer_shape shape)
{
    shape.in = 100;
    assert_true(layer_pairs_up(&shape, SLICES));
    same_layer(shape);
    shape.batch = 2;
    shape.steps = 241;
    assert_true(layer_pairs_up(&shape, SLICES));
    same_layer(shape);
}

static void layers_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct layer_shape shape = {.batch = 10,
                                .steps = 90,
                                .in = 17,
                                .hidden = 33,
                                .window = 2,
                                .pooling = QN_POOL_FO,
                                .activation = QN_DRELU,
                                .drop = 0.25};
    same_layer(shape);
    same_by_pairs(shape);
    shape.in = 17;
    shape.n_symbols = 30; /* looked up */
    same_layer(shape);
    shape.batch = 2; /* fewer than slices: split by time */
    same_layer(shape);
    shape.batch = 1; /* and the recurrence by units */
    shape.n_symbols = 0;
    shape.hidden = 101;
    same_layer(shape);
    shape.norm = LAYER_NORM_TRAIN;
    same_layer(shape);
}

/* A step without layers: embedding, decoder, loss, norm, update. */
struct step {
    float *out; /* everything it wrote, one after the other */
    size_t n;
};

enum { BATCH = 7, STEPS = 11, WIDTH = 37, ROWS = BATCH * STEPS };
enum { VOCAB = 19 };

static void gather(struct qn_backend *be, struct step *step, struct qn_tensor t)
{
    step->out = qn_xrealloc(step->out, step->n + t.count, sizeof *step->out);
    assert_int_equal(be->ops->read(be, t, step->out + step->n, NULL), QN_OK);
    step->n += t.count;
}

static struct qn_tensor normal(struct qn_backend *be, size_t n, uint64_t seed)
{
    float *x = qn_xcalloc(n, sizeof *x);
    qn_fill_normal(x, n, 1.0, seed);
    struct qn_tensor t = place_tensor(be, x, n);
    free(x);
    return t;
}

static struct step run_step(struct qn_backend *be, int vocab)
{
    size_t n_bias = (size_t)vocab;
    size_t n_weight = n_bias * WIDTH;
    int32_t id[ROWS];
    for (int i = 0; i < ROWS; i++)
        id[i] = i * i % vocab;
    struct step step = {0};
    struct qn_dropout drop = {.p = 0.2, .key = 77, .first_sample = 3};
    struct qn_tensor ids = place_tensor(be, id, ROWS);
    struct qn_tensor table = normal(be, n_weight, 1);
    struct qn_tensor weight = normal(be, n_weight, 2);
    struct qn_tensor bias = normal(be, n_bias, 3);
    struct qn_tensor y = place_tensor(be, NULL, ROWS * n_bias);
    struct qn_tensor grads = place_tensor(be, NULL, 2 * n_weight + n_bias);
    struct qn_tensor m = place_tensor(be, NULL, grads.count);
    struct qn_tensor v = place_tensor(be, NULL, grads.count);
    struct qn_tensor params = normal(be, grads.count, 4);
    struct qn_tensor d_table = qn_tensor_part(grads, 0, n_weight);
    struct qn_tensor d_weight = qn_tensor_part(grads, n_weight, n_weight);
    struct qn_tensor d_bias = qn_tensor_part(grads, 2 * n_weight, n_bias);
    struct place_shape shape = {BATCH, STEPS, WIDTH, 1, 2};
    struct qn_seq x = place_seq(be, shape, NULL);
    struct qn_seq d_x = place_seq(be, shape, NULL);
    struct qn_update u = {.kind = QN_ADAM,
                          .lr = 0.1,
                          .clip_norm = 0.5,
                          .beta1 = 0.9,
                          .beta2 = 0.99,
                          .eps = 1e-8,
                          .t = 1};
    struct qn_step_result r;

    be->ops->step_begin(be);
    be->ops->embed(be, x, table, ids, &drop);
    be->ops->linear(be, y, x, weight, bias);
    be->ops->softmax_xent(be, y, ids, vocab, 0.01f, 0.0);
    be->ops->linear_grad(be, d_x, d_weight, d_bias, y, x, weight);
    be->ops->embed_grad(be, d_table, d_x, ids, &drop);
    be->ops->grad_norm(be, grads);
    be->ops->update(be, &u, params, grads, m, v);
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    gather(be, &step, grads);
    gather(be, &step, params);
    float loss[4];
    memcpy(loss, &r.loss_sum, sizeof r.loss_sum);
    memcpy(loss + 2, &r.norm, sizeof r.norm);
    struct qn_tensor numbers = place_tensor(be, loss, 4);
    gather(be, &step, numbers);

    struct qn_buffer *all[] = {ids.buffer,  table.buffer, weight.buffer,
                               bias.buffer, y.buffer,     grads.buffer,
                               m.buffer,    v.buffer,     params.buffer,
                               x.buffer,    d_x.buffer,   numbers.buffer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        place_free(be, all[i]);
    return step;
}

static void same_step(int vocab)
{
    struct qn_backend *be = place_backend("cpu", NULL, SLICES);
    struct step first = run_step(be, vocab);
    qn_backend_free(be);
    for (int k = 0; k < 3; k++) {
        struct qn_pool *pool = qn_pool_new(threads[k]);
        be = place_backend("cpu", pool, SLICES);
        struct step again = run_step(be, vocab);
        assert_int_equal(again.n, first.n);
        assert_memory_equal(again.out, first.out, first.n * sizeof(float));
        free(again.out);
        qn_backend_free(be);
        qn_pool_free(pool);
    }
    free(first.out);
}

static void a_step_does_not_depend_on_threads(void **state)
{
    (void)state;
    same_step(VOCAB);
    same_step(SLICES * 256 + 5); /* the decoder is split by outputs */
}

/* Workspace grows in the first step and is kept: the same step again allocates
 * only what this test itself does. */
static void the_second_step_allocates_nothing(void **state)
{
    (void)state;
    struct qn_backend *be = place_backend("cpu", NULL, SLICES);
    uint64_t before = qn_mem_count();
    free(run_step(be, VOCAB).out);
    uint64_t first = qn_mem_count() - before;
    free(run_step(be, VOCAB).out);
    uint64_t second = qn_mem_count() - before - first;
    free(run_step(be, VOCAB).out);
    uint64_t third = qn_mem_count() - before - first - second;
    assert_true(second < first);
    assert_int_equal(third, second);
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_do_not_depend_on_threads),
        cmocka_unit_test(a_step_does_not_depend_on_threads),
        cmocka_unit_test(the_second_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
