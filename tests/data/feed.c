/* feed.c - tests of what a split gives to a pass. */
#include "data/feed.h"

#include "world.h"

#include <string.h>

#define BATCH 4

/* n documents; document i has the word w<i>, then 1 + i * 7 % 13 times x. */
static struct qn_corpus *open_documents(struct world *w, int n)
{
    struct qn_str text = {0};
    for (int i = 0; i < n; i++) {
        qn_str_addf(&text, "%d\t\tw%d", i % 2, i);
        for (int k = 0; k <= i * 7 % 13; k++) {
            qn_str_add(&text, " x");
        }
        qn_str_add(&text, "\n");
    }
    char *path = put(w, "d.tsv", text.text);
    struct qn_corpus *c = opened(w, (struct qn_corpus_spec){
                                        .path = {path, path},
                                        .kind = QN_SYMBOL_WORD,
                                        .documents = true,
                                    });
    qn_str_free(&text);
    free(path);
    return c;
}

static struct qn_feed *train_feed(const struct qn_corpus *c, uint64_t seed)
{
    struct qn_feed *f = NULL;
    assert_int_equal(qn_feed_train(c, BATCH, 0, seed, &f, NULL), QN_OK);
    return f;
}

/* The document that a row is of, found by its first word and compared as a
 * whole; its number in the split. */
static size_t find_row(const struct qn_corpus *c, enum qn_split split,
                       const int32_t *row, size_t len)
{
    const struct qn_documents *d = qn_corpus_documents(c, split);
    size_t n;
    const int32_t *ids = qn_corpus_ids(c, split, &n);
    for (size_t i = 0; i < d->n; i++) {
        if (ids[d->start[i]] == row[0]) {
            assert_int_equal(d->start[i + 1] - d->start[i], len);
            assert_memory_equal(ids + d->start[i], row, len * sizeof *row);
            return i;
        }
    }
    fail_msg("a row is no document");
    return 0;
}

/* Check one batch; 'times' counts the documents in it. Returns the document of
 * its first row. */
static size_t check_batch(const struct qn_corpus *c, enum qn_split split,
                          const struct qn_portion *p, int *times)
{
    const struct qn_documents *d = qn_corpus_documents(c, split);
    size_t first = 0, n_symbols = 0;
    int longest = 0;
    for (int b = 0; b < BATCH; b++) {
        const int32_t *row = p->ids + b * p->steps;
        int len = p->n_real[b];
        for (int t = 0; t < p->steps; t++) {
            assert_int_equal(row[t] >= 0, t < len);
            assert_true(row[t] >= -1);
        }
        longest = len > longest ? len : longest;
        n_symbols += (size_t)len;
        if (len == 0) {
            assert_int_equal(p->targets[b], -1);
            continue;
        }
        size_t document = find_row(c, split, row, (size_t)len);
        assert_int_equal(p->targets[b], d->label[document]);
        times[document]++;
        first = b == 0 ? document : first;
    }
    assert_int_equal(p->steps, longest);
    assert_int_equal(p->n_symbols, n_symbols);
    return first;
}

/* An epoch: every document once. order[i]: the first document of batch i. */
static void check_epoch(struct qn_feed *f, const struct qn_corpus *c,
                        enum qn_split split, int64_t epoch, size_t *order)
{
    const struct qn_documents *d = qn_corpus_documents(c, split);
    int *times = qn_xcalloc(d->n, sizeof *times);
    int longest = 0;
    for (size_t i = 0; i < qn_feed_n_segments(f); i++) {
        struct qn_portion p;
        qn_feed_read(f, epoch, i, &p);
        order[i] = check_batch(c, split, &p, times);
        longest = p.steps > longest ? p.steps : longest;
    }
    assert_int_equal(qn_feed_steps(f), longest);
    for (size_t i = 0; i < d->n; i++) {
        assert_int_equal(times[i], 1);
    }
    free(times);
}

static void every_document_comes_once_an_epoch(void **state)
{
    struct world *w = *state;
    for (int n = 2; n <= 27; n++) {
        struct qn_corpus *c = open_documents(w, n);
        struct qn_feed *f = train_feed(c, 1);
        size_t order[7];
        assert_int_equal(qn_feed_n_segments(f), (n + BATCH - 1) / BATCH);
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            check_epoch(f, c, QN_TRAIN, epoch, order);
        }
        assert_true(qn_feed_starts_anew(f));
        qn_feed_free(f);
        qn_corpus_free(c);
    }
}

