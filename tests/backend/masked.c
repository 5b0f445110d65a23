/* masked.c - sequences that end before their segment does, of both layers and
 * backends: what lies behind the end changes nothing, and nothing goes there.
 *
 * ref gives the bits that it gives without the padding. So does cpu for one
 * sequence alone; in a batch its products take other rows together, which
 * rounds otherwise: the bound is that of conformance.c, which says why. */
#include "layer.h"
#include "lstm_layer.h"
#include "place.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define BOUND 2e-6

static const char *const backends[] = {"ref", "cpu"};

enum { BATCH = 5, STEPS = 7 };
static const int lengths[BATCH] = {4, 7, 0, 1, 6};

/* Where rows of one sequence lie in an array [B, before + T, width]. */
struct rows {
    float *data;
    size_t count, width; /* floats */
};

/* Rows [0, n) of sequence b, those before it included. */
static struct rows rows_of(float *array, int b, int steps, int before, int n,
                           size_t width)
{
    size_t first = (size_t)(b * (before + steps)) * width;
    struct rows r = {array + first, (size_t)(before + n) * width, width};
    return r;
}

/* Are they the same, to the bit or nearly, and is what follows in 'padded',
 * 'after' rows, zeros? */
static void check_rows(struct rows padded, struct rows alone, int after,
                       double bound, const char *what)
{
    assert_int_equal(padded.count, alone.count);
    double error = qn_max_error_f(padded.data, alone.data, alone.count);
    if (!(error <= bound))
        fail_msg("%s is off by %g", what, error);
    for (size_t i = 0; i < (size_t)after * padded.width; i++)
        if (padded.data[padded.count + i] != 0.0f)
            fail_msg("%s is not 0 behind the end", what);
}

/* Behind the end a state is what it was at the end, [n, width] of 'steps'. */
static void check_state_stays(const float *states, const float *first, int n,
                              int steps, size_t width)
{
    const float *last = n > 0 ? states + (size_t)(n - 1) * width : first;
    for (int t = n; t < steps; t++)
        assert_memory_equal(states + (size_t)t * width, last,
                            width * sizeof *last);
}

/* Arrays of a layer with a row for each step. */
static const enum layer_array layer_rows[] = {LAYER_X, LAYER_KEEP, LAYER_D_OUT,
                                              LAYER_D_X};
static const enum layer_array layer_states[] = {LAYER_C0, LAYER_D_LAST_C};

static struct rows layer_rows_of(const struct layer_data *d,
                                 enum layer_array which, int b, int n)
{
    const struct layer_shape *s = &d->shape;
    int before = which == LAYER_X ? s->window - 1 : 0;
    size_t width = d->count[which] / (size_t)(s->batch * (before + s->steps));
    return rows_of(d->array[which], b, s->steps, before, n, width);
}

/* Sequence b of a padded batch without its padding; what is added to is that
 * of 'sums'. */
static struct layer_data *layer_alone(const struct layer_data *batch,
                                      const struct layer_data *sums, int b)
{
    struct layer_shape shape = batch->shape;
    shape.batch = 1;
    shape.steps = batch->shape.n_real[b];
    shape.n_real = NULL;
    shape.sample = b;
    struct layer_data *one = layer_new(shape, 3);
    for (int i = LAYER_WEIGHT; i <= LAYER_SHIFT; i++)
        memcpy(one->array[i], batch->array[i], one->count[i] * sizeof(float));
    for (int i = LAYER_D_WEIGHT; i <= LAYER_VAR; i++)
        memcpy(one->array[i], sums->array[i], one->count[i] * sizeof(float));
    for (size_t i = 0; i < sizeof layer_rows / sizeof *layer_rows; i++) {
        struct rows from = layer_rows_of(batch, layer_rows[i], b, shape.steps);
        struct rows to = layer_rows_of(one, layer_rows[i], 0, shape.steps);
        memcpy(to.data, from.data, from.count * sizeof(float));
    }
    for (int i = 0; i < 2; i++) {
        size_t hidden = (size_t)shape.hidden;
        memcpy(one->array[layer_states[i]],
               batch->array[layer_states[i]] + (size_t)b * hidden,
               hidden * sizeof(float));
    }
    return one;
}

static void check_sequence(const struct layer_data *batch,
                           const struct layer_data *one, int b, double bound)
{
    static const enum layer_array of_steps[] = {LAYER_OUT, LAYER_SAVED,
                                                LAYER_D_X};
    int n = batch->shape.n_real[b];
    int after = batch->shape.steps - n;
    for (int i = 0; i < 3; i++)
        check_rows(layer_rows_of(batch, of_steps[i], b, n),
                   layer_rows_of(one, of_steps[i], 0, n), after, bound,
                   layer_array_name(of_steps[i]));
    check_rows(layer_rows_of(batch, LAYER_CELLS, b, n),
               layer_rows_of(one, LAYER_CELLS, 0, n), 0, bound, "cells");
    size_t hidden = (size_t)batch->shape.hidden;
    check_rows(rows_of(batch->array[LAYER_D_C0], b, 1, 0, 1, hidden),
               rows_of(one->array[LAYER_D_C0], 0, 1, 0, 1, hidden), 0, bound,
               "d_c0");
}

