/* after.c - what is due after a step: evaluation, sample, checkpoint; and how
 * what happens is told to the folder and to the sink. */
#include "train/trainer_self.h"

#include "base/str.h"
#include "train/measure_self.h"
#include "train/text.h"

#include <math.h>
#include <stdlib.h>

struct qn_moment qn_trainer_moment(const struct qn_trainer *t)
{
    return (struct qn_moment){
        .step = t->at.step,
        .steps_per_epoch = qn_trainer_steps_per_epoch(t),
        .seconds = t->seconds,
        .evals = t->at.evals,
    };
}

void qn_trainer_note_of(struct qn_trainer *t, int64_t step,
                        struct qn_note *note, const char *text)
{
    if (t->sink.note == NULL) {
        return;
    }
    note->step = step;
    note->reading = qn_spec_reading(&t->spec);
    note->epoch = (double)step / (double)qn_trainer_steps_per_epoch(t);
    qn_copy_text(note->text, sizeof note->text, text);
    t->sink.note(t->sink.user, note);
}

void qn_trainer_note(struct qn_trainer *t, struct qn_note *note,
                     const char *text)
{
    qn_trainer_note_of(t, t->at.step, note, text);
}

void qn_trainer_tell(struct qn_trainer *t, enum qn_note_kind kind,
                     const char *event, const char *key, const char *text)
{
    struct qn_json *line = qn_record_begin(t->record, event, t->at.step);
    if (key != NULL) {
        qn_json_kstring(line, key, text);
    }
    if (kind == QN_NOTE_PAUSE || kind == QN_NOTE_STOPPED) {
        qn_json_kdouble(line, "seconds", t->seconds);
    }
    qn_record_end(t->record);
    struct qn_note note = {.kind = kind,
                           .waits = kind == QN_NOTE_PAUSE &&
                                    t->waits_for_disk && !t->stay_paused,
                           .seconds = t->seconds};
    qn_trainer_note(t, &note, key ? text : "");
}

void qn_trainer_tell_set(struct qn_trainer *t, const char *key,
                         const char *value)
{
    struct qn_json *line = qn_record_begin(t->record, "set", t->at.step);
    qn_json_kstring(line, "key", key);
    qn_json_kstring(line, "value", value);
    qn_record_end(t->record);
    struct qn_note note = {.kind = QN_NOTE_SET};
    qn_copy_text(note.key, sizeof note.key, key);
    qn_trainer_note(t, &note, value);
}

/* Of equal ones the earlier is the best. */
static bool is_best(const struct qn_trainer *t, const struct qn_evaluation *e)
{
    const struct qn_progress *at = &t->at;
    double now = qn_trainer_metric(t, e->loss, e->accuracy);
    double best = qn_trainer_metric(t, at->best_loss, at->best_accuracy);
    return !isnan(now) && (isnan(best) || now < best);
}

static void count_evaluation(struct qn_progress *at,
                             const struct qn_evaluation *e)
{
    at->evals++;
    at->eval_step = at->step;
    at->eval_loss = e->loss;
    at->eval_accuracy = e->accuracy;
}

/* Take an evaluation into the trainer and tell it. One that a stop has made
 * already, and that its time has come for now, is on record. */
static void take_evaluation(struct qn_trainer *t, const struct qn_evaluation *e)
{
    struct qn_progress *at = &t->at;
    bool on_record =
        t->measured.step == at->step && t->measured.loss == e->loss;
    t->measured.step = at->step;
    t->measured.loss = e->loss;
    t->measured.accuracy = e->accuracy;
    bool best = is_best(t, e);
    if (best) {
        at->best_step = at->step;
        at->best_loss = e->loss;
        at->best_accuracy = e->accuracy;
    }
    if (!on_record) {
        qn_record_eval(t->record, at->step, e);
    }
    struct qn_note note = {
        .kind = QN_NOTE_EVAL,
        .split = e->split,
        .loss = e->loss,
        .accuracy = e->accuracy,
        .predictions = e->predictions,
        .seconds = e->seconds,
        .is_best = best,
    };
    qn_trainer_note(t, &note, "");
}

static enum qn_status evaluate(struct qn_trainer *t, struct qn_evaluation *e,
                               struct qn_err *err)
{
    struct qn_err why;
    t->measure->scheduled = true;
    enum qn_status status = qn_measure_evaluate(t->measure, QN_VALID, e, &why);
    t->measure->scheduled = false;
    if (status == QN_OK) {
        return QN_OK;
    }
    if (status != QN_ESTOPPED) {
        qn_trainer_pause(t, why.text);
    }
    return qn_fail(err, status, "%s", why.text);
}

enum qn_status qn_trainer_evaluate(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_evaluation e;
    if (!qn_text_has(t->corpus, QN_VALID) || t->at.eval_step == t->at.step) {
        return QN_OK;
    }
    enum qn_status status = evaluate(t, &e, err);
    if (status == QN_OK) {
        count_evaluation(&t->at, &e);
        take_evaluation(t, &e);
    }
    return status;
}

enum qn_status qn_trainer_evaluate_own(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_evaluation e;
    if (!qn_text_has(t->corpus, QN_VALID) || t->at.eval_step == t->at.step ||
        t->measured.step == t->at.step) {
        return QN_OK;
    }
    enum qn_status status = evaluate(t, &e, err);
    if (status == QN_OK) {
        t->own_evals++;
        take_evaluation(t, &e);
    }
    return status;
}

static void sample(struct qn_trainer *t)
{
    struct qn_str text = {0};
    struct qn_err err;
    struct qn_text_request own = {.temperature = -1, .seed = -1};
    enum qn_status status = qn_measure_sample(t->measure, &own, &text, &err);
    if (status == QN_OK) {
        qn_trainer_tell(t, QN_NOTE_SAMPLE, "sample", "text",
                        text.text ? text.text : "");
    } else if (status != QN_ESTOPPED) {
        qn_log_write(t->env.log, QN_LOG_WARN, "no sample: %s", err.text);
    }
    qn_str_free(&text);
}

void qn_trainer_do_due(struct qn_trainer *t)
{
    const struct qn_spec *spec = &t->spec;
    struct qn_moment before = t->before;
    struct qn_moment now = qn_trainer_moment(t);
    /* An evaluation that is cut short is left out; what went wrong otherwise
     * has paused the run and was told. */
    if (qn_period_due(spec->eval.every, &before, &now)) {
        (void)qn_trainer_evaluate(t, NULL);
    }
    bool new_best = t->at.best_step == t->at.step; /* this step is new */
    now = qn_trainer_moment(t);
    if (spec->task == QN_TASK_LM &&
        qn_period_due(spec->sample.every, &before, &now)) {
        sample(t);
    }
    bool due = qn_period_due(spec->checkpoint.every, &before, &now);
    if (due || (new_best && spec->checkpoint.keep_best > 0)) {
        (void)qn_trainer_begin_save(t, NULL);
    }
    t->before = now;
}
