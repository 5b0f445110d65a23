/* trainer.c - one run as a plain object: step it, and it trains. */
#include "train/trainer_self.h"

#include "base/clock.h"
#include "model/checkpoint.h"
#include "train/history.h"
#include "train/measure_self.h"
#include "train/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool qn_trainer_ended(const struct qn_trainer *t)
{
    return t->state != QN_RUN_ACTIVE && t->state != QN_RUN_PAUSED;
}

/* Nothing is left to train. */
static bool is_over(const struct qn_trainer *t)
{
    double after = t->spec.stop.after;
    return t->at.step >= qn_trainer_steps_total(t) ||
           (after > 0 && t->seconds >= after);
}

/* The statistics of the step that is being made: step 1 and every so often. */
static bool stats_due(const struct qn_trainer *t)
{
    if (!(t->spec.stats.every.amount > 0) ||
        qn_model_quantities(&t->spec, t->spec.stats.of) == 0) {
        return false;
    }
    struct qn_moment before = t->before;
    struct qn_moment next = qn_trainer_moment(t);
    next.step++;
    /* The evaluation after the last step counts for this one: that step's
     * statistics had been taken when it came. */
    if (t->at.eval_step == t->at.step) {
        before.evals--;
    }
    return next.step == 1 || qn_period_due(t->spec.stats.every, &before, &next);
}

/* Forward, with the statistics that the spec wants if they are due. */
static enum qn_status forward(struct qn_trainer *t,
                              const struct qn_segment *segment, bool with_stats,
                              struct qn_err *err)
{
    if (!with_stats) {
        qn_pass_forward(t->pass, segment);
        return QN_OK;
    }
    qn_stats_begin(&t->stats, &t->spec, t->spec.stats.of, t->spec.stats.near);
    t->stats.segment = t->segment;
    t->stats.step = t->at.step + 1;
    struct qn_probe probe = {.of = t->stats.of, .hist = t->stats.layer};
    return qn_pass_forward_counting(t->pass, segment, &probe, err);
}

/* What a step made. */
struct made {
    struct qn_step_result result;
    double lr;      /* that it was made with */
    double symbols; /* that were read, padding not counted */
    bool with_stats;
};

/* Forward, backward and update on the next segment. */
static enum qn_status compute(struct qn_trainer *t, struct made *out,
                              struct qn_err *err)
{
    const struct qn_backend_ops *ops = t->be->ops;
    const struct qn_spec *spec = &t->spec;
    struct qn_portion portion;
    qn_feed_read(t->feed, t->at.epoch, (size_t)t->at.segment, &portion);
    struct qn_segment segment = {
        .ids = portion.ids,
        .targets = portion.targets,
        .steps = portion.steps,
        .n_real = portion.n_real,
        .seed = (uint64_t)spec->seed,
        .step = (uint64_t)t->at.step + 1,
    };
    ops->step_begin(t->be);
    enum qn_status status = forward(t, &segment, out->with_stats, err);
    if (status != QN_OK) {
        return status;
    }
    qn_pass_backward(t->pass);
    if (spec->optim.l2 > 0) {
        qn_model_add_l2(t->model, spec->optim.l2, spec->optim.l2_on);
    }
    struct qn_tensor grads = qn_model_grads(t->model);
    ops->grad_norm(t->be, grads);
    struct qn_update update =
        qn_optim_update(spec, t->at.epoch + 1, t->at.updates + 1);
    update.most_loss = qn_trainer_most_loss(t);
    ops->update(t->be, &update, qn_model_trained(t->model), grads, t->optim.m,
                t->optim.v);
    out->lr = update.lr;
    out->symbols = (double)portion.n_symbols;
    return ops->step_end(t->be, &out->result, err);
}

/* On to the next segment; at an epoch's end the streams start anew, documents
 * after every segment. A step that was not applied leaves all as it was before
 * it, the running statistics and the carried state included: the next segment
 * then follows an older one, which is better than NaN for ever. */
static void advance(struct qn_trainer *t, const struct qn_step_result *result)
{
    t->at.step++;
    if (qn_step_applied(result)) {
        qn_trainer_count_update(t, result);
        qn_pass_carry(t->pass);
    }
    t->at.segment++;
    bool over = (size_t)t->at.segment == qn_feed_n_segments(t->feed);
    if (over) {
        t->at.segment = 0;
        t->at.epoch++;
    }
    if (over || qn_feed_starts_anew(t->feed)) {
        qn_pass_restart(t->pass);
    }
}

static void report(struct qn_trainer *t, const struct made *made)
{
    const struct qn_step_result *r = &made->result;
    struct qn_step_record record = {
        .segment = t->segment,
        .step = t->at.step,
        .epoch = (double)t->at.step / (double)qn_trainer_steps_per_epoch(t),
        .loss = r->loss_sum / r->count,
        .accuracy = qn_share_right(&t->spec, r),
        .lr = made->lr,
        .grad_norm = r->norm,
        .tokens_per_s = qn_speed_now(&t->speed),
        .seconds = t->seconds,
    };
    qn_record_step(t->record, &record);
    if (t->sink.step != NULL) {
        t->sink.step(t->sink.user, &record);
    }
    if (!made->with_stats) {
        return;
    }
    qn_record_stats(t->record, &t->stats);
    if (t->sink.stats != NULL) {
        t->sink.stats(t->sink.user, &t->stats);
    }
}

