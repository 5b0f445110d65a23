/* batch.c - cut ids into parallel streams and those into segments. */
#include "data/batch.h"

#include "base/assert.h"

#include <string.h>

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum qn_status qn_streams_train(struct qn_streams *s, const int32_t *ids,
                                size_t n, int batch, int seq,
                                struct qn_err *err)
{
    QN_ASSERT(batch > 0 && seq > 0);
    size_t n_pairs = n > 0 ? n - 1 : 0;
    size_t stream_len = n_pairs / (size_t)batch;
    size_t n_segments = stream_len / (size_t)seq;
    size_t segment_pairs = (size_t)batch * (size_t)seq;
    if (n_segments == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "the training text has %zu symbols; batch %d x seq %d "
                       "wants at least %zu",
                       n, batch, seq, segment_pairs + 1);
    }
    *s = (struct qn_streams){
        .ids = ids,
        .n_pairs = n_segments * segment_pairs,
        .stream_len = stream_len,
        .batch = batch,
        .seq = seq,
        .n_segments = n_segments,
        .training = true,
    };
    return QN_OK;
}

void qn_streams_eval(struct qn_streams *s, const int32_t *ids, size_t n,
                     int batch, int seq, int64_t limit)
{
    QN_ASSERT(batch > 0 && seq > 0 && limit >= 0);
    size_t n_pairs = n > 0 ? n - 1 : 0;
    if (limit > 0) {
        n_pairs = min_size(n_pairs, (size_t)limit);
    }
    size_t stream_len = n_pairs / (size_t)batch + (n_pairs % (size_t)batch > 0);
    *s = (struct qn_streams){
        .ids = ids,
        .n_pairs = n_pairs,
        .stream_len = stream_len,
        .batch = batch,
        .seq = seq,
        .n_segments = stream_len / (size_t)seq + (stream_len % (size_t)seq > 0),
    };
}

/* Pairs of stream b that are real: all when training, fewer or none in the last
 * streams of an evaluation. */
static size_t real_len(const struct qn_streams *s, size_t b)
{
    if (s->training) {
        return s->stream_len;
    }
    size_t first = b * s->stream_len;
    return first < s->n_pairs ? min_size(s->stream_len, s->n_pairs - first) : 0;
}

int qn_streams_segment(const struct qn_streams *s, size_t i, int32_t *ids,
                       int32_t *targets, int *n_real)
{
    QN_ASSERT(i < s->n_segments);
    size_t from = i * (size_t)s->seq;
    size_t steps = min_size((size_t)s->seq, s->stream_len - from);
    for (size_t b = 0; b < (size_t)s->batch; b++) {
        size_t len = real_len(s, b);
        size_t real = from < len ? min_size(steps, len - from) : 0;
        int32_t *row = ids + b * steps;
        int32_t *row_targets = targets + b * steps;
        if (real > 0) {
            const int32_t *pair = s->ids + b * s->stream_len + from;
            memcpy(row, pair, real * sizeof *row);
            memcpy(row_targets, pair + 1, real * sizeof *row);
        }
        for (size_t t = real; t < steps; t++) {
            row[t] = 0;
            row_targets[t] = -1;
        }
        if (n_real != NULL) {
            n_real[b] = (int)real;
        }
    }
    return (int)steps;
}
