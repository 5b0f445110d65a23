/* series.c - summaries of any range equal those of its points. */
#include "base/rng.h"
#include "base/series.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static double value_at(size_t i)
{
    return i % 37 == 5   ? (double)NAN
           : i % 41 == 6 ? HUGE_VAL
                         : qn_rng_normal(1, i);
}

static struct qn_series *filled(size_t n)
{
    struct qn_series *s = qn_series_new();
    for (size_t i = 0; i < n; i++) {
        qn_series_add(s, (double)i * 10, value_at(i));
    }
    return s;
}

/* The definition, point by point. */
static struct qn_summary slow_summary(const struct qn_series *s, size_t from,
                                      size_t to)
{
    struct qn_summary all = {.min = HUGE_VAL, .max = -HUGE_VAL};
    for (size_t i = from; i < to; i++) {
        double v = qn_series_at(s, i).value;
        if (!isfinite(v)) {
            all.bad++;
            continue;
        }
        all.n++;
        all.min = fmin(all.min, v);
        all.max = fmax(all.max, v);
        all.mean += v;
    }
    all.mean /= all.n > 0 ? (double)all.n : 1;
    return all;
}

static void same_as_slow(const struct qn_series *s, size_t from, size_t to)
{
    struct qn_summary a = qn_series_summary(s, from, to);
    struct qn_summary b = slow_summary(s, from, to);
    assert_true(a.n == b.n && a.bad == b.bad);
    if (a.n > 0) {
        assert_true(a.min == b.min && a.max == b.max);
        /* Sums of at most 10^4 numbers near 1 in another order. */
        assert_true(fabs(a.mean - b.mean) < 1e-13);
    }
}

static void summaries_equal_the_definition_on_every_short_range(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        struct qn_series *s = filled(n);
        for (size_t from = 0; from <= n; from++) {
            for (size_t to = from; to <= n; to++) {
                same_as_slow(s, from, to);
            }
        }
        qn_series_free(s);
    }
}

static void summaries_equal_the_definition_on_long_ranges(void **state)
{
    (void)state;
    struct qn_series *s = filled(10000);
    for (uint64_t i = 0; i < 500; i++) {
        size_t a = qn_mix64(i) % 10001, b = qn_mix64(i + 1000) % 10001;
        same_as_slow(s, a < b ? a : b, a < b ? b : a);
    }
    same_as_slow(s, 0, 4096);
    same_as_slow(s, 0, 10000);
    qn_series_free(s);
}

static void without_a_finite_value_there_is_no_summary(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    assert_true(qn_series_summary(s, 0, 0).n == 0);
    for (int i = 0; i < 40; i++) {
        qn_series_add(s, i, (double)NAN);
    }
    struct qn_summary all = qn_series_summary(s, 0, 40);
    assert_true(all.n == 0 && all.bad == 40 && all.mean == 0);
    qn_series_free(s);
    qn_series_free(NULL);
}

static void a_lower_step_removes_the_points_from_there(void **state)
{
    (void)state;
    struct qn_series *s = filled(1000); /* steps 0, 10, ... 9990 */
    qn_series_add(s, 5005, 1);
    assert_int_equal(qn_series_len(s), 502);
    assert_true(qn_series_at(s, 500).step == 5000);
    assert_true(qn_series_at(s, 501).step == 5005);
    for (size_t i = 0; i < 800; i++) {
        qn_series_add(s, 6000 + (double)i, value_at(i + 7));
    }
    for (size_t from = 0; from < 1302; from += 13) {
        same_as_slow(s, from, 1302);
    }
    qn_series_add(s, 0, 7);
    assert_int_equal(qn_series_len(s), 1);
    assert_true(qn_series_summary(s, 0, 1).mean == 7);
    qn_series_free(s);
}

static void an_equal_step_is_kept_beside_the_first(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    qn_series_add(s, 1, 10);
    qn_series_add(s, 1, 20);
    assert_int_equal(qn_series_len(s), 2);
    assert_int_equal(qn_series_find(s, 1), 0);
    qn_series_free(s);
}

