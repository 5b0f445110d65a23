/* utf8.c - valid UTF-8 in and out, nothing else. */
#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void every_code_point_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c == 0xd800) {
            c = 0xe000;
        }
        char bytes[4];
        uint32_t back = 0;
        int n = qn_utf8_encode(c, bytes);
        if (qn_utf8_decode(bytes, (size_t)n, &back) != n || back != c) {
            fail_msg("U+%04X", (unsigned)c);
        }
        /* One byte short it is cut, not valid. */
        assert_int_equal(qn_utf8_decode(bytes, (size_t)n - 1, &back), 0);
    }
}

static void what_is_not_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",             /* a continuation alone */
        "\xc0\x80",         /* overlong NUL */
        "\xc1\xbf",         /* overlong 0x7f */
        "\xe0\x9f\xbf",     /* overlong 0x7ff */
        "\xf0\x8f\xbf\xbf", /* overlong 0xffff */
        "\xed\xa0\x80",     /* surrogate */
        "\xed\xbf\xbf",     /* surrogate */
        "\xf4\x90\x80\x80", /* 0x110000 */
        "\xf5\x80\x80\x80",
        "\xff\xff\xff\xff",
        "\xc3(zz",
        "\xe2\x82(z",
        "\xf0\x9f\x98(",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t code = 7;
        size_t len = 0;
        while (bad[i][len] != '\0') {
            len++;
        }
        assert_int_equal(qn_utf8_decode(bad[i], len, &code), 0);
        assert_int_equal(code, 7);
    }
}

static void nothing_decodes_to_nothing_and_nul_to_one(void **state)
{
    (void)state;
    uint32_t code = 7;
    assert_int_equal(qn_utf8_decode("", 0, &code), 0);
    assert_int_equal(qn_utf8_decode("", 1, &code), 1);
    assert_int_equal(code, 0);
}

static void controls_are_those_of_both_sets_and_delete(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x300; code++) {
        bool expected = code <= 0x1f || (code >= 0x7f && code <= 0x9f);
        assert_int_equal(qn_is_control(code), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_the_round_trip),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(nothing_decodes_to_nothing_and_nul_to_one),
        cmocka_unit_test(controls_are_those_of_both_sets_and_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
