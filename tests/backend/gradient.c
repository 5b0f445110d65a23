/* gradient.c - ref's backward operations against central differences of its
 * forward ones.
 *
 * The loss is a sum over outputs in double, but the outputs are stored as
 * floats: a difference over 2 eps is off by about 2^-24 L / eps, L the size of
 * the outputs (about 1), and by eps^2 times a third derivative of about 1. eps
 * = 4e-3 balances the two at 1.5e-5; sums of independent roundings over up to
 * a hundred outputs make it some 5e-5 of a gradient that is about 1. The bound
 * is 2e-4 of the largest gradient of the array: any term of a gradient that is
 * wrong shows at 1e-2 and more. */
#include "layer.h"
#include "place.h"
#include "base/mem.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 4e-3f
#define BOUND 2e-4

/* sum(out * d_out) + sum(last c * d_last_c) */
static double layer_loss(struct qn_backend *be, struct layer_data *d)
{
    layer_run(be, d, false);
    double sum = 0.0;
    for (size_t i = 0; i < d->count[LAYER_OUT]; i++) {
        double slope = (double)d->array[LAYER_D_OUT][i];
        if (!isnan(slope)) /* behind a sequence's end */
            sum += (double)d->array[LAYER_OUT][i] * slope;
    }
    size_t hidden = (size_t)d->shape.hidden;
    for (size_t b = 0; b < (size_t)d->shape.batch; b++) {
        size_t last = ((b + 1) * (size_t)d->shape.steps - 1) * hidden;
        for (size_t h = 0; h < hidden; h++)
            sum += (double)d->array[LAYER_CELLS][last + h] *
                   (double)d->array[LAYER_D_LAST_C][b * hidden + h];
    }
    return sum;
}

static float layer_slope(struct qn_backend *be, struct layer_data *d, float *x)
{
    float keep = *x;
    if (isnan(keep)) /* behind a sequence's end */
        return 0.0f;
    *x = keep + EPS;
    double up = layer_loss(be, d);
    double step = (double)*x;
    *x = keep - EPS;
    double down = layer_loss(be, d);
    step -= (double)*x;
    *x = keep;
    return (float)((up - down) / step);
}

static void check(const float *gradient, const float *slopes, size_t n,
                  const char *what)
{
    double error = qn_max_error_f(gradient, slopes, n);
    if (!(error <= BOUND))
        fail_msg("the gradient of %s is off by %g", what, error);
}

/* The gradient 'grad' of every element of 'of'. */
static void check_array(struct qn_backend *be, struct layer_data *d,
                        enum layer_array of, enum layer_array grad)
{
    size_t n = d->count[of];
    float *slopes = qn_xcalloc(n, sizeof *slopes);
    for (size_t i = 0; i < n; i++)
        slopes[i] = layer_slope(be, d, &d->array[of][i]);
    check(d->array[grad], slopes, n, layer_array_name(of));
    free(slopes);
}

/* x has n - 1 rows of history before each sequence, which get no gradient. */
static void check_x(struct qn_backend *be, struct layer_data *d)
{
    size_t before = (size_t)((d->shape.window - 1) * d->shape.in);
    size_t real = (size_t)(d->shape.steps * d->shape.in);
    float *slopes = qn_xcalloc(d->count[LAYER_D_X], sizeof *slopes);
    for (size_t i = 0; i < d->count[LAYER_D_X]; i++) {
        size_t at = i + (i / real + 1) * before;
        slopes[i] = layer_slope(be, d, &d->array[LAYER_X][at]);
    }
    check(d->array[LAYER_D_X], slopes, d->count[LAYER_D_X], "x");
    free(slopes);
}

static void clear(struct layer_data *d, enum layer_array which)
{
    memset(d->array[which], 0, d->count[which] * sizeof(float));
}

static void check_shape(struct layer_shape shape)
{
    struct layer_data *d = layer_new(shape, 21);
    clear(d, LAYER_D_WEIGHT);
    clear(d, LAYER_D_BIAS);
    clear(d, LAYER_D_GAIN);
    clear(d, LAYER_D_SHIFT);
    struct qn_backend *be = place_backend("ref", NULL, 1);
    layer_run(be, d, true);
    check_array(be, d, LAYER_WEIGHT, LAYER_D_WEIGHT);
    if (shape.norm == LAYER_NO_NORM) {
        check_array(be, d, LAYER_BIAS, LAYER_D_BIAS);
    } else {
        check_array(be, d, LAYER_GAIN, LAYER_D_GAIN);
        check_array(be, d, LAYER_SHIFT, LAYER_D_SHIFT);
    }
    check_array(be, d, LAYER_C0, LAYER_D_C0);
    check_x(be, d);
    qn_backend_free(be);
    layer_free(d);
}

static struct layer_shape shape_of(enum qn_pooling pooling,
                                   enum qn_activation activation)
{
    struct layer_shape shape = {.batch = 2,
                                .steps = 4,
                                .in = 3,
                                .hidden = 3,
                                .window = 3,
                                .pooling = pooling,
                                .activation = activation,
                                .drop = 0.25,
                                .extra = 1};
    return shape;
}

static void qrnn_gradients_are_slopes(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++)
        for (int a = 0; a < 5; a++)
            check_shape(shape_of((enum qn_pooling)p, (enum qn_activation)a));
}

/* With the smooth activation: statistics move many pre-activations at a time,
 * some of them across a kink. */
