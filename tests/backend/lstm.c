/* lstm.c - the lstm operations: the golden case, slopes, and cpu against ref.
 *
 * Golden and conformance bounds are 2e-6 of the largest element, as for the
 * QRNN (conformance.c says why): products have at most 260 terms here, and
 * sums over up to 13,500 rows are cut into blocks and slices. What the
 * recurrence hands on is rounded anew in every step, but shrinks on its way by
 * the gates, so that errors do not pile up with the steps. */
#include "lstm_agree.h"
#include "lstm_layer.h"
#include "place.h"
#include "backend/cpu/lstm.h"
#include "base/mem.h"
#include "base/pool.h"
#include "support/golden.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND QN_GOLDEN_BOUND

static const char *const backends[] = {"ref", "cpu"};

static void fill(struct lstm_data *d, enum lstm_array which,
                 struct qn_golden *g, const char *tensor,
                 enum qn_golden_layout layout)
{
    assert_int_equal(d->count[which], qn_golden_count(g, tensor));
    memcpy(d->array[which], qn_golden_floats(g, tensor, layout),
           d->count[which] * sizeof(float));
}

/* Ours is the sum of torch's two, taken before it is rounded. */
static void fill_bias(struct lstm_data *d, struct qn_golden *g)
{
    const double *ih = qn_golden_values(g, "bias_ih", QN_AS_STORED);
    const double *hh = qn_golden_values(g, "bias_hh", QN_AS_STORED);
    for (size_t i = 0; i < d->count[LSTM_BIAS]; i++)
        d->array[LSTM_BIAS][i] = (float)(ih[i] + hh[i]);
}

static struct lstm_data *layer_from(struct qn_golden *g)
{
    struct lstm_shape shape = {.batch = qn_golden_int(g, "B"),
                               .steps = qn_golden_int(g, "T"),
                               .in = qn_golden_int(g, "D"),
                               .hidden = qn_golden_int(g, "H"),
                               .extra = 3,
                               .no_d_last = true};
    struct lstm_data *d = lstm_new(shape, 1);
    fill(d, LSTM_X, g, "x", QN_BATCH_MAJOR);
    fill(d, LSTM_H0, g, "h0", QN_AS_STORED);
    fill(d, LSTM_C0, g, "c0", QN_AS_STORED);
    fill(d, LSTM_WEIGHT_IH, g, "weight_ih", QN_AS_STORED);
    fill(d, LSTM_WEIGHT_HH, g, "weight_hh", QN_AS_STORED);
    fill_bias(d, g);
    fill(d, LSTM_D_OUT, g, "R", QN_BATCH_MAJOR);
    for (int i = LSTM_D_WEIGHT_IH; i <= LSTM_D_BIAS; i++)
        memset(d->array[i], 0, d->count[i] * sizeof(float));
    return d;
}

/* The last cell state of every sequence, [B, H]; the caller frees it. */
static float *last_cells(const struct lstm_data *d)
{
    size_t hidden = (size_t)d->shape.hidden;
    size_t all = (size_t)d->shape.steps * hidden;
    float *last = qn_xcalloc(d->count[LSTM_C0], sizeof *last);
    for (size_t b = 0; b < (size_t)d->shape.batch; b++)
        memcpy(last + b * hidden, d->array[LSTM_CELLS] + (b + 1) * all - hidden,
               hidden * sizeof *last);
    return last;
}

