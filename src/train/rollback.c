/* rollback.c - back to the last good checkpoint after a step that was not
 * applied, with half the learning rate. The settings are those of that step,
 * but for what a person answered to earlier trouble: a resume of a run that had
 * paused, with another learning rate, means that rate for what comes next.
 *
 * A crash on the way loses nothing and changes nothing: until the segment line
 * is written the run ends before the step that was not applied, and a resume
 * comes to it, and here, again. */
#include "train/trainer_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/line.h"
#include "store/parent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More ways back to one step than this change nothing any more: the learning
 * rate is a 256th of what it was. */
#define MOST_ROLLBACKS 8

/* Where to go back to. */
struct target {
    char *folder; /* of the checkpoint; NULL: the weights of step 0 */
    int64_t step;
    int before; /* rollbacks to this step so far */
};

/* What the run's own lines say of rollbacks to a step, and of its beginning. */
struct look {
    int64_t step;
    int rollbacks;
    bool imported; /* done at step 0, as an import is */
};

static bool look_at(void *user, const json_t *line)
{
    struct look *l = user;
    const char *event = qn_line_text(line, "event");
    int64_t step = qn_line_int(line, "step");
    l->rollbacks += qn_str_eq(event, "rollback") && step == l->step;
    l->imported |= qn_str_eq(event, "done") && step == 0;
    return true;
}

/* Weights from the seed are where this run began: neither a fork nor an import,
 * whose own beginning would have been found were it good. */
static bool began_from_seed(const char *run, const struct look *look)
{
    struct qn_parent parent;
    enum qn_status status = qn_parent_read(run, &parent, NULL);
    return !look->imported && (status == QN_ENOTFOUND ||
                               (status == QN_OK && parent.sha256[0] == '\0'));
}

static enum qn_status find_target(const struct qn_trainer *t,
                                  struct target *out, struct qn_err *err)
{
    const char *run = qn_run_dir_path(t->dir);
    struct qn_err why;
    *out = (struct target){NULL, 0, 0};
    enum qn_status found = qn_run_dir_find_checkpoint(
        run, "last_good", &out->folder, &out->step, &why);
    if (found != QN_OK && found != QN_ENOTFOUND) {
        return qn_fail(err, found, "%s", why.text);
    }
    struct look look = {.step = out->step};
    enum qn_status status =
        qn_run_dir_lines(run, QN_EVENTS, look_at, &look, err);
    if (status == QN_OK && found != QN_OK && !began_from_seed(run, &look)) {
        status = qn_fail(err, QN_ENOTFOUND,
                         "%s, and no checkpoint is good to go back to",
                         t->rollback.why);
    }
    out->before = look.rollbacks;
    return status;
}

/* What a person set at the step of earlier trouble, in order. */
struct answers {
    int64_t at, from; /* the step of the newest trouble but that of 'from' */
    char **pairs;     /* [2 n]: key, value */
    size_t n;
};

static void answers_clear(struct answers *a)
{
    for (size_t i = 0; i < 2 * a->n; i++) {
        free(a->pairs[i]);
    }
    free(a->pairs);
    a->pairs = NULL;
    a->n = 0;
}

static bool take_answer(void *user, const json_t *line)
{
    struct answers *a = user;
    const char *event = qn_line_text(line, "event");
    int64_t step = qn_line_int(line, "step");
    if (qn_str_eq(event, "nan") || qn_str_eq(event, "spike")) {
        if (step < a->from) {
            answers_clear(a);
            a->at = step;
        }
    } else if (qn_str_eq(event, "set") && step == a->at) {
        a->pairs = qn_xrealloc(a->pairs, 2 * (a->n + 1), sizeof *a->pairs);
        a->pairs[2 * a->n] = qn_xstrdup(qn_line_text(line, "key"));
        a->pairs[2 * a->n + 1] = qn_xstrdup(qn_line_text(line, "value"));
        a->n++;
    }
    return true;
}

/* Those that hold: the very next step was not applied either, and what is set
 * at the target's own step comes back with it. */
static enum qn_status find_answers(const struct qn_trainer *t,
                                   const struct target *target,
                                   struct answers *out, struct qn_err *err)
{
    *out = (struct answers){.at = -1, .from = t->rollback.from};
    enum qn_status status = qn_run_dir_lines(qn_run_dir_path(t->dir), QN_EVENTS,
                                             take_answer, out, err);
    if (status != QN_OK || out->at + 1 != out->from ||
        out->at <= target->step) {
        answers_clear(out);
    }
    return status;
}

/* Weights, moments, counters and carried state; the time that was spent stays
 * spent. */
static enum qn_status load(struct qn_trainer *t, const struct target *target,
                           struct qn_err *err)
{
    if (target->folder == NULL) {
        t->at = qn_progress_zero();
        t->checkpoint_step = -1;
        t->checkpoint_evals = 0;
        qn_optim_clear(&t->optim);
        qn_pass_restart(t->pass);
    }
    enum qn_status status =
        qn_trainer_load(t, target->folder, target->step, err);
    if (status != QN_OK) {
        return status;
    }
    t->own_evals = 0;
    t->checkpoint_owed = false;
    if (t->measured.step > target->step) {
        t->measured.step = -1;
    }
    return QN_OK;
}