/* Add the time since *mark to the seconds of training. */
static double lap(struct qn_trainer *t, double *mark)
{
    double now = qn_clock_now();
    double passed = now - *mark;
    t->seconds += passed;
    *mark = now;
    return passed;
}

static enum qn_status fail(struct qn_trainer *t, enum qn_status status,
                           const char *why, struct qn_err *err)
{
    (void)qn_trainer_await_saver(t, NULL);
    t->state = QN_RUN_FAILED;
    qn_trainer_tell(t, QN_NOTE_FAILED, "failed", "error", why);
    return qn_fail(err, status, "%s", why);
}

/* One step of training and what is due after it. */
static enum qn_status train(struct qn_trainer *t, struct qn_err *err)
{
    double mark = qn_clock_now();
    enum qn_status status = qn_trainer_replay(t, err);
    if (status != QN_OK || t->state != QN_RUN_ACTIVE || is_over(t)) {
        return status;
    }
    struct made made = {.with_stats = stats_due(t)};
    const struct qn_step_result *result = &made.result;
    struct qn_err why;
    status = compute(t, &made, &why);
    if (status != QN_OK) {
        return fail(t, status, why.text, err);
    }
    advance(t, result);
    qn_speed_add(&t->speed, made.symbols, lap(t, &mark));
    report(t, &made);
    qn_trainer_note_trouble(t, result);
    if (!t->rollback.owed) { /* what is due then is not */
        qn_trainer_do_due(t);
    }
    (void)lap(t, &mark);
    qn_trainer_react(t, result);
    return QN_OK;
}

/* Put the best weights into the model, for what is asked of it after the end,
 * when all checkpoints are committed. */
static void restore_best(struct qn_trainer *t)
{
    if (t->spec.stop.restore != QN_RESTORE_BEST || t->at.best_step < 0 ||
        t->at.best_step == t->at.step) {
        return;
    }
    char *folder = NULL;
    int64_t step;
    struct qn_err err;
    enum qn_status status = qn_run_dir_find_checkpoint(
        qn_run_dir_path(t->dir), "best", &folder, &step, &err);
    if (status == QN_OK) {
        char *path = qn_path_join(folder, "model.safetensors");
        qn_measure_rest(t->measure);
        status = qn_checkpoint_load(t->model, path, &err);
        free(path);
    }
    free(folder);
    if (status != QN_OK) {
        qn_log_write(t->env.log, QN_LOG_WARN,
                     "the best weights cannot be restored: %s", err.text);
    }
}

/* The line that says that the run is done. It must be there before the run is:
 * behind it there is nothing more to wait for. */
static enum qn_status record_done(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_json *line = qn_record_begin(t->record, "done", t->at.step);
    qn_json_kdouble(line, "seconds", t->seconds);
    if (t->at.best_step >= 0) {
        qn_json_key(line, "best");
        qn_json_object(line);
        qn_json_kint(line, "step", t->at.best_step);
        qn_json_kdouble(line, "loss", t->at.best_loss);
        qn_record_accuracy(line, t->at.best_accuracy);
        qn_json_end_object(line);
    }
    return qn_record_end_now(t->record, err);
}

/* The end of all steps. What fails on the way has paused the run, which then
 * tries again from here. */
static void finish(struct qn_trainer *t)
{
    struct qn_err why;
    if (qn_trainer_evaluate(t, NULL) != QN_OK ||
        qn_trainer_save_once(t, NULL) != QN_OK) {
        return;
    }
    /* A person may have made the run longer here, when it had ended once. */
    if (qn_trainer_replay(t, NULL) != QN_OK || !is_over(t)) {
        return;
    }
    if (record_done(t, &why) != QN_OK) {
        qn_trainer_wait_for_disk(t, why.text);
        return;
    }
    restore_best(t);
    t->state = QN_RUN_DONE;
    struct qn_note note = {
        .kind = QN_NOTE_DONE,
        .loss = t->at.best_loss,
        .accuracy = t->at.best_accuracy,
        .seconds = t->seconds,
    };
    qn_trainer_note(t, &note, "");
}

enum qn_status qn_trainer_step(struct qn_trainer *t, struct qn_err *err)
{
    if (t->state != QN_RUN_ACTIVE) {
        return qn_fail(err, QN_ESTATE, "run %s is not training",
                       qn_trainer_id(t));
    }
    if (!is_over(t)) {
        enum qn_status status = train(t, err);
        if (status != QN_OK) {
            return status;
        }
    }
    qn_trainer_poll_saver(t);
    const char *trouble = qn_record_trouble(t->record);
    if (trouble != NULL) {
        qn_trainer_wait_for_disk(t, trouble);
    }
    if (t->state == QN_RUN_ACTIVE && is_over(t)) {
        finish(t);
    }
    return QN_OK;
}

