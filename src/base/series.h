/* series.h - a long curve that draws in time proportional to the columns.
 *
 * Points are (step, value), appended in order of step; a pyramid of min, mean,
 * max and count over runs of points answers any range quickly. Values that are
 * not finite are counted and leave a gap. Memory grows with the points. */
#ifndef QN_BASE_SERIES_H
#define QN_BASE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qn_series;

struct qn_point {
    double step, value;
};

struct qn_summary {
    double min, max, mean; /* of the finite values */
    size_t n;              /* how many were finite */
    size_t bad;            /* NaN or infinite */
};

struct qn_series *qn_series_new(void);
void qn_series_free(struct qn_series *s); /* NULL is fine */
void qn_series_clear(struct qn_series *s);
/* A step lower than the last (a run resumed from a checkpoint) first removes
 * the points from that step on. */
void qn_series_add(struct qn_series *s, double step, double value);
/* Remove the points of this step and of later ones. */
void qn_series_cut(struct qn_series *s, double step);

size_t qn_series_len(const struct qn_series *s);
struct qn_point qn_series_at(const struct qn_series *s, size_t i);
/* Index of the first point with this step or a later one; len when none. */
size_t qn_series_find(const struct qn_series *s, double step);
/* Of points [from, to). n = 0 when there is no finite value. */
struct qn_summary qn_series_summary(const struct qn_series *s, size_t from,
                                    size_t to);
/* Bias-corrected exponential moving average up to point i, decay in [0, 1):
 * (1-d) sum d^k x / (1 - d^n); non-finite values are skipped. O(window). */
double qn_series_smooth(const struct qn_series *s, size_t i, double decay);

#endif
