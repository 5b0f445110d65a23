/* lab.c - the table of runs: making, finding, polling and ending them. */
#include "lab/tables.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void take_notice(void *user, enum qn_log_level level, const char *line)
{
    qn_lab_log_add(user, level, line);
}

enum qn_status qn_lab_new(const struct qn_train_env *env, struct qn_lab **out,
                          struct qn_err *err)
{
    struct qn_wake *wake;
    enum qn_status status = qn_wake_new(&wake, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_lab *lab = qn_xcalloc(1, sizeof *lab);
    lab->env = *env;
    lab->wake = wake;
    lab->log = qn_lab_log_new(wake);
    if (env->log == NULL) {
        lab->notices = qn_log_new(take_notice, lab->log);
        lab->env.log = lab->notices;
    }
    *out = lab;
    return QN_OK;
}

static void free_run(struct lab_run *run)
{
    for (int i = 0; i < LAB_N_METRICS; i++) {
        qn_series_free(run->series[i]);
    }
    free(run->stats);
    free(run->sample);
    free(run->dir);
    free(run);
}

void qn_lab_free(struct qn_lab *lab, bool save)
{
    if (lab == NULL) {
        return;
    }
    qn_lab_end_job(lab);
    /* All are told before the first is waited for: they end side by side. */
    struct qn_command stop = {.kind = QN_CMD_STOP, .save = save};
    for (int i = 0; i < lab->n_runs; i++) {
        if (lab->runs[i]->worker != NULL) {
            (void)qn_worker_post(lab->runs[i]->worker, &stop);
        }
    }
    for (int i = 0; i < lab->n_runs; i++) {
        qn_worker_free(lab->runs[i]->worker, save);
        free_run(lab->runs[i]);
    }
    free(lab->runs);
    qn_lab_free_asks(lab);
    qn_log_free(lab->notices);
    qn_lab_log_free(lab->log);
    qn_wake_free(lab->wake);
    free(lab);
}

int qn_lab_fd(const struct qn_lab *lab)
{
    return qn_wake_fd(lab->wake);
}

const struct qn_train_env *qn_lab_env(const struct qn_lab *lab)
{
    return &lab->env;
}

struct lab_run *qn_lab_find(const struct qn_lab *lab, qn_run_id id)
{
    return id >= 1 && id <= lab->n_runs ? lab->runs[id - 1] : NULL;
}

/* By the folder's name, which holds a time and random digits: however the path
 * was written. */
struct lab_run *qn_lab_find_dir(const struct qn_lab *lab, const char *dir)
{
    for (int i = 0; i < lab->n_runs; i++) {
        if (qn_str_eq(lab->runs[i]->folder, qn_path_base(dir))) {
            return lab->runs[i];
        }
    }
    return NULL;
}

struct lab_run *qn_lab_add_run(struct qn_lab *lab, const char *dir,
                               const struct qn_spec *spec)
{
    struct lab_run *run = qn_xcalloc(1, sizeof *run);
    run->dir = qn_xstrdup(dir);
    run->folder = qn_path_base(run->dir);
    run->spec = *spec;
    qn_lab_reset_progress(run);
    run->sample = qn_xstrdup("");
    for (int i = 0; i < LAB_N_METRICS; i++) {
        run->series[i] = qn_series_new();
    }
    lab->runs =
        qn_xrealloc(lab->runs, (size_t)lab->n_runs + 1, sizeof *lab->runs);
    lab->runs[lab->n_runs++] = run;
    run->id = lab->n_runs;
    return run;
}

void qn_lab_reset_progress(struct lab_run *run)
{
    run->newest =
        (struct qn_step_record){.loss = (double)NAN, .accuracy = (double)NAN};
    run->has_best = false;
    run->best_step = 0;
    run->best_loss = (double)NAN;
    run->best_accuracy = (double)NAN;
    run->train_seconds = 0;
}

void qn_lab_drop_last_run(struct qn_lab *lab)
{
    QN_ASSERT(lab->n_runs > 0);
    free_run(lab->runs[--lab->n_runs]);
}

/* What only the trainer knows, while it is still this thread's. */
static void copy_facts(struct lab_run *run, const struct qn_trainer *t)
{
    run->spec = *qn_trainer_spec(t);
    run->steps_total = qn_trainer_steps_total(t);
    run->steps_per_epoch = qn_trainer_steps_per_epoch(t);
    run->newest.step = qn_trainer_step_count(t);
    /* The trainer counts segments by events.jsonl, and what was read of
     * metrics.jsonl by that, which a crash may have left with more. */
    run->newest.segment = 0;
    run->train_seconds = qn_trainer_seconds(t);
    struct qn_best best;
    run->has_best = qn_trainer_best(t, &best);
    if (run->has_best) {
        run->best_step = best.step;
        run->best_loss = best.loss;
        run->best_accuracy = best.accuracy;
    }
    run->error[0] = '\0';
    run->dropped_seen = 0;
    run->rate = run->rate_time = 0;
}

/* What it takes, before it takes it. */
static void tell_memory(const struct qn_lab *lab, const struct qn_trainer *t)
{
    struct qn_str s = {0};
    qn_trainer_memory_text(t, true, &s);
    qn_log_write(lab->env.log, QN_LOG_INFO, "%s takes %s of memory",
                 qn_trainer_id(t), s.text);
    qn_str_free(&s);
}

/* A row and a thread for the trainer of a new run; both are taken. */
static enum qn_status start_new(struct qn_lab *lab, struct qn_trainer *t,
                                struct qn_outlet *outlet, bool hold,
                                qn_run_id *out, struct qn_err *err)
{
    struct lab_run *run =
        qn_lab_add_run(lab, qn_trainer_dir(t), qn_trainer_spec(t));
    copy_facts(run, t);
    tell_memory(lab, t);
    enum qn_status status = qn_worker_start(t, outlet, hold, &run->worker, err);
    if (status != QN_OK) {
        qn_trainer_free(t);
        qn_outlet_free(outlet);
        qn_lab_drop_last_run(lab);
        return status;
    }
    run->state = hold ? QN_LAB_HELD : QN_LAB_RUNNING;
    *out = run->id;
    return QN_OK;
}

enum qn_status qn_lab_train(struct qn_lab *lab, const struct qn_spec *spec,
                            bool hold, qn_run_id *out, struct qn_err *err)
{
    struct qn_outlet *outlet = qn_outlet_new(lab->wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    struct qn_trainer *t = NULL;
    enum qn_status status = qn_trainer_create(&lab->env, spec, &sink, &t, err);
    if (status != QN_OK) {
        qn_outlet_free(outlet);
        return status;
    }
    return start_new(lab, t, outlet, hold, out, err);
}

enum qn_status qn_lab_fork(struct qn_lab *lab, qn_run_id parent,
                           const char *from, const char *const *changes, int n,
                           bool hold, qn_run_id *out, struct qn_err *err)
{
    const struct lab_run *run = qn_lab_find(lab, parent);
    if (run == NULL) {
        return qn_fail(err, QN_ENOTFOUND, "there is no run %d", parent);
    }
    struct qn_outlet *outlet = qn_outlet_new(lab->wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    struct qn_trainer *t = NULL;
    enum qn_status status =
        qn_trainer_fork(&lab->env, run->dir, from, changes, n, &sink, &t, err);
    if (status != QN_OK) {
        qn_outlet_free(outlet);
        return status;
    }
    return start_new(lab, t, outlet, hold, out, err);
}

/* The row of the run that this trainer goes on with: the one it had before, or
 * a new one. Its history is read again, since the resume has cut it. */
static enum qn_status resumed_row(struct qn_lab *lab, struct qn_trainer *t,
                                  struct lab_run **out, struct qn_err *err)
{
    struct lab_run *run = qn_lab_find_dir(lab, qn_trainer_dir(t));
    bool is_new = run == NULL;
    if (is_new) {
        run = qn_lab_add_run(lab, qn_trainer_dir(t), qn_trainer_spec(t));
    }
    enum qn_status status = qn_lab_read_history(run, err);
    if (status != QN_OK) {
        if (is_new) {
            qn_lab_drop_last_run(lab);
        }
        return status;
    }
    copy_facts(run, t);
    *out = run;
    return QN_OK;
}

static enum qn_status start_resumed(struct qn_lab *lab, struct qn_trainer *t,
                                    struct qn_outlet *outlet, qn_run_id *out,
                                    struct qn_err *err)
{
    struct lab_run *run;
    enum qn_status status = resumed_row(lab, t, &run, err);
    if (status != QN_OK) {
        return status;
    }
    tell_memory(lab, t);
    status = qn_worker_start(t, outlet, false, &run->worker, err);
    run->state = status == QN_OK ? QN_LAB_RUNNING : QN_LAB_STOPPED;
    if (status == QN_OK) {
        *out = run->id;
    }
    return status;
}

/* No worker of this lab has the run any more: one whose end has been told may
 * need a moment to let go of the folder. */
static enum qn_status make_free(struct qn_lab *lab, const char *path,
                                struct qn_err *err)
{
    struct lab_run *run = qn_lab_find_dir(lab, path);
    if (run == NULL || run->worker == NULL) {
        return QN_OK;
    }
    if (qn_lab_state_active(run->state)) {
        return qn_fail(err, QN_ESTATE, "run %s is %s already", run->folder,
                       qn_lab_state_name(run->state));
    }
    qn_worker_join(run->worker);
    (void)qn_lab_intake(lab, run);
    return QN_OK;
}

enum qn_status qn_lab_resume_stored(struct qn_lab *lab, const char *name,
                                    const char *const *changes, int n,
                                    qn_run_id *out, struct qn_err *err)
{
    char *path = NULL;
    enum qn_status status =
        qn_store_find(lab->env.store, name, &path, NULL, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_outlet *outlet = qn_outlet_new(lab->wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    struct qn_trainer *t = NULL;
    status = make_free(lab, path, err);
    if (status != QN_OK) {
        goto out;
    }
    status = qn_trainer_resume(&lab->env, path, changes, n, &sink, &t, err);
    if (status != QN_OK) {
        goto out;
    }
    status = start_resumed(lab, t, outlet, out, err);
out:
    if (status != QN_OK) {
        qn_trainer_free(t);
        qn_outlet_free(outlet);
    }
    free(path);
    return status;
}

void qn_lab_release(struct qn_lab *lab)
{
    struct qn_command c = {.kind = QN_CMD_RESUME};
    for (int i = 0; i < lab->n_runs; i++) {
        struct lab_run *run = lab->runs[i];
        if (run->state != QN_LAB_HELD || run->worker == NULL) {
            continue;
        }
        if (run->hold_paused) {
            run->state = QN_LAB_PAUSED;
        } else if (qn_worker_post(run->worker, &c)) {
            run->state = QN_LAB_RUNNING;
        }
    }
}

bool qn_lab_poll(struct qn_lab *lab)
{
    qn_wake_clear(lab->wake);
    bool any = false;
    for (int i = 0; i < lab->n_runs; i++) {
        any |= qn_lab_intake(lab, lab->runs[i]);
    }
    any |= qn_lab_poll_jobs(lab);
    return qn_lab_log_any(lab->log) || any;
}
