/* kernels.c - the vector functions of every instruction set of this machine:
 * stated errors, limits, denormal numbers, NaN; sums and maps; odd lengths. */
#include "backend/cpu/kernels.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of this many values at a time. */
enum { N = 1000 };
/* Units of a cell, more than four vectors. */
enum { LSTM_MOST = 70 };

typedef void (*vector_fn)(const struct qn_kernels *k, float *x, size_t n);
typedef double (*exact_fn)(double x);

static void by_exp(const struct qn_kernels *k, float *x, size_t n)
{
    (void)k->exp_sum(x, x, 0.0f, n);
}

static void by_sigmoid(const struct qn_kernels *k, float *x, size_t n)
{
    k->sigmoid(x, n);
}

static void by_tanh(const struct qn_kernels *k, float *x, size_t n)
{
    k->candidate[QN_TANH](x, 0.0f, n);
}

static void by_elu(const struct qn_kernels *k, float *x, size_t n)
{
    k->candidate[QN_ELU](x, 1.0f, n);
}

static double exact_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double exact_elu(double x)
{
    return x > 0.0 ? x : expm1(x);
}

/* The bounds are the ones that kernels.h states. */
static const struct function {
    const char *name;
    vector_fn ours;
    exact_fn exact;
    double ulps;
} functions[] = {
    {"exp", by_exp, exp, 1.5},
    {"sigmoid", by_sigmoid, exact_sigmoid, 3.0},
    {"tanh", by_tanh, tanh, 3.0},
    {"elu", by_elu, exact_elu, 1.5},
};
#define N_FUNCTIONS (sizeof functions / sizeof *functions)

/* Distance of y from the exact value in units of its last place; denormal
 * numbers have the place of the smallest normal one. */
static double ulps_off(float y, double exact)
{
    int exponent = 0;
    (void)frexp(exact, &exponent);
    if (exponent < FLT_MIN_EXP)
        exponent = FLT_MIN_EXP;
    return fabs((double)y - exact) / ldexp(1.0, exponent - FLT_MANT_DIG);
}

static void check_values(const struct qn_kernels *k, const struct function *f,
                         const float *x, size_t n)
{
    float y[N];
    memcpy(y, x, n * sizeof *x);
    f->ours(k, y, n);
    for (size_t i = 0; i < n; i++) {
        double exact = f->exact((double)x[i]);
        if (exact > (double)FLT_MAX) {
            assert_true(isinf(y[i]));
            continue;
        }
        double off = ulps_off(y[i], exact);
        if (!(off <= f->ulps))
            fail_msg("%s: %s(%.9g) is %.9g, off by %g ulp", k->name, f->name,
                     (double)x[i], (double)y[i], off);
    }
}

/* Every so many bit patterns from 0 to 120 on both sides: all sizes, denormal
 * ones included. */
static void sweep(const struct qn_kernels *k, const struct function *f)
{
    const uint32_t stride = 7919;
    float x[N];
    size_t n = 0;
    float limit = 120.0f;
    uint32_t last;
    memcpy(&last, &limit, sizeof last);
    for (uint32_t bits = 0; bits < last; bits += stride) {
        memcpy(&x[n], &bits, sizeof bits);
        x[n + 1] = -x[n];
        n += 2;
        if (n == N) {
            check_values(k, f, x, n);
            n = 0;
        }
    }
    check_values(k, f, x, n);
}

/* The range of gates, evenly. */
static void sweep_evenly(const struct qn_kernels *k, const struct function *f)
{
    float x[N];
    for (int block = -50; block < 50; block++) {
        for (int i = 0; i < N; i++)
            x[i] = (float)block + (float)i / N;
        check_values(k, f, x, N);
    }
}

static void functions_keep_their_stated_errors(void **state)
{
    (void)state;
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t i = 0; i < N_FUNCTIONS; i++) {
            sweep(k, &functions[i]);
            sweep_evenly(k, &functions[i]);
        }
}

static void limits_are_exact_and_nan_stays(void **state)
{
    (void)state;
    static const float want[N_FUNCTIONS][3] = {
        {0.0f, 1.0f, INFINITY},
        {0.0f, 0.5f, 1.0f},
        {-1.0f, 0.0f, 1.0f},
        {-1.0f, 0.0f, INFINITY},
    };
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t i = 0; i < N_FUNCTIONS; i++)
            /* In the vector part of the loop and in its rest. */
            for (size_t at = 0; at < 40; at += 3) {
                float x[40] = {0};
                static const float in[] = {-INFINITY, 0.0f, INFINITY, NAN};
                for (int j = 0; j < 4; j++) {
                    x[at] = in[j];
                    float y[40];
                    memcpy(y, x, sizeof y);
                    functions[i].ours(k, y, 40);
                    assert_true(j == 3 ? isnan(y[at]) : y[at] == want[i][j]);
                }
            }
}

static void relu_passes_nan(void **state)
{
    (void)state;
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++) {
        float x[4] = {-1.0f, 1.0f, NAN, 0.0f};
        k->candidate[QN_DRELU](x, 0.0f, 4);
        assert_true(x[0] == 0.0f && x[1] == 1.0f);
        assert_true(isnan(x[2]) && x[3] == 0.0f);
    }
}

