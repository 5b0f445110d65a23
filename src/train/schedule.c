/* schedule.c - when something that happens every so often is due. */
#include "train/schedule.h"

#include <math.h>

/* 0.1 epochs of 10 steps are one step although 0.1 * 10 need not be exactly 1:
 * a multiple that is missed by rounding alone counts as reached. */
#define ROUNDING 1e-9

static double position(enum qn_unit unit, const struct qn_moment *m)
{
    switch (unit) {
    case QN_UNIT_STEPS:
        return (double)m->step;
    case QN_UNIT_EPOCHS:
        return m->steps_per_epoch > 0
                   ? (double)m->step / (double)m->steps_per_epoch
                   : 0;
    case QN_UNIT_SECONDS:
        return m->seconds;
    case QN_UNIT_EVALS:
        return (double)m->evals;
    }
    return 0;
}

bool qn_period_due(struct qn_period every, const struct qn_moment *before,
                   const struct qn_moment *now)
{
    if (!(every.amount > 0)) {
        return false;
    }
    double from = position(every.unit, before) / every.amount;
    double to = position(every.unit, now) / every.amount;
    return floor(to + ROUNDING) > floor(from + ROUNDING);
}

int64_t qn_total_steps(const struct qn_spec *spec, int64_t steps_per_epoch)
{
    if (spec->steps > 0) {
        return spec->steps;
    }
    double steps = ceil(spec->epochs * (double)steps_per_epoch - ROUNDING);
    steps = fmax(steps, 1);
    return steps < 9e18 ? (int64_t)steps : INT64_MAX;
}

void qn_speed_add(struct qn_speed *s, double tokens, double seconds)
{
    s->tokens[s->next] = tokens;
    s->seconds[s->next] = seconds;
    s->next = (s->next + 1) % QN_SPEED_STEPS;
    if (s->n < QN_SPEED_STEPS) {
        s->n++;
    }
}

double qn_speed_now(const struct qn_speed *s)
{
    double tokens = 0;
    double seconds = 0;
    for (int i = 0; i < s->n; i++) {
        tokens += s->tokens[i];
        seconds += s->seconds[i];
    }
    return seconds > 0 ? tokens / seconds : 0;
}