/* What each sequence alone adds to the sums one after the other is rounded
 * more often than what the batch adds: the same within the bound. */
static void check_sums(const struct layer_data *batch,
                       const struct layer_data *sums, double bound)
{
    for (int i = LAYER_D_WEIGHT; i <= LAYER_VAR; i++) {
        double error =
            qn_max_error_f(batch->array[i], sums->array[i], sums->count[i]);
        if (!(error <= bound))
            fail_msg("%s is off by %g", layer_array_name((enum layer_array)i),
                     error);
    }
}

/* Without a step everything passes through: there is nothing to run alone. */
static void check_empty(const struct layer_data *batch, int b)
{
    size_t hidden = (size_t)batch->shape.hidden;
    size_t at = (size_t)b * hidden;
    assert_memory_equal(batch->array[LAYER_D_C0] + at,
                        batch->array[LAYER_D_LAST_C] + at,
                        hidden * sizeof(float));
    check_rows(layer_rows_of(batch, LAYER_OUT, b, 0),
               layer_rows_of(batch, LAYER_OUT, b, 0), batch->shape.steps, 0.0,
               "out");
}

static void check_layer(const char *backend, struct layer_shape shape,
                        double bound)
{
    struct qn_backend *be = place_backend(backend, NULL, 1);
    struct layer_data *before = layer_new(shape, 3);
    struct layer_data *batch = layer_copy(before);
    struct layer_data *sums = layer_copy(before);
    layer_run(be, batch, true);
    size_t hidden = (size_t)shape.hidden;
    for (int b = 0; b < shape.batch; b++) {
        check_state_stays(layer_rows_of(batch, LAYER_CELLS, b, 0).data,
                          batch->array[LAYER_C0] + (size_t)b * hidden,
                          shape.n_real[b], shape.steps, hidden);
        if (shape.n_real[b] == 0) {
            check_empty(batch, b);
            continue;
        }
        struct layer_data *one = layer_alone(before, sums, b);
        layer_run(be, one, true);
        check_sequence(batch, one, b, bound);
        for (int i = LAYER_D_WEIGHT; i <= LAYER_VAR; i++)
            memcpy(sums->array[i], one->array[i],
                   one->count[i] * sizeof(float));
        layer_free(one);
    }
    check_sums(batch, sums, shape.batch == 1 ? bound : BOUND);
    layer_free(batch);
    layer_free(before);
    layer_free(sums);
    qn_backend_free(be);
}

static struct layer_shape layer_shape(int i)
{
    struct layer_shape shape = {.batch = BATCH,
                                .steps = STEPS,
                                .in = 9,
                                .hidden = 7,
                                .window = 1 + i % 3,
                                .pooling = (enum qn_pooling)(i % 3),
                                .activation = (enum qn_activation)(i % 5),
                                .drop = 0.3,
                                .zoneout = 0.2,
                                .keep = i % 4 == 3,
                                .norm = i % 2 ? LAYER_NORM_EVAL : LAYER_NO_NORM,
                                .bias_steps = 1 + i % 2,
                                .n_real = lengths};
    return shape;
}

static void a_padded_batch_is_its_sequences_alone(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 15; i++)
            check_layer(backends[k], layer_shape(i), k == 0 ? 0.0 : BOUND);
}

/* Statistics of the batch, too, are those of the real rows alone. */
static void padding_changes_no_bit_of_a_sequence(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 15; i++) {
            struct layer_shape shape = layer_shape(i);
            shape.batch = 1;
            if (shape.norm == LAYER_NORM_EVAL)
                shape.norm = LAYER_NORM_TRAIN;
            check_layer(backends[k], shape, 0.0);
        }
}

/* Arrays of an LSTM with a row for each step, and its states. */
static const enum lstm_array lstm_rows[] = {LSTM_X, LSTM_D_OUT};
static const enum lstm_array lstm_states[] = {LSTM_H0, LSTM_C0, LSTM_D_LAST_H,
                                              LSTM_D_LAST_C};

static struct rows lstm_rows_of(const struct lstm_data *d,
                                enum lstm_array which, int b, int n)
{
    const struct lstm_shape *s = &d->shape;
    size_t width = d->count[which] / (size_t)(s->batch * s->steps);
    return rows_of(d->array[which], b, s->steps, 0, n, width);
}

