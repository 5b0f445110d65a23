/* words.c - tests of word level and of Penn Treebank's streams. */
#include "data/words.h"

#include "base/rng.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#define WORDS .kind = QN_SYMBOL_WORD

static void words_are_numbered_as_they_came(void **state)
{
    (void)state;
    struct qn_words *w = qn_words_new();
    char word[16];
    enum { N = 20000 };
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            int len = snprintf(word, sizeof word, "w%d", i);
            assert_int_equal(qn_words_add(w, word, (size_t)len), i);
        }
    }
    assert_int_equal(qn_words_size(w), N);
    assert_int_equal(qn_words_find(w, "w20000", 6), -1);
    assert_int_equal(qn_words_find(w, "w1", 2), 1);
    size_t len;
    assert_string_equal(qn_words_get(w, 12345, &len), "w12345");
    assert_int_equal(len, 6);
    qn_words_free(w);
}

/* Words of 8 bytes that begin their walk at the same slot of 2048 while the
 * table has its first key, 0: their walks get so long that it takes another. */
static void words_made_to_collide_are_found(void **state)
{
    (void)state;
    enum { N = 900 };
    static uint64_t word[N];
    struct qn_words *w = qn_words_new();
    int n = 0;
    for (uint64_t x = 0; n < N; x++) {
        if (qn_mix64(qn_mix64(sizeof x) ^ x) % 2048 == 0) {
            word[n] = x;
            assert_int_equal(qn_words_add(w, (char *)&x, sizeof x), n);
            n++;
        }
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(qn_words_find(w, (char *)&word[i], sizeof *word), i);
    }
    qn_words_free(w);
}

static void words_are_parted_by_white_space_and_lines_end(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", " the cat\tsat \r\n\n on\vthe\fmat");
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {path}, WORDS});
    const struct qn_vocab *v = qn_corpus_vocab(c);
    check_sizes(c, 9, 0, 0);
    check_text(c, QN_TRAIN, "the cat sat\n\non the mat\n");
    assert_int_equal(qn_vocab_find_word(v, "the", 3), 0);
    assert_int_equal(qn_vocab_eos(v), 3);
    assert_int_equal(qn_vocab_size(v), 6);
    assert_int_equal(qn_vocab_unk(v), QN_UNK);
    qn_corpus_free(c);
    free(path);
}

static void unk_has_a_row_only_where_it_is_needed(void **state)
{
    struct world *w = *state;
    char *train = put(w, "a", "a b\n");
    char *same = put(w, "b", "b a\n");
    char *other = put(w, "c", "b x\n");
    char *with = put(w, "d", "a <unk> b\n");
    struct qn_corpus_spec spec = {.path = {train, same}, WORDS};
    struct qn_corpus *c = opened(w, spec);
    assert_int_equal(qn_vocab_unk(qn_corpus_vocab(c)), QN_UNK);
    qn_corpus_free(c);
    spec.path[QN_TEST] = other;
    c = opened(w, spec);
    assert_int_equal(qn_vocab_unk(qn_corpus_vocab(c)), 3);
    check_text(c, QN_TEST, "b <unk>\n");
    qn_corpus_free(c);
    spec.path[QN_TRAIN] = with;
    c = opened(w, spec);
    assert_int_equal(qn_vocab_unk(qn_corpus_vocab(c)), 1);
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 4);
    check_text(c, QN_TEST, "b <unk>\n");
    qn_corpus_free(c);
    free(with);
    free(other);
    free(same);
    free(train);
}

static void special_words_may_have_other_names(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "A b </s> oov\n");
    struct qn_corpus_spec spec = {
        .path = {path}, WORDS, .eos = "</s>", .unk = "oov", .lower = true};
    struct qn_corpus *c = opened(w, spec);
    const struct qn_vocab *v = qn_corpus_vocab(c);
    assert_int_equal(qn_vocab_eos(v), 2);
    assert_int_equal(qn_vocab_unk(v), 3);
    check_text(c, QN_TRAIN, "a b\noov\n");
    qn_corpus_free(c);
    spec.eos = "oov";
    check_refused(w, spec, QN_EUSAGE, "data.eos and data.unk are both \"oov\"");
    spec.eos = "";
    spec.unk = "<eos>";
    check_refused(w, spec, QN_EUSAGE,
                  "data.eos and data.unk are both \"<eos>\"");
    spec.unk = "a b";
    check_refused(w, spec, QN_EUSAGE, "data.unk is \"a b\", must be one word");
    free(path);
}

