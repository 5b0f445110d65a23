/* vocab.c - tests of vocabularies. */
#include "data/vocab.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct qn_vocab *learned(enum qn_symbol_kind kind, const char *text)
{
    struct qn_vocab *v = qn_vocab_new(kind);
    assert_int_equal(qn_vocab_learn(v, text, strlen(text), NULL), QN_OK);
    return v;
}

static void ids_count_by_first_appearance(void **state)
{
    (void)state;
    struct qn_vocab *v = learned(QN_SYMBOL_CODE_POINT, "b\xc3\xa9"
                                                       "ab\n");
    assert_int_equal(qn_vocab_size(v), 4);
    assert_int_equal(qn_vocab_find(v, 'b'), 0);
    assert_int_equal(qn_vocab_find(v, 0xe9), 1);
    assert_int_equal(qn_vocab_find(v, 'a'), 2);
    assert_int_equal(qn_vocab_find(v, '\n'), 3);
    assert_int_equal(qn_vocab_find(v, 'c'), -1);
    assert_int_equal(qn_vocab_find(v, 0x10ffff), -1);
    assert_int_equal(qn_vocab_find(v, UINT32_MAX), -1);
    assert_int_equal(qn_vocab_unk(v), QN_UNK);
    qn_vocab_free(v);
}

static void adding_again_gives_the_old_id(void **state)
{
    (void)state;
    struct qn_vocab *v = qn_vocab_new(QN_SYMBOL_CODE_POINT);
    assert_int_equal(qn_vocab_add(v, 0x1f600), 0);
    assert_int_equal(qn_vocab_add_unk(v), 1);
    assert_int_equal(qn_vocab_add(v, 0), 2);
    assert_int_equal(qn_vocab_add(v, 0x1f600), 0);
    assert_int_equal(qn_vocab_add_unk(v), 1);
    assert_int_equal(qn_vocab_size(v), 3);
    assert_int_equal(qn_vocab_symbol(v, 2), 0);
    qn_vocab_free(v);
}

static void decoding_gives_back_what_was_encoded(void **state)
{
    (void)state;
    static const char text[] =
        "na\xc3\xafve \xe2\x82\xac\n\t\xf0\x9f\x98\x80\x00 end";
    size_t len = sizeof text - 1;
    for (int kind = 0; kind < 2; kind++) {
        struct qn_vocab *v = qn_vocab_new((enum qn_symbol_kind)kind);
        assert_int_equal(qn_vocab_learn(v, text, len, NULL), QN_OK);
        int32_t *ids;
        size_t n;
        assert_int_equal(qn_vocab_encode(v, text, len, &ids, &n, NULL), QN_OK);
        struct qn_str out = {0};
        qn_vocab_decode(v, ids, n, &out);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.text, text, len);
        qn_str_free(&out);
        free(ids);
        qn_vocab_free(v);
    }
}

static void nothing_encodes_to_no_ids(void **state)
{
    (void)state;
    struct qn_vocab *v = qn_vocab_new(QN_SYMBOL_BYTE);
    int32_t *ids;
    size_t n = 7;
    assert_int_equal(qn_vocab_encode(v, "", 0, &ids, &n, NULL), QN_OK);
    assert_int_equal(n, 0);
    free(ids);
    qn_vocab_free(v);
}

static void invalid_utf8_is_named_by_its_offset(void **state)
{
    (void)state;
    struct qn_vocab *v = learned(QN_SYMBOL_CODE_POINT, "abc\xc3\xa9");
    struct qn_err err;
    int32_t *ids;
    size_t n;
    /* A bare continuation, a cut sequence at the end, an overlong slash. */
    static const char *const bad[] = {"\xc3\xa9z\x80", "abc\xc3",
                                      "abc\xc0\xaf"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            qn_vocab_encode(v, bad[i], strlen(bad[i]), &ids, &n, &err),
            QN_EFORMAT);
        assert_string_equal(err.text, "invalid UTF-8 at byte 3 (data.level=byte"
                                      " takes any bytes)");
        assert_int_equal(qn_vocab_learn(v, bad[i], strlen(bad[i]), NULL),
                         QN_EFORMAT);
    }
    qn_vocab_free(v);
}

