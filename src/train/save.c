/* save.c - checkpoints: when one is handed to the saver, and what is told of it
 * once it is committed. Nothing of them waits for the disk but the next one,
 * ends, and whoever asks for a checkpoint. */
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>

double qn_trainer_metric(const struct qn_trainer *t, double loss,
                         double accuracy)
{
    bool by_accuracy = t->spec.checkpoint.metric == QN_VALID_ACCURACY;
    return by_accuracy && !isnan(loss) ? -accuracy : loss;
}

/* What an evaluation of this step said, if there was one. */
static struct qn_figures figures_of(const struct qn_trainer *t)
{
    const struct qn_progress *at = &t->at;
    struct qn_figures figures = {(double)NAN, (double)NAN, (double)NAN};
    if (t->measured.step == at->step) {
        figures.loss = t->measured.loss;
        figures.accuracy = t->measured.accuracy;
    } else if (at->eval_step == at->step) { /* by the program before a resume */
        figures.loss = at->eval_loss;
        figures.accuracy = at->eval_accuracy;
    } else if (at->best_step == at->step) {
        figures.loss = at->best_loss;
        figures.accuracy = at->best_accuracy;
    }
    figures.metric = qn_trainer_metric(t, figures.loss, figures.accuracy);
    return figures;
}

static void tell_saved(struct qn_trainer *t, const struct qn_saved *saved)
{
    struct qn_json *line =
        qn_record_begin(t->record, "checkpoint", saved->step);
    qn_json_kbool(line, "best", saved->is_best);
    qn_record_end(t->record);
    struct qn_note note = {.kind = QN_NOTE_CHECKPOINT,
                           .is_best = saved->is_best};
    qn_trainer_note_of(t, saved->step, &note, saved->folder);
}

static enum qn_status take_saved(struct qn_trainer *t, struct qn_saved *saved,
                                 struct qn_err *err)
{
    if (saved->status != QN_OK) {
        qn_trainer_wait_for_disk(t, saved->err.text);
        return qn_fail(err, saved->status, "%s", saved->err.text);
    }
    tell_saved(t, saved);
    free(saved->folder);
    return QN_OK;
}

void qn_trainer_poll_saver(struct qn_trainer *t)
{
    struct qn_saved saved;
    if (qn_saver_poll(t->saver, &saved)) {
        (void)take_saved(t, &saved, NULL);
    }
}

enum qn_status qn_trainer_await_saver(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_saved saved;
    if (t->saver == NULL || !qn_saver_wait(t->saver, &saved)) {
        return QN_OK;
    }
    return take_saved(t, &saved, err);
}

enum qn_status qn_trainer_settle(struct qn_trainer *t, struct qn_err *err)
{
    if (t->saver != NULL && qn_saver_owes(t->saver)) {
        qn_saver_retry(t->saver);
    }
    return qn_trainer_await_saver(t, err);
}

/* Copy this moment. The lines come first: a checkpoint must not be ahead of its
 * history, and committing it syncs what has been written. */
static enum qn_status hand_over(struct qn_trainer *t, struct qn_err *err)
{
    enum qn_status status = qn_record_flush(t->record, err);
    if (status != QN_OK) {
        qn_trainer_wait_for_disk(t, err->text);
        return status;
    }
    struct qn_saving saving = {
        .at = t->at,
        .is_best = t->at.best_step == t->at.step,
        .figures = figures_of(t),
        .keep = {t->spec.checkpoint.keep_best, t->spec.checkpoint.keep_last},
    };
    status = qn_saver_begin(t->saver, &saving, err);
    if (status != QN_OK) {
        qn_trainer_pause(t, err->text);
        return status;
    }
    t->checkpoint_step = t->at.step;
    t->checkpoint_evals = t->at.evals + t->own_evals;
    return QN_OK;
}

enum qn_status qn_trainer_begin_save(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_err why;
    enum qn_status status = qn_trainer_settle(t, &why);
    if (status == QN_OK) {
        status = hand_over(t, &why);
    }
    t->checkpoint_owed = status != QN_OK;
    return status == QN_OK ? QN_OK : qn_fail(err, status, "%s", why.text);
}

enum qn_status qn_trainer_save(struct qn_trainer *t, struct qn_err *err)
{
    enum qn_status status = qn_trainer_begin_save(t, err);
    return status == QN_OK ? qn_trainer_await_saver(t, err) : status;
}

enum qn_status qn_trainer_save_once(struct qn_trainer *t, struct qn_err *err)
{
    if (t->checkpoint_step == t->at.step &&
        t->checkpoint_evals == t->at.evals + t->own_evals) {
        return qn_trainer_settle(t, err);
    }
    return qn_trainer_save(t, err);
}
