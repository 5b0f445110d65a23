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

void qn_lab_intake_step(struct lab_run *run, const struct qn_step_record *r)
{
    double step = (double)r->step;
    qn_series_add(run->series[LAB_TRAIN_LOSS], step, r->loss);
    qn_series_add(run->series[LAB_LR], step, r->lr);
    qn_series_add(run->series[LAB_GRAD_NORM], step, r->grad_norm);
    qn_series_add(run->series[LAB_TOKENS_PER_S], step, r->tokens_per_s);
    if (r->tokens_per_s > 0) {
        run->train_seconds +=
            (double)run->spec.batch * run->spec.seq / r->tokens_per_s;
    }
    run->newest = *r;
}

void qn_lab_intake_eval(struct lab_run *run, enum qn_split split, int64_t step,
                        double loss)
{
    static const enum lab_metric metric[QN_N_SPLITS] = {
        [QN_TRAIN] = LAB_N_METRICS, /* train.loss is the steps' own */
        [QN_VALID] = LAB_VALID_LOSS,
        [QN_TEST] = LAB_TEST_LOSS,
    };
    if (metric[split] == LAB_N_METRICS) {
        return;
    }
    qn_series_add(run->series[metric[split]], (double)step, loss);
    bool better = !run->has_best || loss < run->best_loss;
    if (split == QN_VALID && isfinite(loss) && better) {
        run->has_best = true;
        run->best_step = step;
        run->best_loss = loss;
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

static bool take_stats(struct lab_run *run)
{
    const struct qn_stats_record *stats = qn_worker_take_stats(run->worker);
    if (stats == NULL) {
        return false;
    }
    if (run->stats == NULL) {
        run->stats = qn_xmalloc(sizeof *run->stats);
    }
    qn_stats_copy(run->stats, stats);
    return true;
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

static void take_set(struct lab_run *run, const struct qn_note *n)
{
    /* The trainer has checked it: a failure here would only mean that the copy
     * stays behind. */
    (void)qn_settings_change(&run->spec, n->key, n->text, NULL);
    if (run->steps_per_epoch > 0) {
        run->steps_total = qn_total_steps(&run->spec, run->steps_per_epoch);
    }
}

static void take_note(struct qn_lab *lab, struct lab_run *run,
                      const struct qn_note *n)
{
    switch (n->kind) {
    case QN_NOTE_EVAL:
        if (!n->on_request) {
            qn_lab_intake_eval(run, n->split, n->step, n->loss);
        }
        break;
    case QN_NOTE_SAMPLE:
        qn_lab_set_sample(run, n->text);
        break;
    case QN_NOTE_SET:
        take_set(run, n);
        break;
    case QN_NOTE_PAUSE:
        change_state(run, QN_LAB_PAUSED, n->text);
        break;
    case QN_NOTE_RESUME:
        change_state(run, QN_LAB_RUNNING, "");
        break;
    case QN_NOTE_REPLY:
        qn_lab_take_reply(lab, n,
                          qn_worker_take_counts(run->worker, n->ticket));
        break;
    case QN_NOTE_DONE:
        change_state(run, QN_LAB_DONE, "");
        break;
    case QN_NOTE_STOPPED:
        change_state(run, QN_LAB_STOPPED, "");
        break;
    case QN_NOTE_FAILED:
        change_state(run, QN_LAB_FAILED, n->text);
        break;
    case QN_NOTE_CHECKPOINT:
    case QN_NOTE_NAN:
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
