/* curve.c - decimation, smoothing and the robust range of curves. */
#include "tui/curve.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Shares are shown at least so far beyond the middle nine tenths. */
#define SHARES_REACH 0.2

/* The step at which column k begins. */
static double column_edge(const struct qn_axis *x, int k, int n)
{
    double width = (x->hi - x->lo) / (n > 1 ? n - 1 : 1);
    return x->lo + (k - 0.5) * width;
}

/* A bias-corrected exponential average that walks along a series, so that the
 * columns of a plot share the work; equal to qn_series_smooth. */
struct average {
    size_t next; /* the first point not taken in */
    double sum, weights;
};

/* Points further back than this weigh less than rounding does. */
static size_t window_of(double decay)
{
    return (size_t)ceil(log(1e-17 * (1 - decay)) / log(decay)) + 1;
}

static double average_at(struct average *a, const struct qn_curve *curve,
                         size_t i)
{
    size_t window = window_of(curve->smooth);
    if (i + 1 - a->next > window) {
        *a = (struct average){.next = i + 1 - window};
    }
    for (; a->next <= i; a->next++) {
        double v = qn_series_at(curve->series, a->next).value;
        if (isfinite(v)) {
            a->sum = a->sum * curve->smooth + v;
            a->weights = a->weights * curve->smooth + 1;
        }
    }
    return a->sum / a->weights;
}

/* The average at the column's last point, or, when a column holds more points
 * than the average looks back on, its mean over the column: a sample would show
 * noise that the column's other points do not share. */
static double smoothed(const struct qn_curve *curve, struct average *average,
                       size_t to, const struct qn_summary *all)
{
    if ((double)(all->n + all->bad) * (1 - curve->smooth) > 1) {
        return all->mean;
    }
    return average_at(average, curve, to - 1);
}

static struct qn_column make_column(const struct qn_curve *curve,
                                    struct average *average, size_t from,
                                    size_t to)
{
    struct qn_summary all = qn_series_summary(curve->series, from, to);
    struct qn_column made = {.any = all.n > 0, .bad = all.bad > 0};
    if (!made.any) {
        return made;
    }
    if (curve->smooth > 0) {
        double v = smoothed(curve, average, to, &all);
        made.first = made.last = made.lo = made.hi = v;
        return made;
    }
    made.first = qn_series_at(curve->series, from).value;
    made.last = qn_series_at(curve->series, to - 1).value;
    made.first = isfinite(made.first) ? made.first : all.mean;
    made.last = isfinite(made.last) ? made.last : all.mean;
    made.lo = all.min;
    made.hi = all.max;
    return made;
}

void qn_curve_columns(const struct qn_curve *curve, const struct qn_axis *x,
                      struct qn_column *columns, int n)
{
    struct average average = {0};
    size_t from = 0, len = 0;
    if (curve->series != NULL) {
        len = qn_series_len(curve->series);
    }
    for (int k = 0; k < n; k++) {
        size_t to = len;
        if (k + 1 < n && len > 0) {
            to = qn_series_find(curve->series, column_edge(x, k + 1, n));
        }
        columns[k] = (struct qn_column){0};
        if (to > from) {
            columns[k] = make_column(curve, &average, from, to);
            from = to;
        }
    }
}

double qn_curve_newest(const struct qn_curve *curve)
{
    size_t len = curve->series != NULL ? qn_series_len(curve->series) : 0;
    if (len == 0 || !isfinite(qn_series_at(curve->series, len - 1).value)) {
        return (double)NAN;
    }
    return qn_series_smooth(curve->series, len - 1, curve->smooth);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t gather(const struct qn_line_plot *plot,
                     const struct qn_column *columns, int n, double *out)
{
    size_t len = 0;
    for (int k = 0; k < plot->n_curves; k++) {
        for (int i = 0; i < n; i++) {
            const struct qn_column *at = &columns[k * n + i];
            if (at->any && (!plot->log_y || at->lo > 0)) {
                out[len++] = at->lo;
            }
            if (at->any && (!plot->log_y || at->hi > 0)) {
                out[len++] = at->hi;
            }
        }
    }
    qsort(out, len, sizeof *out, compare);
    return len;
}

static void include_newest(const struct qn_line_plot *plot, double *lo,
                           double *hi)
{
    for (int k = 0; k < plot->n_curves; k++) {
        double v = qn_curve_newest(&plot->curves[k]);
        if (isfinite(v) && (!plot->log_y || v > 0)) {
            *lo = fmin(*lo, v);
            *hi = fmax(*hi, v);
        }
    }
}

/* From the middle nine tenths as far as their span to either side. A log axis
 * has more room for the steep beginning; shares cannot run away. */
static void robust_range(const struct qn_line_plot *plot, const double *v,
                         size_t len, double *lo, double *hi)
{
    *lo = v[0];
    *hi = v[len - 1];
    if (len < 16) {
        return; /* too few to call one of them an outlier */
    }
    double q05 = v[(len - 1) / 20], q95 = v[(len - 1) - (len - 1) / 20];
    double reach = (q95 - q05) * (plot->log_y ? 3 : 1);
    reach = plot->shares ? fmax(reach, SHARES_REACH) : reach;
    *lo = fmax(*lo, q05 - reach);
    *hi = fmin(*hi, q95 + reach);
}

bool qn_curve_range(const struct qn_line_plot *plot,
                    const struct qn_column *columns, int n, double *lo,
                    double *hi)
{
    size_t room = (size_t)plot->n_curves * (size_t)n * 2;
    double *v = qn_xcalloc(room, sizeof *v);
    size_t len = gather(plot, columns, n, v);
    if (len > 0) {
        for (size_t i = 0; i < len && plot->log_y; i++) {
            v[i] = log(v[i]);
        }
        robust_range(plot, v, len, lo, hi);
        if (plot->log_y) {
            *lo = exp(*lo);
            *hi = exp(*hi);
        }
        include_newest(plot, lo, hi);
    }
    free(v);
    return len > 0;
}
