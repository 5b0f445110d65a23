/* lab_view.c - what the tables say about a run, for whoever shows it. */
#include "lab/tables.h"

#include <math.h>
#include <string.h>

static const char *const state_names[] = {
    [QN_LAB_HELD] = "held",     [QN_LAB_RUNNING] = "running",
    [QN_LAB_PAUSED] = "paused", [QN_LAB_STOPPING] = "stopping",
    [QN_LAB_DONE] = "done",     [QN_LAB_STOPPED] = "stopped",
    [QN_LAB_FAILED] = "failed",
};

static const char *const metric_names[LAB_N_METRICS + 1] = {
    [LAB_TRAIN_LOSS] = "train.loss",
    [LAB_VALID_LOSS] = "valid.loss",
    [LAB_TEST_LOSS] = "test.loss",
    [LAB_TRAIN_ACCURACY] = "train.accuracy",
    [LAB_VALID_ACCURACY] = "valid.accuracy",
    [LAB_TEST_ACCURACY] = "test.accuracy",
    [LAB_LR] = "lr",
    [LAB_GRAD_NORM] = "grad_norm",
    [LAB_TOKENS_PER_S] = "tokens_per_s",
};

const char *qn_lab_state_name(enum qn_lab_state state)
{
    return state_names[state];
}

bool qn_lab_state_active(enum qn_lab_state state)
{
    return state <= QN_LAB_STOPPING;
}

const char *const *qn_lab_metric_names(void)
{
    return metric_names;
}

int qn_lab_n_runs(const struct qn_lab *lab)
{
    return lab->n_runs;
}

qn_run_id qn_lab_run_at(const struct qn_lab *lab, int i)
{
    return lab->runs[i]->id;
}

int qn_lab_n_active(const struct qn_lab *lab)
{
    int n = 0;
    for (int i = 0; i < lab->n_runs; i++) {
        n += qn_lab_state_active(lab->runs[i]->state);
    }
    return n;
}

bool qn_lab_has_metric(const struct qn_spec *spec, const char *metric)
{
    return spec->task == QN_TASK_CLASSIFY || !qn_ends_with(metric, ".accuracy");
}

/* The moving rate, which counts evaluations in; before there is one, the speed
 * of the newest step or, of documents, which differ in length, of all steps.
 * 0 = unknown. */
static double steps_per_second(const struct lab_run *run)
{
    if (run->rate > 0) {
        return run->rate;
    }
    if (run->spec.task == QN_TASK_CLASSIFY) {
        double seconds = run->train_seconds;
        return seconds > 0 ? (double)run->newest.step / seconds : 0;
    }
    double tokens = (double)run->spec.batch * run->spec.seq;
    return tokens > 0 ? run->newest.tokens_per_s / tokens : 0;
}

static double seconds_left(const struct lab_run *run)
{
    if (!qn_lab_state_active(run->state)) {
        return 0;
    }
    double rate = steps_per_second(run);
    if (run->state != QN_LAB_RUNNING || !(rate > 0)) {
        return (double)INFINITY;
    }
    double left = (double)(run->steps_total - run->newest.step) / rate;
    if (run->spec.stop.after > 0) {
        left = fmin(left, run->spec.stop.after - run->train_seconds);
    }
    return fmax(left, 0);
}

static double epochs_total(const struct lab_run *run)
{
    if (run->spec.steps == 0 || run->steps_per_epoch == 0) {
        return run->spec.epochs;
    }
    return (double)run->steps_total / (double)run->steps_per_epoch;
}

bool qn_lab_run(const struct qn_lab *lab, qn_run_id id, struct qn_lab_run *out)
{
    const struct lab_run *run = qn_lab_find(lab, id);
    if (run == NULL) {
        return false;
    }
    *out = (struct qn_lab_run){
        .id = id,
        .name = run->spec.name[0] != '\0' ? run->spec.name : run->folder,
        .dir = run->dir,
        .run = run->folder,
        .state = run->state,
        .waits = run->waits && run->state == QN_LAB_PAUSED,
        .error = run->error,
        .step = run->newest.step,
        .steps_total = run->steps_total,
        .steps_per_epoch = run->steps_per_epoch,
        .epoch = run->newest.epoch,
        .epochs_total = epochs_total(run),
        .loss = run->newest.loss,
        .lr = run->newest.lr,
        .grad_norm = run->newest.grad_norm,
        .tokens_per_s = run->newest.tokens_per_s,
        .seconds = run->train_seconds,
        .seconds_left = seconds_left(run),
        .has_best = run->has_best,
        .best_step = run->best_step,
        .best_loss = run->best_loss,
        .best_accuracy = run->best_accuracy,
        .accuracy = run->newest.accuracy,
        .spec = &run->spec,
        .sample = run->sample,
    };
    return true;
}

const struct qn_series *qn_lab_series(const struct qn_lab *lab, qn_run_id id,
                                      const char *metric)
{
    const struct lab_run *run = qn_lab_find(lab, id);
    for (int i = 0; run != NULL && i < LAB_N_METRICS; i++) {
        if (strcmp(metric, metric_names[i]) == 0) {
            return run->series[i];
        }
    }
    return NULL;
}

const struct qn_stats_record *qn_lab_stats(const struct qn_lab *lab,
                                           qn_run_id id)
{
    const struct lab_run *run = qn_lab_find(lab, id);
    return run != NULL ? run->stats : NULL;
}

const char *qn_lab_quantity_title(enum qn_quantity what)
{
    return qn_quantity_title(what);
}