static void check_golden(const char *backend)
{
    struct qn_golden *g = qn_golden_open("lstm");
    struct lstm_data *d = layer_from(g);
    struct qn_backend *be = place_backend(backend, NULL, 2);
    lstm_run(be, d, true);
    float *last = last_cells(d);
    qn_golden_check(g, "h", QN_BATCH_MAJOR, d->array[LSTM_OUT]);
    qn_golden_check(g, "h", QN_BATCH_MAJOR, d->array[LSTM_HIDDENS]);
    qn_golden_check(g, "c_last", QN_AS_STORED, last);
    qn_golden_check(g, "grad.x", QN_BATCH_MAJOR, d->array[LSTM_D_X]);
    qn_golden_check(g, "grad.h0", QN_AS_STORED, d->array[LSTM_D_H0]);
    qn_golden_check(g, "grad.c0", QN_AS_STORED, d->array[LSTM_D_C0]);
    qn_golden_check(g, "grad.weight_ih", QN_AS_STORED,
                    d->array[LSTM_D_WEIGHT_IH]);
    qn_golden_check(g, "grad.weight_hh", QN_AS_STORED,
                    d->array[LSTM_D_WEIGHT_HH]);
    qn_golden_check(g, "grad.bias_ih", QN_AS_STORED, d->array[LSTM_D_BIAS]);
    free(last);
    qn_backend_free(be);
    lstm_free(d);
    qn_golden_close(g);
}

static void the_golden_case_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        check_golden(backends[k]);
}

/* Central differences: gradient.c says why these two. */
#define EPS 4e-3f
#define SLOPE_BOUND 2e-4

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(b[i])) /* d_out behind a sequence's end */
            sum += (double)a[i] * (double)b[i];
    return sum;
}

/* sum(out * d_out) + sum(last h * d_last_h) + sum(last c * d_last_c) */
static double loss(struct qn_backend *be, struct lstm_data *d)
{
    lstm_run(be, d, false);
    double sum =
        dot(d->array[LSTM_OUT], d->array[LSTM_D_OUT], d->count[LSTM_OUT]);
    size_t hidden = (size_t)d->shape.hidden;
    for (size_t b = 0; b < (size_t)d->shape.batch; b++) {
        size_t last = ((b + 1) * (size_t)d->shape.steps - 1) * hidden;
        sum += dot(d->array[LSTM_HIDDENS] + last,
                   d->array[LSTM_D_LAST_H] + b * hidden, hidden);
        sum += dot(d->array[LSTM_CELLS] + last,
                   d->array[LSTM_D_LAST_C] + b * hidden, hidden);
    }
    return sum;
}

static float slope(struct qn_backend *be, struct lstm_data *d, float *x)
{
    float keep = *x;
    if (isnan(keep)) /* behind a sequence's end */
        return 0.0f;
    *x = keep + EPS;
    double up = loss(be, d);
    double step = (double)*x;
    *x = keep - EPS;
    double down = loss(be, d);
    step -= (double)*x;
    *x = keep;
    return (float)((up - down) / step);
}

static void check_slopes(struct qn_backend *be, struct lstm_data *d,
                         enum lstm_array of, enum lstm_array grad)
{
    size_t n = d->count[of];
    float *slopes = qn_xcalloc(n, sizeof *slopes);
    for (size_t i = 0; i < n; i++)
        slopes[i] = slope(be, d, &d->array[of][i]);
    double error = qn_max_error_f(d->array[grad], slopes, n);
    if (!(error <= SLOPE_BOUND))
        fail_msg("%s is off by %g", lstm_array_name(grad), error);
    free(slopes);
}

static void check_gradients(struct lstm_shape shape)
{
    struct lstm_data *d = lstm_new(shape, 21);
    for (int i = LSTM_D_WEIGHT_IH; i <= LSTM_D_BIAS; i++)
        memset(d->array[i], 0, d->count[i] * sizeof(float));
    struct qn_backend *be = place_backend("ref", NULL, 1);
    lstm_run(be, d, true);
    check_slopes(be, d, LSTM_X, LSTM_D_X);
    check_slopes(be, d, LSTM_H0, LSTM_D_H0);
    check_slopes(be, d, LSTM_C0, LSTM_D_C0);
    check_slopes(be, d, LSTM_WEIGHT_IH, LSTM_D_WEIGHT_IH);
    check_slopes(be, d, LSTM_WEIGHT_HH, LSTM_D_WEIGHT_HH);
    check_slopes(be, d, LSTM_BIAS, LSTM_D_BIAS);
    qn_backend_free(be);
    lstm_free(d);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    /* Padded, the second sequence ends before the segment, the third before it
     * began. */
    static const int n_real[] = {4, 2, 0};
    struct lstm_shape shape = {
        .batch = 2, .steps = 4, .in = 3, .hidden = 3, .drop = 0.25, .extra = 1};
    check_gradients(shape);
    shape.batch = 3;
    shape.n_real = n_real;
    check_gradients(shape);
}

