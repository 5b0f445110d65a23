/* save.c - checkpoints: when one is handed to the saver, and what is told of it
 * once it is committed. Nothing of them waits for the disk but the next one,
 * ends, and whoever asks for a checkpoint. */
#include "train/trainer_self.h"

#include "base/file.h"
#include "model/checkpoint.h"
#include "store/checkpoints.h"

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

static bool is_best(const struct qn_trainer *t)
{
    return t->at.best_step == t->at.step;
}

static enum qn_status write_files(struct qn_trainer *t, const char *folder,
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

enum qn_status qn_trainer_save_in(struct qn_trainer *t, const char *run,
                                  struct qn_err *err)
{
    char *folder;
    struct qn_figures figures = figures_of(t);
    enum qn_status status =
        qn_run_checkpoint_begin(run, t->at.step, &folder, err);
    if (status != QN_OK) {
        return status;
    }
    status = write_files(t, folder, err);
    free(folder);
    return status == QN_OK ? qn_run_checkpoint_commit(run, t->at.step,
                                                      is_best(t), &figures, err)
                           : status;
}

static void note_saved(struct qn_trainer *t, int64_t step, bool is_best,
                       const char *folder)
{
    struct qn_note note = {.kind = QN_NOTE_CHECKPOINT, .is_best = is_best};
    qn_trainer_note_of(t, step, &note, folder);
}

static void tell_saved(struct qn_trainer *t, const struct qn_saved *saved)
{
    struct qn_json *line =
        qn_record_begin(t->record, "checkpoint", saved->step);
    qn_json_kbool(line, "best", saved->is_best);
    qn_record_end(t->record);
    note_saved(t, saved->step, saved->is_best, saved->folder);
}

/* This moment has a checkpoint, or will have one. */
static void count_saved(struct qn_trainer *t)
{
    t->checkpoint_step = t->at.step;
    t->checkpoint_evals = t->at.evals + t->own_evals;
}

enum qn_status qn_trainer_take_saved(struct qn_trainer *t, struct qn_err *err)
{
    char *folder =
        qn_run_checkpoint_folder(qn_run_dir_path(t->dir), t->at.step);
    count_saved(t);
    note_saved(t, t->at.step, is_best(t), folder);
    free(folder);
    return is_best(t) ? qn_run_dir_correct_best(t->dir, t->at.step, err)
                      : QN_OK;
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
        .is_best = is_best(t),
        .figures = figures_of(t),
        .keep = {t->spec.checkpoint.keep_best, t->spec.checkpoint.keep_last},
    };
    status = qn_saver_begin(t->saver, &saving, err);
    if (status != QN_OK) {
        qn_trainer_pause(t, err->text);
        return status;
    }
    count_saved(t);
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
