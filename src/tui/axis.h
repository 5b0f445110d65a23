/* axis.h - ranges, nice ticks and the text of numbers: pure. */
#ifndef QN_TUI_AXIS_H
#define QN_TUI_AXIS_H

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
/* 0 at lo, 1 at hi; beyond for values outside. */
double qn_axis_place(const struct qn_axis *a, double v);
const char *qn_axis_label(const struct qn_axis *a, int i, char *buf,
                          size_t size);

/* "950", "12.4k", "3.1M": three digits that matter; exact gives six. */
const char *qn_text_count(char *buf, size_t size, double v, bool exact);
/* A loss, four digits that matter: "1.234", "0.071", "12.35", "1.2e+06". */
const char *qn_text_value(char *buf, size_t size, double v);
/* A share from 0 to 1 as "87.2 %"; "NaN" when it is not finite. */
const char *qn_text_share(char *buf, size_t size, double v);
/* "42s", "6m12s", "1h04m", "3d4h". */
const char *qn_text_duration(char *buf, size_t size, double seconds);

#endif