/* Batches below, at and above the slices; one step and several; vectors'
 * lengths below and above what a kernel takes at once. */
static void small_and_odd_shapes_agree(void **state)
{
    (void)state;
    static const int batches[] = {1, 2, 5};
    static const int steps[] = {1, 2, 7, 9}; /* from 8 on weights are packed */
    static const int widths[][2] = {{1, 1}, {3, 5}, {17, 33}, {40, 3}};
    for (int b = 0; b < 3; b++)
        for (int t = 0; t < 4; t++)
            for (int w = 0; w < 4; w++) {
                struct lstm_shape shape = {.batch = batches[b],
                                           .steps = steps[t],
                                           .in = widths[w][0],
                                           .hidden = widths[w][1],
                                           .drop = w == 1 ? 0.3 : 0.0,
                                           .extra = (b + t + w) % 2 * 3};
                lstm_check_slices(shape);
            }
}

static struct lstm_shape plain(int steps)
{
    struct lstm_shape shape = {
        .batch = 3, .steps = steps, .in = 9, .hidden = 7, .drop = 0.2};
    return shape;
}

static void check_absent_or_added_to(int steps, bool by_step)
{
    struct lstm_shape first = plain(steps);
    struct qn_lstm_job job = lstm_job_of(&first, 3);
    assert_int_equal(job.packs_input, by_step);
    assert_int_equal(job.by_step, by_step);
    for (int bits = 0; bits < 64; bits++) {
        struct lstm_shape shape = plain(steps);
        shape.extra = bits & 1 ? 4 : 0;
        shape.history = bits & 2 ? 2 : 0;
        shape.add_x = bits & 4;
        shape.no_d_first = bits & 8;
        shape.no_d_last = bits & 16;
        shape.skip_x = bits & 32 ? 4 : 0;
        lstm_check_slices(shape);
    }
    struct lstm_shape shape = plain(steps);
    shape.no_d_x = true;
    lstm_check_slices(shape);
}

/* By blocks and by steps. */
static void what_is_absent_or_added_to_agrees(void **state)
{
    (void)state;
    check_absent_or_added_to(5, false);
    check_absent_or_added_to(9, true);
}

/* A slice of more rows than a block holds (400): blocks of whole sequences,
 * and stretches of time of one, or of each; and steps with more rows than a
 * block, where 4H or [h | x] is wider. */
static void several_blocks_a_slice_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{250, 7},  {4, 450},  {1, 1700},
                                    {2, 1650}, {1500, 9}, {1500, 9}};
    for (int i = 0; i < 6; i++) {
        struct lstm_shape shape = {.batch = shapes[i][0],
                                   .steps = shapes[i][1],
                                   .in = i < 5 ? 4 : 40,
                                   .hidden = 3,
                                   .extra = i % 2};
        lstm_check_slices(shape);
    }
}

/* Equal gradients round alike, so that the errors of a long sum add up: of 1299
 * terms one by one to 1.3e-5 of it. Sums of 64, and then of those, have at most
 * 64 + 21 roundings of 2^-24 each, 5e-6. Only the output gate's gradients are
 * free of differences of nearly equal numbers. */
static void long_sums_of_the_bias_gradient_stay_exact(void **state)
{
    (void)state;
    struct lstm_shape shape = {
        .batch = 3, .steps = 433, .in = 3, .hidden = 5, .no_d_last = true};
    float sum[2];
    for (int k = 0; k < 2; k++) {
        struct lstm_data *d = lstm_new(shape, 4);
        for (int i = LSTM_X; i <= LSTM_D_BIAS; i++)
            for (size_t j = 0; j < d->count[i]; j++)
                d->array[i][j] = i < LSTM_D_OUT    ? 0.3f
                                 : i == LSTM_D_OUT ? 0.7f
                                                   : 0.0f;
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        lstm_run(be, d, true);
        sum[k] = d->array[LSTM_D_BIAS][3 * shape.hidden];
        qn_backend_free(be);
        lstm_free(d);
    }
    assert_true(sum[0] > 100.0f);
    assert_true(fabsf(sum[1] - sum[0]) <= 5e-6f * sum[0]);
}

