/* lab_stored.c - a run's folder, back into series and statistics. */
#include "lab/tables.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/line.h"
#include "store/store.h"
#include "train/metrics_line.h"
#include "train/schedule.h"
#include "train/stats_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void take_step(struct lab_run *run, const struct qn_step_record *step)
{
    struct qn_step_record r = *step;
    if (!isfinite(r.seconds)) {
        r.seconds = run->train_seconds;
    }
    qn_lab_intake_step(run, &r);
}

static enum qn_status read_metrics(struct lab_run *run, struct qn_err *err)
{
    struct qn_metrics m;
    enum qn_status status = qn_metrics_read(run->dir, &m, err);
    if (status != QN_OK) {
        return status;
    }
    for (size_t i = 0; i < m.n_steps; i++) {
        take_step(run, &m.step[i]);
    }
    for (size_t i = 0; i < m.n_evals; i++) {
        qn_lab_intake_eval(run, m.eval[i].step, &m.eval[i].e);
    }
    qn_metrics_free(&m);
    return QN_OK;
}

/* Lines of the newest segment, which is that of the newest step or a later one.
 */
static bool refill_step(void *user, const json_t *line)
{
    struct lab_run *run = user;
    struct qn_metric_line l;
    qn_metric_line_read(line, &l);
    if (l.kind == QN_METRIC_STEP && l.step.step > run->newest.step) {
        l.step.segment = run->newest.segment;
        take_step(run, &l.step);
    }
    return true;
}

/* Some thousand steps: read and parsed while a person does not notice. */
#define REFILL_BYTES ((size_t)2 << 20)
/* Some records of statistics, of many layers. */
#define STATS_BYTES ((size_t)1 << 20)

void qn_lab_refill(struct lab_run *run)
{
    /* What is older than that, or an unreadable file, leaves a gap in the
     * curve: the screen must not wait for a file that only grows. */
    (void)qn_run_dir_tail(run->dir, QN_METRICS, REFILL_BYTES, refill_step, run,
                          NULL);
}

/* Every line replaces the one before: the newest stays. */
static bool read_stats(void *user, const json_t *line)
{
    struct lab_run *run = user;
    if (!qn_str_eq(qn_line_text(line, "event"), "stats")) {
        return true;
    }
    if (run->stats == NULL) {
        run->stats = qn_xmalloc(sizeof *run->stats);
    }
    qn_stats_read(run->stats, line, run->spec.stats.near);
    return true;
}

/* The newest record is near the end; where it is not, as behind a resume, all
 * lines are read. */
static enum qn_status find_stats(struct lab_run *run, struct qn_err *err)
{
    (void)qn_run_dir_tail(run->dir, QN_STATS, STATS_BYTES, read_stats, run,
                          NULL);
    return run->stats != NULL
               ? QN_OK
               : qn_run_dir_lines(run->dir, QN_STATS, read_stats, run, err);
}

/* What was set for a step that the run has not come to, in a history that it
 * goes through again, does not hold yet. */
static void read_set(struct lab_run *run, const json_t *line)
{
    if (qn_line_int(line, "step") <= run->newest.step) {
        /* A value that this version refuses stays as spec.json has it. */
        (void)qn_settings_change(&run->spec, qn_line_text(line, "key"),
                                 qn_line_text(line, "value"), NULL);
    }
}

static bool read_event(void *user, const json_t *line)
{
    struct lab_run *run = user;
    const char *event = qn_line_text(line, "event");
    if (qn_str_eq(event, "sample")) {
        qn_lab_set_sample(run, qn_line_text(line, "text"));
    } else if (qn_str_eq(event, "set")) {
        read_set(run, line);
    } else if (qn_str_eq(event, "done")) {
        /* With what came after the last step; fmax: NaN is none, and a run that
         * was resumed then is further. */
        run->train_seconds =
            fmax(run->train_seconds, qn_line_number(line, "seconds"));
    } else if (qn_str_eq(event, "failed")) {
        (void)snprintf(run->error, sizeof run->error, "%s",
                       qn_line_text(line, "error"));
    }
    return true;
}

