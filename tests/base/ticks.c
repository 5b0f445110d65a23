/* ticks.c - tests of ranges and ticks. */
#include "base/ticks.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void check_axis(const struct qn_axis *a, double lo, double hi)
{
    double air = (a->hi - a->lo) * 1e-6;
    assert_true(isfinite(a->lo) && isfinite(a->hi) && a->lo < a->hi);
    assert_true(a->lo <= lo + air && a->hi >= hi - air);
    for (int i = 0; i < a->n_ticks; i++) {
        double at = qn_axis_place(a, a->tick[i]);
        assert_true(at >= -1e-6 && at <= 1 + 1e-6);
        assert_true(i == 0 || a->tick[i] > a->tick[i - 1]);
    }
}

static void values_lie_on_their_axis(void **state)
{
    (void)state;
    static const double at[] = {-1e12, -3.3,  -1e-9, 0,    1e-12, 0.004,
                                0.9,   1.234, 9.99,  1000, 7e8,   1e30};
    struct qn_axis a;
    size_t n = sizeof at / sizeof *at;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++) {
            for (int ticks = 0; ticks < 12; ticks++) {
                qn_axis_values(&a, at[i], at[k], false, ticks);
                check_axis(&a, at[i], at[k]);
                if (at[i] > 0) {
                    qn_axis_values(&a, at[i], at[k], true, ticks);
                    check_axis(&a, at[i], at[k]);
                }
            }
        }
    }
}

static void extreme_values_give_a_finite_axis(void **state)
{
    (void)state;
    struct qn_axis a;
    qn_axis_values(&a, -DBL_MAX, DBL_MAX, false, 5);
    assert_true(isfinite(a.hi - a.lo) && a.hi > a.lo);
    qn_axis_values(&a, DBL_MIN, DBL_MAX, true, 5);
    assert_true(isfinite(a.hi) && a.lo > 0 && a.n_ticks > 1);
    qn_axis_steps(&a, 0, DBL_MAX, 5);
    assert_true(isfinite(a.hi) && a.hi > a.lo);
    qn_axis_steps(&a, 1e18, 1e18, 5);
    assert_true(a.hi > a.lo);
}

static void labels_have_equal_decimals(void **state)
{
    (void)state;
    struct qn_axis a;
    char b[32];
    qn_axis_values(&a, 1.2, 2.1, false, 4);
    assert_int_equal(a.n_ticks, 2);
    assert_string_equal(qn_axis_label(&a, 0, b, sizeof b), "1.5");
    assert_string_equal(qn_axis_label(&a, 1, b, sizeof b), "2.0");
}

static void shares_are_per_cent_and_stay_between_none_and_all(void **state)
{
    (void)state;
    struct qn_axis a;
    char b[32];
    qn_axis_shares(&a, 0.48, 0.93, 6);
    assert_string_equal(qn_axis_label(&a, 0, b, sizeof b), "50%");
    assert_string_equal(qn_axis_label(&a, a.n_ticks - 1, b, sizeof b), "90%");
    qn_axis_shares(&a, 0.861, 0.868, 6);
    assert_string_equal(qn_axis_label(&a, 0, b, sizeof b), "85.5%");
    for (int lo = 0; lo <= 100; lo++) {
        for (int hi = lo; hi <= 100; hi++) {
            qn_axis_shares(&a, lo / 100.0, hi / 100.0, 1 + lo % 7);
            assert_true(a.lo >= 0 && a.hi <= 1 + 1e-12);
            /* Ends are multiples of a step, but for their rounding. */
            assert_true(a.lo <= lo / 100.0 + 1e-12);
            assert_true(a.hi >= hi / 100.0 - 1e-12);
            assert_true(a.hi - a.lo > 0.0199 && a.n_ticks >= 1);
        }
    }
}

static void tiny_shares_are_told_apart(void **state)
{
    (void)state;
    struct qn_axis a;
    char one[32], two[32];
    qn_axis_between(&a, 0, 4e-7, 0, 4);
    a.per_cent = true;
    assert_true(a.n_ticks > 2);
    assert_string_equal(qn_axis_label(&a, 0, one, sizeof one), "0%");
    assert_string_equal(qn_axis_label(&a, 1, one, sizeof one), "1e-05%");
    assert_string_equal(qn_axis_label(&a, 2, two, sizeof two), "2e-05%");
}

static void log_ticks_are_ones_twos_and_fives(void **state)
{
    (void)state;
    struct qn_axis a;
    qn_axis_values(&a, 0.1, 10, true, 8);
    static const double expected[] = {0.1, 0.2, 0.5, 1, 2, 5, 10};
    assert_int_equal(a.n_ticks, 7);
    for (int i = 0; i < 7; i++) {
        assert_true(fabs(a.tick[i] / expected[i] - 1) < 1e-9);
    }
    qn_axis_values(&a, 1e-6, 1e6, true, 4);
    assert_true(a.n_ticks >= 3 && a.n_ticks <= 5);
}

static void the_step_axis_stands_still_while_steps_come(void **state)
{
    (void)state;
    struct qn_axis a, b;
    qn_axis_steps(&a, 0, 1610, 6);
    qn_axis_steps(&b, 0, 1990, 6);
    assert_true(a.hi == 2000 && b.hi == 2000);
}

static void there_is_no_tick_between_two_steps(void **state)
{
    (void)state;
    struct qn_axis a;
    qn_axis_steps(&a, 0, 3, 12);
    for (int i = 0; i < a.n_ticks; i++) {
        assert_true(a.tick[i] == floor(a.tick[i]));
    }
}

static void labels_have_a_point_whatever_the_locale(void **state)
{
    (void)state;
    struct qn_axis a;
    char b[32];
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL) {
        skip();
    }
    qn_axis_values(&a, 1.2, 2.1, false, 4);
    assert_string_equal(qn_axis_label(&a, 0, b, sizeof b), "1.5");
    (void)setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_lie_on_their_axis),
        cmocka_unit_test(extreme_values_give_a_finite_axis),
        cmocka_unit_test(labels_have_equal_decimals),
        cmocka_unit_test(shares_are_per_cent_and_stay_between_none_and_all),
        cmocka_unit_test(tiny_shares_are_told_apart),
        cmocka_unit_test(log_ticks_are_ones_twos_and_fives),
        cmocka_unit_test(the_step_axis_stands_still_while_steps_come),
        cmocka_unit_test(there_is_no_tick_between_two_steps),
        cmocka_unit_test(labels_have_a_point_whatever_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