static struct rows lstm_state_of(const struct lstm_data *d,
                                 enum lstm_array which, int b)
{
    size_t hidden = (size_t)d->shape.hidden;
    return rows_of(d->array[which], b, 1, 0, 1, hidden);
}

/* As layer_alone, of a batch that has not been run. */
static struct lstm_data *lstm_alone(const struct lstm_data *batch,
                                    const struct lstm_data *sums, int b)
{
    struct lstm_shape shape = batch->shape;
    shape.batch = 1;
    shape.steps = batch->shape.n_real[b];
    shape.n_real = NULL;
    shape.sample = b;
    struct lstm_data *one = lstm_new(shape, 3);
    for (int i = LSTM_WEIGHT_IH; i <= LSTM_BIAS; i++)
        memcpy(one->array[i], batch->array[i], one->count[i] * sizeof(float));
    for (int i = LSTM_D_WEIGHT_IH; i <= LSTM_D_BIAS; i++)
        memcpy(one->array[i], sums->array[i], one->count[i] * sizeof(float));
    for (int i = 0; i < 2; i++) {
        struct rows from = lstm_rows_of(batch, lstm_rows[i], b, shape.steps);
        struct rows to = lstm_rows_of(one, lstm_rows[i], 0, shape.steps);
        memcpy(to.data, from.data, from.count * sizeof(float));
    }
    for (int i = 0; i < 4; i++)
        memcpy(one->array[lstm_states[i]],
               lstm_state_of(batch, lstm_states[i], b).data,
               (size_t)shape.hidden * sizeof(float));
    return one;
}

static void check_lstm_sequence(const struct lstm_data *batch,
                                const struct lstm_data *one, int b,
                                double bound)
{
    static const enum lstm_array of_steps[] = {LSTM_OUT, LSTM_SAVED, LSTM_D_X,
                                               LSTM_CELLS, LSTM_HIDDENS};
    int n = batch->shape.n_real[b];
    int after = batch->shape.steps - n;
    for (int i = 0; i < 5; i++)
        check_rows(lstm_rows_of(batch, of_steps[i], b, n),
                   lstm_rows_of(one, of_steps[i], 0, n), i < 3 ? after : 0,
                   bound, lstm_array_name(of_steps[i]));
    for (int i = LSTM_D_H0; i <= LSTM_D_C0; i++)
        check_rows(lstm_state_of(batch, (enum lstm_array)i, b),
                   lstm_state_of(one, (enum lstm_array)i, 0), 0, bound,
                   lstm_array_name((enum lstm_array)i));
}

static void check_lstm_states(const struct lstm_data *batch, int b)
{
    const struct lstm_shape *s = &batch->shape;
    size_t hidden = (size_t)s->hidden;
    check_state_stays(lstm_rows_of(batch, LSTM_CELLS, b, 0).data,
                      lstm_state_of(batch, LSTM_C0, b).data, s->n_real[b],
                      s->steps, hidden);
    check_state_stays(lstm_rows_of(batch, LSTM_HIDDENS, b, 0).data,
                      lstm_state_of(batch, LSTM_H0, b).data, s->n_real[b],
                      s->steps, hidden);
    if (s->n_real[b] > 0)
        return;
    assert_memory_equal(lstm_state_of(batch, LSTM_D_H0, b).data,
                        lstm_state_of(batch, LSTM_D_LAST_H, b).data,
                        hidden * sizeof(float));
    assert_memory_equal(lstm_state_of(batch, LSTM_D_C0, b).data,
                        lstm_state_of(batch, LSTM_D_LAST_C, b).data,
                        hidden * sizeof(float));
}

static void check_lstm(const char *backend, int sequences, double bound)
{
    struct lstm_shape shape = {.batch = sequences,
                               .steps = STEPS,
                               .in = 9,
                               .hidden = 7,
                               .drop = 0.3,
                               .n_real = lengths};
    struct qn_backend *be = place_backend(backend, NULL, 1);
    struct lstm_data *before = lstm_new(shape, 3);
    struct lstm_data *batch = lstm_new(shape, 3);
    struct lstm_data *sums = lstm_new(shape, 3);
    lstm_run(be, batch, true);
    for (int b = 0; b < shape.batch; b++) {
        check_lstm_states(batch, b);
        if (lengths[b] == 0)
            continue;
        struct lstm_data *one = lstm_alone(before, sums, b);
        lstm_run(be, one, true);
        check_lstm_sequence(batch, one, b, bound);
        for (int i = LSTM_D_WEIGHT_IH; i <= LSTM_D_BIAS; i++)
            memcpy(sums->array[i], one->array[i],
                   one->count[i] * sizeof(float));
        lstm_free(one);
    }
    for (int i = LSTM_D_WEIGHT_IH; i <= LSTM_D_BIAS; i++)
        assert_true(
            qn_max_error_f(batch->array[i], sums->array[i], sums->count[i]) <=
            (sequences == 1 ? bound : BOUND));
    lstm_free(batch);
    lstm_free(before);
    lstm_free(sums);
    qn_backend_free(be);
}

