/* lab_commands.c - what a person may do to a run, and ask of it. */
#include "lab/tables.h"

#include "base/assert.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum qn_status find_any(const struct qn_lab *lab, qn_run_id id,
                               struct lab_run **out, struct qn_err *err)
{
    *out = qn_lab_find(lab, id);
    return *out != NULL ? QN_OK
                        : qn_fail(err, QN_ENOTFOUND, "there is no run %d", id);
}

static enum qn_status find_active(const struct qn_lab *lab, qn_run_id id,
                                  struct lab_run **out, struct qn_err *err)
{
    enum qn_status status = find_any(lab, id, out, err);
    bool over = status == QN_OK &&
                ((*out)->worker == NULL || !qn_lab_state_active((*out)->state));
    if (over) {
        return qn_fail(err, QN_ESTATE, "run %s is %s", (*out)->folder,
                       qn_lab_state_name((*out)->state));
    }
    return status;
}

static enum qn_status post(struct lab_run *run, const struct qn_command *c,
                           struct qn_err *err)
{
    if (qn_worker_post(run->worker, c)) {
        return QN_OK;
    }
    if (qn_worker_ended(run->worker)) {
        return qn_fail(err, QN_ESTATE, "run %s has ended", run->folder);
    }
    return qn_fail(err, QN_ESTATE, "run %s has too many commands waiting",
                   run->folder);
}

enum qn_status qn_lab_pause(struct qn_lab *lab, qn_run_id id,
                            struct qn_err *err)
{
    struct lab_run *run;
    struct qn_command c = {.kind = QN_CMD_PAUSE};
    enum qn_status status = find_active(lab, id, &run, err);
    if (status == QN_OK) {
        run->hold_paused = run->state == QN_LAB_HELD;
        status = post(run, &c, err);
    }
    return status;
}

enum qn_status qn_lab_unpause(struct qn_lab *lab, qn_run_id id,
                              struct qn_err *err)
{
    struct lab_run *run;
    struct qn_command c = {.kind = QN_CMD_RESUME};
    enum qn_status status = find_active(lab, id, &run, err);
    if (status == QN_OK) {
        run->hold_paused = false;
        status = post(run, &c, err);
    }
    if (status == QN_OK && run->state == QN_LAB_HELD) {
        run->state = QN_LAB_RUNNING;
    }
    return status;
}

enum qn_status qn_lab_stop(struct qn_lab *lab, qn_run_id id, bool save,
                           struct qn_err *err)
{
    struct lab_run *run;
    struct qn_command c = {.kind = QN_CMD_STOP, .save = save};
    enum qn_status status = find_active(lab, id, &run, err);
    if (status == QN_OK) {
        status = post(run, &c, err);
    }
    if (status == QN_OK) {
        run->state = QN_LAB_STOPPING;
    }
    return status;
}

