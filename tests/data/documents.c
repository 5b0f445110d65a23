/* documents.c - tests of a corpus of labelled documents. */
#include "world.h"

#include <string.h>

/* A set of n documents of which each holds a word of its own and one of five
 * that all have: "0 TAB 1 TAB w12 same2". */
static char *put_set(const struct world *w, const char *name, int n,
                     const char *mark)
{
    struct qn_str text = {0};
    for (int i = 0; i < n; i++) {
        qn_str_addf(&text, "%d\t1\t%s%d same%d\n", i % 2, mark, i, i % 5);
    }
    char *path = put(w, name, text.text);
    qn_str_free(&text);
    return path;
}

static struct qn_corpus_spec documents_of(char *train)
{
    return (struct qn_corpus_spec){.path = {train},
                                   .kind = QN_SYMBOL_WORD,
                                   .documents = true,
                                   .max_words = 3000};
}

/* Document i as words parted by spaces; the caller frees it. */
static char *text_of(const struct qn_corpus *c, enum qn_split split, size_t i)
{
    const struct qn_documents *d = qn_corpus_documents(c, split);
    size_t n;
    const int32_t *ids = qn_corpus_ids(c, split, &n);
    assert_true(i < d->n && d->start[i + 1] <= n);
    struct qn_str out = {0};
    for (size_t t = d->start[i]; t < d->start[i + 1]; t++) {
        size_t len;
        const char *word = qn_vocab_word(qn_corpus_vocab(c), ids[t], &len);
        qn_str_addf(&out, "%s%s", t > d->start[i] ? " " : "", word);
    }
    return qn_str_take(&out);
}

static void check_words(const struct qn_corpus *c, enum qn_split split,
                        size_t i, const char *text)
{
    char *found = text_of(c, split, i);
    assert_string_equal(found, text);
    free(found);
}

/* The number in "w12 same2", whose label and second word follow from it. */
static int number_of(const struct qn_corpus *c, enum qn_split split, size_t i)
{
    char *text = text_of(c, split, i);
    char *end;
    long number = strtol(text + 1, &end, 10);
    char *rest = qn_xasprintf(" same%ld", number % 5);
    assert_string_equal(end, rest);
    assert_int_equal(qn_corpus_documents(c, split)->label[i], number % 2);
    free(rest);
    free(text);
    return (int)number;
}

/* Count in 'times' the documents of a split; returns how many it has. */
static size_t count_numbers(const struct qn_corpus *c, enum qn_split split,
                            int *times)
{
    size_t n = qn_corpus_documents(c, split)->n;
    for (size_t i = 0; i < n; i++) {
        times[number_of(c, split, i)]++;
    }
    return n;
}

static void folds_partition_the_documents(void **state)
{
    enum { N = 53, FOLDS = 5 };
    struct world *w = *state;
    char *path = put_set(w, "d.tsv", N, "w");
    int validated[N] = {0};
    for (int k = 1; k <= FOLDS; k++) {
        struct qn_corpus_spec spec = documents_of(path);
        spec.fold.k = k;
        spec.fold.n = FOLDS;
        /* The words of the fold itself are unknown to train: of a fixed
         * vocabulary all are known. */
        struct qn_corpus *all = opened(w, documents_of(path));
        spec.vocab = qn_corpus_vocab(all);
        struct qn_corpus *c = opened(w, spec);
        int seen[N] = {0};
        size_t n_train = count_numbers(c, QN_TRAIN, seen);
        size_t n_valid = count_numbers(c, QN_VALID, seen);
        assert_int_equal(n_train + n_valid, N);
        assert_true(n_valid == N / FOLDS || n_valid == N / FOLDS + 1);
        for (int i = 0; i < N; i++) {
            assert_int_equal(seen[i], 1);
        }
        (void)count_numbers(c, QN_VALID, validated);
        assert_string_equal(qn_corpus_path(c, QN_VALID), path);
        assert_string_equal(qn_corpus_sha256(c, QN_VALID),
                            qn_corpus_sha256(c, QN_TRAIN));
        assert_string_equal(qn_corpus_sha256(c, QN_TEST), "");
        qn_corpus_free(c);
        qn_corpus_free(all);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(validated[i], 1);
    }
    free(path);
}

