/* corpus.c - tests of finding, reading, cutting and encoding texts. */
#include "world.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void splits_are_cut_from_the_end_test_last(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t.txt", "abcdefghijklmnopqrst");
    struct qn_corpus *c = opened(
        w, (struct qn_corpus_spec){.path = {path}, .fraction = {0, 0.1, 0.25}});
    check_text(c, QN_TRAIN, "abcdefghijklm");
    /* Code points that only the cut splits have share <unk>. */
    check_text(c, QN_VALID, "\xef\xbf\xbd\xef\xbf\xbd");
    size_t n;
    (void)qn_corpus_ids(c, QN_TEST, &n);
    assert_int_equal(n, 5);
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 14);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        assert_string_equal(qn_corpus_path(c, (enum qn_split)i), path);
        assert_string_equal(qn_corpus_sha256(c, (enum qn_split)i),
                            qn_corpus_sha256(c, QN_TRAIN));
    }
    qn_corpus_free(c);
    free(path);
}

static void cuts_count_symbols_and_not_bytes(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t.txt",
                     "ab\xc3\xa9"
                     "b\xe2\x82\xac"
                     "ab\xe2\x82\xac"
                     "\xc3\xa9"
                     "a");
    struct qn_corpus *c = opened(
        w, (struct qn_corpus_spec){.path = {path}, .fraction = {0, 0.2, 0.2}});
    check_text(c, QN_TRAIN,
               "ab\xc3\xa9"
               "b\xe2\x82\xac"
               "a");
    check_text(c, QN_VALID, "b\xe2\x82\xac");
    check_text(c, QN_TEST,
               "\xc3\xa9"
               "a");
    qn_corpus_free(c);
    c = opened(w, (struct qn_corpus_spec){.path = {path},
                                          .fraction = {0, 0, 0.2},
                                          .kind = QN_SYMBOL_BYTE});
    check_text(c, QN_TEST,
               "\xc3\xa9"
               "a");
    check_text(c, QN_VALID, "");
    assert_string_equal(qn_corpus_sha256(c, QN_VALID), "");
    assert_string_equal(qn_corpus_path(c, QN_VALID), "");
    qn_corpus_free(c);
    free(path);
}

static void splits_may_be_files_of_their_own(void **state)
{
    struct world *w = *state;
    char *train = put(w, "a", "abcab");
    char *valid = put(w, "b", "cab");
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {train, valid, ""},
                                          .fraction = {0, 0.9, 0.4}});
    check_text(c, QN_TRAIN, "abc");
    check_text(c, QN_VALID, "cab");
    check_text(c, QN_TEST, "ab");
    assert_string_equal(qn_corpus_path(c, QN_VALID), valid);
    assert_string_not_equal(qn_corpus_sha256(c, QN_VALID),
                            qn_corpus_sha256(c, QN_TRAIN));
    assert_int_equal(qn_vocab_unk(qn_corpus_vocab(c)), QN_UNK);
    qn_corpus_free(c);
    free(valid);
    free(train);
}

static void bytes_count_over_all_splits_without_unk(void **state)
{
    struct world *w = *state;
    char *train = put(w, "a", "ba\xff");
    char *test = put(w, "b",
                     "\x01"
                     "b");
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {train, "", test},
                                          .kind = QN_SYMBOL_BYTE});
    const struct qn_vocab *v = qn_corpus_vocab(c);
    assert_int_equal(qn_vocab_size(v), 4);
    assert_int_equal(qn_vocab_unk(v), QN_UNK);
    assert_int_equal(qn_vocab_find(v, 'b'), 0);
    assert_int_equal(qn_vocab_find(v, 0xff), 2);
    assert_int_equal(qn_vocab_find(v, 1), 3);
    size_t n = 9;
    (void)qn_corpus_ids(c, QN_VALID, &n);
    assert_int_equal(n, 0);
    qn_corpus_free(c);
    free(test);
    free(train);
}

static void lower_changes_ascii_letters_only(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "AbZ[\xc3\x89");
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {path}, .lower = true});
    check_text(c, QN_TRAIN, "abz[\xc3\x89");
    char hash[65];
    qn_sha256_hex("AbZ[\xc3\x89", 6, hash);
    assert_string_equal(qn_corpus_sha256(c, QN_TRAIN), hash);
    qn_corpus_free(c);
    free(path);
}