static void words_are_cut_at_the_start_of_a_line(void **state)
{
    struct world *w = *state;
    /* 20 symbols; a quarter begins in the fifth line, after "i". */
    char *path = put(w, "t", "a b\nc d\ne f\ng h\ni j\nk\nl\nm\n");
    struct qn_corpus_spec spec = {
        .path = {path}, .fraction = {0, 0, 0.4}, WORDS};
    struct qn_corpus *c = opened(w, spec);
    check_sizes(c, 15, 0, 6);
    qn_corpus_free(c);
    free(path);
}

static void a_text_of_one_line_is_cut_between_words(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "a b c a b c a b c a b c a b c a b c a");
    struct qn_corpus_spec spec = {
        .path = {path}, .fraction = {0, 0.1, 0.1}, WORDS};
    struct qn_corpus *c = opened(w, spec);
    /* 19 words and the end; each piece that is cut off ends its line. */
    check_text(c, QN_TEST, "a\n");
    check_text(c, QN_VALID, "c\n");
    check_sizes(c, 18, 2, 2);
    qn_corpus_free(c);
    free(path);
}

static void word_texts_that_cannot_be_learned_are_refused(void **state)
{
    struct world *w = *state;
    const struct qn_corpus_spec spec = {WORDS};
    check_bad_text(w, spec, "", "is empty");
    check_bad_text(w, spec, "\n\n",
                   "holds one kind of symbol only, nothing to learn");
    check_bad_text(w, spec, "a b\x80 c",
                   "invalid UTF-8 at byte 3 (data.level=byte takes any bytes)");
    const struct qn_corpus_spec ptb = {.stream = QN_TEXT_PTB49};
    check_bad_text(w, ptb, " \n\n", "holds white space only");
    struct qn_corpus_spec both = {
        .path = {"t"}, WORDS, .stream = QN_TEXT_PTB50};
    check_refused(w, both, QN_EUSAGE,
                  "data.stream is ptb50, must be plain with data.level=word");
}

static void a_fixed_word_vocabulary_must_match(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "a b\n");
    struct qn_vocab *chars = qn_vocab_new(QN_SYMBOL_CODE_POINT);
    struct qn_vocab *words = qn_vocab_new_words(NULL, NULL);
    assert_int_equal(qn_vocab_learn(words, "a\n", 2, NULL), QN_OK);
    struct qn_corpus_spec spec = {.path = {path}, WORDS, .vocab = chars};
    check_refused(w, spec, QN_EUSAGE,
                  "data.level is word, the vocabulary of the run holds "
                  "characters");
    spec.vocab = words;
    char *whole =
        qn_xasprintf("%s: the word \"b\" is not in the vocabulary", path);
    check_refused(w, spec, QN_EUSAGE, whole);
    qn_vocab_add_unk(words);
    struct qn_corpus *c = opened(w, spec);
    check_text(c, QN_TRAIN, "a <unk>\n");
    assert_true(qn_vocab_equal(qn_corpus_vocab(c), words));
    qn_corpus_free(c);
    spec.vocab = NULL;
    spec.vocab_size = 4;
    check_refused(w, spec, QN_EUSAGE,
                  "data.vocab_size is 4, the text has 3 words");
    qn_vocab_free(words);
    qn_vocab_free(chars);
    free(whole);
    free(path);
}

