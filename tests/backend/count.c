/* count.c - combine, and the counts of a layer's quantities, on both backends
 * against plain loops. */
#include "place.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
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

enum { BATCH = 3, STEPS = 5, HIDDEN = 211, ROWS = BATCH * STEPS };

static const int n_real[BATCH] = {5, 0, 3};

/* ref, and cpu with 4 slices and 3 threads. */
static void on_both(void (*test)(struct qn_backend *be))
{
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    test(ref);
    qn_backend_free(ref);
    struct qn_pool *pool = qn_pool_new(3);
    struct qn_backend *cpu = place_backend("cpu", pool, 4);
    test(cpu);
    qn_backend_free(cpu);
    qn_pool_free(pool);
}

static void combine(struct qn_backend *be)
{
    size_t n = 300000; /* more than one task's */
    float *x = qn_xcalloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 97);
    struct qn_tensor src = place_tensor(be, x, n);
    struct qn_tensor dst = place_tensor(be, NULL, n + 2);
    struct qn_tensor part = qn_tensor_part(dst, 1, n);
    be->ops->fill(be, dst, NAN);
    be->ops->combine(be, part, src, 2.0, 0.0);
    be->ops->combine(be, part, src, 0.5, -1.0);
    be->ops->fill(be, src, NAN);
    be->ops->combine(be, part, src, 0.0, 2.0);
    float *got = place_read(be, dst);
    assert_true(isnan(got[0]) && isnan(got[n + 1]));
    for (size_t i = 0; i < n; i++)
        assert_true(got[i + 1] == -3.0f * x[i]);
    free(got);
    free(x);
    place_free(be, src.buffer);
    place_free(be, dst.buffer);
}

/* dst = a src + b dst over values of all sizes, against one rounding of the sum
 * in double; a tensor into itself, too. */
static void combine_once(struct qn_backend *be, double a, double b, bool self)
{
    enum { N = 1003 };
    float x[N], y[N];
    for (size_t i = 0; i < N; i++) {
        uint32_t bits = qn_rng_bits(7u, (uint32_t)i);
        x[i] = ldexpf((float)(int32_t)bits, (int)(i % 61) - 60);
        y[i] = i % 5 == 0 ? -0.0f : 1.0f / (float)(int32_t)(bits | 1u);
    }
    struct qn_tensor src = place_tensor(be, x, N);
    struct qn_tensor dst = place_tensor(be, y, N);
    be->ops->combine(be, self ? src : dst, src, a, b);
    float *got = place_read(be, self ? src : dst);
    for (size_t i = 0; i < N; i++) {
        double old = self ? (double)x[i] : (double)y[i];
        double new = a == 0.0 ? 0.0 : a *(double)x[i];
        float want = (float)(new + (b == 0.0 ? 0.0 : b * old));
        assert_true(got[i] == want && !signbit(got[i]) == !signbit(want));
    }
    free(got);
    place_free(be, src.buffer);
    place_free(be, dst.buffer);
}

static void combine_all(struct qn_backend *be)
{
    for (int self = 0; self < 2; self++) {
        combine_once(be, 2e-4, 1.0, self);
        combine_once(be, 0.1, 0.9, self);
        combine_once(be, 0.0, 0.9, self);
        combine_once(be, 0.1, 0.0, self);
        combine_once(be, 0.0, 0.0, self);
    }
}

static void combine_rounds_once(void **state)
{
    (void)state;
    on_both(combine_all);
}

static void combine_weighs_and_reads_nothing_of_weight_0(void **state)
{
    (void)state;
    on_both(combine);
}

/* Mean and biased variance of pass k of y [pass, rows, channels]. */
static void moments(float *mean, float *var, const double *y, size_t rows,
                    size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        double sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < rows; i++)
            sum += y[i * channels + c];
        sum /= (double)rows;
        for (size_t i = 0; i < rows; i++)
            squares +=
                (y[i * channels + c] - sum) * (y[i * channels + c] - sum);
        mean[c] = (float)sum;
        var[c] = (float)(squares / (double)rows);
    }
}

static void averages(struct qn_backend *be)
{
    struct qn_golden *g = qn_golden_open("batchnorm_running");
    size_t passes = (size_t)qn_golden_dim(g, "running_mean", 0);
    size_t channels = (size_t)qn_golden_dim(g, "running_mean", 1);
    size_t each = qn_golden_count(g, "y") / passes;
    const double *y = qn_golden_values(g, "y", QN_AS_STORED);
    float *now = qn_xcalloc(2 * channels, sizeof *now);
    float *all = qn_xcalloc(2 * passes * channels, sizeof *all);
    struct qn_tensor run = place_tensor(be, NULL, 2 * channels);
    struct qn_tensor new = place_tensor(be, NULL, 2 * channels);
    struct qn_tensor mean = qn_tensor_part(run, 0, channels);
    struct qn_tensor var = qn_tensor_part(run, channels, channels);
    be->ops->fill(be, var, 1.0f);
    for (size_t k = 0; k < passes; k++) {
        moments(now, now + channels, y + k * each, each / channels, channels);
        be->ops->write(be, new, now);
        be->ops->combine(be, run, new, 0.1, 0.9);
        (void)be->ops->read(be, mean, all + k * channels, NULL);
        (void)be->ops->read(be, var, all + (passes + k) * channels, NULL);
    }
    qn_golden_check(g, "running_mean", QN_AS_STORED, all);
    qn_golden_check(g, "running_var", QN_AS_STORED, all + passes * channels);
    free(now);
    free(all);
    place_free(be, run.buffer);
    place_free(be, new.buffer);
    qn_golden_close(g);
}

static void running_averages_agree(void **state)
{
    (void)state;
    on_both(averages);
}