static void a_file_and_its_gz_stand_for_each_other(void **state)
{
    struct world *w = *state;
    char *plain = put(w, "a", "some text");
    char *packed = put_gz(w, "b.gz", "some text");
    char *plain_gz = in(w, "a.gz");
    char *packed_plain = in(w, "b");
    const char *given[] = {plain, plain_gz, packed, packed_plain};
    char hash[65];
    qn_sha256_hex("some text", 9, hash);
    for (int i = 0; i < 4; i++) {
        struct qn_corpus *c =
            opened(w, (struct qn_corpus_spec){.path = {given[i]}});
        check_text(c, QN_TRAIN, "some text");
        assert_string_equal(qn_corpus_path(c, QN_TRAIN),
                            i < 2 ? plain : packed);
        assert_string_equal(qn_corpus_sha256(c, QN_TRAIN), hash);
        qn_corpus_free(c);
    }
    free(packed_plain);
    free(plain_gz);
    free(packed);
    free(plain);
}

static void the_data_folder_is_looked_in(void **state)
{
    struct world *w = *state;
    char *folder = in(w, "quern");
    assert_int_equal(qn_make_dirs(folder, NULL), QN_OK);
    char *path = put(w, "quern/t", "xyz");
    struct qn_corpus_spec spec = {.path = {"t"}};
    struct qn_corpus *c = opened(w, spec);
    check_text(c, QN_TRAIN, "xyz");
    qn_corpus_free(c);
    char *other = put_gz(w, "t.gz", "uvw");
    assert_int_equal(setenv("QUERN_DATA", w->folder, 1), 0);
    c = opened(w, spec);
    check_text(c, QN_TRAIN, "uvw");
    qn_corpus_free(c);
    spec.data_dir = folder;
    c = opened(w, spec);
    check_text(c, QN_TRAIN, "xyz");
    qn_corpus_free(c);
    free(other);
    free(path);
    free(folder);
}

static void a_missing_file_error_says_where_it_looked(void **state)
{
    struct world *w = *state;
    check_refused(w,
                  (struct qn_corpus_spec){.path = {"no/such.gz"},
                                          .data_dir = "/dev/null"},
                  QN_ENOTFOUND,
                  "no/such.gz: not found; looked for no/such.gz, no/such, "
                  "/dev/null/no/such.gz, /dev/null/no/such");
    check_refused(w, (struct qn_corpus_spec){.path = {"/dev/null/no"}},
                  QN_ENOTFOUND,
                  "/dev/null/no: not found; looked for /dev/null/no, "
                  "/dev/null/no.gz");
    check_refused(w, (struct qn_corpus_spec){.path = {NULL}}, QN_EUSAGE,
                  "data.train names no text");
}

static void texts_that_cannot_be_learned_are_refused(void **state)
{
    struct world *w = *state;
    check_bad_text(w, (struct qn_corpus_spec){0}, "", "is empty");
    check_bad_text(w, (struct qn_corpus_spec){0}, "aaaa",
                   "holds one kind of symbol only, nothing to learn");
    check_bad_text(w, (struct qn_corpus_spec){0}, "abc\xe2\x82z",
                   "invalid UTF-8 at byte 3 (data.level=byte takes any bytes)");
}

static void invalid_utf8_in_a_cut_split_has_its_offset_in_the_file(void **state)
{
    struct world *w = *state;
    char *path = put(w, "bad",
                     "abcdefgh\xff"
                     "i");
    char *whole = qn_xasprintf("%s: invalid UTF-8 at byte 8 (data.level=byte "
                               "takes any bytes)",
                               path);
    check_refused(
        w, (struct qn_corpus_spec){.path = {path}, .fraction = {0, 0.3, 0}},
        QN_EFORMAT, whole);
    free(whole);
    free(path);
}

static void a_folder_is_refused(void **state)
{
    struct world *w = *state;
    char *whole = qn_xasprintf("%s: is a folder, not a text (task=classify "
                               "reads folders of labelled documents)",
                               (char *)w->folder);
    check_refused(w, (struct qn_corpus_spec){.path = {w->folder}}, QN_EIO,
                  whole);
    free(whole);
}

static void a_folder_does_not_hide_a_file_beside_it(void **state)
{
    struct world *w = *state;
    char *folder = in(w, "t");
    char *path = put_gz(w, "t.gz", "text");
    assert_int_equal(qn_make_dirs(folder, NULL), QN_OK);
    struct qn_corpus *c = opened(w, (struct qn_corpus_spec){.path = {folder}});
    assert_string_equal(qn_corpus_path(c, QN_TRAIN), path);
    qn_corpus_free(c);
    free(path);
    free(folder);
}

static void a_truncated_gz_is_refused(void **state)
{
    struct world *w = *state;
    char *path = put_gz(w, "t.gz", "a text that is long enough to be cut");
    assert_int_equal(truncate(path, 24), 0);
    char *whole = qn_xasprintf("%s: the gzip stream is cut short", path);
    check_refused(w, (struct qn_corpus_spec){.path = {path}}, QN_EFORMAT,
                  whole);
    free(whole);
    free(path);
}

