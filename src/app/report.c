/* report.c - a trainer's records on standard output: lines or JSON Lines. */
#include "app/report.h"

#include "base/clock.h"
#include "base/mem.h"
#include "lab/lab.h"
#include "lab/note_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void qn_report_init(struct qn_report *r, bool json)
{
    memset(r, 0, sizeof *r);
    r->json = json;
    r->stats = qn_xcalloc(1, sizeof *r->stats);
    r->trouble = -1;
}

void qn_report_fini(struct qn_report *r)
{
    free(r->stats);
    qn_json_free(&r->line);
    qn_str_free(&r->held);
}

/* A line; what comes before the trainer does, from a resume's settings, is
 * kept for after the start. */
static void put_line(struct qn_report *r, const char *text)
{
    if (r->trainer != NULL) {
        (void)qn_out_line(&r->out, text);
    } else {
        qn_str_addf(&r->held, "%s\n", text);
    }
}

/* {"event":name ... ; the caller adds keys and calls end_event. */
static struct qn_json *begin_event(struct qn_report *r, const char *name)
{
    qn_json_clear(&r->line);
    qn_json_object(&r->line);
    qn_json_kstring(&r->line, "event", name);
    return &r->line;
}

static void end_event(struct qn_report *r)
{
    qn_json_end_object(&r->line);
    put_line(r, r->line.text.text);
}

static bool is_classifier(const struct qn_trainer *t)
{
    return qn_spec_reading(qn_trainer_spec(t)) == QN_READ_ACCURACY;
}

static void json_step(struct qn_report *r, const struct qn_step_record *s)
{
    struct qn_json *j = begin_event(r, "step");
    qn_json_kstring(j, "run", qn_trainer_id(r->trainer));
    qn_json_kint(j, "step", s->step);
    qn_json_kdouble(j, "epoch", s->epoch);
    qn_json_kdouble(j, "loss", s->loss);
    if (is_classifier(r->trainer)) {
        qn_json_kdouble(j, "accuracy", s->accuracy);
    }
    qn_json_kdouble(j, "lr", s->lr);
    qn_json_kdouble(j, "grad_norm", s->grad_norm);
    qn_json_kdouble(j, "tokens_per_s", s->tokens_per_s);
    end_event(r);
}

/* What a step takes: of equal ones the newest, of documents, whose batches
 * differ in length, all so far. Negative: unknown. */
static double seconds_a_step(const struct qn_trainer *t, double tokens_per_s)
{
    const struct qn_spec *spec = qn_trainer_spec(t);
    double spent = qn_trainer_seconds(t);
    if (is_classifier(t)) {
        return spent > 0 ? spent / (double)qn_trainer_step_count(t) : -1;
    }
    double tokens = (double)spec->batch * spec->seq;
    return tokens_per_s > 0 ? tokens / tokens_per_s : -1;
}

static double seconds_left(const struct qn_trainer *t, double tokens_per_s)
{
    double after = qn_trainer_spec(t)->stop.after;
    int64_t steps = qn_trainer_steps_total(t) - qn_trainer_step_count(t);
    double left = (double)steps * seconds_a_step(t, tokens_per_s);
    double allowed = after - qn_trainer_seconds(t);
    return after > 0 && allowed < left ? allowed : left;
}

/* "step 500  cell states c ...: layer 1 0.41 0.2 0.39" and the like for all
 * that was counted, once. They stand behind the line of their step and before
 * those of later ones. */
static void text_shares(struct qn_report *r)
{
    struct qn_stats_record *stats = r->stats;
    struct qn_str s = {0};
    for (int q = 0; q < QN_N_QUANTITIES && stats->step > 0; q++) {
        if ((stats->of >> q & 1u) == 0) {
            continue;
        }
        qn_str_addf(&s, "step %lld  %s negative / near zero / positive:",
                    (long long)stats->step,
                    qn_lab_quantity_title((enum qn_quantity)q));
        for (int i = 0; i < stats->n_layers; i++) {
            struct qn_shares shares = qn_hist_shares(&stats->layer[i][q]);
            qn_str_addf(&s, "  layer %d %.2f %.2f %.2f", i + 1, shares.negative,
                        shares.near, shares.positive);
        }
        put_line(r, s.text);
        qn_str_clear(&s);
    }
    qn_str_free(&s);
    stats->step = 0;
}

