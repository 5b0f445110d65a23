/* batch.h - ids into segments of parallel streams.
 *
 * n ids give n - 1 pairs (input, target). Training: 'batch' contiguous streams
 * of floor((n-1) / batch) pairs, whole segments of seq, the tail dropped.
 * Evaluation: contiguous streams of ceil((n-1) / batch) pairs, the last ones
 * padded with targets of -1; every pair is predicted exactly once.
 */
#ifndef QN_DATA_BATCH_H
#define QN_DATA_BATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qn_streams {
    const int32_t *ids;
    size_t n_pairs;    /* that will be predicted */
    size_t stream_len; /* pairs of one stream */
    int batch, seq;
    size_t n_segments; /* an epoch, or one evaluation */
    bool training;
};

/* QN_EUSAGE when the text is shorter than one batch of segments. */
enum qn_status qn_streams_train(struct qn_streams *s, const int32_t *ids,
                                size_t n, int batch, int seq,
                                struct qn_err *err);
/* limit: at most so many pairs from the front, 0 = all. A text of fewer than
 * two symbols gives n_pairs 0. */
void qn_streams_eval(struct qn_streams *s, const int32_t *ids, size_t n,
                     int batch, int seq, int64_t limit);

/* Segment i into ids and targets, [batch, seq] each. Returns the steps of this
 * segment (the last of an evaluation may be shorter: then rows are [batch,
 * steps]). n_real (NULL or [batch]): the real rows of each stream, counted from
 * its front. */
int qn_streams_segment(const struct qn_streams *s, size_t i, int32_t *ids,
                       int32_t *targets, int *n_real);

#endif
