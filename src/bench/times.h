/* times.h - seconds of something that was done again and again.
 *
 * What else runs on a machine only ever makes a thing slower, so the best time
 * is what the machine can; how far the median is from it tells the noise. */
#ifndef QN_BENCH_TIMES_H
#define QN_BENCH_TIMES_H

/* Zero-initialise. */
struct qn_times {
    double *seconds;
    int n, room;
};

void qn_times_free(struct qn_times *t);
void qn_times_add(struct qn_times *t, double seconds);

/* Of at least one time; with an even number the median is the mean of two. */
double qn_times_best(const struct qn_times *t);
double qn_times_median(const struct qn_times *t);
/* The median of a's by b's, pair by pair: as many of each, taken in turn. What
 * slows a moment slows both. */
double qn_times_quotient(const struct qn_times *a, const struct qn_times *b);
/* Median by best: 1 on a machine that nobody else uses; NAN of one time, which
 * tells nothing. */
double qn_times_spread(const struct qn_times *t);

#endif