static void the_order_is_drawn_from_seed_and_epoch(void **state)
{
    enum { N = 100, N_BATCHES = N / BATCH };
    struct world *w = *state;
    struct qn_corpus *c = open_documents(w, N);
    struct qn_feed *a = train_feed(c, 7), *b = train_feed(c, 7);
    struct qn_feed *other = train_feed(c, 8);
    size_t first[N_BATCHES], later[N_BATCHES], again[N_BATCHES];
    check_epoch(a, c, QN_TRAIN, 0, first);
    check_epoch(a, c, QN_TRAIN, 5, later);
    assert_memory_not_equal(first, later, sizeof first);
    /* What a resumed run does: begin at any epoch; and go back, too. */
    check_epoch(b, c, QN_TRAIN, 5, again);
    assert_memory_equal(again, later, sizeof later);
    check_epoch(a, c, QN_TRAIN, 0, again);
    assert_memory_equal(again, first, sizeof first);
    check_epoch(other, c, QN_TRAIN, 0, again);
    assert_memory_not_equal(again, first, sizeof first);
    qn_feed_free(a);
    qn_feed_free(b);
    qn_feed_free(other);
    qn_corpus_free(c);
}

static size_t length_of(const struct qn_documents *d, size_t i)
{
    return d->start[i + 1] - d->start[i];
}

static void batches_are_neighbours_in_length_and_then_as_they_came(void **state)
{
    enum { N = 100 };
    struct world *w = *state;
    struct qn_corpus *c = open_documents(w, N);
    const struct qn_documents *d = qn_corpus_documents(c, QN_VALID);
    struct qn_feed *f;
    assert_int_equal(qn_feed_eval(c, QN_VALID, BATCH, 0, 0, &f, NULL), QN_OK);
    size_t before = 0;
    bool begun = false;
    for (size_t i = 0; i < qn_feed_n_segments(f); i++) {
        struct qn_portion p;
        qn_feed_read(f, 0, i, &p);
        for (int b = 0; b < BATCH; b++) {
            size_t now =
                find_row(c, QN_VALID, p.ids + b * p.steps, (size_t)p.n_real[b]);
            assert_true(
                !begun || length_of(d, before) < length_of(d, now) ||
                (length_of(d, before) == length_of(d, now) && before < now));
            before = now;
            begun = true;
        }
    }
    qn_feed_free(f);
    qn_corpus_free(c);
}

static void a_limit_takes_documents_from_the_front(void **state)
{
    enum { N = 30, LIMIT = 9 };
    struct world *w = *state;
    struct qn_corpus *c = open_documents(w, N);
    struct qn_feed *f;
    assert_int_equal(qn_feed_eval(c, QN_VALID, BATCH, 0, LIMIT, &f, NULL),
                     QN_OK);
    assert_int_equal(qn_feed_n_segments(f), 3);
    int times[N] = {0};
    for (size_t i = 0; i < 3; i++) {
        struct qn_portion p;
        qn_feed_read(f, 0, i, &p);
        (void)check_batch(c, QN_VALID, &p, times);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(times[i], i < LIMIT);
    }
    qn_feed_free(f);
    assert_int_equal(qn_feed_eval(c, QN_VALID, BATCH, 0, N + 1, &f, NULL),
                     QN_OK);
    assert_int_equal(qn_feed_n_segments(f), 8);
    qn_feed_free(f);
    qn_corpus_free(c);
}

static void reading_allocates_nothing(void **state)
{
    struct world *w = *state;
    struct qn_corpus *c = open_documents(w, 30);
    struct qn_feed *f = train_feed(c, 1);
    uint64_t before = qn_mem_count();
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        struct qn_portion p;
        qn_feed_read(f, epoch, 0, &p);
    }
    assert_int_equal(qn_mem_count(), before);
    qn_feed_free(f);
    qn_corpus_free(c);
}