static void a_test_fraction_is_cut_before_the_folds(void **state)
{
    enum { N = 50 };
    struct world *w = *state;
    char *path = put_set(w, "d.tsv", N, "w");
    struct qn_corpus *all = opened(w, documents_of(path));
    struct qn_corpus_spec spec = documents_of(path);
    spec.vocab = qn_corpus_vocab(all);
    spec.fraction[QN_TEST] = 0.2;
    int tested[N] = {0};
    for (int k = 1; k <= 4; k++) {
        spec.fold.k = k;
        spec.fold.n = 4;
        struct qn_corpus *c = opened(w, spec);
        int seen[N] = {0};
        assert_int_equal(count_numbers(c, QN_TRAIN, seen), 30);
        assert_int_equal(count_numbers(c, QN_VALID, seen), 10);
        assert_int_equal(count_numbers(c, QN_TEST, seen), 10);
        (void)count_numbers(c, QN_TEST, tested);
        for (int i = 0; i < N; i++) {
            assert_int_equal(seen[i], 1);
        }
        /* The last ones of the order that all documents have. */
        for (size_t i = 0; i < 10; i++) {
            assert_int_equal(number_of(c, QN_TEST, i),
                             number_of(all, QN_TRAIN, 40 + i));
        }
        qn_corpus_free(c);
    }
    for (int i = 0; i < N; i++) {
        assert_true(tested[i] == 0 || tested[i] == 4);
    }
    qn_corpus_free(all);
    free(path);
}

static void documents_are_shuffled_always_alike(void **state)
{
    enum { N = 100 };
    struct world *w = *state;
    char *path = put_set(w, "d.tsv", N, "w");
    struct qn_corpus *a = opened(w, documents_of(path));
    struct qn_corpus *b = opened(w, documents_of(path));
    int in_place = 0;
    for (size_t i = 0; i < N; i++) {
        int number = number_of(a, QN_TRAIN, i);
        assert_int_equal(number, number_of(b, QN_TRAIN, i));
        in_place += number == (int)i;
    }
    /* One is to be expected of a fair shuffle. */
    assert_true(in_place < 10);
    qn_corpus_free(a);
    qn_corpus_free(b);
    free(path);
}

static void splits_of_their_own_are_kept_apart(void **state)
{
    struct world *w = *state;
    char *path = put_set(w, "d.tsv", 10, "w");
    char *other = put_set(w, "e.tsv", 6, "w");
    struct qn_corpus_spec spec = documents_of(path);
    spec.path[QN_VALID] = other;
    spec.path[QN_TEST] = path;
    spec.fraction[QN_TEST] = 0.5;
    struct qn_corpus *c = opened(w, spec);
    int seen[10] = {0};
    assert_int_equal(count_numbers(c, QN_TRAIN, seen), 10);
    assert_int_equal(count_numbers(c, QN_VALID, seen), 6);
    assert_int_equal(count_numbers(c, QN_TEST, seen), 10);
    assert_string_equal(qn_corpus_path(c, QN_VALID), other);
    assert_string_not_equal(qn_corpus_sha256(c, QN_VALID),
                            qn_corpus_sha256(c, QN_TEST));
    assert_string_equal(qn_corpus_sha256(c, QN_TRAIN),
                        qn_corpus_sha256(c, QN_TEST));
    qn_corpus_free(c);
    free(other);
    free(path);
}

