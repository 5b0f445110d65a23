/* norm.c - batch normalisation in the cpu backend: sound statistics, the same
 * bits on any threads, many blocks, columns of one buffer. */
#include "backend/cpu/norm.h"
#include "base/mem.h"
#include "base/pool.h"
#include "place.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layer over one segment, its input and output columns of one buffer, as in a
 * dense stack; every tensor that it writes is kept. */
enum { IN = 5, HIDDEN = 6, WINDOW = 2, OUTPUTS = 4 * HIDDEN };

struct sizes {
    int batch, steps, slices;
};

enum array {
    WEIGHT,
    GAIN,
    SHIFT,
    C0,
    D_LAST_C,
    ROWS,   /* x and out */
    D_ROWS, /* d_x and d_out */
    MEAN,
    VAR,
    RAW,
    CELLS,
    SAVED,
    D_WEIGHT,
    D_GAIN,
    D_SHIFT,
    D_C0,
    N_ARRAYS
};

struct layer {
    struct qn_tensor array[N_ARRAYS];
    float *host[N_ARRAYS];
};

static void counts_of(struct sizes s, size_t count[N_ARRAYS])
{
    size_t rows = (size_t)s.batch * (size_t)s.steps;
    size_t padded = rows + (size_t)s.batch * (WINDOW - 1);
    for (int i = 0; i < N_ARRAYS; i++)
        count[i] = OUTPUTS;
    count[WEIGHT] = count[D_WEIGHT] = OUTPUTS * WINDOW * IN;
    count[C0] = count[D_LAST_C] = count[D_C0] = (size_t)s.batch * HIDDEN;
    count[ROWS] = count[D_ROWS] = padded * (IN + HIDDEN);
    count[RAW] = count[SAVED] = rows * OUTPUTS;
    count[CELLS] = rows * HIDDEN;
}

static struct qn_seq columns(struct qn_tensor rows, struct sizes s, int from,
                             int width)
{
    size_t pitch = IN + HIDDEN;
    struct qn_seq seq = {.buffer = rows.buffer,
                         .offset = (WINDOW - 1) * pitch + (size_t)from,
                         .row_pitch = pitch,
                         .seq_pitch = (size_t)(s.steps + WINDOW - 1) * pitch,
                         .batch = s.batch,
                         .steps = s.steps,
                         .width = width,
                         .history = WINDOW - 1};
    return seq;
}

static void run_ops(struct qn_backend *be, const struct qn_tensor *a,
                    struct sizes s)
{
    struct qn_qrnn l = {.hidden = HIDDEN,
                        .window = WINDOW,
                        .pooling = QN_POOL_FO,
                        .activation = QN_DRELU,
                        .zoneout = {.p = 0.2, .key = 11, .first_sample = 4},
                        .weight = a[WEIGHT],
                        .norm = {.on = true,
                                 .batch = true,
                                 .gain = a[GAIN],
                                 .shift = a[SHIFT],
                                 .mean = a[MEAN],
                                 .var = a[VAR],
                                 .raw = a[RAW]},
                        .x = columns(a[ROWS], s, 0, IN),
                        .out = columns(a[ROWS], s, IN, HIDDEN),
                        .c0 = a[C0],
                        .cells = a[CELLS],
                        .saved = a[SAVED]};
    struct qn_qrnn_grad g = {.d_out = columns(a[D_ROWS], s, IN, HIDDEN),
                             .d_last_c = a[D_LAST_C],
                             .d_weight = a[D_WEIGHT],
                             .d_gain = a[D_GAIN],
                             .d_shift = a[D_SHIFT],
                             .d_x = columns(a[D_ROWS], s, 0, IN),
                             .add_x = true,
                             .d_c0 = a[D_C0]};
    be->ops->qrnn(be, &l);
    be->ops->qrnn_grad(be, &l, &g);
}

/* All arrays after both ways, on the host. */
static struct layer run(const char *backend, struct qn_pool *pool,
                        struct sizes s)
{
    struct qn_backend *be = place_backend(backend, pool, s.slices);
    struct layer l = {0};
    size_t count[N_ARRAYS];
    counts_of(s, count);
    for (int i = 0; i < N_ARRAYS; i++) {
        float *start = qn_xcalloc(count[i], sizeof *start);
        if (i < MEAN)
            qn_fill_normal(start, count[i], 0.5, (uint64_t)i + 1);
        l.array[i] = place_tensor(be, start, count[i]);
        free(start);
    }
    run_ops(be, l.array, s);
    for (int i = 0; i < N_ARRAYS; i++) {
        l.host[i] = place_read(be, l.array[i]);
        place_free(be, l.array[i].buffer);
    }
    qn_backend_free(be);
    return l;
}

static void free_layer(struct layer *l)
{
    for (int i = 0; i < N_ARRAYS; i++)
        free(l->host[i]);
}

static void the_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    /* By sequence; by time, with a slice that has no row. */
    static const struct sizes sizes[] = {{10, 90, 3}, {2, 90, 3}, {1, 3, 4}};
    for (int i = 0; i < 3; i++) {
        struct layer first = run("cpu", NULL, sizes[i]);
        for (int threads = 1; threads <= 4; threads++) {
            struct qn_pool *pool = qn_pool_new(threads);
            struct layer again = run("cpu", pool, sizes[i]);
            for (int a = 0; a < N_ARRAYS; a++)
                assert_memory_equal(again.host[a], first.host[a],
                                    first.array[a].count * sizeof(float));
            free_layer(&again);
            qn_pool_free(pool);
        }
        free_layer(&first);
    }
}

/* max |cpu - ref| / max |ref|; conformance.c says why so small a bound holds.
 * raw and, after the way back, saved are each backend's own. */
