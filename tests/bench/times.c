/* times.c - the best, the median, and how far apart they are. */
#include "bench/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct qn_times make(const double *seconds, int n)
{
    struct qn_times t = {0};
    for (int i = 0; i < n; i++) {
        qn_times_add(&t, seconds[i]);
    }
    return t;
}

static void noise_is_the_median_by_the_best(void **state)
{
    (void)state;
    struct qn_times t = make((const double[]){4, 2, 9}, 3);
    assert_true(qn_times_best(&t) == 2);
    assert_true(qn_times_median(&t) == 4);
    assert_true(qn_times_spread(&t) == 2);
    qn_times_free(&t);
}

static void an_even_number_has_two_in_the_middle(void **state)
{
    (void)state;
    struct qn_times t = make((const double[]){8, 1, 4, 2}, 4);
    assert_true(qn_times_median(&t) == 3);
    qn_times_free(&t);
}

static void many_times_are_kept(void **state)
{
    (void)state;
    struct qn_times t = {0};
    for (int i = 100; i > 0; i--) {
        qn_times_add(&t, i);
    }
    assert_true(qn_times_best(&t) == 1);
    assert_true(qn_times_median(&t) == 50.5);
    qn_times_free(&t);
    assert_int_equal(t.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_the_median_by_the_best),
        cmocka_unit_test(an_even_number_has_two_in_the_middle),
        cmocka_unit_test(many_times_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
