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

static void a_stamp_reads_back_as_its_time(void **state)
{
    (void)state;
    char buf[17];
    /* Steps of about five days and a bit, over leap days of all kinds. */
    for (double t = 0; t < 253402300799.0; t += 446401) {
        double back = -1;
        qn_clock_stamp(t, buf);
        assert_true(qn_clock_read_stamp(buf, &back));
        assert_true(back == t);
    }
    double wall = -1;
    assert_true(qn_clock_read_stamp("20261127T231744Z-9c41-run", &wall));
    assert_true(wall == 1795821464);
}

static void what_is_no_stamp_is_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "run",
                                        "20261127T231744",
                                        "20261127t231744Z",
                                        "20261127T231744z",
                                        "2026112xT231744Z",
                                        "20261327T231744Z",
                                        "20261100T231744Z",
                                        "20261127T241744Z",
                                        "20261127T236044Z",
                                        "19691127T231744Z"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double wall = 7;
        assert_false(qn_clock_read_stamp(texts[i], &wall));
        assert_true(wall == 7);
    }
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
        cmocka_unit_test(a_stamp_reads_back_as_its_time),
        cmocka_unit_test(what_is_no_stamp_is_not_read),
        cmocka_unit_test(durations_print_in_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
