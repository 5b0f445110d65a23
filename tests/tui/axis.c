/* axis.c - tests of the text of numbers. */
#include "tui/axis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void counts_keep_three_digits(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(qn_text_count(b, sizeof b, 0, false), "0");
    assert_string_equal(qn_text_count(b, sizeof b, 950, false), "950");
    assert_string_equal(qn_text_count(b, sizeof b, 999.7, false), "1k");
    assert_string_equal(qn_text_count(b, sizeof b, 12432, false), "12.4k");
    assert_string_equal(qn_text_count(b, sizeof b, 3.14e6, false), "3.14M");
    assert_string_equal(qn_text_count(b, sizeof b, 1250, true), "1.25k");
    assert_string_equal(qn_text_count(b, sizeof b, 100500, true), "100.5k");
}

static void losses_keep_four_digits(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(qn_text_value(b, sizeof b, 1.23456), "1.235");
    assert_string_equal(qn_text_value(b, sizeof b, 9.9996), "10.00");
    assert_string_equal(qn_text_value(b, sizeof b, 123.456), "123.5");
    assert_string_equal(qn_text_value(b, sizeof b, 0.0712), "0.071");
    assert_string_equal(qn_text_value(b, sizeof b, 0), "0.000");
    assert_string_equal(qn_text_value(b, sizeof b, 1234567), "1.2e+06");
    assert_string_equal(qn_text_value(b, sizeof b, 1e-5), "1e-05");
    assert_string_equal(qn_text_value(b, sizeof b, (double)NAN), "NaN");
    assert_string_equal(qn_text_value(b, sizeof b, -HUGE_VAL), "-inf");
}

static void durations_have_two_units(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(qn_text_duration(b, sizeof b, 0), "0s");
    assert_string_equal(qn_text_duration(b, sizeof b, 59.6), "1m00s");
    assert_string_equal(qn_text_duration(b, sizeof b, 372), "6m12s");
    assert_string_equal(qn_text_duration(b, sizeof b, 3840), "1h04m");
    assert_string_equal(qn_text_duration(b, sizeof b, 273600), "3d04h");
    assert_string_equal(qn_text_duration(b, sizeof b, HUGE_VAL), "?");
    assert_string_equal(qn_text_duration(b, sizeof b, -1), "?");
}

static void a_share_has_one_decimal(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(qn_text_share(b, sizeof b, 0.8721), "87.2 %");
    assert_string_equal(qn_text_share(b, sizeof b, 1), "100.0 %");
    assert_string_equal(qn_text_share(b, sizeof b, 0), "0.0 %");
    assert_string_equal(qn_text_share(b, sizeof b, (double)NAN), "NaN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_keep_three_digits),
        cmocka_unit_test(losses_keep_four_digits),
        cmocka_unit_test(durations_have_two_units),
        cmocka_unit_test(a_share_has_one_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