static void check_unknown(enum qn_symbol_kind kind, const char *text,
                          const char *sentence)
{
    struct qn_vocab *v = learned(kind, "ab");
    struct qn_err err;
    int32_t *ids;
    size_t n;
    assert_int_equal(qn_vocab_encode(v, text, strlen(text), &ids, &n, &err),
                     QN_EUSAGE);
    assert_string_equal(err.text, sentence);
    qn_vocab_free(v);
}

static void unknown_symbol_without_unk_is_an_error_naming_it(void **state)
{
    (void)state;
    check_unknown(QN_SYMBOL_CODE_POINT, "ab\xc3\xa9",
                  "the symbol U+00E9 \xc3\xa9 is not in the vocabulary");
    check_unknown(QN_SYMBOL_CODE_POINT, "\na",
                  "the symbol U+000A is not in the vocabulary");
    check_unknown(QN_SYMBOL_BYTE, "ab\xc3",
                  "the byte 0xc3 is not in the vocabulary");
}

static void check_unk(enum qn_symbol_kind kind, const char *decoded)
{
    struct qn_vocab *v = learned(kind, "ab");
    qn_vocab_add_unk(v);
    int32_t *ids;
    size_t n;
    assert_int_equal(qn_vocab_encode(v, "axb", 3, &ids, &n, NULL), QN_OK);
    assert_int_equal(n, 3);
    assert_int_equal(ids[1], 2);
    struct qn_str out = {0};
    qn_vocab_decode(v, ids, n, &out);
    assert_string_equal(out.text, decoded);
    qn_str_free(&out);
    free(ids);
    qn_vocab_free(v);
}

static void unk_stands_for_unknown_symbols(void **state)
{
    (void)state;
    check_unk(QN_SYMBOL_CODE_POINT, "a\xef\xbf\xbd"
                                    "b");
    check_unk(QN_SYMBOL_BYTE, "a?b");
}

static void vocab_text_shows_what_editors_hide(void **state)
{
    (void)state;
    struct qn_vocab *v = learned(
        QN_SYMBOL_CODE_POINT,
        "a \n\t\r\\\x01\xc3\xa9\xc2\x85\xc2\xa0\xe2\x80\xa8\xef\xbb\xbf");
    qn_vocab_add(v, 0);
    qn_vocab_add_unk(v);
    struct qn_str out = {0};
    qn_vocab_text(v, &out);
    assert_string_equal(out.text,
                        "a\n\\s\n\\n\n\\t\n\\r\n\\\\\n\\x01\n\xc3\xa9\n"
                        "\\x85\n\\xa0\n\\u{2028}\n\\u{feff}\n\\x00\n"
                        "<unk>\n");
    qn_str_free(&out);
    qn_vocab_free(v);
}

static void byte_vocab_text_is_ascii(void **state)
{
    (void)state;
    struct qn_vocab *v = learned(QN_SYMBOL_BYTE, "\xc3\xa9<");
    struct qn_str out = {0};
    qn_vocab_text(v, &out);
    assert_string_equal(out.text, "\\xc3\n\\xa9\n<\n");
    qn_str_free(&out);
    qn_vocab_free(v);
}

static struct qn_vocab *random_vocab(enum qn_symbol_kind kind, uint64_t seed)
{
    struct qn_vocab *v = qn_vocab_new(kind);
    int n = 1 + (int)(qn_mix64(seed) % 60);
    for (int i = 0; i < n; i++) {
        uint64_t bits = qn_mix64(seed * 1000 + (uint64_t)i);
        uint32_t most = kind == QN_SYMBOL_BYTE ? 0x100
                        : bits % 2             ? 0x3100
                                               : 0xd800;
        qn_vocab_add(v, (uint32_t)((bits >> 8) % most));
        if (bits % 50 == 0) {
            qn_vocab_add_unk(v);
        }
    }
    return v;
}