static void slopes_at_zero_are_the_stated_ones(void **state)
{
    (void)state;
    static const float want[5] = {1.0f, 0.0f, 0.1f, 0.0f, 0.1f};
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (int a = 0; a < 5; a++) {
            float z = 0.0f;
            float dz = 1.0f;
            k->candidate_grad[a](&z, &dz, 1.0f, 0.1f, 1);
            assert_true(z == want[a]);
        }
}

/* Whole numbers: exact in any order. */
static void sums_and_maxima_are_exact_at_every_length(void **state)
{
    (void)state;
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t n = 1; n < 70; n++) {
            float x[70];
            float y[71] = {0};
            double squares = 0.0;
            for (size_t i = 0; i < n; i++) {
                x[i] = (float)((i * 37) % 70) - 80.0f;
                squares += (double)x[i] * (double)x[i];
            }
            float max = x[0];
            for (size_t i = 1; i < n; i++)
                max = fmaxf(max, x[i]);
            assert_true(k->square_sum(x, n) == squares);
            assert_true(k->max(x, n) == max);
            k->add(y, x, n);
            k->add(y, x, n);
            k->scale(y, 0.5f, n);
            assert_memory_equal(y, x, n * sizeof *x);
            assert_true(y[n] == 0.0f);
        }
}

/* Only the sum, or with the values: the same. */
static void exp_sum_needs_no_output(void **state)
{
    (void)state;
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++) {
        float x[37];
        float y[37];
        for (int i = 0; i < 37; i++)
            x[i] = (float)i * 0.1f;
        double with = k->exp_sum(y, x, 3.0f, 37);
        assert_true(fabs(k->exp_sum(NULL, x, 3.0f, 37) - with) <= 1e-6 * with);
    }
}

/* Where dropout of ones would leave 0 the gate becomes 1; elsewhere, and in a
 * mask of ones, it stays as it was, bit for bit. */
static void zoneout_opens_the_gates_that_dropout_would_drop(void **state)
{
    (void)state;
    const struct qn_kernels *k = NULL;
    struct qn_drop drop = {
        .row = 77, .first = 3, .threshold = 1u << 30, .scale = 1.0f};
    size_t opened = 0;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t n = 1; n < 70; n++) {
            float keep[70];
            float f[71] = {0};
            float by_keep[71] = {0};
            for (size_t i = 0; i < n; i++) {
                keep[i] = 1.0f;
                f[i] = by_keep[i] = (float)(i + 1) / 128.0f;
            }
            k->drop(keep, keep, &drop, n);
            k->zoneout(f, &drop, n);
            k->zoneout_keep(by_keep, keep, n);
            for (size_t i = 0; i < n; i++) {
                float stays = (float)(i + 1) / 128.0f;
                assert_true(f[i] == (keep[i] > 0.0f ? stays : 1.0f));
                opened += f[i] == 1.0f;
            }
            assert_memory_equal(by_keep, f, sizeof f);
        }
    assert_true(opened > 0);
}

/* Whole numbers: exact in any order, for every length and number of rows. */
static void moments_are_exact_at_every_shape(void **state)
{
    (void)state;
    enum { ROWS = 19, COLUMNS = 39 };
    const struct qn_kernels *k = NULL;
    float x[ROWS * COLUMNS];
    float shift[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)((i * 37) % 101);
    for (int j = 0; j < COLUMNS; j++)
        shift[j] = (float)(3 * j);
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t n = 1; n <= COLUMNS; n++)
            for (size_t rows = 1; rows <= ROWS; rows++) {
                double sum[COLUMNS + 1] = {1.0};
                double square[COLUMNS + 1] = {2.0};
                k->moments(sum, square, x, shift, rows, n);
                for (size_t j = 0; j < n; j++) {
                    double want_sum = j == 0 ? 1.0 : 0.0;
                    double want_square = j == 0 ? 2.0 : 0.0;
                    for (size_t r = 0; r < rows; r++) {
                        double apart = (double)(x[r * n + j] - shift[j]);
                        want_sum += apart;
                        want_square += apart * apart;
                    }
                    assert_true(sum[j] == want_sum);
                    assert_true(square[j] == want_square);
                }
                assert_true(sum[n] == 0.0 && square[n] == 0.0);
            }
}

