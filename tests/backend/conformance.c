/* conformance.c - the qrnn operations of the cpu backend against ref, over
 * awkward shapes.
 *
 * layer_agree.h says how near is near. */
#include "layer.h"
#include "layer_agree.h"
#include "place.h"
#include "backend/cpu/cpu.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static void check_shape(struct layer_shape shape)
{
    layer_check_slices(shape, 3);
}

/* Statistics of n rows take two of n dimensions out of their gradients: of two
 * rows roundings are left, of three or four mostly those. One row gives exact
 * zeros, as does none. */
static bool too_few(const struct layer_shape *s)
{
    int n = 0;
    for (int b = 0; b < s->batch; b++)
        n += s->n_real ? s->n_real[b] : s->steps;
    return n >= 2 && n <= 4;
}

static void every_pooling_and_activation_agrees(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++)
        for (int a = 0; a < 5; a++) {
            struct layer_shape shape = {.batch = 4,
                                        .steps = 6,
                                        .in = 17,
                                        .hidden = 33,
                                        .window = 2,
                                        .pooling = (enum qn_pooling)p,
                                        .activation = (enum qn_activation)a,
                                        .drop = 0.3,
                                        .extra = a};
            check_shape(shape);
        }
}

/* T below, at and above the window; batches below and above the slices. */
static void windows_longer_than_the_segment_agree(void **state)
{
    (void)state;
    static const int windows[] = {1, 2, 3, 6};
    static const int steps[] = {1, 2, 5, 7};
    static const int batches[] = {1, 2, 5};
    for (int w = 0; w < 4; w++)
        for (int t = 0; t < 4; t++)
            for (int b = 0; b < 3; b++) {
                struct layer_shape shape = {.batch = batches[b],
                                            .steps = steps[t],
                                            .in = 3,
                                            .hidden = 5,
                                            .window = windows[w],
                                            .pooling = QN_POOL_FO,
                                            .activation = QN_DRELU,
                                            .extra = (w + t + b) % 2 * 3};
                check_shape(shape);
            }
}

static void one_of_everything_agrees(void **state)
{
    (void)state;
    struct layer_shape shape = {.batch = 1,
                                .steps = 1,
                                .in = 1,
                                .hidden = 1,
                                .window = 1,
                                .pooling = QN_POOL_FO,
                                .activation = QN_TANH};
    check_shape(shape);
}

static struct layer_shape plain(void)
{
    struct layer_shape shape = {.batch = 3,
                                .steps = 5,
                                .in = 9,
                                .hidden = 7,
                                .window = 3,
                                .pooling = QN_POOL_IFO,
                                .activation = QN_DELU};
    return shape;
}

static void what_is_absent_or_added_to_agrees(void **state)
{
    (void)state;
    for (int bits = 0; bits < 32; bits++) {
        struct layer_shape shape = plain();
        shape.skip_x = bits & 16 ? 4 : 0;
        shape.window = bits & 1 ? 1 : 3;
        shape.extra = bits & 2 ? 4 : 0;
        shape.add_x = bits & 4;
        shape.no_d_c0 = bits & 8;
        shape.no_d_last_c = bits & 8;
        check_shape(shape);
    }
    struct layer_shape shape = plain();
    shape.no_d_x = true;
    check_shape(shape);
}

/* What is left out of d_x is not touched, and the rest is as it was with all:
 * other products of the same terms, some roundings apart. */
static void the_last_columns_of_d_x_are_had_alone(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        struct layer_shape shape = plain();
        shape.window = k & 1 ? 1 : 3;
        shape.extra = k & 2 ? 4 : 0;
        struct qn_backend *be = place_backend(k & 4 ? "ref" : "cpu", NULL, 2);
        struct layer_data *all = layer_new(shape, 3);
        shape.skip_x = 4;
        struct layer_data *some = layer_new(shape, 3);
        struct layer_data *before = layer_copy(some);
        layer_run(be, all, true);
        layer_run(be, some, true);
        for (size_t i = 0; i < some->count[LAYER_D_X]; i++) {
            bool skipped = i % (size_t)shape.in < (size_t)shape.skip_x;
            float want = (skipped ? before : all)->array[LAYER_D_X][i];
            float bound = skipped ? 0.0f : 1e-6f * (1.0f + fabsf(want));
            assert_true(fabsf(some->array[LAYER_D_X][i] - want) <= bound);
        }
        layer_free(before);
        layer_free(some);
        layer_free(all);
        qn_backend_free(be);
    }
}

