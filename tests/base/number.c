/* number.c - numbers to text and back, exactly. */
#include "base/rng.h"
#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void whole_numbers_parse_to_the_last_bit(void **state)
{
    (void)state;
    int64_t v = 0;
    assert_true(qn_parse_int("9223372036854775807", &v));
    assert_true(v == INT64_MAX);
    assert_true(qn_parse_int("-9223372036854775808", &v));
    assert_true(v == INT64_MIN);
    assert_true(qn_parse_int("+007", &v));
    assert_true(v == 7);
    assert_true(qn_parse_int("-0", &v));
    assert_true(v == 0);
}

static void what_is_not_wholly_a_number_is_refused(void **state)
{
    (void)state;
    static const char *const not_int[] = {"",
                                          "-",
                                          " 1",
                                          "1 ",
                                          "1.0",
                                          "0x1",
                                          "1e3",
                                          "--1",
                                          "+",
                                          "1_0",
                                          "9223372036854775808",
                                          "-9223372036854775809"};
    static const char *const not_double[] = {
        "",         ".",     "-",      "+.",    "e5",    "1e",   "1e+",
        " 1",       "1 ",    "1,5",    "0x1",   "0x1p3", "inf",  "nan",
        "infinity", "1e999", "-1e999", "1.2.3", "1f",    "1e5.0"};
    int64_t i = 42;
    for (size_t k = 0; k < sizeof not_int / sizeof *not_int; k++) {
        assert_false(qn_parse_int(not_int[k], &i));
    }
    assert_true(i == 42);
    double d = 42;
    for (size_t k = 0; k < sizeof not_double / sizeof *not_double; k++) {
        assert_false(qn_parse_double(not_double[k], &d));
    }
    assert_true(d == 42);
}

static void decimals_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"-1.5", -1.5},
        {"+.5", 0.5},
        {"5.", 5},
        {"1e-5", 1e-5},
        {"2E+3", 2000},
        {"4.9e-324", 5e-324},
        {"1e-999", 0},
        {"1.7976931348623157e308", DBL_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double v = -7;
        assert_true(qn_parse_double(cases[i].text, &v));
        assert_true(v == cases[i].value);
    }
}

static void doubles_print_as_short_as_can_be(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {3, "3"},
        {640, "640"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-5, "1e-05"},
        {1e15, "1e+15"},
        {100000, "100000"},
        {-2.5, "-2.5"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {9007199254740993.0, "9007199254740992"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
        {(double)NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        assert_string_equal(qn_format_double(buf, sizeof buf, cases[i].value),
                            cases[i].text);
    }
    char tiny[4];
    assert_string_equal(qn_format_double(tiny, sizeof tiny, 1.0 / 3), "0.3");
}

static double of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void every_double_reads_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        /* Every tenth a subnormal. */
        uint64_t bits = qn_mix64(i + 1) >> (i % 10 == 0 ? 12 + i % 50 : 0);
        double v = of_bits(bits), back = 0;
        char buf[32];
        if (isfinite(v)) {
            assert_true(
                qn_parse_double(qn_format_double(buf, sizeof buf, v), &back));
            assert_true(back == v);
        }
    }
}

static void every_float_reads_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)qn_mix64(i);
        float v;
        memcpy(&v, &bits, sizeof v);
        char buf[32];
        double back = 0;
        if (!isfinite(v)) {
            qn_format_float(buf, sizeof buf, (double)v);
            assert_true(qn_str_eq(buf, "nan") || qn_ends_with(buf, "inf"));
        } else {
            assert_true(qn_parse_double(
                qn_format_float(buf, sizeof buf, (double)v), &back));
            assert_true((float)back == v);
        }
    }
}

static void the_locale_of_the_thread_is_put_back(void **state)
{
    (void)state;
    locale_t before = uselocale((locale_t)0);
    double v = 0;
    char buf[32];
    (void)qn_parse_double("1.5", &v);
    assert_true(uselocale((locale_t)0) == before);
    (void)qn_format_double(buf, sizeof buf, v);
    (void)qn_format_float(buf, sizeof buf, v);
    assert_true(uselocale((locale_t)0) == before);
}

/* Where a locale with a decimal comma is installed; elsewhere there is
 * nothing to see. */
static void the_locale_has_no_say(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE",
                                         "fr_FR"};
    locale_t comma = (locale_t)0;
    for (size_t i = 0; i < 4 && comma == (locale_t)0; i++) {
        comma = newlocale(LC_ALL_MASK, commas[i], (locale_t)0);
    }
    if (comma == (locale_t)0) {
        comma = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    }
    locale_t before = uselocale(comma);
    double v = 0;
    char buf[32];
    bool parsed = qn_parse_double("1.5", &v);
    qn_format_double(buf, sizeof buf, 2.5);
    locale_t after = uselocale(before);
    assert_true(after == comma);
    freelocale(comma);
    assert_true(parsed && v == 1.5);
    assert_string_equal(buf, "2.5");
}

static void fixed_decimals_leave_zero_without_a_sign(void **state)
{
    (void)state;
    char b[64];
    assert_string_equal(qn_format_fixed(b, sizeof b, 2.345, 1), "2.3");
    assert_string_equal(qn_format_fixed(b, sizeof b, -0.04, 1), "0.0");
    assert_string_equal(qn_format_fixed(b, sizeof b, -0.06, 1), "-0.1");
    assert_string_equal(qn_format_fixed(b, sizeof b, 1e6, 0), "1000000");
    assert_string_equal(qn_format_digits(b, sizeof b, 0.1 + 0.2, 6), "0.3");
    assert_string_equal(qn_format_digits(b, sizeof b, -0.0, 6), "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_parse_to_the_last_bit),
        cmocka_unit_test(what_is_not_wholly_a_number_is_refused),
        cmocka_unit_test(decimals_parse),
        cmocka_unit_test(doubles_print_as_short_as_can_be),
        cmocka_unit_test(every_double_reads_back),
        cmocka_unit_test(every_float_reads_back),
        cmocka_unit_test(the_locale_of_the_thread_is_put_back),
        cmocka_unit_test(the_locale_has_no_say),
        cmocka_unit_test(fixed_decimals_leave_zero_without_a_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