/* "step 500 of 1000  epoch 1.20  loss 0.4123 ..." */
static void step_line(struct qn_report *r, const struct qn_step_record *s)
{
    const struct qn_trainer *t = r->trainer;
    char left[32], loss[32], norm[32], right[64] = "";
    if (is_classifier(t)) {
        (void)qn_reading_text(right, sizeof right, QN_READ_ACCURACY, s->loss,
                              s->accuracy);
    }
    (void)qn_format_duration(left, sizeof left,
                             seconds_left(t, s->tokens_per_s));
    (void)qn_out_linef(
        &r->out,
        "step %lld of %lld  epoch %.2f  loss %s%s%s  grad norm %s  lr %.6g  "
        "%.0f tokens/s  %s left",
        (long long)s->step, (long long)qn_trainer_steps_total(t), s->epoch,
        qn_number_text(loss, sizeof loss, s->loss), right[0] ? "  " : "", right,
        qn_number_text(norm, sizeof norm, s->grad_norm), s->lr, s->tokens_per_s,
        left);
}

static void text_step(struct qn_report *r, const struct qn_step_record *s)
{
    const struct qn_trainer *t = r->trainer;
    struct qn_moment now = {
        .step = s->step,
        .steps_per_epoch = qn_trainer_steps_per_epoch(t),
        .seconds = qn_trainer_seconds(t),
        .evals = r->evals,
    };
    bool first = s->step == r->first_step + 1;
    if (first ||
        qn_period_due(qn_trainer_spec(t)->log_every, &r->before, &now)) {
        text_shares(r);
        r->before = now;
        step_line(r, s);
    }
}

static void take_step(void *user, const struct qn_step_record *s)
{
    struct qn_report *r = user;
    if (r->json) {
        json_step(r, s);
    } else {
        text_step(r, s);
    }
}

static void take_stats(void *user, const struct qn_stats_record *s)
{
    struct qn_report *r = user;
    if (!r->json) {
        qn_stats_copy(r->stats, s);
        if (r->before.step == s->step) {
            text_shares(r);
        }
        return;
    }
    struct qn_json *j = begin_event(r, "stats");
    qn_json_kint(j, "step", s->step);
    qn_json_key(j, "layers");
    qn_stats_json(s, true, j);
    end_event(r);
}

static const char *const event_names[] = {
    [QN_NOTE_EVAL] = "eval",         [QN_NOTE_CHECKPOINT] = "checkpoint",
    [QN_NOTE_SAMPLE] = "sample",     [QN_NOTE_SET] = "set",
    [QN_NOTE_PAUSE] = "pause",       [QN_NOTE_RESUME] = "resume",
    [QN_NOTE_NAN] = "nan",           [QN_NOTE_SPIKE] = "spike",
    [QN_NOTE_ROLLBACK] = "rollback", [QN_NOTE_REPLY] = "reply",
    [QN_NOTE_DONE] = "done",         [QN_NOTE_STOPPED] = "stopped",
    [QN_NOTE_FAILED] = "error",
};

/* What the event holds beside its name and step. */
static void add_keys(struct qn_json *j, const struct qn_note *n)
{
    switch (n->kind) {
    case QN_NOTE_EVAL:
        qn_json_kstring(j, "split", qn_split_name(n->split));
        qn_json_kint(j, "step", n->step);
        qn_json_kdouble(j, "loss", n->loss);
        qn_json_kdouble(j, qn_reading_name(n->reading),
                        qn_reading_value(n->reading, n->loss, n->accuracy));
        return;
    case QN_NOTE_CHECKPOINT:
        qn_json_kint(j, "step", n->step);
        qn_json_kbool(j, "best", n->is_best);
        qn_json_kstring(j, "dir", n->text);
        return;
    case QN_NOTE_SET:
        qn_json_kint(j, "step", n->step);
        qn_json_kstring(j, "key", n->key);
        qn_json_kstring(j, "value", n->text);
        return;
    case QN_NOTE_SPIKE:
        qn_json_kint(j, "step", n->step);
        qn_json_kdouble(j, "loss", n->loss);
        break;
    case QN_NOTE_ROLLBACK:
        qn_json_kint(j, "step", n->step);
        qn_json_kint(j, "from", n->from);
        break;
    case QN_NOTE_SAMPLE:
    case QN_NOTE_PAUSE:
    case QN_NOTE_RESUME:
    case QN_NOTE_NAN:
    case QN_NOTE_REPLY:
    case QN_NOTE_DONE:
    case QN_NOTE_STOPPED:
    case QN_NOTE_FAILED:
        qn_json_kint(j, "step", n->step);
        break;
    }
    if (n->text[0] != '\0') {
        qn_json_kstring(j, "text", n->text);
    }
}

static void text_note(struct qn_report *r, const struct qn_note *n)
{
    struct qn_str s = {0};
    text_shares(r);
    if (qn_note_text(n, &s)) {
        put_line(r, s.text);
    }
    qn_str_free(&s);
}

