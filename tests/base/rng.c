/* rng.c - numbers by key and index are well spread and repeat. */
#include "base/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

enum { N = 1000000 };

static void the_same_key_and_index_give_the_same_number(void **state)
{
    (void)state;
    uint64_t key = qn_rng_key(1, 2, 3, QN_RNG_DROPOUT);
    assert_true(key == qn_rng_key(1, 2, 3, QN_RNG_DROPOUT));
    assert_true(qn_rng_uniform(key, 7) == qn_rng_uniform(key, 7));
    assert_true(qn_rng_normal(key, 7) == qn_rng_normal(key, 7));
}

/* Checkpoints rely on these for ever: a change of the numbers is a change of
 * what a resumed run computes. */
static void the_numbers_are_these(void **state)
{
    (void)state;
    uint64_t key = qn_rng_key(1, 0, 0, QN_RNG_INIT);
    assert_true(key == 0xe28195ddd9ee4956u);
    assert_true((uint64_t)(qn_rng_uniform(key, 0) * 0x1p53) ==
                4024123961911187u);
    assert_int_equal(qn_rng_row(key, 2, 3), 4256787668u);
    assert_int_equal(qn_rng_bits(5, 6), 3363624237u);
}

static void every_part_of_a_key_matters(void **state)
{
    (void)state;
    uint64_t keys[81];
    int n = 0;
    for (uint64_t i = 0; i < 81; i++) {
        keys[n++] = qn_rng_key(i % 3, i / 3 % 3, i / 9 % 3,
                               (enum qn_rng_purpose)(i / 27));
    }
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < a; b++) {
            assert_true(keys[a] != keys[b]);
        }
    }
}

static void uniform_numbers_fill_the_unit_interval_evenly(void **state)
{
    (void)state;
    int count[10] = {0};
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = qn_rng_uniform(99, i);
        assert_true(u >= 0 && u < 1);
        count[(int)(u * 10)]++;
        sum += u;
        squares += u * u;
    }
    /* Five standard errors: of the mean 0.289/1000, of the mean square
     * 0.298/1000, of a tenth's count 300. */
    assert_true(fabs(sum / N - 0.5) < 5 * 0.289e-3);
    assert_true(fabs(squares / N - 1.0 / 3) < 5 * 0.298e-3);
    for (int i = 0; i < 10; i++) {
        assert_in_range(count[i], N / 10 - 1500, N / 10 + 1500);
    }
}

static void normal_numbers_have_the_moments_of_the_normal(void **state)
{
    (void)state;
    double sum[5] = {0}, neighbours = 0, last = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = qn_rng_normal(7, i), power = 1;
        assert_true(isfinite(x));
        for (int k = 1; k <= 4; k++) {
            power *= x;
            sum[k] += power;
        }
        neighbours += x * last;
        last = x;
    }
    /* Five standard errors: sqrt(1), sqrt(2), sqrt(15), sqrt(96) and, of
     * neighbours' products, sqrt(1), all over sqrt(N) = 1000. */
    assert_true(fabs(sum[1] / N) < 5 * 1.00e-3);
    assert_true(fabs(sum[2] / N - 1) < 5 * 1.42e-3);
    assert_true(fabs(sum[3] / N) < 5 * 3.88e-3);
    assert_true(fabs(sum[4] / N - 3) < 5 * 9.80e-3);
    assert_true(fabs(neighbours / N) < 5 * 1.00e-3);
}

/* The share of a mask of rows x elements that falls below the threshold. */
static double dropped(uint64_t key, double p, uint32_t rows, uint32_t width)
{
    uint32_t threshold = qn_rng_threshold(p);
    uint64_t n = 0;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t row = qn_rng_row(key, r / 10, r % 10);
        for (uint32_t j = 0; j < width; j++) {
            n += qn_rng_bits(row, j) < threshold;
        }
    }
    return (double)n / rows / width;
}

static void dropout_drops_its_rate(void **state)
{
    (void)state;
    /* Five standard errors of a share p of 10^6: 5 sqrt(p(1-p)) / 1000. */
    static const double rates[] = {0.15, 0.5, 0.01};
    for (size_t i = 0; i < 3; i++) {
        double p = rates[i];
        double got = dropped(i + 1, p, 1000, 1000);
        assert_true(fabs(got - p) < 5e-3 * sqrt(p * (1 - p)));
    }
    assert_true(dropped(1, 0, 100, 100) == 0);
}

static void a_mask_has_no_lucky_rows_or_columns(void **state)
{
    (void)state;
    enum { ROWS = 300, WIDTH = 300 };
    uint32_t threshold = qn_rng_threshold(0.15);
    uint64_t key = qn_rng_key(1, 5, 0, QN_RNG_DROPOUT);
    int in_row[ROWS] = {0}, in_column[WIDTH] = {0};
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t row = qn_rng_row(key, r, 0);
        for (uint32_t j = 0; j < WIDTH; j++) {
            int drop = qn_rng_bits(row, j) < threshold;
            in_row[r] += drop;
            in_column[j] += drop;
        }
    }
    /* 45 of 300 with a standard deviation of 6.2: five of them. */
    for (int i = 0; i < ROWS; i++) {
        assert_in_range(in_row[i], 45 - 31, 45 + 31);
        assert_in_range(in_column[i], 45 - 31, 45 + 31);
    }
}

static void thresholds_are_rounded_and_never_overflow(void **state)
{
    (void)state;
    assert_int_equal(qn_rng_threshold(0), 0);
    assert_int_equal(qn_rng_threshold(0.5), 0x80000000u);
    assert_int_equal(qn_rng_threshold(0.15), 644245094);  /* ...094.4 */
    assert_int_equal(qn_rng_threshold(0.85), 3650722202); /* ...201.6 */
    assert_int_equal(qn_rng_threshold(nextafter(1, 0)), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_key_and_index_give_the_same_number),
        cmocka_unit_test(the_numbers_are_these),
        cmocka_unit_test(every_part_of_a_key_matters),
        cmocka_unit_test(uniform_numbers_fill_the_unit_interval_evenly),
        cmocka_unit_test(normal_numbers_have_the_moments_of_the_normal),
        cmocka_unit_test(dropout_drops_its_rate),
        cmocka_unit_test(a_mask_has_no_lucky_rows_or_columns),
        cmocka_unit_test(thresholds_are_rounded_and_never_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
