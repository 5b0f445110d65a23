/* imdb.c - the reviews of IMDb as the paper's authors cut them; skipped where
 * there are none (scripts/get-data imdb glove/glove.6B.100d.txt). */
#include "data/feed.h"

#include "world.h"

/* The paper's. */
enum { FOLDS = 5, BATCH = 24, N_BATCHES = 834 };

static void say(void *user, enum qn_log_level level, const char *line)
{
    (void)user;
    (void)level;
    print_message("%s\n", line);
}

static struct qn_corpus_spec fold(int k)
{
    return (struct qn_corpus_spec){
        .path = {"imdb/imdb.train.tsv", NULL, "imdb/imdb.test.tsv"},
        .kind = QN_SYMBOL_WORD,
        .lower = true,
        .documents = true,
        .fold = {k, FOLDS},
        .vector_width = 100,
        .max_words = 3000,
    };
}

/* The same as far as these reviews have their words; the first is shorter. */
static const char *const vectors[] = {"glove/glove.6B.100d.imdb.txt",
                                      "glove/glove.6B.100d.txt"};

static struct qn_corpus *open_or_skip(int k, const struct qn_vocab *vocab)
{
    struct qn_corpus *c = NULL;
    struct qn_corpus_spec spec = fold(k);
    struct qn_err err = {""};
    struct qn_log *log = qn_log_new(say, NULL);
    if (vocab != NULL) {
        spec.vocab = vocab;
        spec.path[QN_TEST] = NULL; /* it is the same in every fold */
    }
    enum qn_status status = QN_ENOTFOUND;
    for (int i = 0; i < 2 && status == QN_ENOTFOUND; i++) {
        spec.vectors = vectors[i];
        status = qn_corpus_open(&spec, log, &c, &err);
    }
    qn_log_free(log);
    if (status == QN_ENOTFOUND) {
        skip();
    }
    if (status != QN_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

static size_t count_positive(const struct qn_documents *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        n += d->label[i] == 1;
    }
    return n;
}

static void check_fold(const struct qn_corpus *c)
{
    const struct qn_documents *train = qn_corpus_documents(c, QN_TRAIN);
    const struct qn_documents *valid = qn_corpus_documents(c, QN_VALID);
    assert_int_equal(train->n, 20000);
    assert_int_equal(valid->n, 5000);
    assert_int_equal(count_positive(train) + count_positive(valid), 12500);
    /* Half of 5000, give or take four standard deviations of a fair draw. */
    assert_in_range(count_positive(valid), 2500 - 126, 2500 + 126);
    struct qn_feed *f;
    assert_int_equal(qn_feed_train(c, BATCH, 0, 1, &f, NULL), QN_OK);
    assert_int_equal(qn_feed_n_segments(f), N_BATCHES);
    qn_feed_free(f);
}

static void imdb_has_its_published_sizes_in_every_fold(void **state)
{
    (void)state;
    struct qn_corpus *first = open_or_skip(1, NULL);
    const struct qn_documents *test = qn_corpus_documents(first, QN_TEST);
    assert_non_null(qn_corpus_vectors(first));
    assert_int_equal(test->n, 25000);
    assert_int_equal(count_positive(test), 12500);
    check_fold(first);
    /* The vectors need not be read again for the other ones. */
    for (int k = 2; k <= FOLDS; k++) {
        struct qn_corpus *c = open_or_skip(k, qn_corpus_vocab(first));
        check_fold(c);
        qn_corpus_free(c);
    }
    qn_corpus_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imdb_has_its_published_sizes_in_every_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
