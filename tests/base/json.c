/* json.c - what is written parses back to what was meant. */
#include "base/json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void commas_and_nesting_are_kept(void **state)
{
    (void)state;
    struct qn_json j = {0};
    qn_json_object(&j);
    qn_json_kint(&j, "a", -1);
    qn_json_key(&j, "b");
    qn_json_array(&j);
    qn_json_object(&j);
    qn_json_end_object(&j);
    qn_json_array(&j);
    qn_json_end_array(&j);
    qn_json_bool(&j, true);
    qn_json_null(&j);
    qn_json_end_array(&j);
    qn_json_kstring(&j, "c", NULL);
    qn_json_kbool(&j, "d", false);
    qn_json_kdouble(&j, "e", 0.1);
    qn_json_end_object(&j);
    assert_string_equal(j.text.text, "{\"a\":-1,\"b\":[{},[],true,null],"
                                     "\"c\":null,\"d\":false,\"e\":0.1}");
    qn_json_clear(&j);
    qn_json_int(&j, 5);
    assert_string_equal(j.text.text, "5");
    qn_json_free(&j);
}

static void any_text_survives(void **state)
{
    (void)state;
    char all[127];
    for (int c = 1; c < 128; c++) {
        all[c - 1] = (char)(c % 127 + 1);
    }
    all[126] = '\0';
    static const char accents[] = "\xc3\xa9 \xe2\x82\xac "
                                  "\xf0\x9f\x98\x80";
    const char *const texts[] = {"", "\"\\/\b\f\n\r\t", accents};
    struct qn_json j = {0};
    qn_json_array(&j);
    qn_json_string(&j, all);
    for (size_t i = 0; i < 3; i++) {
        qn_json_string(&j, texts[i]);
    }
    qn_json_end_array(&j);
    json_t *back = json_loads(j.text.text, 0, NULL);
    assert_non_null(back);
    assert_string_equal(json_string_value(json_array_get(back, 0)), all);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(json_string_value(json_array_get(back, i + 1)),
                            texts[i]);
    }
    json_decref(back);
    qn_json_free(&j);
}

static void bytes_that_are_not_text_become_the_replacement(void **state)
{
    (void)state;
    struct qn_json j = {0};
    qn_json_string(&j, "a\xff\xc3(\xed\xa0\x80");
    assert_string_equal(j.text.text,
                        "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd\"");
    qn_json_free(&j);
}

static void numbers_are_exact_and_never_nan(void **state)
{
    (void)state;
    struct qn_json j = {0};
    qn_json_array(&j);
    qn_json_double(&j, 1.0 / 3);
    qn_json_float(&j, (double)0.1f);
    qn_json_float(&j, (double)NAN);
    qn_json_double(&j, HUGE_VAL);
    qn_json_int(&j, INT64_MIN);
    qn_json_end_array(&j);
    assert_string_equal(j.text.text, "[0.3333333333333333,0.1,null,"
                                     "null,-9223372036854775808]");
    qn_json_free(&j);
}

static void check_whole(int64_t v)
{
    char want[32];
    (void)snprintf(want, sizeof want, "%" PRId64, v);
    struct qn_json j = {0};
    qn_json_int(&j, v);
    assert_string_equal(j.text.text, want);
    qn_json_free(&j);
}

static void whole_numbers_are_written_as_printf_does(void **state)
{
    (void)state;
    check_whole(0);
    check_whole(INT64_MAX);
    check_whole(INT64_MIN);
    for (int64_t v = 1; v < INT64_MAX / 10; v *= 10) {
        check_whole(v - 1);
        check_whole(v);
        check_whole(-v);
        check_whole(1 - v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_nesting_are_kept),
        cmocka_unit_test(any_text_survives),
        cmocka_unit_test(bytes_that_are_not_text_become_the_replacement),
        cmocka_unit_test(numbers_are_exact_and_never_nan),
        cmocka_unit_test(whole_numbers_are_written_as_printf_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