static void a_padded_lstm_is_its_sequences_alone(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        check_lstm(backends[k], 1, 0.0);
        check_lstm(backends[k], BATCH, k == 0 ? 0.0 : BOUND);
    }
}

/* The gradient of x that was there stays, whatever there is. */
static void what_d_x_had_behind_the_end_stays(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 15; i++) {
            struct layer_shape shape = layer_shape(i);
            shape.add_x = true;
            struct layer_data *before = layer_new(shape, 3);
            struct layer_data *d = layer_copy(before);
            struct qn_backend *be = place_backend(backends[k], NULL, 1 + i % 7);
            layer_run(be, d, true);
            for (int b = 0; b < BATCH; b++) {
                struct rows was = layer_rows_of(before, LAYER_D_X, b, STEPS);
                struct rows is = layer_rows_of(d, LAYER_D_X, b, STEPS);
                size_t real = (size_t)lengths[b] * is.width;
                assert_memory_equal(is.data + real, was.data + real,
                                    (is.count - real) * sizeof(float));
            }
            qn_backend_free(be);
            layer_free(before);
            layer_free(d);
        }
}

static void assert_same(const struct layer_data *a, const struct layer_data *b,
                        int first)
{
    for (int i = first; i < LAYER_N_ARRAYS; i++)
        assert_memory_equal(a->array[i], b->array[i],
                            a->count[i] * sizeof(float));
}

/* Lengths that are all full are as good as none. */
static void full_lengths_change_no_bit(void **state)
{
    (void)state;
    static const int full[BATCH] = {STEPS, STEPS, STEPS, STEPS, STEPS};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 15; i++) {
            struct layer_shape shape = layer_shape(i);
            shape.norm = (enum layer_norm)(i % 3);
            shape.n_real = full;
            struct layer_data *with = layer_new(shape, 3);
            shape.n_real = NULL;
            struct layer_data *without = layer_new(shape, 3);
            struct qn_backend *be = place_backend(backends[k], NULL, 1 + i % 7);
            layer_run(be, with, true);
            layer_run(be, without, true);
            assert_same(with, without, LAYER_D_WEIGHT);
            qn_backend_free(be);
            layer_free(with);
            layer_free(without);
        }
}

/* Statistics of no rows at all: mean and var stay, nothing is learnt. */
static void without_a_real_row_nothing_is_taken_or_learnt(void **state)
{
    (void)state;
    static const int none[BATCH] = {0};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 15; i++) {
            struct layer_shape shape = layer_shape(i);
            shape.norm = (enum layer_norm)(i % 3);
            shape.n_real = none;
            shape.add_x = true;
            struct layer_data *before = layer_new(shape, 3);
            struct layer_data *d = layer_copy(before);
            struct qn_backend *be = place_backend(backends[k], NULL, 1 + i % 7);
            layer_run(be, d, true);
            for (int a = LAYER_D_WEIGHT; a <= LAYER_D_X; a++)
                assert_memory_equal(d->array[a], before->array[a],
                                    d->count[a] * sizeof(float));
            for (int b = 0; b < BATCH; b++)
                check_empty(d, b);
            qn_backend_free(be);
            layer_free(before);
            layer_free(d);
        }
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(4);
    for (int slices = 3; slices <= 7; slices += 4)
        for (int i = 0; i < 15; i++) {
            struct layer_shape shape = layer_shape(i);
            shape.norm = (enum layer_norm)(i % 3);
            struct layer_data *alone = layer_new(shape, 3);
            struct layer_data *shared = layer_new(shape, 3);
            struct qn_backend *one = place_backend("cpu", NULL, slices);
            struct qn_backend *many = place_backend("cpu", pool, slices);
            layer_run(one, alone, true);
            layer_run(many, shared, true);
            assert_same(alone, shared, LAYER_D_WEIGHT);
            qn_backend_free(one);
            qn_backend_free(many);
            layer_free(alone);
            layer_free(shared);
        }
    qn_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padded_batch_is_its_sequences_alone),
        cmocka_unit_test(padding_changes_no_bit_of_a_sequence),
        cmocka_unit_test(a_padded_lstm_is_its_sequences_alone),
        cmocka_unit_test(what_d_x_had_behind_the_end_stays),
        cmocka_unit_test(full_lengths_change_no_bit),
        cmocka_unit_test(without_a_real_row_nothing_is_taken_or_learnt),
        cmocka_unit_test(results_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
