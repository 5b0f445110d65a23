/* clock.c - times as people read them. */
#include "base/clock.h"
#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static void the_monotonic_clock_does_not_go_back(void **state)
{
    (void)state;
    double last = qn_clock_now();
    for (int i = 0; i < 1000; i++) {
        double now = qn_clock_now();
        assert_true(now >= last);
        last = now;
    }
    assert_true(qn_clock_wall() > 1.6e9);
}

static void stamps_are_utc_and_sixteen_characters(void **state)
{
    (void)state;
    char buf[17];
    qn_clock_stamp(1795821464.9, buf);
    assert_string_equal(buf, "20261127T231744Z");
    qn_clock_stamp(0, buf);
    assert_string_equal(buf, "19700101T000000Z");
    qn_clock_stamp(-5, buf);
    assert_string_equal(buf, "19700101T000000Z");
    qn_clock_stamp(1e300, buf);
    assert_string_equal(buf, "99991231T235959Z");
    qn_clock_stamp((double)NAN, buf);
    assert_string_equal(buf, "19700101T000000Z");
}

static void durations_print_in_two_units(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0s"},          {41, "41s"},
        {59.4, "59s"},      {59.6, "1m00s"},
        {372, "6m12s"},     {3599, "59m59s"},
        {7500, "2h05m"},    {86399, "23h59m"},
        {273600, "3d4h"},   {86400e3, "1000d0h"},
        {-1, "-"},          {HUGE_VAL, "-"},
        {(double)NAN, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        assert_string_equal(
            qn_format_duration(buf, sizeof buf, cases[i].seconds),
            cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(stamps_are_utc_and_sixteen_characters),
        cmocka_unit_test(durations_print_in_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
