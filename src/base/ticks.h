/* ticks.h - ranges and nice ticks: pure. */
#ifndef QN_BASE_TICKS_H
#define QN_BASE_TICKS_H

#include <stdbool.h>
#include <stddef.h>

#define QN_MAX_TICKS 24

struct qn_axis {
    double lo, hi; /* lo < hi; both > 0 when log */
    bool log;
    double tick[QN_MAX_TICKS]; /* rising */
    int n_ticks;
    int decimals;  /* that tell the ticks apart; < 0: %g */
    bool per_cent; /* of shares from 0 to 1: labels are per cent */
};

/* The axis that holds [lo, hi] with about max_ticks ticks, its ends rounded so
 * that it does not move with every new value. lo <= hi, finite, > 0 for log. */
void qn_axis_values(struct qn_axis *a, double lo, double hi, bool log,
                    int max_ticks);
/* The same for shares from 0 to 1, which it does not leave. */
void qn_axis_shares(struct qn_axis *a, double lo, double hi, int max_ticks);
/* Steps: the end is rounded up to a number that looks round. */
void qn_axis_steps(struct qn_axis *a, double lo, double hi, int max_ticks);
/* The ends as they are, lo < hi, with ticks at round numbers between them, no
 * closer than 'least' (0: as close as it takes). */
void qn_axis_between(struct qn_axis *a, double lo, double hi, double least,
                     int max_ticks);
/* 0 at lo, 1 at hi; beyond for values outside. */
double qn_axis_place(const struct qn_axis *a, double v);
const char *qn_axis_label(const struct qn_axis *a, int i, char *buf,
                          size_t size);

#endif
