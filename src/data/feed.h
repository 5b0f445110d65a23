/* feed.h - what a split gives to a pass, one segment after the other.
 *
 * Of a text: segments of parallel streams (data/batch.h), which go on where the
 * last one ended. Of labelled documents: batches of neighbours in length, each
 * padded to its longest; every batch begins anew. In training their order is
 * drawn for every epoch from the seed; what a batch holds never changes. A last
 * batch that is not full has rows without words and without label.
 */
#ifndef QN_DATA_FEED_H
#define QN_DATA_FEED_H

#include "data/corpus.h"

struct qn_feed;

/* The corpus is borrowed. QN_EUSAGE when train is shorter than one batch of
 * segments, or holds no document. 'seq' is of texts only. */
enum qn_status qn_feed_train(const struct qn_corpus *c, int batch, int seq,
                             uint64_t seed, struct qn_feed **out,
                             struct qn_err *err);
/* For evaluation; limit: at most so many predictions (of a text) or documents
 * from the front, 0 = all. QN_EUSAGE when the split has nothing to predict. */
enum qn_status qn_feed_eval(const struct qn_corpus *c, enum qn_split split,
                            int batch, int seq, int64_t limit,
                            struct qn_feed **out, struct qn_err *err);
void qn_feed_free(struct qn_feed *f); /* NULL is fine */

size_t qn_feed_n_segments(const struct qn_feed *f); /* of an epoch */
int qn_feed_steps(const struct qn_feed *f);         /* of the longest segment */
bool qn_feed_starts_anew(const struct qn_feed *f);  /* with every segment */

/* Arrays of the feed's own, valid until the next one is read. */
struct qn_portion {
    int steps;
    const int32_t *ids;     /* [batch, steps]; padding is -1 in documents */
    const int32_t *targets; /* [batch, steps], or labels [batch]; -1: none */
    const int *n_real;      /* [batch] rows; NULL: all */
    size_t n_symbols;       /* real ones, over all rows */
};
/* Segment i, 0 <= i < n_segments, of an epoch (counted from 0; evaluation: 0).
 */
void qn_feed_read(struct qn_feed *f, int64_t epoch, size_t i,
                  struct qn_portion *out);

#endif
