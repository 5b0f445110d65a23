/* init.c - initial weights have the moments and the orthonormality they name.
 */
#include "nn/init.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float *filled(struct qn_init init, int rows, int cols, uint64_t key)
{
    float *w = qn_xcalloc((size_t)rows * (size_t)cols, sizeof *w);
    qn_init_fill(&init, w, rows, cols, key);
    return w;
}

/* Mean and standard deviation of n weights. */
static void moments(const float *w, size_t n, double *mean, double *std)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
    }
    *mean = sum / (double)n;
    *std = sqrt(squares / (double)n - *mean * *mean);
}

enum { ROWS = 300, COLS = 400 };

/* Of 120000 samples the mean strays by 0.003 std (1 sigma), the standard
 * deviation by 0.002 of itself: bounds are five of those. */
static void has_std(struct qn_init init, double expected)
{
    double mean;
    double std;
    float *w = filled(init, ROWS, COLS, 5);
    moments(w, (size_t)ROWS * COLS, &mean, &std);
    assert_true(fabs(mean) < 0.015 * expected);
    assert_true(fabs(std / expected - 1) < 0.01);
    free(w);
}

static void normal_has_its_std(void **state)
{
    (void)state;
    has_std((struct qn_init){.kind = QN_INIT_NORMAL, .std = 0.3}, 0.3);
}

static void glorot_has_the_std_of_its_fans(void **state)
{
    (void)state;
    has_std((struct qn_init){.kind = QN_INIT_GLOROT},
            sqrt(2.0 / (ROWS + COLS)));
}

static void uniform_fills_its_range_and_no_more(void **state)
{
    (void)state;
    struct qn_init init = {.kind = QN_INIT_UNIFORM, .range = 0.05};
    has_std(init, 0.05 / sqrt(3));
    float *w = filled(init, ROWS, COLS, 6);
    float least = 0;
    float most = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        least = fminf(least, w[i]);
        most = fmaxf(most, w[i]);
    }
    assert_true(least >= -0.05f && least < -0.0499f);
    assert_true(most <= 0.05f && most > 0.0499f);
    free(w);
}

/* a . b over n elements that lie 'stride' apart. */
static double dot(const float *a, const float *b, int n, int stride)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i * (size_t)stride;
        sum += (double)a[at] * (double)b[at];
    }
    return sum;
}

/* Whichever of rows and columns are fewer are orthonormal times gain; 1e-5 is
 * some hundred roundings of a float near 1. */
static void is_orthonormal(int rows, int cols, double gain)
{
    struct qn_init init = {.kind = QN_INIT_ORTHOGONAL, .gain = gain};
    float *w = filled(init, rows, cols, 9);
    bool by_rows = rows <= cols;
    int n = by_rows ? rows : cols;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            const float *a = w + (by_rows ? i * cols : i);
            const float *b = w + (by_rows ? j * cols : j);
            double product =
                dot(a, b, by_rows ? cols : rows, by_rows ? 1 : cols);
            double wanted = i == j ? gain * gain : 0;
            assert_true(fabs(product - wanted) < 1e-5 * gain * gain);
        }
    }
    free(w);
}

static void orthogonal_is_orthonormal_in_the_lesser_dimension(void **state)
{
    (void)state;
    is_orthonormal(24, 60, 1);
    is_orthonormal(60, 24, 1);
    is_orthonormal(33, 33, 0.5);
    is_orthonormal(1, 7, 2);
    is_orthonormal(7, 1, 2);
    is_orthonormal(1, 1, 1);
}

static void equal_keys_give_equal_weights_and_others_do_not(void **state)
{
    (void)state;
    const struct qn_init inits[] = {
        {.kind = QN_INIT_UNIFORM, .range = 1},
        {.kind = QN_INIT_NORMAL, .std = 1},
        {.kind = QN_INIT_GLOROT},
        {.kind = QN_INIT_ORTHOGONAL, .gain = 1},
    };
    for (size_t i = 0; i < 4; i++) {
        float *a = filled(inits[i], 5, 9, 1);
        float *b = filled(inits[i], 5, 9, 1);
        float *c = filled(inits[i], 5, 9, 2);
        assert_memory_equal(a, b, 45 * sizeof *a);
        assert_memory_not_equal(a, c, 45 * sizeof *a);
        free(a);
        free(b);
        free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_has_its_std),
        cmocka_unit_test(glorot_has_the_std_of_its_fans),
        cmocka_unit_test(uniform_fills_its_range_and_no_more),
        cmocka_unit_test(orthogonal_is_orthonormal_in_the_lesser_dimension),
        cmocka_unit_test(equal_keys_give_equal_weights_and_others_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
