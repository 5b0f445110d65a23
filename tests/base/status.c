/* status.c - errors as values keep their sentence. */
#include "base/status.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void fail_returns_the_status_and_keeps_the_sentence(void **state)
{
    (void)state;
    struct qn_err err;
    assert_int_equal(qn_fail(&err, QN_EIO, "%s: %d", "disk", 7), QN_EIO);
    assert_string_equal(err.text, "disk: 7");
    assert_int_equal(qn_fail(NULL, QN_ESTATE, "nobody listens"), QN_ESTATE);
}

static void a_prefix_goes_in_front(void **state)
{
    (void)state;
    struct qn_err err;
    (void)qn_fail(&err, QN_EFORMAT, "hidden is -3");
    assert_int_equal(qn_fail_in(&err, QN_EFORMAT, "spec.json"), QN_EFORMAT);
    assert_string_equal(err.text, "spec.json: hidden is -3");
    assert_int_equal(qn_fail_in(NULL, QN_EIO, "x"), QN_EIO);
}

static void the_sentence_may_be_made_from_itself(void **state)
{
    (void)state;
    struct qn_err err;
    (void)qn_fail(&err, QN_EIO, "inner");
    (void)qn_fail(&err, QN_EIO, "%s, seen twice: %s", err.text, err.text);
    assert_string_equal(err.text, "inner, seen twice: inner");
}

static void a_long_sentence_is_cut_between_code_points(void **state)
{
    (void)state;
    struct qn_err err;
    char text[3000];
    for (size_t shift = 0; shift < 3; shift++) {
        /* Euro signs, three bytes each, begin at each possible offset. */
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4);
        }
        (void)qn_fail(&err, QN_EIO, "%s", text);
        size_t len = strlen(err.text);
        assert_true(len < sizeof err.text && len > sizeof err.text - 4);
        assert_int_equal((len - shift) % 3, 0);
    }
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)qn_fail_in(&err, QN_EIO, text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void a_name_from_a_file_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct qn_err err;
    (void)qn_fail(&err, QN_EIO, "%s\nsecond", "a\x1b[2Jb\x7f");
    assert_string_equal(err.text, "a?[2Jb?\nsecond");
    /* U+009B opens a control sequence, too; U+00A0 and U+00E9 do not. */
    (void)qn_fail(&err, QN_EIO, "%s",
                  "a\xc2\x9b"
                  "2J\xc2\xa0\xc3\xa9");
    assert_string_equal(err.text, "a??2J\xc2\xa0\xc3\xa9");
}

static void every_status_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a < QN_N_STATUS; a++) {
        assert_non_null(qn_status_name((enum qn_status)a));
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(qn_status_name((enum qn_status)a),
                                    qn_status_name((enum qn_status)b));
        }
    }
    assert_string_equal(qn_status_name(QN_ENOTFOUND), "not_found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_returns_the_status_and_keeps_the_sentence),
        cmocka_unit_test(a_prefix_goes_in_front),
        cmocka_unit_test(the_sentence_may_be_made_from_itself),
        cmocka_unit_test(a_long_sentence_is_cut_between_code_points),
        cmocka_unit_test(a_name_from_a_file_cannot_steer_the_terminal),
        cmocka_unit_test(every_status_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
