/* feed.c - one way to read a split, be it a text or documents. */
#include "data/feed.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/batch.h"
#include "data/doc_batches.h"
#include "data/shuffle.h"

#include <stdlib.h>

struct qn_feed {
    bool documents, training;
    int batch;
    struct qn_streams streams;     /* of a text */
    struct qn_doc_batches batches; /* of documents */
    uint64_t seed;
    size_t *order; /* [n_batches] of 'epoch', when training on documents */
    int64_t epoch;
    int32_t *ids;     /* [batch, steps of the longest segment] */
    int32_t *targets; /* the same, or [batch] */
    int *n_real;      /* [batch] */
};

static struct qn_feed *new_feed(int batch, bool training)
{
    QN_ASSERT(batch > 0);
    struct qn_feed *f = qn_xcalloc(1, sizeof *f);
    f->batch = batch;
    f->training = training;
    return f;
}

static void make_room(struct qn_feed *f)
{
    size_t rows = (size_t)f->batch;
    size_t n = rows * (size_t)qn_feed_steps(f);
    f->ids = qn_xcalloc(n, sizeof *f->ids);
    f->targets = qn_xcalloc(f->documents ? rows : n, sizeof *f->targets);
    f->n_real = qn_xcalloc(rows, sizeof *f->n_real);
}

/* The order of an epoch is drawn from the seed and its number alone: a resumed
 * run needs to know no more. */
static void draw_order(struct qn_feed *f, int64_t epoch)
{
    size_t n = f->batches.n_batches;
    for (size_t i = 0; i < n; i++) {
        f->order[i] = i;
    }
    if (f->training) {
        qn_shuffle(qn_rng_key(f->seed, (uint64_t)epoch, 0, QN_RNG_SHUFFLE),
                   f->order, n);
    }
    f->epoch = epoch;
}

static void take_documents(struct qn_feed *f, const struct qn_corpus *c,
                           enum qn_split split, size_t n)
{
    f->documents = true;
    qn_doc_batches_init(&f->batches, c, split, n, f->batch);
    f->order = qn_xcalloc(f->batches.n_batches, sizeof *f->order);
    draw_order(f, 0);
    make_room(f);
}

enum qn_status qn_feed_train(const struct qn_corpus *c, int batch, int seq,
                             uint64_t seed, struct qn_feed **out,
                             struct qn_err *err)
{
    const struct qn_documents *documents = qn_corpus_documents(c, QN_TRAIN);
    struct qn_feed *f = new_feed(batch, true);
    f->seed = seed;
    enum qn_status status = QN_OK;
    if (documents == NULL) {
        size_t n;
        const int32_t *ids = qn_corpus_ids(c, QN_TRAIN, &n);
        status = qn_streams_train(&f->streams, ids, n, batch, seq, err);
    } else if (documents->n == 0) {
        status = qn_fail(err, QN_EUSAGE, "the training split has no documents");
    }
    if (status != QN_OK) {
        qn_feed_free(f);
        return status;
    }
    if (documents == NULL) {
        make_room(f);
    } else {
        take_documents(f, c, QN_TRAIN, documents->n);
    }
    *out = f;
    return QN_OK;
}

/* Whether there is something to predict. */
static enum qn_status check_split(const struct qn_corpus *c,
                                  enum qn_split split, struct qn_err *err)
{
    const struct qn_documents *documents = qn_corpus_documents(c, split);
    size_t n;
    (void)qn_corpus_ids(c, split, &n);
    if (n == 0) {
        return qn_fail(err, QN_EUSAGE, "the %s split has no %s",
                       qn_split_name(split),
                       documents != NULL ? "documents" : "text");
    }
    if (n == 1 && documents == NULL) {
        return qn_fail(err, QN_EUSAGE,
                       "the %s split has one symbol only, nothing to predict",
                       qn_split_name(split));
    }
    return QN_OK;
}

enum qn_status qn_feed_eval(const struct qn_corpus *c, enum qn_split split,
                            int batch, int seq, int64_t limit,
                            struct qn_feed **out, struct qn_err *err)
{
    enum qn_status status = check_split(c, split, err);
    if (status != QN_OK) {
        return status;
    }
    QN_ASSERT(limit >= 0);
    const struct qn_documents *documents = qn_corpus_documents(c, split);
    struct qn_feed *f = new_feed(batch, false);
    if (documents == NULL) {
        size_t n;
        const int32_t *ids = qn_corpus_ids(c, split, &n);
        qn_streams_eval(&f->streams, ids, n, batch, seq, limit);
        make_room(f);
    } else {
        size_t n = documents->n;
        bool cut = limit > 0 && (uint64_t)limit < n;
        take_documents(f, c, split, cut ? (size_t)limit : n);
    }
    *out = f;
    return QN_OK;
}

void qn_feed_free(struct qn_feed *f)
{
    if (f == NULL) {
        return;
    }
    qn_doc_batches_fini(&f->batches);
    free(f->order);
    free(f->ids);
    free(f->targets);
    free(f->n_real);
    free(f);
}

size_t qn_feed_n_segments(const struct qn_feed *f)
{
    return f->documents ? f->batches.n_batches : f->streams.n_segments;
}

int qn_feed_steps(const struct qn_feed *f)
{
    return f->documents ? f->batches.longest : f->streams.seq;
}

bool qn_feed_starts_anew(const struct qn_feed *f)
{
    return f->documents;
}

void qn_feed_read(struct qn_feed *f, int64_t epoch, size_t i,
                  struct qn_portion *out)
{
    QN_ASSERT(epoch >= 0 && i < qn_feed_n_segments(f));
    if (f->documents && f->epoch != epoch) {
        draw_order(f, epoch);
    }
    int steps =
        f->documents
            ? qn_doc_batches_fill(&f->batches, f->order[i], f->ids, f->targets,
                                  f->n_real)
            : qn_streams_segment(&f->streams, i, f->ids, f->targets, f->n_real);
    size_t n_symbols = 0;
    for (int row = 0; row < f->batch; row++) {
        n_symbols += (size_t)f->n_real[row];
    }
    /* Training streams of a text have no end: the pass is not told of any. */
    bool whole = f->training && !f->documents;
    *out = (struct qn_portion){
        .steps = steps,
        .ids = f->ids,
        .targets = f->targets,
        .n_real = whole ? NULL : f->n_real,
        .n_symbols = n_symbols,
    };
}
