/* hist.h - how values spread about zero: exact shares and log-spaced bins.
 *
 * Three shares for a threshold t: negative x <= -t, near zero |x| < t, positive
 * x >= t, from integer counts. The bins, 16 to a decade on each side of zero,
 * let t be changed afterwards: exactly at a bin edge, interpolated between. A
 * plain struct without pointers: merging is addition, copying is assignment. */
#ifndef QN_BASE_HIST_H
#define QN_BASE_HIST_H

#include <stddef.h>
#include <stdint.h>

#define QN_HIST_PER_DECADE 16
#define QN_HIST_MIN_EXP (-5) /* first edge 1e-5 */
#define QN_HIST_MAX_EXP 3    /* last edge 1e3 */
#define QN_HIST_EDGES                                                          \
    ((QN_HIST_MAX_EXP - QN_HIST_MIN_EXP) * QN_HIST_PER_DECADE + 1)
/* Bin 0: 0 < |x| < edge 0; bin i: edge i-1 <= |x| < edge i; last: the rest,
 * infinity included. */
#define QN_HIST_BINS (QN_HIST_EDGES + 1)

enum qn_hist_side { QN_HIST_NEGATIVE, QN_HIST_POSITIVE };

struct qn_hist {
    float threshold;
    uint64_t n_negative, n_near, n_positive; /* by the threshold */
    uint64_t n_zero;                         /* exactly 0; near as well */
    uint64_t n_nan;
    uint64_t bin[2][QN_HIST_BINS]; /* by side; zeros and NaN in neither */
};

struct qn_shares {
    double negative, near, positive, zero, nan; /* of all, 0 to 1 */
    uint64_t count;                             /* all, NaN included */
};

void qn_hist_init(struct qn_hist *h, float threshold);
/* Count n values. */
void qn_hist_add(struct qn_hist *h, const float *x, size_t n);
/* Both must have the same threshold. */
void qn_hist_merge(struct qn_hist *into, const struct qn_hist *from);
/* The shares by the histogram's own threshold: exact. All 0 when empty. */
struct qn_shares qn_hist_shares(const struct qn_hist *h);
/* The shares by another threshold, from the bins. */
struct qn_shares qn_hist_shares_at(const struct qn_hist *h, double threshold);
/* Edge i, 0 <= i < QN_HIST_EDGES: 10^(QN_HIST_MIN_EXP + i/16) as a float. */
float qn_hist_edge(int i);

#endif
