/* scan.c - numbers are what strtod makes of them, or are refused. */
#include "base/scan.h"

#include "base/rng.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Without a NUL behind it, so that a sanitizer sees a step too far. */
static bool scan(const char *text, double *out, size_t *n)
{
    size_t len = strlen(text);
    char *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    struct qn_scan s = {copy, copy + len};
    bool is = qn_scan_number(&s, out);
    *n = (size_t)(s.at - copy);
    free(copy);
    return is;
}

static void takes(const char *text, double v)
{
    double out = 0;
    size_t n;
    if (!scan(text, &out, &n) || n != strlen(text) ||
        memcmp(&out, &v, sizeof v) != 0) {
        fail_msg("%s is %.17g, read as %.17g", text, v, out);
    }
}

static void refuses(const char *text)
{
    double out = 7;
    size_t n;
    assert_false(scan(text, &out, &n));
    assert_true(out == 7 && n == 0);
}

static void usual_numbers_are_read(void **state)
{
    (void)state;
    takes("0", 0);
    takes("-0", 0); /* an integer, which has one zero */
    takes("-0.0", -0.0);
    takes("-0e5", -0.0);
    takes("12", 12);
    takes("-12.5", -12.5);
    takes("0.001", 0.001);
    takes("1e-05", 1e-5);
    takes("1E+22", 1e22);
    takes("4.1234567890123456", 4.1234567890123456);
    takes("1.7976931348623157e2", 1.7976931348623157e2);
    takes("1.2345678901234567e-48", 1.2345678901234567e-48);
    takes("999999999999999999", 999999999999999999.0);
    takes("9007199254740993", 9007199254740992.0); /* halfway, to even */
}

static void what_json_has_not_is_no_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"",    "-",    "+1",   ".5",  "01",
                                        "-01", "1.",   "1.e5", "1e",  "1e+",
                                        "nan", "null", "inf",  "--1", " 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        refuses(texts[i]);
    }
}

static void hard_numbers_are_refused_rather_than_guessed(void **state)
{
    (void)state;
    refuses("12345678901234567890"); /* 20 digits */
    refuses("1e23");
    refuses("1e-70");
    refuses("1e99999999999999999999");
    refuses("1e400");
    refuses("9007199254740993.0"); /* halfway between two doubles */
    refuses("4503599627370496.5");
}

static void what_follows_is_left(void **state)
{
    (void)state;
    double out;
    size_t n;
    assert_true(scan("1.5,", &out, &n));
    assert_int_equal(n, 3);
    assert_true(scan("7}", &out, &n));
    assert_int_equal(n, 1);
    static const char text[] = "\"loss\":1";
    struct qn_scan s = {text, text + 8};
    assert_false(qn_scan_text(&s, "\"lost\":", 7));
    assert_false(qn_scan_text(&s, "\"loss\":12", 9));
    assert_true(qn_scan_text(&s, "\"loss\":", 7));
    assert_true(qn_scan_number(&s, &out) && out == 1 && s.at == s.end);
}

/* Compare with strtod; returns whether it was taken. */
static bool agrees(const char *text)
{
    double out, v = strtod(text, NULL);
    size_t n;
    if (!scan(text, &out, &n)) {
        return false;
    }
    if (n != strlen(text) || (out != v || signbit(out) != signbit(v))) {
        fail_msg("%s is %.17g, read as %.17g", text, v, out);
    }
    return true;
}

/* The next of a sequence of random bits. */
static uint64_t next(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    return qn_mix64(*seed);
}

static double random_double(uint64_t *seed)
{
    double scale = pow(10, (double)(next(seed) % 40) - 25);
    return ((double)(next(seed) >> 11) * 0x1p-53 - 0.3) * scale;
}

static void doubles_come_back_from_their_shortest_text(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int taken = 0;
    for (int i = 0; i < 50000; i++) {
        char text[32];
        (void)qn_format_double(text, sizeof text, random_double(&seed));
        taken += agrees(text) ? 1 : 0;
    }
    assert_true(taken > 49990); /* or it is of no use */
}

/* Digits that nobody rounded, the middles between doubles among them. */
static void any_digits_are_rounded_as_strtod_does(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 50000; i++) {
        char text[64];
        uint64_t digits = next(&seed) >> next(&seed) % 60;
        double v = fabs(random_double(&seed));
        double middle = v + 0.5 * (nextafter(v, HUGE_VAL) - v);
        (void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits,
                       (int)(next(&seed) % 100) - 70);
        (void)agrees(text);
        (void)snprintf(text, sizeof text, "%.*e", 14 + (int)(next(&seed) % 5),
                       middle);
        (void)agrees(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_numbers_are_read),
        cmocka_unit_test(what_json_has_not_is_no_number),
        cmocka_unit_test(hard_numbers_are_refused_rather_than_guessed),
        cmocka_unit_test(what_follows_is_left),
        cmocka_unit_test(doubles_come_back_from_their_shortest_text),
        cmocka_unit_test(any_digits_are_rounded_as_strtod_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
