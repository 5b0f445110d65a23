/* fuzz_labelled.c - no file of labelled documents may crash, and none gets
 * lost. The first byte chooses, the rest is the file. */
#include "inputs.h"

#include "base/assert.h"
#include "data/feed.h"
#include "data/labelled.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every document has a label and is text of the file; how many there are, or
 * SIZE_MAX when the file is refused. */
static size_t check_labelled(const char *path)
{
    struct qn_labelled l;
    struct qn_err err = {{0}};
    if (qn_labelled_read(path, NULL, NULL, &l, &err) != QN_OK) {
        QN_ASSERT(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
        return SIZE_MAX;
    }
    const char *end = l.memory;
    for (size_t i = 0; i < l.n; i++) {
        QN_ASSERT(l.docs[i].label == 0 || l.docs[i].label == 1);
        QN_ASSERT(l.docs[i].text >= end + 3);
        QN_ASSERT(memchr(l.docs[i].text, '\n', l.docs[i].len) == NULL);
        end = l.docs[i].text + l.docs[i].len;
    }
    size_t n = l.n;
    QN_ASSERT(n > 0);
    qn_labelled_fini(&l);
    return n;
}

/* Read an epoch; every symbol of the split comes once. */
static void check_feed(const struct qn_corpus *c)
{
    struct qn_feed *f;
    size_t n, sum = 0;
    (void)qn_corpus_ids(c, QN_TRAIN, &n);
    QN_ASSERT(qn_feed_train(c, 3, 0, 1, &f, NULL) == QN_OK);
    for (size_t i = 0; i < qn_feed_n_segments(f); i++) {
        struct qn_portion p;
        qn_feed_read(f, 1, i, &p);
        QN_ASSERT(p.steps > 0 && p.steps <= qn_feed_steps(f));
        sum += p.n_symbols;
    }
    QN_ASSERT(sum == n);
    qn_feed_free(f);
}

static void check_corpus(const struct qn_corpus *c, int max_words, size_t most)
{
    size_t n_documents = 0;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct qn_documents *d = qn_corpus_documents(c, (enum qn_split)i);
        size_t n;
        const int32_t *ids = qn_corpus_ids(c, (enum qn_split)i, &n);
        QN_ASSERT(d->start[0] == 0 && d->start[d->n] == n);
        for (size_t k = 0; k < d->n; k++) {
            size_t words = d->start[k + 1] - d->start[k];
            QN_ASSERT(words > 0 && words <= (size_t)max_words);
            QN_ASSERT(words <= (size_t)d->longest);
        }
        for (size_t t = 0; t < n; t++) {
            QN_ASSERT(ids[t] >= 0 &&
                      ids[t] < qn_vocab_size(qn_corpus_vocab(c)));
        }
        n_documents += d->n;
    }
    QN_ASSERT(n_documents <= most);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const double fractions[] = {0, 0.05, 0.3, 0.9};
    if (len == 0) {
        return 0;
    }
    char *path = fuzz_path("text");
    fuzz_write(path, bytes + 1, len - 1);
    uint8_t byte = bytes[0];
    struct qn_corpus_spec spec = {
        .path = {path},
        .fraction = {0, 0, fractions[byte & 3]},
        .kind = QN_SYMBOL_WORD,
        .lower = (byte & 4) != 0,
        .documents = true,
        .max_words = 1 + (byte >> 6),
    };
    if ((byte & 8) != 0) {
        spec.fold.n = 2 + (byte >> 4 & 1);
        spec.fold.k = 1 + (byte >> 5 & 1);
    }
    size_t n = check_labelled(path);
    struct qn_corpus *c = NULL;
    struct qn_err err = {{0}};
    if (qn_corpus_open(&spec, NULL, &c, &err) == QN_OK) {
        QN_ASSERT(n != SIZE_MAX);
        check_corpus(c, spec.max_words, n);
        check_feed(c);
        qn_corpus_free(c);
    } else {
        QN_ASSERT(c == NULL && err.text[0] != '\0');
    }
    (void)unlink(path); /* replaced by the next text otherwise */
    free(path);
    return 0;
}