/* Longer than a block of rows: time is cut, for batches of any size. */
static void long_sequences_agree(void **state)
{
    (void)state;
    for (int batch = 1; batch <= 3; batch += 2)
        for (int window = 1; window <= 3; window += 2) {
            struct layer_shape shape = {.batch = batch,
                                        .steps = batch == 1 ? 1000 : 450,
                                        .in = 4,
                                        .hidden = 3,
                                        .window = window,
                                        .pooling = QN_POOL_FO,
                                        .activation = QN_DRELU,
                                        .drop = 0.2,
                                        .extra = 1,
                                        .add_x = window == 3};
            check_shape(shape);
            shape.skip_x = 1;
            check_shape(shape);
        }
}

/* More sequences than fit a block: several blocks a slice. */
static void many_short_sequences_agree(void **state)
{
    (void)state;
    struct layer_shape shape = {.batch = 130,
                                .steps = 7,
                                .in = 6,
                                .hidden = 5,
                                .window = 2,
                                .pooling = QN_POOL_FO,
                                .activation = QN_RELU};
    check_shape(shape);
}

/* Norm of each kind or a bias of each step, zoneout of each kind, and shared
 * rows, in rotation over all poolings, activations, and awkward sizes. */
static void norm_zoneout_and_step_biases_agree(void **state)
{
    (void)state;
    static const int batches[] = {1, 2, 5};
    static const int steps[] = {1, 5, 7};
    for (int i = 0; i < 90; i++) {
        struct layer_shape shape = {.batch = batches[i % 3],
                                    .steps = steps[i / 3 % 3],
                                    .in = 3,
                                    .hidden = 5,
                                    .window = 1 + i % 4,
                                    .pooling = (enum qn_pooling)(i / 5 % 3),
                                    .activation = (enum qn_activation)(i % 5),
                                    .drop = i % 2 ? 0.2 : 0.0,
                                    .zoneout = i / 9 % 2 ? 0.3 : 0.0,
                                    .keep = i / 9 % 5 == 2,
                                    .norm = (enum layer_norm)(i / 9 % 3),
                                    .bias_steps = 1 + i % 3,
                                    .bias_first = i % 4,
                                    .shared = i / 2 % 2,
                                    .add_x = i / 4 % 2,
                                    .extra = i % 7};
        if (shape.norm == LAYER_NORM_TRAIN && too_few(&shape))
            shape.batch = 5;
        check_shape(shape);
    }
}

/* Every kind of length, in rotation over all poolings, activations, windows,
 * norms and zoneouts, one step and several, batches below and above the slices.
 * Rows behind the end hold NaN. */
static void padded_sequences_agree(void **state)
{
    (void)state;
    static const int batches[] = {1, 2, 5, 11};
    static const int steps[] = {1, 4, 7};
    for (int i = 0; i < 180; i++) {
        int n_real[11];
        struct layer_shape shape = {.batch = batches[i % 4],
                                    .steps = steps[i / 4 % 3],
                                    .in = 3,
                                    .hidden = 5,
                                    .window = 1 + i / 2 % 4,
                                    .pooling = (enum qn_pooling)(i / 5 % 3),
                                    .activation = (enum qn_activation)(i % 5),
                                    .drop = i % 2 ? 0.2 : 0.0,
                                    .zoneout = i / 9 % 2 ? 0.3 : 0.0,
                                    .keep = i / 9 % 5 == 2,
                                    .norm = (enum layer_norm)(i / 9 % 3),
                                    .bias_steps = 1 + i % 3,
                                    .bias_first = i % 4,
                                    .shared = i / 2 % 2,
                                    .add_x = i / 4 % 2,
                                    .no_d_c0 = i % 11 == 0,
                                    .no_d_last_c = i % 7 == 0,
                                    .extra = i % 7,
                                    .n_real = n_real};
        place_lengths(n_real, shape.batch, shape.steps, i / 3 % 7);
        if (shape.norm == LAYER_NORM_TRAIN && too_few(&shape))
            shape.norm = LAYER_NORM_EVAL;
        check_shape(shape);
    }
}