/* Small whole numbers and powers of two: every step is exact. */
static void norm_maps_are_exact_at_every_length(void **state)
{
    (void)state;
    enum { MOST = 70 };
    float a[MOST];
    float m[6][MOST];
    struct qn_norm_map map = {m[0], m[1], m[2], m[3], m[4], m[5]};
    for (int i = 0; i < MOST; i++) {
        a[i] = (float)((i * 37) % 70 - 30);
        for (int k = 0; k < 6; k++)
            m[k][i] = (float)((i * (k + 5)) % 13 - 6) * 0.25f;
    }
    const struct qn_kernels *k = NULL;
    for (int set = 0; (k = qn_kernels_at(set)); set++)
        for (size_t n = 1; n < MOST; n++) {
            float y[MOST];
            float dy[MOST];
            float sum[MOST] = {0};
            float dot[MOST] = {0};
            memcpy(y, a, sizeof y);
            k->norm(y, y, &map, n);
            memcpy(dy, y, sizeof dy);
            k->norm_sums(sum, dot, y, a, &map, n);
            k->norm_sums(sum, dot, y, a, &map, n);
            k->norm_grad(dy, a, &map, n);
            for (size_t j = 0; j < n; j++) {
                float apart = a[j] - m[0][j];
                float through = m[4][j] + apart * m[5][j];
                assert_true(y[j] == apart * m[2][j] + m[3][j]);
                assert_true(sum[j] == 2.0f * y[j]);
                assert_true(dot[j] == 2.0f * y[j] * (apart * m[1][j]));
                assert_true(dy[j] == m[2][j] * (y[j] - through));
            }
            assert_true(y[n] == a[n] && dy[n] == a[n]);
            assert_true(sum[n] == 0.0f && dot[n] == 0.0f);
        }
}

/* One step of an LSTM of n units and the way back, in double. */
struct lstm_step {
    size_t n;
    float gates[4 * LSTM_MOST], prev[LSTM_MOST];
    float c[LSTM_MOST + 1], h[LSTM_MOST + 1], dh[LSTM_MOST];
    float dc[LSTM_MOST + 1];
};

static double gate_before(size_t block, size_t j)
{
    return 3.0 * sin((double)(block * 7 + j));
}

static struct lstm_step lstm_step_of(size_t n)
{
    struct lstm_step s = {.n = n};
    for (size_t j = 0; j < n; j++) {
        for (size_t block = 0; block < 4; block++)
            s.gates[block * n + j] = (float)gate_before(block, j);
        s.prev[j] = (float)cos((double)j);
        s.dh[j] = (float)sin(0.5 + (double)j);
        s.dc[j] = (float)cos(0.5 + (double)j);
    }
    s.c[n] = s.h[n] = s.dc[n] = 17.0f;
    return s;
}

static void assert_near(float ours, double exact)
{
    assert_true(fabs((double)ours - exact) < 1e-6);
}

static void check_lstm_unit(const struct lstm_step *ours,
                            const struct lstm_step *back, size_t j)
{
    size_t n = ours->n;
    struct lstm_step before = lstm_step_of(n);
    const float *x = before.gates + j;
    double i = exact_sigmoid((double)x[0]);
    double f = exact_sigmoid((double)x[n]);
    double g = tanh((double)x[2 * n]);
    double o = exact_sigmoid((double)x[3 * n]);
    double prev = (double)before.prev[j];
    double c = f * prev + i * g;
    double y = tanh(c);
    assert_near(ours->c[j], c);
    assert_near(ours->h[j], o * y);
    assert_near(ours->gates[2 * n + j], g);
    double dh = (double)before.dh[j];
    double d = (double)before.dc[j] + dh * o * (1 - y * y);
    assert_near(back->gates[j], d * g * i * (1 - i));
    assert_near(back->gates[n + j], d * prev * f * (1 - f));
    assert_near(back->gates[2 * n + j], d * i * (1 - g * g));
    assert_near(back->gates[3 * n + j], dh * y * o * (1 - o));
    assert_near(back->dc[j], d * f);
}

static void check_lstm(const struct qn_kernels *k, size_t n)
{
    struct lstm_step ours = lstm_step_of(n);
    struct qn_lstm_cell cell = {n, ours.gates, ours.prev, ours.c};
    k->lstm_cell(ours.h, &cell);
    struct lstm_step back = ours;
    struct qn_lstm_cell cell_back = {n, back.gates, back.prev, back.c};
    k->lstm_cell_grad(back.dc, back.dh, &cell_back);
    for (size_t j = 0; j < n; j++)
        check_lstm_unit(&ours, &back, j);
    assert_true(ours.c[n] == 17.0f && ours.h[n] == 17.0f);
    assert_true(back.dc[n] == 17.0f);
}

/* Those of the last vector overlap others (ends_apart in kernels.c). */
static void lstm_cells_are_right_at_every_length(void **state)
{
    (void)state;
    for (int i = 0; qn_kernels_at(i); i++)
        for (size_t n = 1; n <= LSTM_MOST; n++)
            check_lstm(qn_kernels_at(i), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_keep_their_stated_errors),
        cmocka_unit_test(limits_are_exact_and_nan_stays),
        cmocka_unit_test(relu_passes_nan),
        cmocka_unit_test(slopes_at_zero_are_the_stated_ones),
        cmocka_unit_test(sums_and_maxima_are_exact_at_every_length),
        cmocka_unit_test(exp_sum_needs_no_output),
        cmocka_unit_test(zoneout_opens_the_gates_that_dropout_would_drop),
        cmocka_unit_test(moments_are_exact_at_every_shape),
        cmocka_unit_test(norm_maps_are_exact_at_every_length),
        cmocka_unit_test(lstm_cells_are_right_at_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