static void a_gz_whose_sum_is_wrong_is_refused(void **state)
{
    struct world *w = *state;
    char *path = put_gz(w, "t.gz", "a text that is long enough to be packed");
    struct qn_bytes packed;
    assert_int_equal(qn_file_read(path, &packed, NULL), QN_OK);
    packed.data[packed.len - 8] ^= 1; /* of the CRC, before the length */
    assert_int_equal(qn_file_write(path, packed.data, packed.len, NULL), QN_OK);
    char *whole =
        qn_xasprintf("%s: damaged gzip stream: incorrect data check", path);
    check_refused(w, (struct qn_corpus_spec){.path = {path}}, QN_EFORMAT,
                  whole);
    free(whole);
    qn_bytes_free(&packed);
    free(path);
}

static void what_follows_a_gz_must_be_gz(void **state)
{
    struct world *w = *state;
    char *path = put_gz(w, "t.gz", "some text");
    struct qn_bytes packed;
    assert_int_equal(qn_file_read(path, &packed, NULL), QN_OK);
    const struct qn_span parts[] = {{packed.data, packed.len}, {"rubbish", 7}};
    assert_int_equal(qn_file_write_parts(path, parts, 2, NULL), QN_OK);
    char *whole =
        qn_xasprintf("%s: 7 bytes after the gzip stream are not gzip", path);
    check_refused(w, (struct qn_corpus_spec){.path = {path}}, QN_EFORMAT,
                  whole);
    free(whole);
    qn_bytes_free(&packed);
    free(path);
}

static void an_unreadable_file_is_refused(void **state)
{
    struct world *w = *state;
    if (geteuid() == 0) {
        skip(); /* root may read everything */
    }
    char *path = put(w, "t", "text");
    assert_int_equal(chmod(path, 0), 0);
    char *whole = qn_xasprintf("%s: cannot open: Permission denied", path);
    check_refused(w, (struct qn_corpus_spec){.path = {path}}, QN_EIO, whole);
    free(whole);
    free(path);
}

static void a_missing_file_of_a_known_set_names_the_script(void **state)
{
    struct world *w = *state;
    struct qn_corpus_spec spec = {.path = {"ptb/none.txt"},
                                  .data_dir = "/dev/null"};
    check_refused(w, spec, QN_ENOTFOUND,
                  "ptb/none.txt: not found; looked for ptb/none.txt, "
                  "ptb/none.txt.gz, /dev/null/ptb/none.txt, "
                  "/dev/null/ptb/none.txt.gz; scripts/get-data ptb fetches it");
    spec.path[QN_TRAIN] = "ptbx/none";
    check_refused(w, spec, QN_ENOTFOUND,
                  "ptbx/none: not found; looked for ptbx/none, ptbx/none.gz, "
                  "/dev/null/ptbx/none, /dev/null/ptbx/none.gz");
}

static void a_fraction_cuts_what_its_decimal_number_says(void **state)
{
    (void)state;
    /* enwik8: 90, 5 and 5 million bytes. */
    assert_int_equal(qn_split_cut(0.05, 100000000), 5000000);
    assert_int_equal(qn_split_cut(0.05, 99999999), 4999999);
    assert_int_equal(qn_split_cut(0.05, 19), 0);
    assert_int_equal(qn_split_cut(0, 1000), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(qn_split_cut(i / 1000.0, 1000), i);
        assert_int_equal(qn_split_cut(i / 1000.0, 100000000), i * 100000);
    }
}

static void nul_characters_are_taken_with_a_warning(void **state)
{
    struct world *w = *state;
    char *path = in(w, "t");
    assert_int_equal(qn_file_write(path, "a\0b", 3, NULL), QN_OK);
    struct qn_corpus *c = opened(w, (struct qn_corpus_spec){.path = {path}});
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 3);
    qn_corpus_free(c);
    assert_int_equal(w->n_heard, 1);
    assert_true(strstr(w->heard, "holds NUL characters") != NULL);
    c = opened(w,
               (struct qn_corpus_spec){.path = {path}, .kind = QN_SYMBOL_BYTE});
    assert_int_equal(w->n_heard, 1);
    qn_corpus_free(c);
    free(path);
}

static void vocab_size_is_checked_when_given(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "abcz");
    struct qn_corpus_spec spec = {.path = {path}, .vocab_size = 4};
    qn_corpus_free(opened(w, spec));
    spec.vocab_size = 5;
    check_refused(w, spec, QN_EUSAGE,
                  "data.vocab_size is 5, the text has 4 symbols");
    spec.fraction[QN_TEST] = 0.25;
    check_refused(
        w, spec, QN_EUSAGE,
        "data.vocab_size is 5, the text has 4 symbols, counting <unk>");
    free(path);
}