static struct qn_corpus *open_text(struct world *w, const char *text)
{
    char *path = put(w, "t", text);
    char *other = put(w, "u", "b");
    struct qn_corpus *c =
        opened(w, (struct qn_corpus_spec){.path = {path, path, other}});
    free(other);
    free(path);
    return c;
}

/* Ids of a portion, row by row, as digits; "." is a row's end. */
static void check_ids(const int32_t *ids, const struct qn_portion *p, int batch,
                      const char *digits)
{
    struct qn_str out = {0};
    for (int b = 0; b < batch; b++) {
        for (int t = 0; t < p->steps; t++) {
            int32_t id = ids[b * p->steps + t];
            qn_str_add(&out, id < 0 ? "-" : "");
            qn_str_addf(&out, "%d", id < 0 ? -id : id);
        }
        qn_str_add(&out, ".");
    }
    assert_string_equal(out.text, digits);
    qn_str_free(&out);
}

static void a_text_is_fed_as_streams(void **state)
{
    struct world *w = *state;
    struct qn_corpus *c = open_text(w, "abcdefghij");
    struct qn_feed *f;
    assert_int_equal(qn_feed_train(c, 2, 2, 1, &f, NULL), QN_OK);
    assert_int_equal(qn_feed_n_segments(f), 2);
    assert_int_equal(qn_feed_steps(f), 2);
    assert_false(qn_feed_starts_anew(f));
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        struct qn_portion p;
        qn_feed_read(f, epoch, 1, &p);
        check_ids(p.ids, &p, 2, "23.67.");
        check_ids(p.targets, &p, 2, "34.78.");
        assert_null(p.n_real);
        assert_int_equal(p.n_symbols, 4);
    }
    qn_feed_free(f);

    assert_int_equal(qn_feed_eval(c, QN_VALID, 2, 3, 0, &f, NULL), QN_OK);
    assert_int_equal(qn_feed_n_segments(f), 2);
    struct qn_portion p;
    qn_feed_read(f, 0, 1, &p);
    check_ids(p.ids, &p, 2, "34.80.");
    check_ids(p.targets, &p, 2, "45.9-1.");
    assert_int_equal(p.n_real[0], 2);
    assert_int_equal(p.n_real[1], 1);
    assert_int_equal(p.n_symbols, 3);
    qn_feed_free(f);
    qn_corpus_free(c);
}

static void check_no_feed(const struct qn_corpus *c, enum qn_split split,
                          const char *sentence)
{
    struct qn_feed *f = NULL;
    struct qn_err err = {""};
    assert_int_equal(qn_feed_eval(c, split, 2, 2, 0, &f, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
    assert_null(f);
}

static void splits_with_nothing_to_predict_are_refused(void **state)
{
    struct world *w = *state;
    struct qn_corpus *c = open_text(w, "abc");
    struct qn_feed *f = NULL;
    struct qn_err err = {""};
    assert_int_equal(qn_feed_train(c, 2, 2, 1, &f, &err), QN_EUSAGE);
    assert_string_equal(err.text, "the training text has 3 symbols; batch 2 x "
                                  "seq 2 wants at least 5");
    assert_null(f);
    check_no_feed(c, QN_TEST,
                  "the test split has one symbol only, nothing to predict");
    qn_corpus_free(c);

    c = open_documents(w, 5);
    check_no_feed(c, QN_TEST, "the test split has no documents");
    struct qn_corpus_spec spec = {
        .kind = QN_SYMBOL_WORD, .documents = true, .vocab = qn_corpus_vocab(c)};
    struct qn_corpus *none = opened(w, spec);
    assert_int_equal(qn_feed_train(none, 2, 0, 1, &f, &err), QN_EUSAGE);
    assert_string_equal(err.text, "the training split has no documents");
    assert_null(f);
    qn_corpus_free(none);
    qn_corpus_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(every_document_comes_once_an_epoch),
        IN_WORLD(the_order_is_drawn_from_seed_and_epoch),
        IN_WORLD(batches_are_neighbours_in_length_and_then_as_they_came),
        IN_WORLD(a_limit_takes_documents_from_the_front),
        IN_WORLD(reading_allocates_nothing),
        IN_WORLD(a_text_is_fed_as_streams),
        IN_WORLD(splits_with_nothing_to_predict_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