static void forget_history(struct lab_run *run)
{
    for (int i = 0; i < LAB_N_METRICS; i++) {
        qn_series_clear(run->series[i]);
    }
    free(run->stats);
    run->stats = NULL;
    qn_lab_reset_progress(run);
    run->error[0] = '\0';
}

enum qn_status qn_lab_read_history(struct lab_run *run, struct qn_err *err)
{
    forget_history(run);
    enum qn_status status = read_metrics(run, err);
    if (status == QN_OK) {
        status = qn_run_dir_lines(run->dir, QN_EVENTS, read_event, run, err);
    }
    if (status == QN_OK) {
        status = find_stats(run, err);
    }
    if (status != QN_OK) {
        return status;
    }
    if (run->newest.epoch > 0) {
        run->steps_per_epoch =
            llround((double)run->newest.step / run->newest.epoch);
        run->steps_total = qn_total_steps(&run->spec, run->steps_per_epoch);
    }
    return QN_OK;
}

/* A stored run never counts as active here, whoever else may be training it. */
static void set_stored_state(struct lab_run *run, const char *state)
{
    if (qn_str_eq(state, "done")) {
        run->state = QN_LAB_DONE;
    } else if (qn_str_eq(state, "failed")) {
        run->state = QN_LAB_FAILED;
    } else {
        run->state = QN_LAB_STOPPED;
    }
    if (qn_str_eq(state, "running") || qn_str_eq(state, "paused")) {
        (void)snprintf(run->error, sizeof run->error,
                       "another process trains it");
    } else if (qn_str_eq(state, "interrupted")) {
        (void)snprintf(run->error, sizeof run->error,
                       "it was interrupted and can be resumed");
    }
}

static enum qn_status read_state(struct lab_run *run, struct qn_err *err)
{
    char *store = qn_xstrndup(run->dir, (size_t)(run->folder - run->dir));
    struct qn_run_summary *all = NULL;
    int n = 0;
    enum qn_status status =
        qn_store_list(store[0] != '\0' ? store : ".", &all, &n, NULL, err);
    for (int i = 0; status == QN_OK && i < n; i++) {
        if (qn_str_eq(all[i].id, run->folder)) {
            set_stored_state(run, all[i].state);
        }
    }
    free(all);
    free(store);
    return status;
}

static enum qn_status read_spec(const char *dir, struct qn_spec *spec,
                                struct qn_err *err)
{
    struct qn_bytes json = {0};
    enum qn_status status = qn_run_dir_read(dir, "spec.json", &json, err);
    if (status == QN_OK) {
        status = qn_spec_parse(json.data, json.len, spec, err);
        if (status != QN_OK) {
            char where[QN_PATH_LEN];
            (void)snprintf(where, sizeof where, "%s/spec.json", dir);
            (void)qn_fail_in(err, status, where);
        }
    }
    qn_bytes_free(&json);
    return status;
}

static enum qn_status open_dir(struct qn_lab *lab, const char *dir,
                               qn_run_id *out, struct qn_err *err)
{
    struct lab_run *run = qn_lab_find_dir(lab, dir);
    if (run != NULL) {
        *out = run->id;
        return QN_OK;
    }
    struct qn_spec spec;
    enum qn_status status = read_spec(dir, &spec, err);
    if (status != QN_OK) {
        return status;
    }
    run = qn_lab_add_run(lab, dir, &spec);
    status = qn_lab_read_history(run, err);
    if (status == QN_OK) {
        status = read_state(run, err);
    }
    if (status != QN_OK) {
        qn_lab_drop_last_run(lab);
        return status;
    }
    *out = run->id;
    return QN_OK;
}

enum qn_status qn_lab_open_stored(struct qn_lab *lab, const char *name,
                                  qn_run_id *out, struct qn_err *err)
{
    char *dir = NULL;
    enum qn_status status =
        qn_store_find(lab->env.store, name, &dir, NULL, err);
    if (status == QN_OK) {
        status = open_dir(lab, dir, out, err);
    }
    free(dir);
    return status;
}