static void ids_without_vectors_are_those_of_train(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\tb a b\n1\t\tc a\n");
    char *other = put(w, "e.tsv", "1\t\ta new c newer\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.path[QN_TEST] = other;
    struct qn_corpus *c = opened(w, spec);
    size_t n;
    const int32_t *ids = qn_corpus_ids(c, QN_TRAIN, &n);
    assert_int_equal(n, 5);
    int32_t next = 0;
    for (size_t t = 0; t < n; t++) {
        assert_true(ids[t] <= next);
        next += ids[t] == next;
    }
    assert_int_equal(next, 3);
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 4);
    assert_int_equal(qn_vocab_unk(qn_corpus_vocab(c)), 3);
    check_words(c, QN_TEST, 0, "a <unk> c <unk>");
    assert_null(qn_corpus_vectors(c));
    qn_corpus_free(c);

    /* Known words only: no row for unknown ones. */
    spec.path[QN_TEST] = path;
    c = opened(w, spec);
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 3);
    qn_corpus_free(c);
    free(other);
    free(path);
}

static void words_without_vector_are_dropped(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\tThe b q b\n1\t\tc q a\n");
    char *other = put(w, "e.tsv", "1\t\td b zz d\n");
    char *vectors = put(w, "v.txt",
                        "a 1 2\nzz 0 0.5\nb 3 4\nthe 5 6\nd 7 8\n"
                        "none 9 9\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.path[QN_TEST] = other;
    spec.lower = true;
    spec.vectors = vectors;
    spec.vector_width = 2;
    struct qn_corpus *c = opened(w, spec);
    const char *const words[] = {"the", "b", "a", "d", "zz"};
    const float expected[] = {5, 6, 3, 4, 1, 2, 7, 8, 0, 0.5f};
    const struct qn_vocab *v = qn_corpus_vocab(c);
    assert_int_equal(qn_vocab_size(v), 5);
    assert_int_equal(qn_vocab_unk(v), QN_UNK);
    for (int id = 0; id < 5; id++) {
        size_t len;
        assert_string_equal(qn_vocab_word(v, id, &len), words[id]);
    }
    assert_memory_equal(qn_corpus_vectors(c), expected, sizeof expected);
    size_t negative = qn_corpus_documents(c, QN_TRAIN)->label[0] == 0 ? 0 : 1;
    check_words(c, QN_TRAIN, negative, "the b b");
    check_words(c, QN_TRAIN, 1 - negative, "a");
    check_words(c, QN_TEST, 0, "d b zz d");
    char *said =
        qn_xasprintf("%s: no vector for 3 of 11 words (27.27 %%; 2 of 7 "
                     "kinds), which are dropped",
                     vectors);
    assert_int_equal(w->n_heard, 1);
    assert_string_equal(w->heard, said);
    qn_corpus_free(c);
    free(said);
    free(vectors);
    free(other);
    free(path);
}

static void nothing_is_said_when_no_word_is_dropped(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\tthe b\n1\t\ta b\n");
    char *vectors = put(w, "v.txt", "a 1 2\nb 3 4\nthe 5 6\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.vectors = vectors;
    spec.vector_width = 2;
    struct qn_corpus *c = opened(w, spec);
    assert_int_equal(w->n_heard, 0);
    qn_corpus_free(c);
    free(vectors);
    free(path);
}

static void a_fixed_vocabulary_drops_what_it_lacks(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "1\t\ta b c d\n");
    struct qn_vocab *v = qn_vocab_new_words(NULL, NULL);
    (void)qn_vocab_add_word(v, "c", 1);
    (void)qn_vocab_add_word(v, "a", 1);
    struct qn_corpus_spec spec = documents_of(NULL);
    spec.path[QN_TEST] = path;
    spec.vocab = v;
    spec.vectors = "no such file"; /* not read then */
    struct qn_corpus *c = opened(w, spec);
    check_words(c, QN_TEST, 0, "a c");
    assert_int_equal(qn_corpus_documents(c, QN_TRAIN)->n, 0);
    assert_int_equal(qn_corpus_documents(c, QN_TRAIN)->longest, 0);
    assert_int_equal(qn_corpus_documents(c, QN_TRAIN)->start[0], 0);
    assert_null(qn_corpus_vectors(c));
    qn_corpus_free(c);
    (void)qn_vocab_add_unk(v);
    c = opened(w, spec);
    check_words(c, QN_TEST, 0, "a <unk> c <unk>");
    assert_true(qn_vocab_equal(qn_corpus_vocab(c), v));
    qn_corpus_free(c);
    qn_vocab_free(v);
    free(path);
}

static void long_documents_are_cut_and_named(void **state)
{
    struct world *w = *state;
    struct qn_str text = {0};
    qn_str_add(&text, "0\t\tx y\n1\t\tx y x\n0\t\t");
    for (int i = 0; i < 20000; i++) {
        qn_str_add(&text, i % 2 == 0 ? "x " : "y ");
    }
    qn_str_add(&text, "z\n1\t\ty x y x\n");
    char *path = put(w, "d.tsv", text.text);
    struct qn_corpus_spec spec = documents_of(path);
    spec.max_words = 3;
    struct qn_corpus *c = opened(w, spec);
    const struct qn_documents *d = qn_corpus_documents(c, QN_TRAIN);
    assert_int_equal(d->n, 4);
    assert_int_equal(d->longest, 3);
    assert_int_equal(d->start[4], 2 + 3 + 3 + 3);
    /* A word that is never read has no row. */
    assert_int_equal(qn_vocab_size(qn_corpus_vocab(c)), 2);
    char *said = qn_xasprintf("train split: 2 of 4 documents cut at "
                              "data.max_words = 3, the first is line 3 of %s",
                              path);
    assert_int_equal(w->n_heard, 1);
    assert_string_equal(w->heard, said);
    qn_corpus_free(c);
    free(said);
    free(path);
    qn_str_free(&text);
}

static void max_words_counts_what_is_left(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv",
                     "0\t\tq a q b q q\n1\t\ta b b\n"
                     "0\t\tq q a b a\n");
    char *vectors = put(w, "v.txt", "a 1\nb 2\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.vectors = vectors;
    spec.vector_width = 1;
    spec.max_words = 2;
    struct qn_corpus *c = opened(w, spec);
    check_words(c, QN_TRAIN, 0, "a b");
    check_words(c, QN_TRAIN, 1, "a b");
    check_words(c, QN_TRAIN, 2, "a b");
    char *said = qn_xasprintf("train split: 2 of 3 documents cut at "
                              "data.max_words = 2, the first is line 2 of %s",
                              path);
    assert_string_equal(w->heard, said);
    qn_corpus_free(c);
    free(said);
    free(vectors);
    free(path);
}

static void documents_without_words_are_left_out_and_named(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\ta b\n1\t\t\n1\t\tb\n0\t\t <br /> \n");
    struct qn_corpus *c = opened(w, documents_of(path));
    const struct qn_documents *d = qn_corpus_documents(c, QN_TRAIN);
    assert_int_equal(d->n, 2);
    assert_int_equal(d->label[0] + d->label[1], 1);
    assert_int_equal(d->start[2], 3);
    char *said = qn_xasprintf("train split: 2 documents without a known word "
                              "left out, the first is line 2 of %s",
                              path);
    assert_int_equal(w->n_heard, 1);
    assert_string_equal(w->heard, said);
    qn_corpus_free(c);
    free(said);
    free(path);
}

static void documents_that_teach_nothing_are_refused(void **state)
{
    struct world *w = *state;
    struct qn_corpus_spec spec = documents_of(NULL);
    check_refused(w, spec, QN_EUSAGE, "data.train names no documents");
    check_bad_text(w, spec, "0\t\ta\n0\t\tb\n",
                   "all documents of the train split are negative, nothing to "
                   "learn");
    check_bad_text(w, spec, "1\t\ta\n",
                   "all documents of the train split are positive, nothing to "
                   "learn");
    check_bad_text(w, spec, "0\t\t\n1\t\t \n", "holds no words");
    /* Before vectors are even looked for. */
    spec.vectors = "nowhere";
    spec.vector_width = 1;
    check_bad_text(w, spec, "0\t\ta\n0\t\tb\n",
                   "all documents of the train split are negative, nothing to "
                   "learn");
    check_bad_text(w, spec, "3\t\ta\n",
                   "line 1: the label is \"3\", must be 0 or neg, 1 or pos");
}

static void vectors_must_know_a_word(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\tA\n1\t\tB\n");
    char *vectors = put(w, "v.txt", "a 1\nb 2\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.vectors = vectors;
    spec.vector_width = 1;
    char *sentence =
        qn_xasprintf("%s: no word of %s has a vector", vectors, path);
    check_refused(w, spec, QN_EFORMAT, sentence);
    free(sentence);
    free(vectors);
    free(path);
}

static void too_few_documents_for_the_folds_are_refused(void **state)
{
    struct world *w = *state;
    char *path = put_set(w, "d.tsv", 5, "w");
    struct qn_corpus_spec spec = documents_of(path);
    spec.fold.k = 1;
    spec.fold.n = 5;
    spec.fraction[QN_TEST] = 0.2;
    char *sentence = qn_xasprintf("%s: has 4 documents to train on, too few "
                                  "for 5 folds",
                                  path);
    check_refused(w, spec, QN_EUSAGE, sentence);
    char *two = put_set(w, "e.tsv", 2, "w");
    spec.path[QN_TRAIN] = two;
    spec.fraction[QN_TEST] = 0.5;
    char *one = qn_xasprintf("%s: has 1 document to train on, too few for 5 "
                             "folds",
                             two);
    check_refused(w, spec, QN_EUSAGE, one);
    free(one);
    free(two);
    spec.path[QN_TRAIN] = path;
    spec.fraction[QN_TEST] = 1.5;
    check_refused(w, spec, QN_EUSAGE,
                  "data.test is 1.5, must be a path or at least 0 and less "
                  "than 1");
    free(sentence);
    free(path);
}

static void vocab_size_counts_the_words_of_documents(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv", "0\t\ta b\n1\t\tb c\n");
    char *other = put(w, "e.tsv", "0\t\td\n");
    struct qn_corpus_spec spec = documents_of(path);
    spec.path[QN_VALID] = other;
    spec.vocab_size = 3;
    check_refused(w, spec, QN_EUSAGE,
                  "data.vocab_size is 3, the documents have 4 words, counting "
                  "the one for unknown words");
    spec.vocab_size = 4;
    qn_corpus_free(opened(w, spec));
    free(other);
    free(path);
}

static void a_text_has_no_documents(void **state)
{
    struct world *w = *state;
    char *path = put(w, "t", "some text");
    struct qn_corpus *c = opened(w, (struct qn_corpus_spec){.path = {path}});
    assert_null(qn_corpus_documents(c, QN_TRAIN));
    assert_null(qn_corpus_vectors(c));
    qn_corpus_free(c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(folds_partition_the_documents),
        IN_WORLD(a_test_fraction_is_cut_before_the_folds),
        IN_WORLD(documents_are_shuffled_always_alike),
        IN_WORLD(splits_of_their_own_are_kept_apart),
        IN_WORLD(ids_without_vectors_are_those_of_train),
        IN_WORLD(words_without_vector_are_dropped),
        IN_WORLD(nothing_is_said_when_no_word_is_dropped),
        IN_WORLD(a_fixed_vocabulary_drops_what_it_lacks),
        IN_WORLD(long_documents_are_cut_and_named),
        IN_WORLD(max_words_counts_what_is_left),
        IN_WORLD(documents_without_words_are_left_out_and_named),
        IN_WORLD(documents_that_teach_nothing_are_refused),
        IN_WORLD(vectors_must_know_a_word),
        IN_WORLD(too_few_documents_for_the_folds_are_refused),
        IN_WORLD(vocab_size_counts_the_words_of_documents),
        IN_WORLD(a_text_has_no_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