static void take_note(void *user, const struct qn_note *n)
{
    struct qn_report *r = user;
    if (n->kind == QN_NOTE_EVAL) {
        r->evals++;
    }
    if (n->kind == QN_NOTE_ROLLBACK) {
        r->before.step = n->step; /* from there on lines come again */
        r->stats->step = 0;
    }
    if (n->kind == QN_NOTE_NAN || n->kind == QN_NOTE_SPIKE) {
        r->trouble = n->step;
    }
    if (n->kind == QN_NOTE_PAUSE || n->kind == QN_NOTE_FAILED ||
        n->kind == QN_NOTE_NAN || n->kind == QN_NOTE_SPIKE) {
        (void)snprintf(r->why, sizeof r->why, "%s", n->text);
    }
    /* Ends are told by whoever drives the trainer. */
    if (n->kind == QN_NOTE_DONE || n->kind == QN_NOTE_FAILED) {
        return;
    }
    if (!r->json) {
        text_note(r, n);
        return;
    }
    add_keys(begin_event(r, event_names[n->kind]), n);
    end_event(r);
}

struct qn_sink qn_report_sink(struct qn_report *r)
{
    return (struct qn_sink){
        .user = r, .step = take_step, .stats = take_stats, .note = take_note};
}

/* "memory: 812 MB: activations 500 MB, ..." */
static void say_memory(struct qn_report *r, const struct qn_trainer *t)
{
    struct qn_str s = {0};
    qn_str_add(&s, "memory: ");
    qn_trainer_memory_text(t, false, &s);
    (void)qn_out_line(&r->out, s.text);
    qn_str_free(&s);
}

void qn_report_start(struct qn_report *r, const struct qn_trainer *t,
                     bool resumed)
{
    int64_t total = qn_trainer_steps_total(t);
    r->trainer = t;
    r->first_step = qn_trainer_step_count(t);
    r->before.step = r->first_step;
    r->before.steps_per_epoch = qn_trainer_steps_per_epoch(t);
    r->before.seconds = qn_trainer_seconds(t);
    if (!r->json) {
        (void)qn_out_linef(&r->out, "%s %s: %lld step%s, kept in %s",
                           resumed ? "going on with run" : "run",
                           qn_trainer_id(t), (long long)total,
                           total == 1 ? "" : "s", qn_trainer_dir(t));
        say_memory(r, t);
    } else {
        struct qn_json *j = begin_event(r, "start");
        qn_json_kstring(j, "run", qn_trainer_id(t));
        qn_json_kstring(j, "dir", qn_trainer_dir(t));
        qn_json_kint(j, "memory", (int64_t)qn_trainer_memory(t));
        end_event(r);
    }
    (void)qn_out_text(&r->out, r->held.text, r->held.len);
    qn_str_free(&r->held);
}

static void json_best(struct qn_report *r, struct qn_json *j)
{
    enum qn_reading reading = qn_spec_reading(qn_trainer_spec(r->trainer));
    struct qn_best best;
    qn_json_key(j, "best");
    if (!qn_trainer_best(r->trainer, &best)) {
        qn_json_null(j);
        return;
    }
    qn_json_object(j);
    qn_json_kint(j, "step", best.step);
    qn_json_kdouble(j, "loss", best.loss);
    qn_json_kdouble(j, qn_reading_name(reading),
                    qn_reading_value(reading, best.loss, best.accuracy));
    qn_json_end_object(j);
}

void qn_report_done(struct qn_report *r)
{
    const struct qn_trainer *t = r->trainer;
    if (r->json) {
        struct qn_json *j = begin_event(r, "done");
        qn_json_kstring(j, "run", qn_trainer_id(t));
        qn_json_kint(j, "steps", qn_trainer_step_count(t));
        qn_json_kdouble(j, "seconds", qn_trainer_seconds(t));
        json_best(r, j);
        end_event(r);
        return;
    }
    char spent[32];
    (void)qn_format_duration(spent, sizeof spent, qn_trainer_seconds(t));
    text_shares(r);
    int64_t steps = qn_trainer_step_count(t);
    int64_t total = qn_trainer_steps_total(t);
    if (steps < total) {
        (void)qn_out_linef(&r->out,
                           "done: %lld of %lld steps in %s (stop.after)",
                           (long long)steps, (long long)total, spent);
    } else {
        (void)qn_out_linef(&r->out, "done: %lld step%s in %s", (long long)steps,
                           steps == 1 ? "" : "s", spent);
    }
    struct qn_best best;
    if (qn_trainer_best(t, &best)) {
        char loss[32], reading[64];
        (void)qn_out_linef(&r->out, "best: step %lld  valid loss %s  %s",
                           (long long)best.step,
                           qn_number_text(loss, sizeof loss, best.loss),
                           qn_reading_text(reading, sizeof reading,
                                           qn_spec_reading(qn_trainer_spec(t)),
                                           best.loss, best.accuracy));
    }
}

void qn_report_error(struct qn_report *r, const char *text)
{
    if (r->json) {
        struct qn_json *j = begin_event(r, "error");
        qn_json_kstring(j, "text", text);
        end_event(r);
    }
}