/* Tell what the settings of an earlier step change: on record it is, and who
 * listens has heard the later ones. */
static void tell_settings(struct qn_trainer *t, const struct qn_spec *before)
{
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        struct qn_str was = {0}, is = {0};
        qn_spec_text(before, key, &was);
        qn_spec_text(&t->spec, key, &is);
        if (!qn_str_eq(was.text, is.text)) {
            struct qn_note note = {.kind = QN_NOTE_SET};
            qn_copy_text(note.key, sizeof note.key, key);
            qn_trainer_note(t, &note, is.text);
        }
        qn_str_free(&was);
        qn_str_free(&is);
    }
}

/* The folder and the history: they go on from this step. */
static enum qn_status go_back(struct qn_trainer *t, const struct target *target,
                              struct qn_err *err)
{
    struct qn_spec before = t->spec;
    enum qn_status status = load(t, target, err);
    if (status == QN_OK) {
        status = qn_run_dir_correct_best(t->dir, t->at.best_step, err);
    }
    if (status == QN_OK) {
        status = qn_run_dir_rewind(t->dir, target->step, err);
    }
    if (status == QN_OK) {
        status = qn_trainer_rewind(t, target->step, err);
    }
    if (status == QN_OK) {
        t->before = qn_trainer_moment(t);
        qn_trainer_find_left_out(t);
        tell_settings(t, &before);
    }
    return status;
}

static enum qn_status halve_rate(struct qn_trainer *t, struct qn_err *err)
{
    char half[40];
    (void)qn_format_double(half, sizeof half, t->spec.optim.lr / 2);
    return qn_trainer_set(t, "optim.lr", half, err);
}

/* *rate: a learning rate was among them. */
static enum qn_status give_answers(struct qn_trainer *t,
                                   const struct answers *a, bool *rate,
                                   struct qn_err *err)
{
    enum qn_status status = QN_OK;
    *rate = false;
    for (size_t i = 0; i < a->n && status == QN_OK; i++) {
        const char *key = a->pairs[2 * i];
        status = qn_trainer_set(t, key, a->pairs[2 * i + 1], err);
        *rate |= qn_str_eq(key, "optim.lr");
    }
    return status;
}

static void tell_rollback(struct qn_trainer *t, bool rate)
{
    int64_t from = t->rollback.from;
    struct qn_json *line = qn_record_begin(t->record, "rollback", t->at.step);
    qn_json_kint(line, "from", from);
    qn_json_kstring(line, "why", t->rollback.why);
    qn_record_end(t->record);
    struct qn_str text = {0};
    qn_str_addf(&text, "back from step %lld at %s, %.6g: %s", (long long)from,
                rate ? "the learning rate given" : "half the learning rate",
                t->spec.optim.lr, t->rollback.why);
    struct qn_note note = {
        .kind = QN_NOTE_ROLLBACK,
        .from = from,
        .segment = t->segment,
        .seconds = t->seconds,
    };
    qn_trainer_note(t, &note, text.text);
    qn_str_free(&text);
}

static enum qn_status give_up(struct qn_trainer *t, const struct target *target,
                              struct qn_err *err)
{
    return qn_fail(err, QN_ESTATE,
                   "%s, although %d rollbacks to step %lld have brought "
                   "optim.lr down to %.4g",
                   t->rollback.why, target->before, (long long)target->step,
                   t->spec.optim.lr);
}

/* Go back and on. */
static enum qn_status return_to(struct qn_trainer *t,
                                const struct target *target,
                                const struct answers *answers,
                                struct qn_err *err)
{
    bool rate = false;
    enum qn_status status = go_back(t, target, err);
    if (status == QN_OK) {
        status = give_answers(t, answers, &rate, err);
    }
    if (status == QN_OK && !rate) {
        status = halve_rate(t, err);
    }
    if (status == QN_OK) {
        t->rollback.owed = false;
        tell_rollback(t, rate);
    }
    return status;
}

/* All of it but waiting for the disk. */
static enum qn_status roll_back(struct qn_trainer *t, struct qn_err *err)
{
    struct target target;
    struct answers answers = {.n = 0};
    enum qn_status status = find_target(t, &target, err);
    if (status == QN_OK && target.before >= MOST_ROLLBACKS) {
        status = give_up(t, &target, err);
    }
    if (status == QN_OK) {
        status = find_answers(t, &target, &answers, err);
    }
    if (status != QN_OK) {
        /* Nothing has been changed: a person may let it go on as it is. */
        t->rollback.owed = status == QN_EIO;
        free(target.folder);
        return status;
    }
    status = return_to(t, &target, &answers, err);
    answers_clear(&answers);
    free(target.folder);
    return status;
}

enum qn_status qn_trainer_roll_back(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_err why;
    /* What is on its way may be where to go, and would come behind it. */
    enum qn_status status = qn_trainer_settle(t, &why);
    if (status == QN_OK) {
        status = qn_record_flush(t->record, &why);
    }
    if (status == QN_OK) {
        status = roll_back(t, &why);
    }
    if (status == QN_OK) {
        return QN_OK;
    }
    if (status == QN_EIO) {
        qn_trainer_wait_for_disk(t, why.text);
    } else {
        qn_trainer_pause(t, why.text);
    }
    return qn_fail(err, status, "%s", why.text);
}
