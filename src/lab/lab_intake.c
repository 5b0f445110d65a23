/* lab_intake.c - what a trainer published, into the tables.
 *
 * Steps come through a ring that drops when nobody polls for long; a gap in
 * their numbers is then filled from metrics.jsonl, which has every step.
 */
#include "lab/tables.h"

#include "base/clock.h"
#include "base/mem.h"
#include "train/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_INTERVAL 0.25 /* seconds between two looks at the rate */
#define RATE_MEMORY 15.0   /* seconds after which a look counts 1/e */

/* What is not there, as of a language model, is no point. */
static void add_accuracy(struct lab_run *run, enum lab_metric metric,
                         double step, double accuracy)
{
    if (run->spec.task == QN_TASK_CLASSIFY && isfinite(accuracy)) {
        qn_series_add(run->series[metric], step, accuracy);
    }
}

void qn_lab_intake_step(struct lab_run *run, const struct qn_step_record *r)
{
    double step = (double)r->step;
    qn_series_add(run->series[LAB_TRAIN_LOSS], step, r->loss);
    add_accuracy(run, LAB_TRAIN_ACCURACY, step, r->accuracy);
    qn_series_add(run->series[LAB_LR], step, r->lr);
    qn_series_add(run->series[LAB_GRAD_NORM], step, r->grad_norm);
    qn_series_add(run->series[LAB_TOKENS_PER_S], step, r->tokens_per_s);
    run->train_seconds = r->seconds;
    run->newest = *r;
}

/* By checkpoint.metric, as the trainer has it: of equal ones the earlier stays,
 * and without a loss no accuracy counts. */
static bool is_better(const struct lab_run *run, const struct qn_evaluation *e)
{
    if (!isfinite(e->loss)) {
        return false;
    }
    if (run->spec.checkpoint.metric == QN_VALID_ACCURACY) {
        return isfinite(e->accuracy) &&
               (!run->has_best || !(e->accuracy <= run->best_accuracy));
    }
    return !run->has_best || e->loss < run->best_loss;
}

void qn_lab_take_best(struct lab_run *run, int64_t step,
                      const struct qn_evaluation *e)
{
    if (is_better(run, e)) {
        run->has_best = true;
        run->best_step = step;
        run->best_loss = e->loss;
        run->best_accuracy = e->accuracy;
    }
}

void qn_lab_intake_eval(struct lab_run *run, int64_t step,
                        const struct qn_evaluation *e)
{
    bool valid = e->split == QN_VALID;
    if (e->split == QN_TRAIN) {
        return; /* train.loss and train.accuracy are the steps' own */
    }
    qn_series_add(run->series[valid ? LAB_VALID_LOSS : LAB_TEST_LOSS],
                  (double)step, e->loss);
    add_accuracy(run, valid ? LAB_VALID_ACCURACY : LAB_TEST_ACCURACY,
                 (double)step, e->accuracy);
    if (valid) {
        qn_lab_take_best(run, step, e);
    }
}

void qn_lab_set_sample(struct lab_run *run, const char *text)
{
    free(run->sample);
    run->sample = qn_xstrdup(text);
}

static bool take_steps(struct lab_run *run)
{
    struct qn_step_record r;
    bool any = false, refilled = false;
    while (qn_worker_take_step(run->worker, &r)) {
        any = true;
        if (r.segment > run->newest.segment) {
            qn_lab_begin_segment(run, r.segment, r.step);
        }
        if (r.segment < run->newest.segment) {
            continue; /* replaced, as a note has told before */
        }
        if (r.step > run->newest.step + 1 && !refilled) {
            qn_lab_refill(run);
            refilled = true; /* once a poll is enough of waiting */
        }
        if (r.step > run->newest.step) {
            qn_lab_intake_step(run, &r);
        }
    }
    /* The newest may be among the dropped: then no later one shows the gap. */
    uint64_t dropped = qn_worker_dropped_steps(run->worker);
    if (dropped > run->dropped_seen) {
        run->dropped_seen = dropped;
        if (!refilled) {
            qn_lab_refill(run);
        }
        any = true;
    }
    return any;
}

void qn_lab_intake_stats(struct lab_run *run,
                         const struct qn_stats_record *stats)
{
    if (stats->segment < run->newest.segment &&
        stats->step >= run->segment_begin) {
        return;
    }
    if (run->stats == NULL) {
        run->stats = qn_xmalloc(sizeof *run->stats);
    }
    qn_stats_copy(run->stats, stats);
}

static bool take_stats(struct lab_run *run)
{
    const struct qn_stats_record *stats = qn_worker_take_stats(run->worker);
    if (stats != NULL) {
        qn_lab_intake_stats(run, stats);
    }
    return stats != NULL;
}

