/* corpus.c - tests of finding, reading, cutting and encoding texts. */
#include "data/corpus.h"

#include "base/str.h"
#include "../base/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The folder of the running test, and what was logged in it. */
struct world {
    void *folder;
    int n_heard;
    char heard[512];
};

static int make_world(void **state)
{
    struct world *w = qn_xcalloc(1, sizeof *w);
    *state = w;
    (void)unsetenv("QUERN_DATA");
    int failed = make_scratch(&w->folder);
    return failed != 0 ? failed : setenv("XDG_DATA_HOME", w->folder, 1);
}

static int end_world(void **state)
{
    struct world *w = *state;
    int failed = remove_scratch(&w->folder);
    free(w);
    return failed;
}

static char *in(const struct world *w, const char *name)
{
    return qn_path_join(w->folder, name);
}

static char *put(const struct world *w, const char *name, const char *text)
{
    char *path = in(w, name);
    assert_int_equal(qn_file_write(path, text, strlen(text), NULL), QN_OK);
    return path;
}

static char *put_gz(const struct world *w, const char *name, const char *text)
{
    char *path = in(w, name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static void hear(void *user, enum qn_log_level level, const char *line)
{
    struct world *w = user;
    (void)level;
    w->n_heard++;
    (void)snprintf(w->heard, sizeof w->heard, "%s", line);
}

static enum qn_status try_open(struct world *w,
                               const struct qn_corpus_spec *spec,
                               struct qn_corpus **c, struct qn_err *err)
{
    struct qn_log *log = qn_log_new(hear, w);
    enum qn_status status = qn_corpus_open(spec, log, c, err);
    qn_log_free(log);
    return status;
}

static struct qn_corpus *opened(struct world *w, struct qn_corpus_spec spec)
{
    struct qn_corpus *c = NULL;
    struct qn_err err = {""};
    if (try_open(w, &spec, &c, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

/* The sentence, where %s stands for 'thing'. */
static void check_refused(struct world *w, struct qn_corpus_spec spec,
                          enum qn_status status, const char *sentence)
{
    struct qn_corpus *c = NULL;
    struct qn_err err = {""};
    assert_int_equal(try_open(w, &spec, &c, &err), status);
    assert_string_equal(err.text, sentence);
    assert_null(c);
}

static void check_text(const struct qn_corpus *c, enum qn_split split,
                       const char *text)
{
    size_t n;
    const int32_t *ids = qn_corpus_ids(c, split, &n);
    struct qn_str out = {0};
    qn_str_add(&out, "");
    qn_vocab_decode(qn_corpus_vocab(c), ids, n, &out);
    assert_string_equal(out.text != NULL ? out.text : "", text);
    qn_str_free(&out);
}

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

/* One file of this text, refused with "<path>: sentence". */
static void check_bad_text(struct world *w, const char *text,
                           const char *sentence)
{
    char *path = put(w, "bad", text);
    char *whole = qn_xasprintf("%s: %s", path, sentence);
    check_refused(w, (struct qn_corpus_spec){.path = {path}}, QN_EFORMAT,
                  whole);
    free(whole);
    free(path);
}

static void texts_that_cannot_be_learned_are_refused(void **state)
{
    struct world *w = *state;
    check_bad_text(w, "", "is empty");
    check_bad_text(w, "aaaa",
                   "holds one kind of symbol only, nothing to learn");
    check_bad_text(w, "abc\xe2\x82z",
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
    char *whole =
        qn_xasprintf("%s: is a folder, not a file", (char *)w->folder);
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

#define IN_WORLD(test)                                                         \
    cmocka_unit_test_setup_teardown(test, make_world, end_world)

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
        IN_WORLD(nul_characters_are_taken_with_a_warning),
        IN_WORLD(vocab_size_is_checked_when_given),
        IN_WORLD(fractions_must_leave_a_training_text),
        IN_WORLD(a_fixed_vocabulary_is_kept),
        IN_WORLD(a_fixed_vocabulary_needs_no_training_text),
        cmocka_unit_test(splits_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
