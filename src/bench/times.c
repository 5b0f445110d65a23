/* times.c - seconds of something that was done again and again. */
#include "bench/times.h"

#include "base/assert.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void qn_times_free(struct qn_times *t)
{
    free(t->seconds);
    *t = (struct qn_times){0};
}

void qn_times_add(struct qn_times *t, double seconds)
{
    if (t->n == t->room) {
        t->room = t->room > 0 ? 2 * t->room : 16;
        t->seconds =
            qn_xrealloc(t->seconds, (size_t)t->room, sizeof *t->seconds);
    }
    t->seconds[t->n++] = seconds;
}

static int shorter_first(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

double qn_times_best(const struct qn_times *t)
{
    QN_ASSERT(t->n > 0);
    double best = t->seconds[0];
    for (int i = 1; i < t->n; i++) {
        best = t->seconds[i] < best ? t->seconds[i] : best;
    }
    return best;
}

double qn_times_median(const struct qn_times *t)
{
    QN_ASSERT(t->n > 0);
    size_t size = (size_t)t->n * sizeof *t->seconds;
    double *sorted = qn_xmalloc(size);
    memcpy(sorted, t->seconds, size);
    qsort(sorted, (size_t)t->n, sizeof *sorted, shorter_first);
    double upper = sorted[t->n / 2];
    double lower = sorted[(t->n - 1) / 2];
    free(sorted);
    return (lower + upper) / 2;
}

double qn_times_quotient(const struct qn_times *a, const struct qn_times *b)
{
    QN_ASSERT(a->n == b->n);
    struct qn_times quotients = {0};
    for (int i = 0; i < a->n; i++) {
        qn_times_add(&quotients, a->seconds[i] / b->seconds[i]);
    }
    double median = qn_times_median(&quotients);
    qn_times_free(&quotients);
    return median;
}

double qn_times_spread(const struct qn_times *t)
{
    if (t->n < 2) {
        return (double)NAN;
    }
    return qn_times_median(t) / qn_times_best(t);
}
