/* series.c - points and a pyramid of summaries over runs of them.
 *
 * Level 0 summarises FAN_OUT points a node, each level above FAN_OUT nodes of
 * the one below. Only whole runs have a node: dropping points from the end is
 * cutting each level short, and a query takes what sticks out of the nodes at
 * its two ends from the level below, at most FAN_OUT - 1 items an end. */
#include "base/series.h"

#include "base/assert.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define FAN_OUT 16
#define MAX_LEVELS 15 /* FAN_OUT to the 16th is all of size_t */

struct node {
    double min, max, sum; /* of the finite values; inf, -inf, 0 without any */
    size_t n, bad;
};

struct level {
    struct node *nodes;
    size_t len, cap;
};

struct qn_series {
    struct qn_point *points;
    size_t len, cap;
    struct level level[MAX_LEVELS];
};

static struct node empty_node(void)
{
    return (struct node){.min = HUGE_VAL, .max = -HUGE_VAL};
}

static void add_value(struct node *into, double v)
{
    if (!isfinite(v)) {
        into->bad++;
        return;
    }
    into->min = v < into->min ? v : into->min;
    into->max = v > into->max ? v : into->max;
    into->sum += v;
    into->n++;
}

static void add_node(struct node *into, const struct node *from)
{
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->sum += from->sum;
    into->n += from->n;
    into->bad += from->bad;
}

/* Add items [from, to) of a level; level -1 is the points themselves. */
static void add_range(struct node *into, const struct qn_series *s, int level,
                      size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (level < 0) {
            add_value(into, s->points[i].value);
        } else {
            add_node(into, &s->level[level].nodes[i]);
        }
    }
}

struct qn_series *qn_series_new(void)
{
    return qn_xcalloc(1, sizeof(struct qn_series));
}

void qn_series_free(struct qn_series *s)
{
    if (s == NULL) {
        return;
    }
    for (int k = 0; k < MAX_LEVELS; k++) {
        free(s->level[k].nodes);
    }
    free(s->points);
    free(s);
}

static void truncate_to(struct qn_series *s, size_t len)
{
    s->len = len;
    for (int k = 0; k < MAX_LEVELS; k++) {
        len /= FAN_OUT;
        s->level[k].len = len;
    }
}

void qn_series_clear(struct qn_series *s)
{
    truncate_to(s, 0);
}

/* Room for one more of 'size' bytes in an array that doubles. */
static void *grow(void *items, size_t len, size_t *cap, size_t size)
{
    if (len < *cap) {
        return items;
    }
    *cap = *cap > 0 ? *cap * 2 : FAN_OUT;
    return qn_xrealloc(items, *cap, size);
}

/* Make the nodes of the runs that the last point has completed. */
static void complete_runs(struct qn_series *s)
{
    size_t below = s->len;
    for (int k = 0; k < MAX_LEVELS && below % FAN_OUT == 0; k++) {
        struct level *l = &s->level[k];
        struct node made = empty_node();
        add_range(&made, s, k - 1, below - FAN_OUT, below);
        l->nodes = grow(l->nodes, l->len, &l->cap, sizeof *l->nodes);
        l->nodes[l->len++] = made;
        below = l->len;
    }
}

void qn_series_cut(struct qn_series *s, double step)
{
    truncate_to(s, qn_series_find(s, step));
}

void qn_series_add(struct qn_series *s, double step, double value)
{
    QN_ASSERT(!isnan(step));
    if (s->len > 0 && step < s->points[s->len - 1].step) {
        qn_series_cut(s, step);
    }
    s->points = grow(s->points, s->len, &s->cap, sizeof *s->points);
    s->points[s->len++] = (struct qn_point){step, value};
    complete_runs(s);
}

size_t qn_series_len(const struct qn_series *s)
{
    return s->len;
}

struct qn_point qn_series_at(const struct qn_series *s, size_t i)
{
    QN_ASSERT(i < s->len);
    return s->points[i];
}

size_t qn_series_find(const struct qn_series *s, double step)
{
    size_t from = 0, to = s->len;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->points[middle].step < step) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

struct qn_summary qn_series_summary(const struct qn_series *s, size_t from,
                                    size_t to)
{
    QN_ASSERT(from <= to && to <= s->len);
    struct node all = empty_node();
    for (int level = -1; from < to; level++) {
        size_t first = (from + FAN_OUT - 1) / FAN_OUT;
        size_t last = to / FAN_OUT;
        if (first >= last || level == MAX_LEVELS - 1) {
            add_range(&all, s, level, from, to);
            break;
        }
        add_range(&all, s, level, from, first * FAN_OUT);
        add_range(&all, s, level, last * FAN_OUT, to);
        from = first;
        to = last;
    }
    if (all.n == 0) {
        return (struct qn_summary){.bad = all.bad};
    }
    return (struct qn_summary){.min = all.min,
                               .max = all.max,
                               .mean = all.sum / (double)all.n,
                               .n = all.n,
                               .bad = all.bad};
}

double qn_series_smooth(const struct qn_series *s, size_t i, double decay)
{
    QN_ASSERT(i < s->len && decay >= 0 && decay < 1);
    /* Below this weight all older points together cannot change the result:
     * they sum to at most weight / (1 - decay). */
    double negligible = 1e-17 * (1 - decay);
    double weight = 1, sum = 0, weights = 0;
    for (size_t k = i + 1; k > 0 && weight > negligible; k--) {
        double v = s->points[k - 1].value;
        if (isfinite(v)) {
            sum += weight * v;
            weights += weight;
            weight *= decay;
        }
    }
    return weights > 0 ? sum / weights : (double)NAN;
}