/* First what must not be lost: the evaluation may take long, and the person or
 * the system may lose patience. */
static enum qn_status save_for_stop(struct qn_trainer *t, struct qn_err *err)
{
    enum qn_status status =
        t->rollback.owed ? qn_trainer_roll_back(t, err) : QN_OK;
    if (status == QN_OK) {
        status = qn_trainer_save_once(t, err);
    }
    if (status == QN_OK) {
        status = qn_trainer_evaluate_own(t, err);
    }
    if (status == QN_OK) {
        status = qn_trainer_save_once(t, err);
    }
    if (status == QN_OK) { /* those behind the checkpoint */
        status = qn_record_flush(t->record, err);
    }
    if (status == QN_OK) {
        restore_best(t);
    }
    return status;
}

enum qn_status qn_trainer_stop(struct qn_trainer *t, bool save,
                               struct qn_err *err)
{
    if (qn_trainer_ended(t)) {
        return QN_OK;
    }
    enum qn_status status = QN_OK;
    if (save) {
        status = save_for_stop(t, err);
    } else {
        (void)qn_trainer_settle(t, NULL);
    }
    if (status != QN_OK) {
        return status;
    }
    t->state = QN_RUN_STOPPED;
    qn_trainer_tell(t, QN_NOTE_STOPPED, "stop", NULL, NULL);
    return QN_OK;
}

enum qn_status qn_trainer_checkpoint(struct qn_trainer *t, struct qn_err *err)
{
    if (qn_trainer_ended(t)) {
        return qn_fail(err, QN_ESTATE, "run %s has ended", qn_trainer_id(t));
    }
    if (t->rollback.owed) {
        return qn_fail(err, QN_ESTATE,
                       "run %s goes back to an earlier step first",
                       qn_trainer_id(t));
    }
    return qn_trainer_save(t, err);
}

/* A prompt is checked while the person who set it is still there. */
enum qn_status qn_trainer_check_prompt(const struct qn_trainer *t,
                                       const struct qn_spec *spec,
                                       struct qn_err *err)
{
    if (spec->task != QN_TASK_LM) {
        return QN_OK;
    }
    int32_t *ids;
    size_t n;
    enum qn_status status = qn_text_prompt(qn_corpus_vocab(t->corpus), spec,
                                           spec->sample.prompt, &ids, &n, err);
    if (status == QN_OK) {
        free(ids);
    }
    return status;
}

enum qn_status qn_trainer_set(struct qn_trainer *t, const char *key,
                              const char *value, struct qn_err *err)
{
    if (qn_trainer_ended(t)) {
        return qn_fail(err, QN_ESTATE, "run %s has ended", qn_trainer_id(t));
    }
    struct qn_spec changed = t->spec;
    enum qn_status status = qn_settings_change(&changed, key, value, err);
    if (status == QN_OK) {
        status = qn_trainer_check_prompt(t, &changed, err);
    }
    if (status != QN_OK) {
        return status;
    }
    t->spec = changed;
    qn_model_set_spec(t->model, &t->spec);
    qn_pending_cancel(t->pending, t->at.step, key);
    struct qn_str text = {0};
    qn_spec_text(&t->spec, key, &text);
    qn_trainer_tell_set(t, key, text.text);
    qn_str_free(&text);
    return QN_OK;
}

void qn_trainer_set_interrupt(struct qn_trainer *t, bool (*asked)(void *user),
                              void *user)
{
    qn_measure_set_interrupt(t->measure, asked, user);
}

enum qn_trainer_state qn_trainer_state(const struct qn_trainer *t)
{
    return t->state;
}

const struct qn_spec *qn_trainer_spec(const struct qn_trainer *t)
{
    return &t->spec;
}

const char *qn_trainer_dir(const struct qn_trainer *t)
{
    return qn_run_dir_path(t->dir);
}

const char *qn_trainer_id(const struct qn_trainer *t)
{
    return qn_run_dir_id(t->dir);
}

const struct qn_train_env *qn_trainer_env(const struct qn_trainer *t)
{
    return &t->env;
}

int64_t qn_trainer_step_count(const struct qn_trainer *t)
{
    return t->at.step;
}

int64_t qn_trainer_steps_per_epoch(const struct qn_trainer *t)
{
    return (int64_t)qn_feed_n_segments(t->feed);
}

int64_t qn_trainer_steps_total(const struct qn_trainer *t)
{
    return qn_total_steps(&t->spec, qn_trainer_steps_per_epoch(t));
}

double qn_trainer_seconds(const struct qn_trainer *t)
{
    return t->seconds;
}

bool qn_trainer_best(const struct qn_trainer *t, struct qn_best *out)
{
    if (t->at.best_step < 0) {
        return false;
    }
    *out =
        (struct qn_best){t->at.best_step, t->at.best_loss, t->at.best_accuracy};
    return true;
}

struct qn_measure *qn_trainer_measure(struct qn_trainer *t)
{
    t->measure->step = t->at.step;
    return t->measure;
}