static void find_gives_the_first_step_not_before(void **state)
{
    (void)state;
    struct qn_series *s = filled(100);
    assert_int_equal(qn_series_find(s, -1), 0);
    assert_int_equal(qn_series_find(s, 0), 0);
    assert_int_equal(qn_series_find(s, 1), 1);
    assert_int_equal(qn_series_find(s, 500), 50);
    assert_int_equal(qn_series_find(s, 990), 99);
    assert_int_equal(qn_series_find(s, 991), 100);
    qn_series_clear(s);
    assert_int_equal(qn_series_len(s), 0);
    assert_int_equal(qn_series_find(s, 0), 0);
    qn_series_free(s);
}

static void smoothing_is_the_corrected_average(void **state)
{
    (void)state;
    struct qn_series *s = filled(3000);
    const double decays[] = {0, 0.5, 0.9, 0.99};
    for (int k = 0; k < 4; k++) {
        double d = decays[k], average = 0, correction = 1;
        for (size_t i = 0; i < 3000; i++) {
            double v = qn_series_at(s, i).value;
            if (isfinite(v)) {
                average = d * average + (1 - d) * v;
                correction *= d;
            }
            /* The recursion forgets nothing, ours what is below 1e-17 of the
             * whole; the rest is rounding of numbers near 1. */
            double wanted = average / (1 - correction);
            assert_true(fabs(qn_series_smooth(s, i, d) - wanted) < 1e-13);
        }
    }
    qn_series_free(s);
}

static void smoothing_nothing_finite_gives_nan(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    qn_series_add(s, 0, (double)NAN);
    assert_true(isnan(qn_series_smooth(s, 0, 0.9)));
    qn_series_add(s, 1, 4);
    assert_true(qn_series_smooth(s, 1, 0.9) == 4);
    qn_series_free(s);
}

/* A hundred thousand summaries of a million points: point by point these are
 * 10^11 additions, more than the time limit of a test allows. */
static void a_million_points_are_summarised_without_being_read(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (size_t i = 0; i < 1000000; i++) {
        qn_series_add(s, (double)i, (double)(i % 1000));
    }
    for (size_t i = 0; i < 100000; i++) {
        struct qn_summary all = qn_series_summary(s, i % 7, 1000000 - i % 5);
        assert_true(all.n == 1000000 - i % 7 - i % 5);
        assert_true(all.max == 999);
    }
    struct qn_summary all = qn_series_summary(s, 0, 1000000);
    assert_true(all.mean == 499.5 && all.min == 0);
    qn_series_free(s);
}

static void cutting_leaves_what_is_before(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        for (size_t left = 0; left <= n; left++) {
            struct qn_series *s = filled(n);
            qn_series_cut(s, (double)left * 10 - 5); /* between two points */
            assert_int_equal(qn_series_len(s), left);
            same_as_slow(s, 0, left);
            for (size_t i = left; i < n; i++) { /* and it goes on from there */
                qn_series_add(s, (double)i * 10, value_at(i));
            }
            same_as_slow(s, 0, n);
            qn_series_cut(s, (double)left * 10); /* that very point goes */
            assert_int_equal(qn_series_len(s), left);
            qn_series_free(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting_leaves_what_is_before),
        cmocka_unit_test(summaries_equal_the_definition_on_every_short_range),
        cmocka_unit_test(summaries_equal_the_definition_on_long_ranges),
        cmocka_unit_test(without_a_finite_value_there_is_no_summary),
        cmocka_unit_test(a_lower_step_removes_the_points_from_there),
        cmocka_unit_test(an_equal_step_is_kept_beside_the_first),
        cmocka_unit_test(find_gives_the_first_step_not_before),
        cmocka_unit_test(smoothing_is_the_corrected_average),
        cmocka_unit_test(smoothing_nothing_finite_gives_nan),
        cmocka_unit_test(a_million_points_are_summarised_without_being_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
