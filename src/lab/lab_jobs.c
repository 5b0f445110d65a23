/* lab_jobs.c - questions to runs that have ended, on a helper thread.
 *
 * Opening a stored run and measuring it takes seconds, so it never happens on
 * the UI thread. One question at a time: each may take as much memory as a run.
 *
 * Threads: a job's fields belong to its thread from its start until 'done'; the
 * two atomics are shared.
 */
#include "lab/tables.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct lab_job {
    struct qn_train_env env;
    struct qn_wake *wake;
    char *dir;
    struct qn_command command;
    char checkpoint[32];
    struct qn_note answer;
    struct qn_stats_record *counts; /* owned; NULL: none, or taken */
    pthread_t thread;
    atomic_bool cancel, done;
};

static bool cancelled(void *user)
{
    struct lab_job *job = user;
    return atomic_load(&job->cancel);
}

static enum qn_status evaluate(struct lab_job *job, struct qn_measure *m,
                               struct qn_err *err)
{
    struct qn_evaluation e;
    enum qn_status status = qn_measure_evaluate(m, job->command.split, &e, err);
    if (status == QN_OK) {
        job->answer.split = e.split;
        job->answer.reading = e.reading;
        job->answer.accuracy = e.accuracy;
        job->answer.loss = e.loss;
        job->answer.predictions = e.predictions;
        job->answer.seconds = e.seconds;
    }
    return status;
}

static enum qn_status sample(struct lab_job *job, struct qn_measure *m,
                             struct qn_err *err)
{
    const struct qn_command *c = &job->command;
    struct qn_text_request request = {.prompt = c->own_prompt ? NULL : c->text,
                                      .length = c->length,
                                      .temperature = c->temperature,
                                      .seed = c->seed};
    struct qn_str text = {0};
    enum qn_status status = qn_measure_sample(m, &request, &text, err);
    if (status == QN_OK && text.text != NULL) {
        qn_note_set_text(&job->answer, text.text);
    }
    qn_str_free(&text);
    return status;
}

static enum qn_status classify(struct lab_job *job, struct qn_measure *m,
                               struct qn_err *err)
{
    return qn_measure_classify(m, job->command.document,
                               job->command.document_len,
                               &job->answer.judgement, err);
}

static enum qn_status measure(struct lab_job *job, struct qn_measure *m,
                              struct qn_err *err)
{
    const struct qn_command *c = &job->command;
    job->counts = qn_xcalloc(1, sizeof *job->counts);
    enum qn_status status =
        qn_measure_stats(m, c->split, c->of, c->near, job->counts, err);
    if (status != QN_OK) {
        free(job->counts);
        job->counts = NULL;
    }
    return status;
}

static enum qn_status answer(struct lab_job *job, struct qn_err *err)
{
    struct qn_measure *m = NULL;
    const char *checkpoint =
        job->checkpoint[0] != '\0' ? job->checkpoint : "best";
    enum qn_status status =
        qn_measure_open(&job->env, job->dir, checkpoint, NULL, 0, &m, err);
    if (status != QN_OK) {
        return status;
    }
    qn_measure_set_interrupt(m, cancelled, job);
    job->answer.step = qn_measure_checkpoint_step(m);
    if (job->command.kind == QN_CMD_EVALUATE) {
        status = evaluate(job, m, err);
    } else if (job->command.kind == QN_CMD_SAMPLE) {
        status = sample(job, m, err);
    } else if (job->command.kind == QN_CMD_CLASSIFY) {
        status = classify(job, m, err);
    } else {
        status = measure(job, m, err);
    }
    qn_measure_free(m);
    return status;
}

static void *work(void *arg)
{
    struct lab_job *job = arg;
    struct qn_err err = {""};
    if (job->env.gives_way) {
        qn_thread_give_way();
    }
    job->answer = (struct qn_note){.kind = QN_NOTE_REPLY,
                                   .split = job->command.split,
                                   .on_request = true,
                                   .ticket = job->command.ticket};
    job->answer.status = (int)answer(job, &err);
    if (job->answer.status != QN_OK) {
        qn_note_set_text(&job->answer, err.text);
    }
    atomic_store(&job->done, true);
    qn_wake_up(job->wake);
    return NULL;
}

static void free_job(struct lab_job *job)
{
    free(job->counts);
    free(job->command.document);
    free(job->dir);
    free(job);
}

/* Let the helper thread answer this question. */
static void start(struct qn_lab *lab, struct lab_ask *a)
{
    struct lab_job *job = qn_xcalloc(1, sizeof *job);
    struct qn_err err;
    job->env = lab->env;
    job->wake = lab->wake;
    job->dir = qn_xstrdup(qn_lab_find(lab, a->run)->dir);
    job->command = qn_lab_copy_command(&a->command);
    memcpy(job->checkpoint, a->checkpoint, sizeof job->checkpoint);
    atomic_init(&job->cancel, false);
    atomic_init(&job->done, false);
    if (qn_thread_start(&job->thread, "measure", work, job, &err) != QN_OK) {
        a->state = LAB_ASK_ANSWERED;
        a->answer = (struct qn_note){.kind = QN_NOTE_REPLY,
                                     .ticket = a->command.ticket,
                                     .status = QN_EIO};
        qn_note_set_text(&a->answer, err.text);
        free_job(job);
        return;
    }
    a->state = LAB_ASK_WORKING;
    lab->job = job;
}

/* The job at work has ended: take its answer. */
static void finish(struct qn_lab *lab)
{
    struct lab_job *job = lab->job;
    qn_thread_join(job->thread);
    lab->job = NULL;
    qn_lab_take_reply(lab, &job->answer, job->counts);
    job->counts = NULL;
    free_job(job);
}

bool qn_lab_poll_jobs(struct qn_lab *lab)
{
    bool any = lab->job != NULL && atomic_load(&lab->job->done);
    if (any) {
        finish(lab);
    }
    for (int i = 0; i < lab->n_asks && lab->job == NULL; i++) {
        if (lab->asks[i]->state == LAB_ASK_WAITING) {
            start(lab, lab->asks[i]);
        }
    }
    return any;
}

void qn_lab_end_job(struct qn_lab *lab)
{
    if (lab->job != NULL) {
        atomic_store(&lab->job->cancel, true);
        qn_thread_join(lab->job->thread);
        free_job(lab->job);
        lab->job = NULL;
    }
}

void qn_lab_cancel_job(struct qn_lab *lab, qn_ticket ticket)
{
    if (lab->job != NULL && lab->job->command.ticket == ticket) {
        atomic_store(&lab->job->cancel, true);
    }
}