static void check_same(const struct qn_hist *got, const struct qn_hist *want)
{
    assert_memory_equal(got, want, sizeof *got);
}

/* Rows of 'blocks' blocks: (block of - block minus) * block times, -1 absent;
 * cells [ROWS, H] are block -2. */
struct pick {
    int of, minus, times;
};

static float picked(const float *saved, const float *cells, int blocks,
                    size_t row, size_t j, int block)
{
    size_t at = (row * (size_t)blocks + (size_t)(block > 0 ? block : 0));
    return block == -2 ? cells[row * HIDDEN + j] : saved[at * HIDDEN + j];
}

static struct qn_hist plain_count(const float *saved, const float *cells,
                                  int blocks, struct pick p, const int *real)
{
    struct qn_hist h;
    qn_hist_init(&h, 0.1f);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t j = 0; j < HIDDEN; j++) {
            float v = picked(saved, cells, blocks, row, j, p.of);
            if (p.minus >= 0)
                v -= picked(saved, cells, blocks, row, j, p.minus);
            if (p.times >= 0)
                v *= picked(saved, cells, blocks, row, j, p.times);
            if (!real || (int)(row % STEPS) < real[row / STEPS])
                qn_hist_add(&h, &v, 1);
        }
    return h;
}

/* Quantities of a QRNN by pooling and activation; of < -2: there is none. */
static struct pick qrnn_pick(enum qn_quantity what, bool dual, bool gated)
{
    int f = dual ? 2 : 1;
    struct pick picks[QN_N_QUANTITIES] = {
        [QN_CELL] = {-2, -1, -1},
        [QN_CANDIDATE] = {0, dual ? 1 : -1, -1},
        [QN_OUTPUT] = {-2, -1, gated ? f + 1 : -1},
        [QN_FORGET] = {f, -1, -1},
        [QN_OUTGATE] = {gated ? f + 1 : -3, -1, -1},
    };
    return picks[what];
}

static void check_qrnn(struct qn_backend *be, enum qn_pooling pooling,
                       enum qn_activation activation)
{
    int blocks = qn_n_gates(activation, pooling);
    float *saved = qn_xcalloc((size_t)(ROWS * blocks * HIDDEN), sizeof *saved);
    float *cells = qn_xcalloc(ROWS * HIDDEN, sizeof *cells);
    qn_fill_normal(saved, (size_t)(ROWS * blocks * HIDDEN), 0.3, 5);
    qn_fill_normal(cells, ROWS * HIDDEN, 0.3, 6);
    cells[7] = NAN;
    struct qn_qrnn l = {
        .hidden = HIDDEN,
        .pooling = pooling,
        .activation = activation,
        .x = {.batch = BATCH, .steps = STEPS},
        .cells = place_tensor(be, cells, ROWS * HIDDEN),
        .saved = place_tensor(be, saved, (size_t)(ROWS * blocks * HIDDEN)),
    };
    for (int q = 0; q < QN_N_QUANTITIES; q++)
        for (int real = 0; real < 2; real++) {
            enum qn_quantity what = (enum qn_quantity)q;
            struct pick p = qrnn_pick(what, qn_n_candidates(activation) == 2,
                                      pooling != QN_POOL_F);
            if (p.of < -2)
                continue;
            const int *n = real ? n_real : NULL;
            struct qn_hist want = plain_count(saved, cells, blocks, p, n);
            struct qn_hist got;
            qn_hist_init(&got, 0.1f);
            assert_int_equal(be->ops->count_qrnn(be, &l, what, n, &got, NULL),
                             QN_OK);
            check_same(&got, &want);
        }
    place_free(be, l.cells.buffer);
    place_free(be, l.saved.buffer);
    free(saved);
    free(cells);
}

static void qrnn(struct qn_backend *be)
{
    for (int p = 0; p < 3; p++) {
        check_qrnn(be, (enum qn_pooling)p, QN_TANH);
        check_qrnn(be, (enum qn_pooling)p, QN_DRELU);
    }
}

static void qrnn_quantities_are_counted(void **state)
{
    (void)state;
    on_both(qrnn);
}

static void lstm(struct qn_backend *be)
{
    static const int blocks[QN_N_QUANTITIES] = {-2, 2, -2, 1, 3};
    size_t n = 4 * ROWS * HIDDEN;
    float *saved = qn_xcalloc(n, sizeof *saved);
    qn_fill_normal(saved, n, 0.3, 7);
    const float *cells = saved + 5, *hiddens = saved + ROWS * HIDDEN;
    struct qn_lstm l = {
        .hidden = HIDDEN,
        .x = {.batch = BATCH, .steps = STEPS},
        .cells = place_tensor(be, cells, ROWS * HIDDEN),
        .hiddens = place_tensor(be, hiddens, ROWS * HIDDEN),
        .saved = place_tensor(be, saved, n),
    };
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        struct pick p = {blocks[q], -1, -1};
        struct qn_hist want =
            plain_count(saved, q == QN_OUTPUT ? hiddens : cells, 4, p, n_real);
        struct qn_hist got;
        qn_hist_init(&got, 0.1f);
        assert_int_equal(be->ops->count_lstm(be, &l, (enum qn_quantity)q,
                                             n_real, &got, NULL),
                         QN_OK);
        check_same(&got, &want);
    }
    place_free(be, l.cells.buffer);
    place_free(be, l.hiddens.buffer);
    place_free(be, l.saved.buffer);
    free(saved);
}

static void lstm_quantities_are_counted(void **state)
{
    (void)state;
    on_both(lstm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combine_rounds_once),
        cmocka_unit_test(combine_weighs_and_reads_nothing_of_weight_0),
        cmocka_unit_test(running_averages_agree),
        cmocka_unit_test(qrnn_quantities_are_counted),
        cmocka_unit_test(lstm_quantities_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
