/* metrics_cache.h - what the first bytes of metrics.jsonl say, in binary.
 *
 * docs/run-format.md has it byte by byte. No file need be there, and none is
 * believed that does not fit.
 */
#ifndef QN_TRAIN_METRICS_CACHE_H
#define QN_TRAIN_METRICS_CACHE_H

#include "train/metrics_read.h"

/* The bytes of metrics.jsonl that a cache speaks of. */
struct qn_metrics_prefix {
    uint64_t len;        /* up to the end of a line */
    uint64_t lines;      /* in it */
    uint64_t segments;   /* lines of segments among them */
    uint64_t head, tail; /* hashes of its first and its last 4 KB */
};

/* false, with *m untouched, when the bytes are not a whole cache. */
bool qn_metrics_cache_parse(const char *bytes, size_t len,
                            struct qn_metrics_prefix *prefix,
                            struct qn_metrics *m);

/* What the cache in this run's folder says, if it is of the file that is open
 * as fd; m is the caller's then. */
bool qn_metrics_cache_load(const char *run_path, int fd,
                           struct qn_metrics_prefix *prefix,
                           struct qn_metrics *m);
/* Write one; fd is metrics.jsonl, whose hashes are made here. Where that does
 * not succeed there is no cache, which is no harm. */
void qn_metrics_cache_save(const char *run_path, int fd,
                           struct qn_metrics_prefix prefix,
                           const struct qn_metrics *m);

#endif
