/* curve_path.c - tests of long curves as short paths. */
#include "export/curve_path.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define NONE ((double)NAN)

/* 100 points wide and high, from 0 to n and from 0 to 10. */
static struct qn_panel make_panel(double n)
{
    return (struct qn_panel){.box = {0, 0, 100, 100},
                             .x = {.lo = 0, .hi = n},
                             .y = {.lo = 0, .hi = 10}};
}

static struct qn_curve_points make_curve(size_t n, double y)
{
    struct qn_curve_points c = {.x = qn_xcalloc(n, sizeof *c.x),
                                .y = qn_xcalloc(n, sizeof *c.y),
                                .n = n};
    for (size_t i = 0; i < n; i++) {
        c.x[i] = (double)i;
        c.y[i] = y;
    }
    return c;
}

static bool has_height(const struct qn_spots *s, double y)
{
    for (size_t i = 0; i < s->n; i++) {
        if (fabs(s->spot[i].y - y) < 1e-9) {
            return true;
        }
    }
    return false;
}

static void a_million_points_are_a_short_path_with_every_spike(void **state)
{
    (void)state;
    struct qn_curve_points c = make_curve(1000000, 5);
    struct qn_panel p = make_panel(1e6);
    c.y[123456] = 9;
    c.y[654321] = 1;
    struct qn_spots path = qn_curve_path(&c, &p);
    assert_true(path.n > 100 && path.n <= 402);
    assert_true(has_height(&path, 10) && has_height(&path, 90));
    free(path.spot);
    qn_curve_points_free(&c);
}

static void check_spots(const struct qn_spots *s, const double (*expected)[2],
                        size_t n)
{
    assert_int_equal(s->n, n);
    for (size_t i = 0; i < n; i++) {
        if (isnan(expected[i][0])) {
            assert_true(isnan(s->spot[i].x));
        } else {
            assert_true(fabs(s->spot[i].x - expected[i][0]) < 1e-9);
            assert_true(fabs(s->spot[i].y - expected[i][1]) < 1e-9);
        }
    }
}

static void a_curve_leaves_its_panel_and_comes_back(void **state)
{
    (void)state;
    double x[] = {0, 1, 2, 3, 4}, y[] = {5, 15, 15, 5, -5};
    struct qn_curve_points c = {x, y, 5};
    struct qn_panel p = make_panel(4);
    static const double expected[][2] = {{0, 50},     {12.5, 0}, {NONE, NONE},
                                         {62.5, 0},   {75, 50},  {87.5, 100},
                                         {NONE, NONE}};
    struct qn_spots path = qn_curve_path(&c, &p);
    check_spots(&path, expected, 7);
    free(path.spot);
}

static void a_line_through_the_whole_panel_is_drawn(void **state)
{
    (void)state;
    double x[] = {0, 4}, y[] = {20, -10};
    struct qn_curve_points c = {x, y, 2};
    struct qn_panel p = make_panel(4);
    static const double expected[][2] = {
        {100 / 3.0, 0}, {200 / 3.0, 100}, {NONE, NONE}};
    struct qn_spots path = qn_curve_path(&c, &p);
    check_spots(&path, expected, 3);
    free(path.spot);
}

static void a_value_that_is_not_finite_is_a_gap_and_is_marked(void **state)
{
    (void)state;
    double x[] = {0, 1, 2, 3, 4}, y[] = {5, NONE, HUGE_VAL, 5, 5};
    struct qn_curve_points c = {x, y, 5};
    struct qn_panel p = make_panel(4);
    static const double path_expected[][2] = {
        {0, 50}, {NONE, NONE}, {75, 50}, {100, 50}};
    static const double gap_expected[][2] = {{12.5, 2.5}, {62.5, 2.5}};
    struct qn_spots path = qn_curve_path(&c, &p);
    struct qn_spots gaps = qn_curve_gaps(&c, &p, 1);
    check_spots(&path, path_expected, 4);
    check_spots(&gaps, gap_expected, 2);
    free(path.spot);
    free(gaps.spot);
}

static void the_average_has_no_bias_towards_zero(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4}, y[] = {4, 8, NONE, 8};
    struct qn_curve_points c = {x, y, 4};
    struct qn_curve_points s = qn_curve_smoothed(&c, 0.5, -99, 99);
    assert_true(s.y[0] == 4);
    assert_true(fabs(s.y[1] - (8 + 0.5 * 4) / 1.5) < 1e-12);
    assert_true(isnan(s.y[2]));
    assert_true(fabs(s.y[3] - (8 + 0.5 * 8 + 0.25 * 4) / 1.75) < 1e-12);
    qn_curve_points_free(&s);
}

static void a_spike_counts_as_the_end_of_the_range(void **state)
{
    (void)state;
    double x[] = {1, 2, 3}, y[] = {4, 1e30, -1e30};
    struct qn_curve_points c = {x, y, 3};
    struct qn_curve_points s = qn_curve_smoothed(&c, 0.5, 2, 6);
    assert_true(fabs(s.y[1] - (6 + 0.5 * 4) / 1.5) < 1e-12);
    assert_true(fabs(s.y[2] - (2 + 0.5 * 6 + 0.25 * 4) / 1.75) < 1e-12);
    qn_curve_points_free(&s);
}

static void first_steps_and_spikes_do_not_squash_the_rest(void **state)
{
    (void)state;
    double lo, hi;
    struct qn_curve_points c = make_curve(1000, 2);
    for (size_t i = 0; i < c.n; i++) {
        c.y[i] = 2 + 0.1 * (double)(i % 10);
    }
    c.y[0] = 1000;
    c.y[500] = 1e30;
    c.y[501] = NONE;
    assert_true(qn_curve_points_range(&c, false, &lo, &hi));
    assert_true(lo == 2 && hi > 2.9 && hi < 4);
    assert_true(qn_curve_points_range(&c, true, &lo, &hi));
    assert_true(lo > 1.9 && hi > 2.9 && hi < 5);
    qn_curve_points_free(&c);
    c = make_curve(3, NONE);
    assert_false(qn_curve_points_range(&c, false, &lo, &hi));
    qn_curve_points_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_points_are_a_short_path_with_every_spike),
        cmocka_unit_test(a_curve_leaves_its_panel_and_comes_back),
        cmocka_unit_test(a_line_through_the_whole_panel_is_drawn),
        cmocka_unit_test(a_value_that_is_not_finite_is_a_gap_and_is_marked),
        cmocka_unit_test(the_average_has_no_bias_towards_zero),
        cmocka_unit_test(a_spike_counts_as_the_end_of_the_range),
        cmocka_unit_test(first_steps_and_spikes_do_not_squash_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