/* Every kind of length, in batches below and above the slices, one step and
 * several, and in more than one block. Rows behind the end hold NaN. */
static void padded_sequences_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 1}, {1, 6},  {2, 7},   {5, 9},
                                    {5, 1}, {11, 4}, {2, 1650}};
    for (int i = 0; i < 7; i++)
        for (int kind = 0; kind < 7; kind++) {
            int n_real[11];
            struct lstm_shape shape = {.batch = shapes[i][0],
                                       .steps = shapes[i][1],
                                       .in = 4,
                                       .hidden = 5,
                                       .drop = i < 6 && kind % 2 ? 0.3 : 0.0,
                                       .extra = (i + kind) % 2 * 3,
                                       .add_x = kind / 2 % 2,
                                       .no_d_first = kind == 5,
                                       .no_d_last = kind == 4,
                                       .n_real = n_real};
            place_lengths(n_real, shape.batch, shape.steps, kind);
            lstm_check_slices(shape);
        }
}

/* Panels and tiles of which several are whole. */
static void wide_padded_sequences_agree(void **state)
{
    (void)state;
    for (int kind = 0; kind < 7; kind++) {
        int n_real[3];
        struct lstm_shape shape = {
            .batch = 3, .steps = 9, .in = 4, .hidden = 65, .n_real = n_real};
        place_lengths(n_real, shape.batch, shape.steps, kind);
        lstm_check_slices(shape);
    }
}

/* Tables that are looked up and such as are not, a slice of several blocks, and
 * both ways of the packed weight. */
static void embeddings_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{3, 1}, {5, 4}, {4, 9}, {130, 40}};
    static const int symbols[] = {1, 3, 20, 70};
    int n_looked_up = 0;
    for (int i = 0; i < 48; i++) {
        struct lstm_shape shape = {.batch = shapes[i % 4][0],
                                   .steps = shapes[i % 4][1],
                                   .in = 15 + i % 3,
                                   .hidden = 5,
                                   .drop = i % 2 ? 0.2 : 0.0,
                                   .history = i % 5 == 4,
                                   .no_d_x = i % 11 == 3,
                                   .extra = i % 7,
                                   .n_symbols = symbols[i / 4 % 4]};
        n_looked_up += lstm_looks_up(&shape, 2);
        lstm_check_slices(shape);
    }
    assert_int_equal(n_looked_up, 14);
}

/* Only whole sequences of an embedding are looked up: not padded ones, nor
 * those that are fewer than slices. */
static void what_cannot_be_looked_up_agrees(void **state)
{
    (void)state;
    int n_real[4];
    struct lstm_shape shape = {
        .batch = 4, .steps = 9, .in = 20, .hidden = 5, .n_symbols = 4};
    assert_true(lstm_looks_up(&shape, 2));
    place_lengths(n_real, shape.batch, shape.steps, 3);
    shape.n_real = n_real;
    assert_false(lstm_looks_up(&shape, 2));
    lstm_check_slices(shape);
    shape.n_real = NULL;
    shape.batch = 1;
    shape.steps = 30;
    assert_false(lstm_looks_up(&shape, 2));
    lstm_check_slices(shape);
}