/* Is such a layer's product looked up on two slices? It takes more room then.
 */
static bool looks_up(const struct layer_shape *s)
{
    struct qn_seq x = {.batch = s->batch,
                       .steps = s->steps,
                       .width = s->in,
                       .history = s->window - 1};
    struct qn_qrnn layer = {.hidden = s->hidden,
                            .window = s->window,
                            .pooling = s->pooling,
                            .activation = s->activation,
                            .bias_steps = 1,
                            .x = x};
    struct qn_backend *be = place_backend("cpu", NULL, 2);
    size_t without = be->ops->qrnn_workspace(be, &layer);
    layer.n_symbols = s->n_symbols;
    size_t with = be->ops->qrnn_workspace(be, &layer);
    qn_backend_free(be);
    assert_true(with >= without);
    return with > without;
}

/* Windows longer than a segment, blocks of part of a sequence and of several,
 * tables that are looked up and such as are not. */
static void embeddings_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{3, 1}, {5, 4}, {4, 9}, {130, 7}, {3, 450}};
    static const int symbols[] = {1, 3, 20, 70};
    int n_looked_up = 0;
    for (int i = 0; i < 120; i++) {
        struct layer_shape shape = {.batch = shapes[i % 5][0],
                                    .steps = shapes[i % 5][1],
                                    .in = 15 + i % 3,
                                    .hidden = 5,
                                    .window = 1 + i / 5 % 6,
                                    .pooling = (enum qn_pooling)(i / 2 % 3),
                                    .activation = (enum qn_activation)(i % 5),
                                    .drop = i % 2 ? 0.2 : 0.0,
                                    .norm = (enum layer_norm)(i / 7 % 3),
                                    .bias_steps = 1 + i % 3,
                                    .bias_first = i % 4,
                                    .no_d_x = i % 11 == 3,
                                    .extra = i % 7,
                                    .n_symbols = symbols[i / 5 % 4]};
        if (shape.norm == LAYER_NORM_TRAIN && too_few(&shape))
            shape.norm = LAYER_NORM_EVAL;
        n_looked_up += looks_up(&shape);
        check_shape(shape);
    }
    assert_true(n_looked_up >= 30 && n_looked_up <= 90);
}

/* Only whole sequences of an embedding are looked up: not padded ones, nor
 * those that are fewer than slices. */
static void what_cannot_be_looked_up_agrees(void **state)
{
    (void)state;
    int n_real[4];
    struct layer_shape shape = {.batch = 4,
                                .steps = 9,
                                .in = 20,
                                .hidden = 5,
                                .window = 3,
                                .pooling = QN_POOL_FO,
                                .activation = QN_DELU,
                                .n_symbols = 4};
    place_lengths(n_real, shape.batch, shape.steps, 3);
    shape.n_real = n_real;
    check_shape(shape);
    shape.n_real = NULL;
    shape.batch = 1;
    shape.steps = 30;
    check_shape(shape);
}

/* Fewer sequences than workers: each takes some units of one. */
static void shared_sequences_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        int n_real[2];
        struct layer_shape shape = {.batch = 1 + i / 4 % 2,
                                    .steps = 7,
                                    .in = 3,
                                    .hidden = i / 4 % 2 ? 70 : 101,
                                    .window = 1 + i / 2 % 4,
                                    .pooling = (enum qn_pooling)(i / 5 % 3),
                                    .activation = (enum qn_activation)(i % 5),
                                    .drop = i % 2 ? 0.2 : 0.0,
                                    .zoneout = i / 7 % 2 ? 0.3 : 0.0,
                                    .keep = i / 7 % 5 == 2,
                                    .norm = (enum layer_norm)(i % 3),
                                    .bias_steps = 1 + i % 4,
                                    .no_d_c0 = i % 11 == 0,
                                    .no_d_last_c = i % 7 == 0,
                                    .extra = i % 7,
                                    .n_real = n_real};
        place_lengths(n_real, shape.batch, shape.steps, i / 3 % 7);
        if (shape.norm == LAYER_NORM_TRAIN && too_few(&shape))
            shape.norm = LAYER_NORM_EVAL;
        layer_check_slices(shape, 1 + 2 * shape.batch);
    }
}