static void an_unk_of_the_text_itself_is_a_word_as_any(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "a <unk> b a\na b c a\n");
    struct qn_corpus_spec spec = {
        .path = {path}, .kind = QN_SYMBOL_WORD, .vocab_size = 9};
    check_refused(w, spec, QN_EUSAGE,
                  "data.vocab_size is 9, the text has 5 words");
    free(path);
}

static void fractions_must_leave_a_training_text(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "abcz");
    struct qn_corpus_spec spec = {.path = {path}, .fraction = {0, 0.6, 0.5}};
    check_refused(w, spec, QN_EUSAGE,
                  "data.valid 0.6 and data.test 0.5 leave no training text");
    spec.fraction[QN_VALID] = -0.1;
    check_refused(w, spec, QN_EUSAGE,
                  "data.valid is -0.1, must be a path or at least 0 and less "
                  "than 1");
    free(path);
}

static void a_fixed_vocabulary_is_kept(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "cab");
    struct qn_vocab *v = qn_vocab_new(QN_SYMBOL_CODE_POINT);
    (void)qn_vocab_learn(v, "ab", 2, NULL);
    struct qn_corpus_spec spec = {.path = {path}, .vocab = v};
    char *whole = qn_xasprintf("%s: the symbol U+0063 c is not in the "
                               "vocabulary",
                               path);
    check_refused(w, spec, QN_EUSAGE, whole);
    qn_vocab_add_unk(v);
    struct qn_corpus *c = opened(w, spec);
    check_text(c, QN_TRAIN,
               "\xef\xbf\xbd"
               "ab");
    assert_true(qn_vocab_equal(qn_corpus_vocab(c), v));
    qn_corpus_free(c);
    spec.kind = QN_SYMBOL_BYTE;
    check_refused(w, spec, QN_EUSAGE,
                  "data.level is byte, the vocabulary of the run holds "
                  "characters");
    qn_vocab_free(v);
    free(whole);
    free(path);
}

static void a_fixed_vocabulary_needs_no_training_text(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "aab");
    struct qn_vocab *v = qn_vocab_new(QN_SYMBOL_CODE_POINT);
    (void)qn_vocab_learn(v, "ab", 2, NULL);
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {NULL, NULL, path},
                                          .fraction = {0, 0.05, 0.05},
                                          .vocab = v});
    check_text(c, QN_TEST, "aab");
    check_text(c, QN_TRAIN, "");
    check_text(c, QN_VALID, "");
    assert_string_equal(qn_corpus_path(c, QN_VALID), "");
    assert_string_equal(qn_corpus_sha256(c, QN_VALID), "");
    qn_corpus_free(c);
    qn_vocab_free(v);
    free(path);
}

static void splits_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        enum qn_split back;
        assert_true(qn_split_parse(qn_split_name((enum qn_split)i), &back));
        assert_int_equal(back, i);
    }
    enum qn_split untouched = QN_TEST;
    assert_false(qn_split_parse("tests", &untouched));
    assert_int_equal(untouched, QN_TEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(splits_are_cut_from_the_end_test_last),
        IN_WORLD(cuts_count_symbols_and_not_bytes),
        IN_WORLD(splits_may_be_files_of_their_own),
        IN_WORLD(bytes_count_over_all_splits_without_unk),
        IN_WORLD(lower_changes_ascii_letters_only),
        IN_WORLD(a_file_and_its_gz_stand_for_each_other),
        IN_WORLD(the_data_folder_is_looked_in),
        IN_WORLD(a_missing_file_error_says_where_it_looked),
        IN_WORLD(texts_that_cannot_be_learned_are_refused),
        IN_WORLD(invalid_utf8_in_a_cut_split_has_its_offset_in_the_file),
        IN_WORLD(a_folder_is_refused),
        IN_WORLD(a_folder_does_not_hide_a_file_beside_it),
        IN_WORLD(a_truncated_gz_is_refused),
        IN_WORLD(a_gz_whose_sum_is_wrong_is_refused),
        IN_WORLD(what_follows_a_gz_must_be_gz),
        IN_WORLD(an_unreadable_file_is_refused),
        IN_WORLD(a_missing_file_of_a_known_set_names_the_script),
        cmocka_unit_test(a_fraction_cuts_what_its_decimal_number_says),
        IN_WORLD(nul_characters_are_taken_with_a_warning),
        IN_WORLD(vocab_size_is_checked_when_given),
        IN_WORLD(an_unk_of_the_text_itself_is_a_word_as_any),
        IN_WORLD(fractions_must_leave_a_training_text),
        IN_WORLD(a_fixed_vocabulary_is_kept),
        IN_WORLD(a_fixed_vocabulary_needs_no_training_text),
        cmocka_unit_test(splits_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