/* On 1 to 4 threads, bit for bit what one of them alone makes of 3 slices. */
static void check_threads(struct lstm_shape shape)
{
    struct lstm_data *first = lstm_new(shape, 5);
    struct qn_backend *be = place_backend("cpu", NULL, 3);
    lstm_run(be, first, true);
    qn_backend_free(be);
    for (int threads = 1; threads <= 4; threads *= 2) {
        struct qn_pool *pool = qn_pool_new(threads);
        struct lstm_data *again = lstm_new(shape, 5);
        be = place_backend("cpu", pool, 3);
        lstm_run(be, again, true);
        for (int i = 0; i < LSTM_N_ARRAYS; i++)
            assert_memory_equal(again->array[i], first->array[i],
                                first->count[i] * sizeof(float));
        qn_backend_free(be);
        lstm_free(again);
        qn_pool_free(pool);
    }
    lstm_free(first);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct lstm_shape shape = {.batch = i % 2 ? 10 : 2,
                                   .steps = 90,
                                   .in = 17,
                                   .hidden = 33,
                                   .drop = 0.25,
                                   .n_symbols = i / 2 * 30};
        assert_int_equal(lstm_looks_up(&shape, 3), i == 3);
        check_threads(shape);
    }
}

/* Copy steps [from, from + to's) of every sequence of rows [B, T, width]. */
static void copy_steps(struct lstm_data *to, const struct lstm_data *whole,
                       enum lstm_array which, int from)
{
    size_t width = whole->count[which] /
                   ((size_t)whole->shape.batch * (size_t)whole->shape.steps);
    size_t all = (size_t)whole->shape.steps * width;
    size_t part = (size_t)to->shape.steps * width;
    for (size_t b = 0; b < (size_t)to->shape.batch; b++)
        memcpy(to->array[which] + b * part,
               whole->array[which] + b * all + (size_t)from * width,
               part * sizeof(float));
}

/* The states after 'part' become those before the next segment. */
static void hand_on(struct lstm_data *part)
{
    size_t hidden = (size_t)part->shape.hidden;
    size_t all = (size_t)part->shape.steps * hidden;
    for (size_t b = 0; b < (size_t)part->shape.batch; b++) {
        size_t last = (b + 1) * all - hidden;
        memcpy(part->array[LSTM_H0] + b * hidden,
               part->array[LSTM_HIDDENS] + last, hidden * sizeof(float));
        memcpy(part->array[LSTM_C0] + b * hidden,
               part->array[LSTM_CELLS] + last, hidden * sizeof(float));
    }
}

/* cpu rounds h and c to floats in every step, as between segments; ref only
 * between them. */
static void segments_in_a_row_are_one_long_pass(void **state)
{
    (void)state;
    enum { SEGMENTS = 4, EACH = 5 };
    for (int k = 0; k < 2; k++) {
        struct lstm_shape shape = {
            .batch = 5, .steps = SEGMENTS * EACH, .in = 9, .hidden = 7};
        struct qn_backend *be = place_backend(backends[k], NULL, 2);
        struct lstm_data *whole = lstm_new(shape, 8);
        shape.steps = EACH;
        struct lstm_data *part = lstm_new(shape, 8);
        struct lstm_data *want = lstm_new(shape, 8);
        for (int i = LSTM_H0; i <= LSTM_BIAS; i++)
            memcpy(part->array[i], whole->array[i],
                   whole->count[i] * sizeof(float));
        lstm_run(be, whole, false);
        for (int s = 0; s < SEGMENTS; s++) {
            copy_steps(part, whole, LSTM_X, s * EACH);
            lstm_run(be, part, false);
            copy_steps(want, whole, LSTM_OUT, s * EACH);
            assert_true(qn_max_error_f(part->array[LSTM_OUT],
                                       want->array[LSTM_OUT],
                                       want->count[LSTM_OUT]) <= BOUND);
            hand_on(part);
        }
        lstm_free(whole);
        lstm_free(part);
        lstm_free(want);
        qn_backend_free(be);
    }
}

