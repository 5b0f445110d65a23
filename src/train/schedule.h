/* schedule.h - when something that happens every so often is due.
 *
 * Pure functions of two moments: the end of the previous step and now. What is
 * counted in steps, epochs and evaluations replays exactly; what is counted in
 * seconds depends on the machine and cannot. */
#ifndef QN_TRAIN_SCHEDULE_H
#define QN_TRAIN_SCHEDULE_H

#include "nn/spec.h"

/* How far a run is, in every unit that a period may be given in. */
struct qn_moment {
    int64_t step;
    int64_t steps_per_epoch;
    double seconds; /* of training */
    int64_t evals;  /* evaluations by the schedule and at an end */
};

/* A multiple of the period lies in (before, now]. A period of 0 never is due.
 */
bool qn_period_due(struct qn_period every, const struct qn_moment *before,
                   const struct qn_moment *now);

/* Steps of a whole run: spec->steps, or its epochs rounded up to a step; at
 * least one. */
int64_t qn_total_steps(const struct qn_spec *spec, int64_t steps_per_epoch);

/* Tokens a second over the last few steps; time between steps does not count.
 */
#define QN_SPEED_STEPS 16
struct qn_speed {
    double tokens[QN_SPEED_STEPS], seconds[QN_SPEED_STEPS];
    int n, next;
};
void qn_speed_add(struct qn_speed *s, double tokens, double seconds);
double qn_speed_now(const struct qn_speed *s); /* 0 before the first step */

#endif