enum qn_status qn_lab_set(struct qn_lab *lab, qn_run_id id, const char *key,
                          const char *value, struct qn_err *err)
{
    struct lab_run *run;
    enum qn_status status = find_active(lab, id, &run, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_spec changed = run->spec;
    status = qn_settings_change(&changed, key, value, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_command c = {.kind = QN_CMD_SET};
    QN_ASSERT(strlen(key) < sizeof c.key); /* it is a key of the schema */
    if (strlen(value) >= sizeof c.text) {
        return qn_fail(err, QN_EUSAGE, "%s: the value is too long", key);
    }
    (void)snprintf(c.key, sizeof c.key, "%s", key);
    (void)snprintf(c.text, sizeof c.text, "%s", value);
    /* Its answer is only looked at for a failure, which goes to the log. */
    struct lab_ask *ask = qn_lab_new_ask(lab, id, &c);
    status = post(run, &ask->command, err);
    if (status != QN_OK) {
        qn_lab_drop_ask(lab, ask->command.ticket);
    }
    return status;
}

/* Ask the worker or, when the run has ended or a checkpoint of its folder is
 * asked, the helper thread. */
static enum qn_status ask(struct qn_lab *lab, struct lab_run *run,
                          const struct qn_command *c, const char *checkpoint,
                          qn_ticket *out, struct qn_err *err)
{
    struct lab_ask *a = qn_lab_new_ask(lab, run->id, c);
    (void)snprintf(a->checkpoint, sizeof a->checkpoint, "%s", checkpoint);
    a->state = LAB_ASK_WAITING;
    if (checkpoint[0] == '\0' && run->worker != NULL &&
        !qn_worker_ended(run->worker)) {
        struct qn_command given = qn_lab_copy_command(&a->command);
        enum qn_status status = post(run, &given, err);
        if (status != QN_OK && !qn_worker_ended(run->worker)) {
            qn_lab_drop_ask(lab, a->command.ticket);
            return status;
        }
        a->state = status == QN_OK ? LAB_ASK_POSTED : LAB_ASK_WAITING;
    }
    *out = a->command.ticket;
    (void)qn_lab_poll_jobs(lab); /* nothing else may wake the loop for it */
    return QN_OK;
}

static enum qn_status ask_checkpoint(struct qn_lab *lab, qn_run_id id,
                                     const struct qn_command *c,
                                     const char *checkpoint, qn_ticket *out,
                                     struct qn_err *err)
{
    struct lab_run *run;
    enum qn_status status = find_any(lab, id, &run, err);
    if (status != QN_OK) {
        return status;
    }
    if (strlen(checkpoint) >= sizeof(((struct lab_ask *)0)->checkpoint)) {
        return qn_fail(err, QN_EUSAGE, "there is no checkpoint '%s'",
                       checkpoint);
    }
    return ask(lab, run, c, checkpoint, out, err);
}

enum qn_status qn_lab_evaluate_at(struct qn_lab *lab, qn_run_id id,
                                  enum qn_split split, const char *checkpoint,
                                  qn_ticket *out, struct qn_err *err)
{
    struct qn_command c = {.kind = QN_CMD_EVALUATE, .split = split};
    return ask_checkpoint(lab, id, &c, checkpoint, out, err);
}

enum qn_status qn_lab_evaluate(struct qn_lab *lab, qn_run_id id,
                               enum qn_split split, qn_ticket *out,
                               struct qn_err *err)
{
    return qn_lab_evaluate_at(lab, id, split, "", out, err);
}

enum qn_status qn_lab_measure(struct qn_lab *lab, qn_run_id id,
                              const struct qn_lab_measurement *what,
                              qn_ticket *out, struct qn_err *err)
{
    struct qn_command c = {.kind = QN_CMD_MEASURE,
                           .split = what->split,
                           .of = what->of,
                           .near = what->near};
    return ask_checkpoint(lab, id, &c, what->checkpoint, out, err);
}

enum qn_status qn_lab_sample(struct qn_lab *lab, qn_run_id id,
                             const struct qn_text_request *request,
                             qn_ticket *out, struct qn_err *err)
{
    struct lab_run *run;
    struct qn_command c = {.kind = QN_CMD_SAMPLE,
                           .length = request->length,
                           .temperature = request->temperature,
                           .seed = request->seed,
                           .own_prompt = request->prompt == NULL};
    enum qn_status status = find_any(lab, id, &run, err);
    if (status != QN_OK) {
        return status;
    }
    if (run->spec.task == QN_TASK_CLASSIFY) {
        return qn_fail(err, QN_EUSAGE,
                       "run %s is a classifier: it labels texts and writes "
                       "none",
                       run->folder);
    }
    const char *prompt = request->prompt != NULL ? request->prompt : "";
    if (strlen(prompt) >= sizeof c.text) {
        return qn_fail(err, QN_EUSAGE,
                       "the prompt has %zu bytes, must be at most %zu",
                       strlen(prompt), sizeof c.text - 1);
    }
    (void)snprintf(c.text, sizeof c.text, "%s", prompt);
    return ask(lab, run, &c, "", out, err);
}

enum qn_status qn_lab_classify(struct qn_lab *lab, qn_run_id id,
                               const char *text, size_t len, qn_ticket *out,
                               struct qn_err *err)
{
    struct lab_run *run;
    struct qn_command c = {.kind = QN_CMD_CLASSIFY, .document_len = len};
    enum qn_status status = find_any(lab, id, &run, err);
    if (status != QN_OK) {
        return status;
    }
    if (run->spec.task != QN_TASK_CLASSIFY) {
        return qn_fail(err, QN_EUSAGE,
                       "run %s is a language model: it writes texts and has no "
                       "labels for them",
                       run->folder);
    }
    c.document = qn_xmalloc(len);
    memcpy(c.document, text, len);
    return ask(lab, run, &c, "", out, err);
}

bool qn_lab_counts(struct qn_lab *lab, qn_ticket ticket, struct qn_note *note,
                   struct qn_stats_record **counts)
{
    struct lab_ask *a = qn_lab_find_ask(lab, ticket);
    if (a == NULL) {
        /* Answered and taken before, or forgotten: never wait for it. */
        *note = (struct qn_note){.kind = QN_NOTE_REPLY,
                                 .loss = (double)NAN,
                                 .ticket = ticket,
                                 .status = QN_ENOTFOUND};
        (void)snprintf(note->text, sizeof note->text,
                       "there is no request %llu", (unsigned long long)ticket);
        *counts = NULL;
        return true;
    }
    if (a->state != LAB_ASK_ANSWERED) {
        return false;
    }
    *note = a->answer;
    *counts = a->counts;
    a->counts = NULL;
    qn_lab_drop_ask(lab, ticket);
    return true;
}

bool qn_lab_answer(struct qn_lab *lab, qn_ticket ticket, struct qn_note *note)
{
    struct qn_stats_record *counts = NULL;
    bool answered = qn_lab_counts(lab, ticket, note, &counts);
    free(counts);
    return answered;
}

void qn_lab_forget(struct qn_lab *lab, qn_ticket ticket)
{
    qn_lab_cancel_job(lab, ticket);
    qn_lab_drop_ask(lab, ticket);
}
