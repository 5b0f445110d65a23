/* lab_asks.c - questions that wait for an answer, by ticket. */
#include "lab/tables.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct qn_command qn_lab_copy_command(const struct qn_command *c)
{
    struct qn_command copy = *c;
    if (c->document != NULL) {
        copy.document = qn_xmalloc(c->document_len);
        memcpy(copy.document, c->document, c->document_len);
    }
    return copy;
}

struct lab_ask *qn_lab_new_ask(struct qn_lab *lab, qn_run_id run,
                               const struct qn_command *command)
{
    struct lab_ask *a = qn_xcalloc(1, sizeof *a);
    a->run = run;
    a->command = *command;
    a->command.ticket = ++lab->last_ticket;
    lab->asks =
        qn_xrealloc(lab->asks, (size_t)lab->n_asks + 1, sizeof *lab->asks);
    lab->asks[lab->n_asks++] = a;
    return a;
}

struct lab_ask *qn_lab_find_ask(const struct qn_lab *lab, qn_ticket ticket)
{
    for (int i = 0; i < lab->n_asks; i++) {
        if (lab->asks[i]->command.ticket == ticket) {
            return lab->asks[i];
        }
    }
    return NULL;
}

static void free_ask(struct lab_ask *a)
{
    free(a->command.document);
    free(a->counts);
    free(a);
}

void qn_lab_drop_ask(struct qn_lab *lab, qn_ticket ticket)
{
    for (int i = 0; i < lab->n_asks; i++) {
        if (lab->asks[i]->command.ticket == ticket) {
            free_ask(lab->asks[i]);
            lab->n_asks--;
            memmove(&lab->asks[i], &lab->asks[i + 1],
                    (size_t)(lab->n_asks - i) * sizeof *lab->asks);
            return;
        }
    }
}

void qn_lab_free_asks(struct qn_lab *lab)
{
    for (int i = 0; i < lab->n_asks; i++) {
        free_ask(lab->asks[i]);
    }
    free(lab->asks);
}

/* Whether an ended run's folder can answer it as well. */
static bool is_question(const struct lab_ask *a)
{
    return a->command.kind == QN_CMD_EVALUATE ||
           a->command.kind == QN_CMD_SAMPLE ||
           a->command.kind == QN_CMD_CLASSIFY ||
           a->command.kind == QN_CMD_MEASURE;
}

void qn_lab_take_reply(struct qn_lab *lab, const struct qn_note *reply,
                       struct qn_stats_record *counts)
{
    struct lab_ask *a = qn_lab_find_ask(lab, reply->ticket);
    if (a == NULL) {
        free(counts);
        return; /* forgotten meanwhile */
    }
    a->counts = counts;
    const struct lab_run *run = qn_lab_find(lab, a->run);
    if (!is_question(a)) {
        if (reply->status != QN_OK) {
            qn_lab_log_add(lab->log, QN_LOG_ERROR, reply->text);
        }
        qn_lab_drop_ask(lab, reply->ticket);
        return;
    }
    /* The run ended before or while it was at it: left for reroute_asks. Of a
     * run that goes on QN_ESTATE is an answer like any other. */
    bool over =
        reply->status == QN_ESTOPPED ||
        (reply->status == QN_ESTATE && !qn_lab_state_active(run->state));
    if (a->state == LAB_ASK_POSTED && over) {
        return;
    }
    a->state = LAB_ASK_ANSWERED;
    a->answer = *reply;
    if (a->command.kind == QN_CMD_EVALUATE && reply->status == QN_OK) {
        struct qn_note eval = *reply;
        eval.kind = QN_NOTE_EVAL;
        qn_lab_log_note(lab, run, &eval);
    }
}

void qn_lab_reroute_asks(struct qn_lab *lab, qn_run_id run)
{
    for (int i = lab->n_asks - 1; i >= 0; i--) {
        struct lab_ask *a = lab->asks[i];
        if (a->run != run || a->state != LAB_ASK_POSTED) {
            continue;
        }
        if (is_question(a)) {
            a->state = LAB_ASK_WAITING;
        } else {
            qn_lab_drop_ask(lab, a->command.ticket);
        }
    }
}
