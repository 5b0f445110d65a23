/* curve_path.h - a long curve as a short path that looks the same. */
#ifndef QN_EXPORT_CURVE_PATH_H
#define QN_EXPORT_CURVE_PATH_H

#include "export/panel.h"

/* Points of a curve by rising x; a y that is not finite is a gap. */
struct qn_curve_points {
    double *x, *y;
    size_t n;
};
void qn_curve_points_free(struct qn_curve_points *c);

/* Its bias-corrected exponential moving average,
 * (1-d) sum d^k y[i-k] / (1-d^n), over the finite values up to each point; the
 * gaps stay. A value beyond lo or hi counts as that end, or a spike would be
 * seen long after. The caller frees it. */
struct qn_curve_points qn_curve_smoothed(const struct qn_curve_points *c,
                                         double decay, double lo, double hi);

/* A range of y that shows nearly all of it: what lies far outside the middle
 * nine tenths is left out. false: no finite value. On a log scale all are above
 * 0. */
bool qn_curve_points_range(const struct qn_curve_points *c, bool log,
                           double *lo, double *hi);

struct qn_spots {
    struct qn_spot *spot; /* a NaN lifts the pen */
    size_t n, room;
};
/* As it lies in the panel, cut at its upper and lower edge. Where more points
 * than two fall into a column of half a point's width, the least and the
 * largest stand for them, in their order: no spike is lost. The caller frees
 * the spots. */
struct qn_spots qn_curve_path(const struct qn_curve_points *c,
                              const struct qn_panel *p);
/* Below the panel's upper edge, a stroke along every row of gaps, each half
 * a step or a dot wide to either side. */
struct qn_spots qn_curve_gaps(const struct qn_curve_points *c,
                              const struct qn_panel *p, double step);

#endif
