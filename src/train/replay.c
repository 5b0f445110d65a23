/* replay.c - changes that a run comes to again, and what it left undone. */
#include "train/trainer_self.h"

#include "base/log.h"
#include "train/history.h"
#include "train/text.h"

#include <stdlib.h>

/* One that the settings refuse now, since a person has changed others, is told
 * and left out. */
static void make_again(struct qn_trainer *t, struct qn_change *c)
{
    struct qn_err err;
    if (qn_settings_change(&t->spec, c->key, c->value, &err) == QN_OK) {
        qn_model_set_spec(t->model, &t->spec);
        qn_trainer_tell_set(t, c->key, c->value);
    } else {
        qn_log_write(t->env.log, QN_LOG_WARN,
                     "%s = %s, set after step %lld, is not set again: %s",
                     c->key, c->value, (long long)c->step, err.text);
    }
    free(c->key);
    free(c->value);
}

/* What was due after the step at which the run was stopped, if a person had no
 * patience for it then. */
static enum qn_status make_up(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_moment before = t->before;
    qn_trainer_do_due(t);
    bool missing = t->at.eval_step != t->at.step;
    t->left_out = missing && t->state == QN_RUN_ACTIVE;
    if (t->left_out) {
        t->before = before;
        return qn_fail(err, QN_ESTOPPED,
                       "the evaluation of step %lld was stopped",
                       (long long)t->at.step);
    }
    return QN_OK;
}

enum qn_status qn_trainer_replay(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_change c;
    enum qn_status status = t->left_out ? make_up(t, err) : QN_OK;
    while (status == QN_OK && qn_pending_take(t->pending, t->at.step, &c)) {
        make_again(t, &c);
    }
    return status;
}

void qn_trainer_find_left_out(struct qn_trainer *t)
{
    struct qn_period every = t->spec.eval.every;
    struct qn_moment now = qn_trainer_moment(t);
    struct qn_moment before = now;
    before.step--;
    bool by_step = every.unit == QN_UNIT_STEPS || every.unit == QN_UNIT_EPOCHS;
    if (t->at.step > 0 && t->at.eval_step != t->at.step && by_step &&
        qn_text_has(t->corpus, QN_VALID) &&
        qn_period_due(every, &before, &now)) {
        t->before = before;
        t->left_out = true;
    }
}

void qn_trainer_begin_segment(struct qn_trainer *t, int64_t from,
                              struct qn_pending *later)
{
    struct qn_json changes = {.comma = false};
    qn_pending_free(t->pending);
    t->pending = later;
    t->segment++;
    if (later != NULL && later->n > 0) {
        qn_pending_json(later, &changes);
    }
    qn_record_segment(t->record, t->segment, from, changes.text.text);
    qn_json_free(&changes);
}

enum qn_status qn_trainer_rewind(struct qn_trainer *t, int64_t step,
                                 struct qn_err *err)
{
    struct qn_pending *later;
    struct qn_spec spec;
    enum qn_status status = qn_record_flush(t->record, err);
    if (status == QN_OK) {
        status =
            qn_history_spec(qn_run_dir_path(t->dir), step, &spec, &later, err);
    }
    if (status != QN_OK) {
        return status;
    }
    t->spec = spec;
    qn_model_set_spec(t->model, &t->spec);
    qn_trainer_begin_segment(t, step, later);
    return QN_OK;
}