static void vocab_text_parses_back_to_an_equal_vocab(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        enum qn_symbol_kind kind = (enum qn_symbol_kind)(seed % 2);
        struct qn_vocab *v = random_vocab(kind, seed), *back;
        struct qn_str out = {0};
        qn_vocab_text(v, &out);
        assert_int_equal(qn_vocab_parse(kind, out.text, out.len, &back, NULL),
                         QN_OK);
        assert_true(qn_vocab_equal(v, back));
        assert_int_equal(qn_vocab_unk(v), qn_vocab_unk(back));
        struct qn_vocab *copy = qn_vocab_copy(v);
        assert_true(qn_vocab_equal(copy, v));
        qn_vocab_free(copy);
        qn_vocab_free(back);
        qn_vocab_free(v);
        qn_str_free(&out);
    }
}

static void vocabs_differ_by_order_kind_and_unk(void **state)
{
    (void)state;
    struct qn_vocab *ab = learned(QN_SYMBOL_BYTE, "ab");
    struct qn_vocab *ba = learned(QN_SYMBOL_BYTE, "ba");
    struct qn_vocab *chars = learned(QN_SYMBOL_CODE_POINT, "ab");
    struct qn_vocab *more = learned(QN_SYMBOL_BYTE, "ab");
    qn_vocab_add_unk(more);
    assert_false(qn_vocab_equal(ab, ba));
    assert_false(qn_vocab_equal(ab, chars));
    assert_false(qn_vocab_equal(ab, more));
    qn_vocab_free(ab);
    qn_vocab_free(ba);
    qn_vocab_free(chars);
    qn_vocab_free(more);
}

static void damaged_vocab_text_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
        enum qn_symbol_kind kind;
    } bad[] = {
        {"", "holds no symbols", QN_SYMBOL_CODE_POINT},
        {"a\nbc\n", "line 2 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"a\n\nb\n", "line 2 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"a\n \n", "line 2 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"a\r\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"a\n\\\n", "line 2 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\q\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\xg0\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\u{}\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\u{d800}\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\u{110000}\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\\u{1234567}\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\xff\n", "line 1 is not one symbol", QN_SYMBOL_CODE_POINT},
        {"\xc3\xa9\n", "line 1 is not one byte", QN_SYMBOL_BYTE},
        {"\\u{100}\n", "line 1 is not one byte", QN_SYMBOL_BYTE},
        {"a\nb\na\n", "line 3 repeats the symbol of an earlier line",
         QN_SYMBOL_BYTE},
        {"a\n\\x61\n", "line 2 repeats the symbol of an earlier line",
         QN_SYMBOL_BYTE},
        {"<unk>\n<unk>\n", "line 2 repeats the symbol of an earlier line",
         QN_SYMBOL_BYTE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct qn_vocab *v = NULL;
        struct qn_err err;
        assert_int_equal(qn_vocab_parse(bad[i].kind, bad[i].text,
                                        strlen(bad[i].text), &v, &err),
                         QN_EFORMAT);
        assert_string_equal(err.text, bad[i].sentence);
        assert_null(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_count_by_first_appearance),
        cmocka_unit_test(adding_again_gives_the_old_id),
        cmocka_unit_test(decoding_gives_back_what_was_encoded),
        cmocka_unit_test(nothing_encodes_to_no_ids),
        cmocka_unit_test(invalid_utf8_is_named_by_its_offset),
        cmocka_unit_test(unknown_symbol_without_unk_is_an_error_naming_it),
        cmocka_unit_test(unk_stands_for_unknown_symbols),
        cmocka_unit_test(vocab_text_shows_what_editors_hide),
        cmocka_unit_test(byte_vocab_text_is_ascii),
        cmocka_unit_test(vocab_text_parses_back_to_an_equal_vocab),
        cmocka_unit_test(vocabs_differ_by_order_kind_and_unk),
        cmocka_unit_test(damaged_vocab_text_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