/* Longer than a block of rows, so that a sequence may end in any of its blocks,
 * and many to a block. */
static void padded_sequences_of_many_blocks_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 1000}, {2, 450}, {3, 450}, {130, 7}};
    for (int i = 0; i < 24; i++) {
        int n_real[130];
        struct layer_shape shape = {.batch = shapes[i % 4][0],
                                    .steps = shapes[i % 4][1],
                                    .in = 4,
                                    .hidden = 3,
                                    .window = 1 + i / 4 % 2 * 2,
                                    .pooling = QN_POOL_FO,
                                    .activation = QN_DRELU,
                                    .drop = 0.2,
                                    .norm = i / 8 == 1 ? LAYER_NORM_TRAIN
                                                       : LAYER_NO_NORM,
                                    .add_x = i / 4 % 2,
                                    .n_real = n_real};
        place_lengths(n_real, shape.batch, shape.steps, i < 20 ? 3 + i / 4 : 0);
        if (shape.norm == LAYER_NORM_TRAIN && too_few(&shape))
            shape.norm = LAYER_NO_NORM;
        check_shape(shape);
    }
}

/* One input of the last step that is not a number spoils that step alone. */
static void nan_spreads_alike(void **state)
{
    (void)state;
    struct layer_data *runs[2];
    for (int k = 0; k < 2; k++) {
        struct layer_data *d = layer_new(plain(), 3);
        d->array[LAYER_X][d->count[LAYER_X] - 1] = NAN;
        struct qn_backend *be = place_backend(k ? "cpu" : "ref", NULL, 1);
        layer_run(be, d, false);
        qn_backend_free(be);
        runs[k] = d;
    }
    size_t n_nan = 0;
    for (size_t i = 0; i < runs[0]->count[LAYER_OUT]; i++) {
        bool a = isnan(runs[0]->array[LAYER_OUT][i]);
        assert_int_equal(a, isnan(runs[1]->array[LAYER_OUT][i]));
        n_nan += a;
    }
    assert_int_equal(n_nan, plain().hidden);
    layer_free(runs[0]);
    layer_free(runs[1]);
}

/* Without input c halves at each step. It must not stay among the denormal
 * numbers, where rounding holds it for ever and processors are slow. */
static void what_decays_ends_at_zero(void **state)
{
    (void)state;
    struct layer_shape shape = {.batch = 2,
                                .steps = 300,
                                .in = 3,
                                .hidden = 5,
                                .window = 1,
                                .pooling = QN_POOL_F,
                                .activation = QN_DRELU};
    for (int k = 0; k < 2; k++) {
        struct layer_data *d = layer_new(shape, 4);
        for (size_t i = 0; i < d->count[LAYER_WEIGHT]; i++)
            d->array[LAYER_WEIGHT][i] = 0.0f;
        for (size_t i = 0; i < d->count[LAYER_BIAS]; i++)
            d->array[LAYER_BIAS][i] = 0.0f;
        struct qn_backend *be = place_backend(k ? "cpu" : "ref", NULL, 2);
        layer_run(be, d, false);
        qn_backend_free(be);
        const float *c = d->array[LAYER_CELLS];
        for (size_t i = 0; i < d->count[LAYER_CELLS]; i++) {
            size_t t = i / (size_t)shape.hidden % (size_t)shape.steps;
            bool decayed = t >= 110; /* |c0| < 10 and 2^-110 < 1e-32 */
            bool small = fabsf(c[i]) < QN_CELL_LEAST;
            assert_true(small == (c[i] == 0.0f));
            assert_true(!decayed || c[i] == 0.0f);
        }
        assert_true(c[0] != 0.0f);
        layer_free(d);
    }
}