static void the_workspace_is_counted_and_kept(void **state)
{
    (void)state;
    /* Split by time or not, packed or not, looked up or not. */
    for (int bits = 0; bits < 8; bits++) {
        struct qn_backend *be = place_backend("cpu", NULL, 3);
        struct qn_cpu *cpu = (struct qn_cpu *)be;
        struct lstm_shape shape = plain(bits & 2 ? 9 : 5);
        shape.batch = bits & 1 ? 5 : 2;
        shape.in = 17;
        shape.n_symbols = bits & 4 ? 4 : 0;
        assert_int_equal(lstm_looks_up(&shape, 3), (bits & 5) == 5);
        struct lstm_data *d = lstm_new(shape, 2);
        struct qn_lstm l = {.hidden = shape.hidden,
                            .n_symbols = shape.n_symbols,
                            .x = {.batch = shape.batch,
                                  .steps = shape.steps,
                                  .width = shape.in,
                                  .row_pitch = (size_t)shape.in}};
        uint64_t before = qn_mem_count();
        lstm_run(be, d, true);
        uint64_t first = qn_mem_count() - before;
        assert_int_equal(be->ops->lstm_workspace(be, &l),
                         cpu->work_count * sizeof(float));
        lstm_run(be, d, true);
        uint64_t second = qn_mem_count() - before - first;
        assert_true(second < first);
        lstm_run(be, d, true);
        assert_int_equal(qn_mem_count() - before - first - second, second);
        lstm_free(d);
        qn_backend_free(be);
    }
}

/* One input of the last step that is not a number spoils that step of that
 * sequence alone. */
static void nan_spreads_alike(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct lstm_data *d = lstm_new(plain(k < 2 ? 5 : 9), 3);
        d->shape.drop = 0.0;
        d->array[LSTM_X][d->count[LSTM_X] - 1] = NAN;
        struct qn_backend *be = place_backend(backends[k % 2], NULL, 1);
        lstm_run(be, d, false);
        size_t n = d->count[LSTM_OUT];
        size_t clean = n - (size_t)d->shape.hidden;
        for (size_t i = 0; i < n; i++)
            assert_int_equal(isnan(d->array[LSTM_OUT][i]) != 0, i >= clean);
        qn_backend_free(be);
        lstm_free(d);
    }
}

/* Without weights every gate is 1/2, and so is each step's share of the way
 * back: the gradient of the state before T steps, of which the last counts. */
static float first_gradient(int steps, const char *backend)
{
    struct lstm_shape shape = {
        .batch = 2, .steps = steps, .in = 3, .hidden = 5, .no_d_last = true};
    struct lstm_data *d = lstm_new(shape, 4);
    for (int i = LSTM_WEIGHT_IH; i <= LSTM_BIAS; i++)
        memset(d->array[i], 0, d->count[i] * sizeof(float));
    size_t all_but_last = (size_t)(steps - 1) * (size_t)shape.hidden;
    memset(d->array[LSTM_D_OUT], 0, all_but_last * sizeof(float));
    d->array[LSTM_D_OUT][all_but_last] = 1.0f;
    struct qn_backend *be = place_backend(backend, NULL, 2);
    lstm_run(be, d, true);
    qn_backend_free(be);
    float gradient = d->array[LSTM_D_C0][0];
    lstm_free(d);
    return gradient;
}

static void gradients_that_decay_end_at_zero(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        /* Halved by the output gate and 90 steps: 4e-28. */
        float kept = first_gradient(90, backends[k]);
        assert_true(kept == ldexpf(1.0f, -91));
        assert_true(first_gradient(110, backends[k]) == 0.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_case_agrees),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(small_and_odd_shapes_agree),
        cmocka_unit_test(what_is_absent_or_added_to_agrees),
        cmocka_unit_test(several_blocks_a_slice_agree),
        cmocka_unit_test(long_sums_of_the_bias_gradient_stay_exact),
        cmocka_unit_test(padded_sequences_agree),
        cmocka_unit_test(wide_padded_sequences_agree),
        cmocka_unit_test(embeddings_agree),
        cmocka_unit_test(what_cannot_be_looked_up_agrees),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(segments_in_a_row_are_one_long_pass),
        cmocka_unit_test(the_workspace_is_counted_and_kept),
        cmocka_unit_test(nan_spreads_alike),
        cmocka_unit_test(gradients_that_decay_end_at_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
