/* schedule.c - periods fall due where a person expects them. */
#include "train/schedule.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct qn_moment at_step(int64_t step, int64_t per_epoch)
{
    return (struct qn_moment){.step = step, .steps_per_epoch = per_epoch};
}

/* Of steps 1..n, a bit for each at which the period is due. */
static uint64_t due_steps(struct qn_period every, int64_t per_epoch, int n)
{
    uint64_t bits = 0;
    for (int i = 1; i <= n; i++) {
        struct qn_moment before = at_step(i - 1, per_epoch);
        struct qn_moment now = at_step(i, per_epoch);
        if (qn_period_due(every, &before, &now)) {
            bits |= (uint64_t)1 << i;
        }
    }
    return bits;
}

static uint64_t bit(int i)
{
    return (uint64_t)1 << i;
}

static void steps_fall_due_at_multiples(void **state)
{
    (void)state;
    struct qn_period five = {5, QN_UNIT_STEPS};
    assert_int_equal(due_steps(five, 7, 12), bit(5) | bit(10));
    struct qn_period one = {1, QN_UNIT_STEPS};
    assert_int_equal(due_steps(one, 7, 3), bit(1) | bit(2) | bit(3));
}

static void epochs_fall_due_at_their_last_step(void **state)
{
    (void)state;
    struct qn_period one = {1, QN_UNIT_EPOCHS};
    assert_int_equal(due_steps(one, 7, 20), bit(7) | bit(14));
    /* Multiples of 2.5 steps: the first step at or after each. */
    struct qn_period quarter = {0.25, QN_UNIT_EPOCHS};
    assert_int_equal(due_steps(quarter, 10, 10),
                     bit(3) | bit(5) | bit(8) | bit(10));
}

static void rounding_does_not_shift_a_period(void **state)
{
    (void)state;
    /* 1/49 * 49 is less than 1 in binary. */
    struct qn_period odd = {1.0 / 49, QN_UNIT_EPOCHS};
    for (int i = 1; i <= 49; i++) {
        struct qn_moment before = at_step(i - 1, 49);
        struct qn_moment now = at_step(i, 49);
        assert_true(qn_period_due(odd, &before, &now));
    }
}

static void seconds_fall_due_once_however_many_passed(void **state)
{
    (void)state;
    struct qn_period every = {30, QN_UNIT_SECONDS};
    struct qn_moment a = {.seconds = 29}, b = {.seconds = 31},
                     c = {.seconds = 59}, d = {.seconds = 200};
    assert_true(qn_period_due(every, &a, &b));
    assert_false(qn_period_due(every, &b, &c));
    assert_true(qn_period_due(every, &c, &d));
    assert_false(qn_period_due(every, &d, &d));
}

static void evaluations_fall_due_by_their_count(void **state)
{
    (void)state;
    struct qn_period every = {5, QN_UNIT_EVALS};
    struct qn_moment four = {.evals = 4}, five = {.evals = 5};
    assert_true(qn_period_due(every, &four, &five));
    assert_false(qn_period_due(every, &five, &five));
}

static void no_period_never_falls_due(void **state)
{
    (void)state;
    struct qn_period none = {0, QN_UNIT_STEPS};
    assert_int_equal(due_steps(none, 7, 60), 0);
}

static void the_steps_of_a_run_are_whole(void **state)
{
    (void)state;
    struct qn_spec spec = {.epochs = 1.5};
    assert_int_equal(qn_total_steps(&spec, 7), 11);
    assert_int_equal(qn_total_steps(&spec, 10), 15);
    spec.epochs = 1e-12; /* above 0 is at least a step */
    assert_int_equal(qn_total_steps(&spec, 10), 1);
    spec.steps = 4;
    spec.epochs = 0;
    assert_int_equal(qn_total_steps(&spec, 10), 4);
}

static void speed_is_that_of_the_last_steps(void **state)
{
    (void)state;
    struct qn_speed s = {.n = 0};
    assert_true(qn_speed_now(&s) == 0);
    qn_speed_add(&s, 100, 2);
    assert_true(qn_speed_now(&s) == 50);
    for (int i = 0; i < QN_SPEED_STEPS; i++) {
        qn_speed_add(&s, 100, 1);
    }
    assert_true(qn_speed_now(&s) == 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_fall_due_at_multiples),
        cmocka_unit_test(epochs_fall_due_at_their_last_step),
        cmocka_unit_test(rounding_does_not_shift_a_period),
        cmocka_unit_test(seconds_fall_due_once_however_many_passed),
        cmocka_unit_test(evaluations_fall_due_by_their_count),
        cmocka_unit_test(no_period_never_falls_due),
        cmocka_unit_test(the_steps_of_a_run_are_whole),
        cmocka_unit_test(speed_is_that_of_the_last_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
