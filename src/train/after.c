/* after.c - what is due after a step: evaluation, sample, checkpoint; and how
 * each is told to the folder and to the sink. */
#include "train/trainer_self.h"

#include "base/file.h"
#include "base/str.h"
#include "model/checkpoint.h"
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

void qn_trainer_note(struct qn_trainer *t, struct qn_note *note,
                     const char *text)
{
    if (t->sink.note == NULL) {
        return;
    }
    note->step = t->at.step;
    note->reading = qn_spec_reading(&t->spec);
    note->epoch = (double)t->at.step / (double)qn_trainer_steps_per_epoch(t);
    qn_copy_text(note->text, sizeof note->text, text);
    t->sink.note(t->sink.user, note);
}

void qn_trainer_tell(struct qn_trainer *t, enum qn_note_kind kind,
                     const char *event, const char *key, const char *text)
{
    struct qn_json *line = qn_record_begin(t->record, event, t->at.step);
    if (key != NULL) {
        qn_json_kstring(line, key, text);
    }
    qn_record_end(t->record);
    struct qn_note note = {.kind = kind, .seconds = t->seconds};
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

/* What checkpoint.metric looks at, turned so that less is better. A network
 * whose output is not a number is right about documents of one label by chance:
 * its accuracy does not count. */
static double metric_of(const struct qn_spec *spec, double loss,
                        double accuracy)
{
    bool by_accuracy = spec->checkpoint.metric == QN_VALID_ACCURACY;
    return by_accuracy && !isnan(loss) ? -accuracy : loss;
}

/* Of equal ones the earlier is the best. */
static bool is_best(const struct qn_trainer *t, const struct qn_evaluation *e)
{
    const struct qn_progress *at = &t->at;
    double now = metric_of(&t->spec, e->loss, e->accuracy);
    double best = metric_of(&t->spec, at->best_loss, at->best_accuracy);
    return !isnan(now) && (isnan(best) || now < best);
}

/* Take an evaluation into the counters and tell it. */
static void take_evaluation(struct qn_trainer *t, const struct qn_evaluation *e)
{
    struct qn_progress *at = &t->at;
    at->evals++;
    at->eval_step = at->step;
    at->eval_loss = e->loss;
    at->eval_accuracy = e->accuracy;
    bool best = is_best(t, e);
    if (best) {
        at->best_step = at->step;
        at->best_loss = e->loss;
        at->best_accuracy = e->accuracy;
    }
    qn_record_eval(t->record, at->step, e);
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

enum qn_status qn_trainer_evaluate(struct qn_trainer *t, struct qn_err *err)
{
    if (!qn_text_has(t->corpus, QN_VALID) || t->at.eval_step == t->at.step) {
        return QN_OK;
    }
    struct qn_evaluation e;
    struct qn_err why;
    t->measure->scheduled = true;
    enum qn_status status = qn_measure_evaluate(t->measure, QN_VALID, &e, &why);
    t->measure->scheduled = false;
    if (status == QN_OK) {
        take_evaluation(t, &e);
        return QN_OK;
    }
    if (status != QN_ESTOPPED) {
        qn_trainer_pause(t, why.text);
    }
    return qn_fail(err, status, "%s", why.text);
}

static enum qn_status write_file(struct qn_trainer *t, const char *folder,
                                 struct qn_err *err)
{
    char *model = qn_path_join(folder, "model.safetensors");
    char *state = qn_path_join(folder, "state.safetensors");
    enum qn_status status = qn_checkpoint_save(t->model, model, err);
    if (status == QN_OK) {
        status = qn_state_save(state, &t->at, &t->optim, t->pass, err);
    }
    free(model);
    free(state);
    return status;
}

/* What the evaluation of this step said, if there was one. */
static struct qn_figures figures_of(const struct qn_trainer *t)
{
    const struct qn_progress *at = &t->at;
    if (at->eval_step != at->step) {
        return (struct qn_figures){(double)NAN, (double)NAN, (double)NAN};
    }
    return (struct qn_figures){
        metric_of(&t->spec, at->eval_loss, at->eval_accuracy), at->eval_loss,
        at->eval_accuracy};
}

/* Write and commit; *folder is the checkpoint's, the caller's to free. The
 * lines come first: a checkpoint must not be ahead of its history. */
static enum qn_status write_checkpoint(struct qn_trainer *t, char **folder,
                                       struct qn_err *err)
{
    const struct qn_progress *at = &t->at;
    enum qn_status status = qn_record_flush(t->record, err);
    if (status == QN_OK) {
        status = qn_run_dir_checkpoint(t->dir, at->step, folder, err);
    }
    if (status == QN_OK) {
        status = write_file(t, *folder, err);
    }
    if (status != QN_OK) {
        return status;
    }
    struct qn_keep keep = {t->spec.checkpoint.keep_best,
                           t->spec.checkpoint.keep_last};
    struct qn_figures figures = figures_of(t);
    return qn_run_dir_commit(t->dir, at->step, at->best_step == at->step,
                             &figures, keep, err);
}

enum qn_status qn_trainer_save(struct qn_trainer *t, struct qn_err *err)
{
    char *folder = NULL;
    struct qn_err why;
    enum qn_status status = write_checkpoint(t, &folder, &why);
    t->checkpoint_owed = status != QN_OK;
    if (status != QN_OK) {
        free(folder);
        qn_trainer_pause(t, why.text);
        return qn_fail(err, status, "%s", why.text);
    }
    bool best = t->at.best_step == t->at.step;
    t->checkpoint_step = t->at.step;
    t->checkpoint_evals = t->at.evals;
    struct qn_json *line = qn_record_begin(t->record, "checkpoint", t->at.step);
    qn_json_kbool(line, "best", best);
    qn_record_end(t->record);
    struct qn_note note = {.kind = QN_NOTE_CHECKPOINT, .is_best = best};
    qn_trainer_note(t, &note, folder);
    free(folder);
    return QN_OK;
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
        (void)qn_trainer_save(t, NULL);
    }
    t->before = now;
}