static void a_word_vocabulary_comes_back_from_its_text(void **state)
{
    (void)state;
    static const char text[] = "a\\b \x01\xc2\xa0z \xc3\xa9 <unk>\n";
    struct qn_vocab *v = qn_vocab_new_words(NULL, NULL), *back;
    assert_int_equal(qn_vocab_learn(v, text, strlen(text), NULL), QN_OK);
    struct qn_str out = {0};
    qn_vocab_text(v, &out);
    assert_string_equal(out.text,
                        "a\\\\b\n\\x01\\xa0z\n\xc3\xa9\n<unk>\n<eos>\n");
    assert_int_equal(
        qn_vocab_parse_words(NULL, NULL, out.text, out.len, &back, NULL),
        QN_OK);
    assert_true(qn_vocab_equal(v, back));
    assert_int_equal(qn_vocab_unk(back), 3);
    assert_int_equal(qn_vocab_eos(back), 4);
    struct qn_vocab *copy = qn_vocab_copy(v);
    assert_true(qn_vocab_equal(v, copy));
    qn_vocab_free(copy);
    qn_vocab_free(back);
    qn_vocab_free(v);
    qn_str_free(&out);
    static const char *const bad[][2] = {
        {"", "holds no symbols"},
        {"a\n\n", "line 2 is not one word"},
        {"a b\n", "line 1 is not one word"},
        {"a\\sb\n", "line 1 is not one word"},
        {"a\\\n", "line 1 is not one word"},
        {"a\\u{12\n", "line 1 is not one word"},
        {"\xff\n", "line 1 is not one word"},
        {"a\n\\x61\n", "line 2 repeats the word of an earlier line"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct qn_err err;
        assert_int_equal(qn_vocab_parse_words(NULL, NULL, bad[i][0],
                                              strlen(bad[i][0]), &back, &err),
                         QN_EFORMAT);
        assert_string_equal(err.text, bad[i][1]);
    }
}

static void decoded_words_go_on_after_a_prompt(void **state)
{
    (void)state;
    struct qn_vocab *v = qn_vocab_new_words(NULL, NULL);
    assert_int_equal(qn_vocab_learn(v, "a b\n", 4, NULL), QN_OK);
    static const int32_t ids[] = {1, 2, 0};
    static const char *const joined[][2] = {
        {"", "b\na"}, {"the", "the b\na"}, {"the ", "the b\na"}};
    for (int i = 0; i < 3; i++) {
        struct qn_str out = {0};
        qn_str_add(&out, joined[i][0]);
        qn_vocab_decode(v, ids, 3, &out);
        assert_string_equal(out.text, joined[i][1]);
        qn_str_free(&out);
    }
    qn_vocab_free(v);
}

static void check_stream(struct world *w, enum qn_text_stream stream,
                         const char *text, const char *joined)
{
    char *path = put(w, "t", text);
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {path}, .stream = stream});
    check_text(c, QN_TRAIN, joined);
    qn_corpus_free(c);
    free(path);
}

static void streams_join_lines_as_penn_treebank_has_them(void **state)
{
    struct world *w = *state;
    check_stream(w, QN_TEXT_PTB49, " a b \n c \n", " a b c");
    check_stream(w, QN_TEXT_PTB50, " a b \n c \n", "a b\nc\n");
}

static void streams_take_other_lines_as_well(void **state)
{
    struct world *w = *state;
    check_stream(w, QN_TEXT_PTB49, "a  b\r\n\n\t c", " a  b c");
    check_stream(w, QN_TEXT_PTB50, "a  b\r\n\n\t c", "a  b\n\nc\n");
    check_stream(w, QN_TEXT_PLAIN, "a  b\r\n\n\t c", "a  b\r\n\n\t c");
}

/* The numbers of the paper's sources; skipped where there is no such text. */
static void penn_treebank_has_its_published_sizes(void **state)
{
    struct qn_corpus_spec spec = {
        .path = {"ptb/ptb.train.txt", "ptb/ptb.valid.txt", "ptb/ptb.test.txt"}};
    static const struct {
        struct qn_corpus_spec spec;
        int vocab;
        size_t n[QN_N_SPLITS];
    } expected[] = {
        {{.stream = QN_TEXT_PTB49}, 49, {5017482, 393042, 442423}},
        {{.stream = QN_TEXT_PTB50}, 50, {5017482, 393042, 442423}},
        {{WORDS}, 10000, {929589, 73760, 82430}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct qn_corpus *c = NULL;
        spec.kind = expected[i].spec.kind;
        spec.stream = expected[i].spec.stream;
        enum qn_status status = qn_corpus_open(&spec, NULL, &c, NULL);
        if (status == QN_ENOTFOUND) {
            skip();
        }
        assert_int_equal(status, QN_OK);
        assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), expected[i].vocab);
        const size_t *n = expected[i].n;
        check_sizes(c, n[QN_TRAIN], n[QN_VALID], n[QN_TEST]);
        qn_corpus_free(c);
    }
}

int main(void)
{
    /* Before the fixtures, which set a data folder of their own. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(penn_treebank_has_its_published_sizes),
        cmocka_unit_test(words_are_numbered_as_they_came),
        cmocka_unit_test(words_made_to_collide_are_found),
        IN_WORLD(words_are_parted_by_white_space_and_lines_end),
        IN_WORLD(unk_has_a_row_only_where_it_is_needed),
        IN_WORLD(special_words_may_have_other_names),
        IN_WORLD(words_are_cut_at_the_start_of_a_line),
        IN_WORLD(a_text_of_one_line_is_cut_between_words),
        IN_WORLD(word_texts_that_cannot_be_learned_are_refused),
        IN_WORLD(a_fixed_word_vocabulary_must_match),
        cmocka_unit_test(a_word_vocabulary_comes_back_from_its_text),
        cmocka_unit_test(decoded_words_go_on_after_a_prompt),
        IN_WORLD(streams_join_lines_as_penn_treebank_has_them),
        IN_WORLD(streams_take_other_lines_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