static void many_blocks_in_columns_agree_with_ref(void **state)
{
    (void)state;
    /* Blocks of whole sequences, of parts of one, and of parts by time. */
    static const struct sizes sizes[] = {{10, 90, 1}, {2, 900, 1}, {2, 900, 3}};
    for (int i = 0; i < 3; i++) {
        struct layer ref = run("ref", NULL, sizes[i]);
        struct layer cpu = run("cpu", NULL, sizes[i]);
        for (int a = 0; a < N_ARRAYS; a++) {
            double most = 0.0;
            double apart = 0.0;
            for (size_t k = 0; k < ref.array[a].count; k++) {
                double want = (double)ref.host[a][k];
                most = fmax(most, fabs(want));
                apart = fmax(apart, fabs((double)cpu.host[a][k] - want));
            }
            if (a != RAW && a != SAVED && !(apart <= 2e-6 * most))
                fail_msg("array %d is off by %g of %g", a, apart, most);
        }
        free_layer(&ref);
        free_layer(&cpu);
    }
}

/* The variance is 0, and no gradient gets through. */
static void one_row_gives_finite_gradients(void **state)
{
    (void)state;
    struct layer l = run("cpu", NULL, (struct sizes){1, 1, 2});
    for (int a = 0; a < N_ARRAYS; a++)
        for (size_t i = 0; i < l.array[a].count; i++)
            assert_true(isfinite(l.host[a][i]));
    for (size_t i = 0; i < OUTPUTS; i++)
        assert_true(l.host[VAR][i] == 0.0f);
    for (size_t i = 0; i < l.array[D_WEIGHT].count; i++)
        assert_true(l.host[D_WEIGHT][i] == 0.0f);
    free_layer(&l);
}

/* Mean and variance by the job, of raw [batch, steps, channels]. */
static void take_statistics(struct qn_backend *be, const struct qn_norm *norm,
                            struct sizes s)
{
    struct qn_batch split = {s.batch, s.steps, s.slices, 20, NULL};
    struct qn_norm_job job = {.kernels = qn_kernels_best(),
                              .norm = norm,
                              .split = &split,
                              .channels = norm->mean.count};
    struct qn_tensor work =
        place_tensor(be, NULL, qn_norm_work(s.slices, job.channels));
    qn_norm_open(&job, qn_floats(work));
    for (int slice = 0; slice < s.slices; slice++)
        for (int i = 0; i < qn_n_blocks(&split, slice); i++) {
            struct qn_block block = qn_block_at(&split, slice, i);
            qn_norm_take_block(&job, slice, &block);
        }
    qn_norm_finish(&job);
    place_free(be, work.buffer);
}

/* By two passes in double. */
static void check_channel(const float *raw, size_t rows, size_t channels,
                          size_t j, const float *mean, const float *var)
{
    double sum = 0.0;
    double square = 0.0;
    for (size_t r = 0; r < rows; r++)
        sum += (double)raw[r * channels + j];
    double exact = sum / (double)rows;
    for (size_t r = 0; r < rows; r++) {
        double apart = (double)raw[r * channels + j] - exact;
        square += apart * apart;
    }
    /* The mean is off by its own rounding, 6e-8. So is each difference, square
     * and sum of at most eight; over all rows they mostly cancel. */
    double want = square / (double)rows;
    assert_true(fabs((double)mean[j] - exact) <= 6e-8 * fabs(exact));
    assert_true(fabs((double)var[j] - want) <= 2.5e-7 * want);
}

/* Channel j has the mean 10^(j-1) and the deviation 1: at the last, numbers lie
 * 1/128 apart, and squares of them could not show the variance in float. The
 * channel after them is constant. */
static void a_large_mean_leaves_the_variance_right(void **state)
{
    (void)state;
    enum { CHANNELS = 8 };
    static const struct sizes sizes[] = {{12, 50, 1}, {12, 50, 5}, {2, 300, 3}};
    struct qn_backend *be = place_backend("cpu", NULL, 1);
    for (int k = 0; k < 3; k++) {
        size_t rows = (size_t)(sizes[k].batch * sizes[k].steps);
        float *raw = qn_xcalloc(rows * CHANNELS, sizeof *raw);
        qn_fill_normal(raw, rows * CHANNELS, 1.0, 3);
        for (size_t i = 0; i < rows * CHANNELS; i++) {
            size_t j = i % CHANNELS;
            raw[i] = j == CHANNELS - 1 ? 0.1f
                                       : raw[i] + powf(10.0f, (float)j - 1.0f);
        }
        struct qn_norm norm = {
            .on = true,
            .batch = true,
            .mean = place_tensor(be, NULL, CHANNELS),
            .var = place_tensor(be, NULL, CHANNELS),
            .raw = place_tensor(be, raw, rows * CHANNELS),
        };
        take_statistics(be, &norm, sizes[k]);
        float *mean = place_read(be, norm.mean);
        float *var = place_read(be, norm.var);
        for (size_t j = 0; j < CHANNELS; j++)
            check_channel(raw, rows, CHANNELS, j, mean, var);
        assert_true(mean[CHANNELS - 1] == 0.1f && var[CHANNELS - 1] == 0.0f);
        free(mean);
        free(var);
        free(raw);
        place_free(be, norm.mean.buffer);
        place_free(be, norm.var.buffer);
        place_free(be, norm.raw.buffer);
    }
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_do_not_depend_on_threads),
        cmocka_unit_test(many_blocks_in_columns_agree_with_ref),
        cmocka_unit_test(one_row_gives_finite_gradients),
        cmocka_unit_test(a_large_mean_leaves_the_variance_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
