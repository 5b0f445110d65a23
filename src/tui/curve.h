/* curve.h - a series cut into columns of dots: what a plot needs to draw it. */
#ifndef QN_TUI_CURVE_H
#define QN_TUI_CURVE_H

#include "tui/axis.h"
#include "tui/plot.h"

/* The points that fall into one column. */
struct qn_column {
    bool any, bad;              /* finite values; values that are not */
    double first, last, lo, hi; /* of the curve as drawn */
};

/* Fill n columns between the axis's ends; O(n) whatever the series' length. */
void qn_curve_columns(const struct qn_curve *curve, const struct qn_axis *x,
                      struct qn_column *columns, int n);
/* The newest value as drawn; NaN without one or when it is not finite. */
double qn_curve_newest(const struct qn_curve *curve);
/* A y range from the columns of all curves: nearly all of what is drawn, but
 * not the few values far outside the rest. false: nothing to draw. */
bool qn_curve_range(const struct qn_line_plot *plot,
                    const struct qn_column *columns, int n, double *lo,
                    double *hi);

#endif