static void change_state(struct lab_run *run, enum qn_lab_state state,
                         const char *error)
{
    /* A run that is being stopped shows that until it has ended. */
    if (run->state == QN_LAB_STOPPING && qn_lab_state_active(state)) {
        return;
    }
    run->state = state;
    run->rate_time = 0; /* time spent waiting is no part of the rate */
    (void)snprintf(run->error, sizeof run->error, "%s", error);
}

/* It waits or has ended: the note says the seconds with what came after the
 * last step, such as its evaluation. */
static void take_rest(struct lab_run *run, enum qn_lab_state state,
                      const struct qn_note *n)
{
    change_state(run, state, n->text);
    run->waits = n->waits;
    if (n->seconds > 0) {
        run->train_seconds = n->seconds;
    }
}

static void take_set(struct lab_run *run, const struct qn_note *n)
{
    /* The trainer has checked it: a failure here would only mean that the copy
     * stays behind. */
    (void)qn_settings_change(&run->spec, n->key, n->text, NULL);
    if (run->steps_per_epoch > 0) {
        run->steps_total = qn_total_steps(&run->spec, run->steps_per_epoch);
    }
}

static void take_eval(struct lab_run *run, const struct qn_note *n)
{
    struct qn_evaluation e = {
        .split = n->split, .loss = n->loss, .accuracy = n->accuracy};
    if (!n->on_request) {
        qn_lab_intake_eval(run, n->step, &e);
    }
}

static void take_note(struct qn_lab *lab, struct lab_run *run,
                      const struct qn_note *n)
{
    switch (n->kind) {
    case QN_NOTE_EVAL:
        take_eval(run, n);
        break;
    case QN_NOTE_SAMPLE:
        qn_lab_set_sample(run, n->text);
        break;
    case QN_NOTE_SET:
        take_set(run, n);
        break;
    case QN_NOTE_PAUSE:
        take_rest(run, QN_LAB_PAUSED, n);
        break;
    case QN_NOTE_RESUME:
        change_state(run, QN_LAB_RUNNING, "");
        break;
    case QN_NOTE_REPLY:
        qn_lab_take_reply(lab, n,
                          qn_worker_take_counts(run->worker, n->ticket));
        break;
    case QN_NOTE_DONE:
        take_rest(run, QN_LAB_DONE, n);
        break;
    case QN_NOTE_STOPPED:
        take_rest(run, QN_LAB_STOPPED, n);
        break;
    case QN_NOTE_FAILED:
        take_rest(run, QN_LAB_FAILED, n);
        break;
    case QN_NOTE_ROLLBACK:
        qn_lab_take_rollback(run, n);
        break;
    case QN_NOTE_CHECKPOINT:
    case QN_NOTE_NAN:
    case QN_NOTE_SPIKE:
        break;
    }
    qn_lab_log_note(lab, run, n);
}

static bool take_notes(struct qn_lab *lab, struct lab_run *run)
{
    struct qn_note n;
    bool any = false;
    while (qn_worker_take_note(run->worker, &n)) {
        take_note(lab, run, &n);
        any = true;
    }
    return any;
}

/* Follow the steps per second as they were over the last RATE_MEMORY. */
static void follow_rate(struct lab_run *run)
{
    double now = qn_clock_now();
    if (run->state != QN_LAB_RUNNING) {
        return;
    }
    double dt = now - run->rate_time;
    if (run->rate_time > 0 && dt < RATE_INTERVAL) {
        return;
    }
    if (run->rate_time > 0) {
        double rate = (double)(run->newest.step - run->rate_step) / dt;
        double weight = run->rate > 0 ? 1 - exp(-dt / RATE_MEMORY) : 1;
        run->rate += weight * (rate - run->rate);
    }
    run->rate_time = now;
    run->rate_step = run->newest.step;
}

/* The worker's thread has ended and all it said has been taken. */
static void retire(struct qn_lab *lab, struct lab_run *run)
{
    qn_worker_free(run->worker, false);
    run->worker = NULL;
    if (qn_lab_state_active(run->state)) {
        run->state = QN_LAB_STOPPED;
    }
    qn_lab_reroute_asks(lab, run->id);
}

bool qn_lab_intake(struct qn_lab *lab, struct lab_run *run)
{
    if (run->worker == NULL) {
        return false;
    }
    /* Asked before looking: what an ended thread published is all there. */
    bool ended = qn_worker_ended(run->worker);
    bool any = take_steps(run);
    any |= take_notes(lab, run);
    any |= take_stats(run);
    if (ended) {
        retire(lab, run);
        return true;
    }
    follow_rate(run);
    return any;
}