/* The way back halves the gradient of c with each step as well: that of the
 * state before a sequence of T steps, of which only the last one counts. */
static float first_gradient(int steps, const char *backend)
{
    struct layer_shape shape = {.batch = 2,
                                .steps = steps,
                                .in = 3,
                                .hidden = 5,
                                .window = 1,
                                .pooling = QN_POOL_FO,
                                .activation = QN_DRELU,
                                .no_d_last_c = true};
    struct layer_data *d = layer_new(shape, 4);
    memset(d->array[LAYER_WEIGHT], 0, d->count[LAYER_WEIGHT] * sizeof(float));
    memset(d->array[LAYER_BIAS], 0, d->count[LAYER_BIAS] * sizeof(float));
    size_t all_but_last = (size_t)(steps - 1) * (size_t)shape.hidden;
    memset(d->array[LAYER_D_OUT], 0, all_but_last * sizeof(float));
    d->array[LAYER_D_OUT][all_but_last] = 1.0f;
    struct qn_backend *be = place_backend(backend, NULL, 2);
    layer_run(be, d, true);
    qn_backend_free(be);
    float gradient = d->array[LAYER_D_C0][0];
    layer_free(d);
    return gradient;
}

static void gradients_that_decay_end_at_zero(void **state)
{
    static const char *const backends[] = {"ref", "cpu"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        /* The output gate and 90 steps halve it 91 times: 4e-28. */
        float kept = first_gradient(90, backends[k]);
        assert_true(kept == ldexpf(1.0f, -91));
        assert_true(first_gradient(110, backends[k]) == 0.0f);
    }
}

/* With a at -10 a candidate is nearly flat, and the forget gate shut: of the
 * 2e-30 that come in less than 1e-30 is left behind every activation. The bias
 * of a single step has the gradients of the pre-activations as they are. */
static void no_gradient_of_a_pre_activation_is_too_small(void **state)
{
    (void)state;
    for (int k = 0; k < 10; k++) {
        struct layer_shape shape = {.batch = 1,
                                    .steps = 1,
                                    .in = 3,
                                    .hidden = 5,
                                    .window = 1,
                                    .pooling = QN_POOL_FO,
                                    .activation = (enum qn_activation)(k / 2)};
        struct layer_data *d = layer_new(shape, 4);
        for (int i = LAYER_X; i <= LAYER_D_BIAS; i++)
            for (size_t j = 0; j < d->count[i]; j++)
                d->array[i][j] = i == LAYER_BIAS       ? -10.0f
                                 : i == LAYER_D_LAST_C ? 2e-30f
                                                       : 0.0f;
        struct qn_backend *be = place_backend(k % 2 ? "ref" : "cpu", NULL, 1);
        layer_run(be, d, true);
        qn_backend_free(be);
        for (size_t j = 0; j < d->count[LAYER_D_BIAS]; j++)
            assert_true(d->array[LAYER_D_BIAS][j] == 0.0f);
        layer_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pooling_and_activation_agrees),
        cmocka_unit_test(windows_longer_than_the_segment_agree),
        cmocka_unit_test(one_of_everything_agrees),
        cmocka_unit_test(what_is_absent_or_added_to_agrees),
        cmocka_unit_test(the_last_columns_of_d_x_are_had_alone),
        cmocka_unit_test(long_sequences_agree),
        cmocka_unit_test(many_short_sequences_agree),
        cmocka_unit_test(norm_zoneout_and_step_biases_agree),
        cmocka_unit_test(padded_sequences_agree),
        cmocka_unit_test(shared_sequences_agree),
        cmocka_unit_test(embeddings_agree),
        cmocka_unit_test(what_cannot_be_looked_up_agrees),
        cmocka_unit_test(padded_sequences_of_many_blocks_agree),
        cmocka_unit_test(nan_spreads_alike),
        cmocka_unit_test(what_decays_ends_at_zero),
        cmocka_unit_test(no_gradient_of_a_pre_activation_is_too_small),
        cmocka_unit_test(gradients_that_decay_end_at_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
