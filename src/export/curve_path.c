/* curve_path.c - a long curve as a short path that looks the same. */
#include "export/curve_path.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN 0.5 /* points: 2 dots at 300 to an inch */

void qn_curve_points_free(struct qn_curve_points *c)
{
    free(c->x);
    free(c->y);
    *c = (struct qn_curve_points){.n = 0};
}

struct qn_curve_points qn_curve_smoothed(const struct qn_curve_points *c,
                                         double decay, double lo, double hi)
{
    struct qn_curve_points out = {
        .x = qn_xcalloc(c->n + 1, sizeof *out.x),
        .y = qn_xcalloc(c->n + 1, sizeof *out.y),
        .n = c->n,
    };
    double sum = 0, weights = 0;
    for (size_t i = 0; i < c->n; i++) {
        bool there = isfinite(c->y[i]);
        if (there) {
            sum = sum * decay + fmin(fmax(c->y[i], lo), hi);
            weights = weights * decay + 1;
        }
        out.x[i] = c->x[i];
        out.y[i] = there ? sum / weights : (double)NAN;
    }
    return out;
}

/* --- range ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool qn_curve_points_range(const struct qn_curve_points *c, bool log_scale,
                           double *lo, double *hi)
{
    double *v = qn_xcalloc(c->n + 1, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (isfinite(c->y[i])) {
            v[n++] = log_scale ? log(c->y[i]) : c->y[i];
        }
    }
    if (n > 0) {
        qsort(v, n, sizeof *v, compare);
        size_t off = n < 16 ? 0 : (n - 1) / 20;
        double q05 = v[off], q95 = v[n - 1 - off];
        double reach = 0.7 * (q95 - q05);
        *lo = fmax(v[0], q05 - reach);
        *hi = fmin(v[n - 1], q95 + reach);
        *lo = log_scale ? exp(*lo) : *lo;
        *hi = log_scale ? exp(*hi) : *hi;
    }
    free(v);
    return n > 0;
}

/* --- paths ---------------------------------------------------------------- */

static void add_spot(struct qn_spots *s, struct qn_spot at)
{
    if (s->n == s->room) {
        s->room = s->room > 0 ? 2 * s->room : 256;
        s->spot = qn_xrealloc(s->spot, s->room, sizeof *s->spot);
    }
    s->spot[s->n++] = at;
}

static void lift(struct qn_spots *s)
{
    if (s->n > 0 && !isnan(s->spot[s->n - 1].x)) {
        add_spot(s, (struct qn_spot){(double)NAN, (double)NAN});
    }
}

/* Where the line from a to b has this height. */
static struct qn_spot at_height(struct qn_spot a, struct qn_spot b, double y)
{
    return (struct qn_spot){a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y), y};
}

/* A path that is being made, cut at two heights. */
struct cut_path {
    struct qn_spots out;
    double top, bottom;
    bool down; /* 'before' is a spot of the curve */
    struct qn_spot before;
};

static bool is_inside(const struct cut_path *p, double y)
{
    return y >= p->top && y <= p->bottom;
}

/* The part of the line that lies between the heights, from 'before' on. */
static void cut_line(struct cut_path *p, struct qn_spot to)
{
    struct qn_spot a = p->before, b = to;
    if (fmax(a.y, b.y) < p->top || fmin(a.y, b.y) > p->bottom) {
        return;
    }
    if (!is_inside(p, a.y)) {
        a = at_height(a, b, a.y < p->top ? p->top : p->bottom);
        lift(&p->out);
        add_spot(&p->out, a);
    }
    if (!is_inside(p, b.y)) {
        b = at_height(a, b, b.y < p->top ? p->top : p->bottom);
    }
    add_spot(&p->out, b);
    if (b.y != to.y) {
        lift(&p->out);
    }
}

static void go_to(struct cut_path *p, struct qn_spot to)
{
    if (p->down) {
        cut_line(p, to);
    } else if (is_inside(p, to.y)) {
        lift(&p->out);
        add_spot(&p->out, to);
    }
    p->before = to;
    p->down = true;
}

static long column_of(const struct qn_panel *p, double x)
{
    return (long)floor(p->box.width * qn_axis_place(&p->x, x) / COLUMN);
}

/* The points of one column: [from, to) of the curve. */
static void go_through(struct cut_path *path, const struct qn_curve_points *c,
                       const struct qn_panel *p, size_t from, size_t to)
{
    size_t least = to, most = to;
    for (size_t i = from; i < to; i++) {
        if (isfinite(c->y[i])) {
            least = least == to || c->y[i] < c->y[least] ? i : least;
            most = most == to || c->y[i] > c->y[most] ? i : most;
        }
    }
    if (least == to) {
        path->down = false; /* no finite value: a gap */
        return;
    }
    size_t first = least < most ? least : most;
    size_t second = least < most ? most : least;
    struct qn_spot a = qn_panel_spot(p, c->x[first], c->y[first]);
    struct qn_spot b = qn_panel_spot(p, c->x[second], c->y[second]);
    if (to - from > 2) {
        /* One under the other, in the middle: bands of noise are even. */
        a.x = ((double)column_of(p, c->x[from]) + 0.5) * COLUMN + p->box.x;
        b.x = a.x;
    }
    go_to(path, a);
    if (second != first) {
        go_to(path, b);
    }
}

/* The first point behind those that lie in one column with the first. */
static size_t column_end(const struct qn_curve_points *c,
                         const struct qn_panel *p, size_t from)
{
    long column = column_of(p, c->x[from]);
    size_t to = from + 1;
    while (to < c->n && column_of(p, c->x[to]) == column) {
        to++;
    }
    return to;
}

struct qn_spots qn_curve_path(const struct qn_curve_points *c,
                              const struct qn_panel *p)
{
    struct cut_path path = {.top = p->box.y,
                            .bottom = p->box.y + p->box.height};
    for (size_t from = 0, to; from < c->n; from = to) {
        to = column_end(c, p, from);
        go_through(&path, c, p, from, to);
    }
    return path.out;
}

/* Along which x from - half to to + half lies. */
static void add_stroke(struct qn_spots *out, const struct qn_panel *p,
                       struct qn_spot ends)
{
    double left = p->box.x, right = p->box.x + p->box.width, y = p->box.y + 2.5;
    lift(out);
    add_spot(out, (struct qn_spot){fmax(ends.x, left), y});
    add_spot(out, (struct qn_spot){fmin(ends.y, right), y});
}

struct qn_spots qn_curve_gaps(const struct qn_curve_points *c,
                              const struct qn_panel *p, double step)
{
    struct qn_spots out = {.n = 0};
    double half = fmax(p->box.width * step / (p->x.hi - p->x.lo) / 2, COLUMN);
    struct qn_spot stroke = {(double)NAN, (double)NAN}; /* from x to y */
    for (size_t i = 0; i < c->n; i++) {
        if (isfinite(c->y[i])) {
            continue;
        }
        double x = qn_panel_spot(p, c->x[i], p->y.lo).x;
        if (!(x - half <= stroke.y + 0.01)) {
            if (!isnan(stroke.x)) {
                add_stroke(&out, p, stroke);
            }
            stroke.x = x - half;
        }
        stroke.y = x + half;
    }
    if (!isnan(stroke.x)) {
        add_stroke(&out, p, stroke);
    }
    return out;
}
