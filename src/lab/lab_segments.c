/* lab_segments.c - a run that goes through some of its steps again: what was
 * known of them is replaced. */
#include "lab/tables.h"

#include <math.h>
#include <stdlib.h>

/* The newest value of a curve. */
static double last_value(const struct qn_series *s)
{
    size_t len = qn_series_len(s);
    return len > 0 ? qn_series_at(s, len - 1).value : (double)NAN;
}

/* The series that have a point for every step. */
static const enum lab_metric step_metrics[] = {LAB_TRAIN_LOSS,
                                               LAB_TRAIN_ACCURACY, LAB_LR,
                                               LAB_GRAD_NORM, LAB_TOKENS_PER_S};

/* A segment of the history begins with this step: steps from there on are
 * replaced, and so is what was counted of them. */
void qn_lab_begin_segment(struct lab_run *run, int segment, int64_t step)
{
    struct qn_step_record *newest = &run->newest;
    newest->segment = segment;
    run->segment_begin = step;
    for (size_t i = 0; i < sizeof step_metrics / sizeof step_metrics[0]; i++) {
        qn_series_cut(run->series[step_metrics[i]], (double)step);
    }
    if (newest->step >= step) {
        newest->step = step - 1;
        newest->epoch = run->steps_per_epoch > 0
                            ? (double)(step - 1) / (double)run->steps_per_epoch
                            : 0;
        newest->loss = last_value(run->series[LAB_TRAIN_LOSS]);
        newest->accuracy = last_value(run->series[LAB_TRAIN_ACCURACY]);
        run->rate_time = 0; /* the rate counts steps forward */
    }
    if (run->stats != NULL && run->stats->segment < segment &&
        run->stats->step >= step) {
        free(run->stats);
        run->stats = NULL;
    }
}

/* The value of a curve at a step; NaN: it has none there. */
static double value_at(const struct qn_series *s, double step)
{
    size_t i = qn_series_find(s, step);
    bool there = i < qn_series_len(s) && qn_series_at(s, i).step == step;
    return there ? qn_series_at(s, i).value : (double)NAN;
}

/* The best of the evaluations that are left. */
static void find_best(struct lab_run *run)
{
    const struct qn_series *losses = run->series[LAB_VALID_LOSS];
    run->has_best = false;
    run->best_step = 0;
    run->best_loss = run->best_accuracy = (double)NAN;
    for (size_t i = 0; i < qn_series_len(losses); i++) {
        struct qn_point p = qn_series_at(losses, i);
        struct qn_evaluation e = {
            .loss = p.value,
            .accuracy = value_at(run->series[LAB_VALID_ACCURACY], p.step),
        };
        qn_lab_take_best(run, (int64_t)p.step, &e);
    }
}

/* Evaluations after this step are replaced. */
static void forget_evals(struct lab_run *run, int64_t step)
{
    static const enum lab_metric of[] = {LAB_VALID_LOSS, LAB_TEST_LOSS,
                                         LAB_VALID_ACCURACY, LAB_TEST_ACCURACY};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        qn_series_cut(run->series[of[i]], (double)step + 1);
    }
    if (run->has_best && run->best_step > step) {
        find_best(run);
    }
}

/* Steps of the new segment may have come before the note, or come after it;
 * evaluations come with the notes. */
void qn_lab_take_rollback(struct lab_run *run, const struct qn_note *n)
{
    if (n->segment > run->newest.segment) {
        qn_lab_begin_segment(run, n->segment, n->step + 1);
    } else if (n->segment == run->newest.segment &&
               run->segment_begin > n->step + 1) {
        /* The ring has dropped its first ones: in their places are still those
         * that they replace. */
        qn_lab_begin_segment(run, n->segment, n->step + 1);
        qn_lab_refill(run);
    }
    forget_evals(run, n->step);
}