static void norm_zoneout_and_step_bias_gradients_are_slopes(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++) {
        struct layer_shape shape = shape_of((enum qn_pooling)p, QN_TANH);
        shape.zoneout = 0.3;
        shape.bias_steps = 3;
        shape.bias_first = 2;
        check_shape(shape);
        shape.norm = LAYER_NORM_EVAL;
        check_shape(shape);
        shape.norm = LAYER_NORM_TRAIN;
        check_shape(shape);
    }
}

/* The second sequence ends before the segment, the third before it began. The
 * last states are what they were at the ends. */
static void gradients_of_padded_sequences_are_slopes(void **state)
{
    (void)state;
    static const int n_real[] = {4, 2, 0};
    for (int p = 0; p < 3; p++)
        for (int norm = 0; norm < 3; norm++) {
            struct layer_shape shape = shape_of((enum qn_pooling)p, QN_TANH);
            shape.batch = 3;
            shape.n_real = n_real;
            shape.zoneout = 0.3;
            shape.norm = (enum layer_norm)norm;
            check_shape(shape);
        }
}

/* Embedding, decoder and loss in a row: the loss of ids under their own
 * embeddings. */
enum { BATCH = 2, STEPS = 3, WIDTH = 4, VOCAB = 5, ROWS = BATCH * STEPS };

struct head {
    float table[VOCAB * WIDTH], weight[VOCAB * WIDTH], bias[VOCAB];
    float d_table[VOCAB * WIDTH], d_weight[VOCAB * WIDTH], d_bias[VOCAB];
};

static const int32_t head_ids[ROWS] = {1, 4, 1, 0, 2, 1};
static const int32_t head_targets[ROWS] = {4, 1, -1, 2, 2, 0};

static double head_loss(struct qn_backend *be, struct head *h, bool back)
{
    const struct qn_backend_ops *ops = be->ops;
    struct qn_dropout drop = {.p = 0.25, .key = 5, .first_sample = 2};
    struct place_shape shape = {BATCH, STEPS, WIDTH, 0, 1};
    struct qn_tensor ids = place_tensor(be, head_ids, ROWS);
    struct qn_tensor targets = place_tensor(be, head_targets, ROWS);
    struct qn_tensor table = place_tensor(be, h->table, VOCAB * WIDTH);
    struct qn_tensor weight = place_tensor(be, h->weight, VOCAB * WIDTH);
    struct qn_tensor bias = place_tensor(be, h->bias, VOCAB);
    struct qn_tensor y = place_tensor(be, NULL, ROWS * VOCAB);
    struct qn_tensor grads = place_tensor(be, NULL, VOCAB * (2 * WIDTH + 1));
    struct qn_seq x = place_seq(be, shape, NULL);
    struct qn_seq d_x = place_seq(be, shape, NULL);
    struct qn_tensor d_table = qn_tensor_part(grads, 0, table.count);
    struct qn_tensor d_weight =
        qn_tensor_part(grads, table.count, weight.count);
    struct qn_tensor d_bias = qn_tensor_part(grads, 2 * table.count, VOCAB);
    struct qn_step_result r;

    ops->step_begin(be);
    ops->embed(be, x, table, ids, &drop);
    ops->linear(be, y, x, weight, bias);
    ops->softmax_xent(be, y, targets, VOCAB, back ? 1.0f : 0.0f, 0.0);
    assert_int_equal(ops->step_end(be, &r, NULL), QN_OK);
    if (back) {
        ops->linear_grad(be, d_x, d_weight, d_bias, y, x, weight);
        ops->embed_grad(be, d_table, d_x, ids, &drop);
        (void)ops->read(be, d_table, h->d_table, NULL);
        (void)ops->read(be, d_weight, h->d_weight, NULL);
        (void)ops->read(be, d_bias, h->d_bias, NULL);
    }
    struct qn_buffer *all[] = {ids.buffer,    targets.buffer, table.buffer,
                               weight.buffer, bias.buffer,    y.buffer,
                               grads.buffer,  x.buffer,       d_x.buffer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        place_free(be, all[i]);
    return r.loss_sum;
}

static void check_head(struct qn_backend *be, struct head *h, float *of,
                       const float *gradient, size_t n, const char *what)
{
    float slopes[VOCAB * WIDTH];
    for (size_t i = 0; i < n; i++) {
        float keep = of[i];
        of[i] = keep + EPS;
        double up = head_loss(be, h, false);
        double step = (double)of[i];
        of[i] = keep - EPS;
        double down = head_loss(be, h, false);
        step -= (double)of[i];
        of[i] = keep;
        slopes[i] = (float)((up - down) / step);
    }
    check(gradient, slopes, n, what);
}

static void head_gradients_are_slopes(void **state)
{
    (void)state;
    struct head h;
    qn_fill_normal(h.table, VOCAB * WIDTH, 1.0, 31);
    qn_fill_normal(h.weight, VOCAB * WIDTH, 1.0, 32);
    qn_fill_normal(h.bias, VOCAB, 1.0, 33);
    struct qn_backend *be = place_backend("ref", NULL, 1);
    (void)head_loss(be, &h, true);
    check_head(be, &h, h.table, h.d_table, VOCAB * WIDTH, "the table");
    check_head(be, &h, h.weight, h.d_weight, VOCAB * WIDTH, "the weight");
    check_head(be, &h, h.bias, h.d_bias, VOCAB, "the bias");
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qrnn_gradients_are_slopes),
        cmocka_unit_test(norm_zoneout_and_step_bias_gradients_are_slopes),
        cmocka_unit_test(gradients_of_padded_sequences_are_slopes),
        cmocka_unit_test(head_gradients_are_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
