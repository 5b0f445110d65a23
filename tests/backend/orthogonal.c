/* orthogonal.c - orthonormal rows or columns, seeded, uniformly distributed. */
#include "backend/backend.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounding of a QR in float: a few 2^-24 times sqrt(40). */
#define BOUND 2e-6

/* The product of lines i and j, which are rows or columns of w. */
static double line_product(const float *w, int rows, int cols, int i, int j)
{
    bool wide = rows <= cols;
    int length = wide ? cols : rows;
    double sum = 0.0;
    for (int k = 0; k < length; k++) {
        size_t a = (size_t)(wide ? i * cols + k : k * cols + i);
        size_t b = (size_t)(wide ? j * cols + k : k * cols + j);
        sum += (double)w[a] * (double)w[b];
    }
    return sum;
}

static void check_shape(int rows, int cols, double gain)
{
    float *w = qn_xcalloc((size_t)rows * (size_t)cols, sizeof *w);
    qn_backend_orthogonal(w, rows, cols, gain, 12);
    int lines = rows < cols ? rows : cols;
    for (int i = 0; i < lines; i++)
        for (int j = 0; j < lines; j++) {
            double want = i == j ? gain * gain : 0.0;
            double got = line_product(w, rows, cols, i, j);
            assert_true(fabs(got - want) <= BOUND * gain * gain);
        }
    free(w);
}

static void lines_are_orthonormal_times_gain(void **state)
{
    (void)state;
    check_shape(1, 1, 1.0);
    check_shape(3, 40, 1.0);
    check_shape(40, 3, 2.0);
    check_shape(33, 33, 0.5);
}

static void equal_keys_give_equal_bits(void **state)
{
    (void)state;
    float a[12];
    float b[12];
    qn_backend_orthogonal(a, 3, 4, 1.0, 5);
    qn_backend_orthogonal(b, 3, 4, 1.0, 5);
    assert_memory_equal(a, b, sizeof a);
    qn_backend_orthogonal(b, 3, 4, 1.0, 6);
    assert_memory_not_equal(a, b, sizeof a);
}

/* LAPACK alone makes R's diagonal of one sign for a given shape; with the signs
 * taken out a 1 by 1 matrix is 1 or -1 as its normal number was. Of 400 keys,
 * 200 +- 4 standard deviations (40) are positive. */
static void both_signs_come_up(void **state)
{
    (void)state;
    int positive = 0;
    for (uint64_t key = 0; key < 400; key++) {
        float w[4];
        qn_backend_orthogonal(w, 2, 2, 1.0, key * 1000);
        double det = (double)w[0] * (double)w[3] - (double)w[1] * (double)w[2];
        positive += det > 0.0;
    }
    assert_in_range(positive, 160, 240);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_orthonormal_times_gain),
        cmocka_unit_test(equal_keys_give_equal_bits),
        cmocka_unit_test(both_signs_come_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
