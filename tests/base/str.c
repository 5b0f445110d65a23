/* str.c - strings that grow, and questions about them. */
#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void a_string_grows_by_what_is_added(void **state)
{
    (void)state;
    struct qn_str s = {0};
    struct qn_str expected = {0};
    for (int i = 0; i < 1000; i++) {
        qn_str_addf(&s, "%d,", i);
        assert_int_equal(s.len, strlen(s.text));
        assert_true(s.cap > s.len);
    }
    qn_str_add(&expected, "0,1,2,");
    assert_memory_equal(s.text, expected.text, expected.len);
    assert_string_equal(s.text + s.len - 8, "998,999,");
    qn_str_free(&s);
    qn_str_free(&expected);
}

static void bytes_may_hold_zeros_and_be_none(void **state)
{
    (void)state;
    struct qn_str s = {0};
    qn_str_add_bytes(&s, NULL, 0);
    assert_int_equal(s.len, 0);
    assert_string_equal(s.text, "");
    qn_str_add_bytes(&s, "a\0b", 3);
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.text, "a\0b", 4);
    qn_str_free(&s);
}

static void clear_keeps_the_memory_and_free_does_not(void **state)
{
    (void)state;
    struct qn_str s = {0};
    qn_str_clear(&s);
    assert_null(s.text);
    qn_str_add(&s, "something");
    const char *memory = s.text;
    qn_str_clear(&s);
    assert_string_equal(s.text, "");
    qn_str_add(&s, "else");
    assert_ptr_equal(s.text, memory);
    qn_str_free(&s);
    assert_null(s.text);
    qn_str_add(&s, "again");
    assert_string_equal(s.text, "again");
    qn_str_free(&s);
}

static void taking_leaves_it_empty(void **state)
{
    (void)state;
    struct qn_str s = {0};
    char *nothing = qn_str_take(&s);
    assert_string_equal(nothing, "");
    qn_str_add(&s, "text");
    char *text = qn_str_take(&s);
    assert_string_equal(text, "text");
    assert_null(s.text);
    assert_int_equal(s.len, 0);
    free(nothing);
    free(text);
}

static void prefixes_and_suffixes_are_found(void **state)
{
    (void)state;
    assert_true(qn_starts_with("model.hidden", "model."));
    assert_true(qn_starts_with("x", ""));
    assert_false(qn_starts_with("mod", "model"));
    assert_true(qn_ends_with("a.jsonl", ".jsonl"));
    assert_true(qn_ends_with("", ""));
    assert_false(qn_ends_with("jsonl", "a.jsonl"));
    assert_false(qn_ends_with("a.json", ".jsonl"));
    assert_true(qn_str_eq("a", "a"));
    assert_false(qn_str_eq("a", "A"));
}

static void a_text_is_cut_between_code_points(void **state)
{
    (void)state;
    char to[6];
    qn_copy_text(to, sizeof to, "lamb");
    assert_string_equal(to, "lamb");
    qn_copy_text(to, sizeof to, "lambs");
    assert_string_equal(to, "lambs");
    qn_copy_text(to, sizeof to, "sheeps");
    assert_string_equal(to, "sheep");
    qn_copy_text(to, sizeof to, "abc\xe2\x82\xac"); /* a euro sign */
    assert_string_equal(to, "abc");
    qn_copy_text(to, sizeof to,
                 "ab\xe2\x82\xac"
                 "c");
    assert_string_equal(to, "ab\xe2\x82\xac");
    qn_copy_text(to, sizeof to, "a\xf0\x9f\x90\x91\xc3\xa9");
    assert_string_equal(to, "a\xf0\x9f\x90\x91");
    qn_copy_text(to, sizeof to, "\x80\x80\x80\x80\x80\x80\x80");
    assert_string_equal(to, "\x80\x80\x80\x80\x80");
    qn_copy_text(to, 1, "\xc3\xa9");
    assert_string_equal(to, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_grows_by_what_is_added),
        cmocka_unit_test(bytes_may_hold_zeros_and_be_none),
        cmocka_unit_test(clear_keeps_the_memory_and_free_does_not),
        cmocka_unit_test(taking_leaves_it_empty),
        cmocka_unit_test(prefixes_and_suffixes_are_found),
        cmocka_unit_test(a_text_is_cut_between_code_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
