/* resume.c - go on with a stored run from its last checkpoint. */
#include "train/trainer_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "store/checkpoints.h"
#include "store/parent.h"
#include "train/history.h"
#include "train/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is known of the run before its trainer exists. */
struct resume {
    const struct qn_train_env *env;
    const char *path;
    struct qn_run_dir *dir; /* taken by the trainer once it is made */
    char *checkpoint;       /* folder; NULL = the run has none */
    int64_t step;           /* of the checkpoint, or 0 */
    struct qn_err damage;   /* of newer ones, or "" */
    struct qn_history history;
    struct qn_pending *later; /* changes after that step */
    struct qn_spec spec;
    struct change {
        char *key, *value;
    } * changes; /* [n_changes], made */
    int n_changes;
};

/* A run that did not begin from its seed cannot begin there anew. */
static enum qn_status check_parent(const struct resume *r, struct qn_err *err)
{
    struct qn_parent parent;
    enum qn_status status = qn_parent_read(r->path, &parent, err);
    if (status == QN_ENOTFOUND || (status == QN_OK && !parent.sha256[0])) {
        return QN_OK;
    }
    if (status != QN_OK) {
        return status;
    }
    return qn_fail(err, QN_ESTATE,
                   "%s has lost the checkpoint of step %lld of %s from which "
                   "it began, and all others: %s that run again",
                   qn_run_dir_id(r->dir), (long long)parent.step, parent.name,
                   qn_relation_name(parent.relation));
}

/* One that was made anew while the run was opened is empty. */
static bool has_lines(const struct resume *r, const char *file)
{
    struct stat there;
    char *path = qn_path_join(r->path, file);
    bool empty = stat(path, &there) == 0 && there.st_size == 0;
    free(path);
    return !empty;
}

/* Every run with a checkpoint has a line of its start, and of its steps. */
static void warn_of_lost_lines(const struct resume *r)
{
    const char *id = qn_run_dir_id(r->dir);
    if (!has_lines(r, "events.jsonl")) {
        qn_log_write(r->env->log, QN_LOG_WARN,
                     "%s has lost events.jsonl: settings that were changed "
                     "while it trained are those of spec.json again",
                     id);
    }
    if (r->step > 0 && !has_lines(r, "metrics.jsonl")) {
        qn_log_write(r->env->log, QN_LOG_WARN,
                     "%s has lost metrics.jsonl: its curves begin at step %lld",
                     id, (long long)r->step);
    }
}

static enum qn_status find_checkpoint(struct resume *r, struct qn_err *err)
{
    enum qn_status status = qn_run_dir_find_whole(r->path, &r->checkpoint,
                                                  &r->step, &r->damage, err);
    if (status == QN_OK && r->damage.text[0] != '\0') {
        qn_log_write(r->env->log, QN_LOG_WARN,
                     "%s; %s goes on from its checkpoint of step %lld",
                     r->damage.text, qn_run_dir_id(r->dir), (long long)r->step);
    }
    if (status == QN_OK) {
        warn_of_lost_lines(r);
    }
    if (status != QN_ENOTFOUND) {
        return status;
    }
    status = check_parent(r, err);
    if (status != QN_OK) {
        return status;
    }
    qn_log_write(r->env->log, QN_LOG_WARN,
                 "%s has no checkpoint yet and begins anew",
                 qn_run_dir_id(r->dir));
    r->checkpoint = NULL;
    r->step = 0;
    return QN_OK;
}

/* Make one change "KEY=VALUE" and remember it with the value that it gave: a
 * later one may unset it again, and must find it set when both are replayed. */
static enum qn_status make_change(struct resume *r, const char *assignment,
                                  struct qn_err *err)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        return qn_fail(err, QN_EUSAGE, "\"%s\" is not KEY=VALUE", assignment);
    }
    char *key = qn_xstrndup(assignment, (size_t)(equals - assignment));
    enum qn_status status = qn_settings_change(&r->spec, key, equals + 1, err);
    if (status != QN_OK) {
        free(key);
        return status;
    }
    struct qn_str value = {0};
    qn_spec_text(&r->spec, key, &value);
    r->changes[r->n_changes++] = (struct change){key, qn_str_take(&value)};
    return QN_OK;
}

/* Make all, and name all mistakes among them. */
static enum qn_status make_changes(struct resume *r, const char *const *changes,
                                   int n, struct qn_err *err)
{
    struct qn_str problems = {0};
    struct qn_err why;
    enum qn_status status = QN_OK;
    r->changes = qn_xcalloc((size_t)n, sizeof *r->changes);
    for (int i = 0; i < n; i++) {
        if (make_change(r, changes[i], &why) != QN_OK) {
            qn_str_addf(&problems, "%s%s", problems.len > 0 ? "\n" : "",
                        why.text);
        }
    }
    if (problems.len > 0) {
        status = qn_fail(err, QN_EUSAGE, "%s", problems.text);
    }
    qn_str_free(&problems);
    return status;
}

/* Read all that the folder holds; the lock is held from the first line on. */
static enum qn_status look(struct resume *r, const char *const *changes, int n,
                           struct qn_err *err)
{
    enum qn_status status = qn_run_dir_open(r->path, &r->dir, err);
    if (status == QN_OK) {
        status = find_checkpoint(r, err);
    }
    if (status == QN_OK) {
        status = qn_history_read(r->path, r->step, &r->history, err);
    }
    if (status == QN_OK) {
        status = qn_history_spec(r->path, r->step, &r->spec, &r->later, err);
    }
    /* Whether time has ended it only the length of its text can tell. */
    if (status == QN_OK && n == 0 && strcmp(r->history.end, "done") == 0 &&
        !(r->spec.stop.after > 0)) {
        status = qn_fail(err, QN_ESTATE,
                         "%s is done at step %lld; a larger steps or epochs "
                         "makes it go on",
                         qn_run_dir_id(r->dir), (long long)r->step);
    }
    return status == QN_OK ? make_changes(r, changes, n, err) : status;
}

/* The trainer with the run's vocabulary, over a text that is still the same. */
static enum qn_status build(struct resume *r, const struct qn_sink *sink,
                            struct qn_trainer **out, struct qn_err *err)
{
    static const bool none[QN_N_SPLITS] = {false};
    struct qn_vocab *vocab;
    enum qn_status status = qn_text_vocab(r->path, &r->spec, &vocab, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_trainer_build(r->env, &r->spec, sink, vocab, out, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_trainer_take_dir(*out, r->dir, err);
    r->dir = NULL;
    if (status != QN_OK) {
        return status;
    }
    struct qn_code code = qn_trainer_code(*out);
    qn_code_notice(r->path, &code, r->env->log);
    status = qn_code_check_data(r->path, (*out)->corpus, none, err);
    return status == QN_OK ? qn_text_vectors(r->path, (*out)->model, err)
                           : status;
}

/* The counters of a checkpoint must agree with each other and with the data. */
static enum qn_status check_progress(const struct qn_trainer *t,
                                     const char *folder, int64_t step,
                                     struct qn_err *err)
{
    const struct qn_progress *at = &t->at;
    int64_t n = qn_trainer_steps_per_epoch(t);
    if (at->step == step && at->updates <= at->step &&
        at->step / n == at->epoch && at->step % n == at->segment) {
        return QN_OK;
    }
    return qn_fail(err, QN_EFORMAT,
                   "%s/state.safetensors: step %lld, epoch %lld, segment %lld "
                   "do not belong together",
                   folder, (long long)at->step, (long long)at->epoch,
                   (long long)at->segment);
}

enum qn_status qn_trainer_load(struct qn_trainer *t, const char *folder,
                               int64_t step, struct qn_err *err)
{
    if (folder == NULL) {
        qn_model_init(t->model, (uint64_t)t->spec.seed);
        return QN_OK;
    }
    /* What a rollback loads shall find its room there. */
    qn_measure_rest(t->measure);
    char *model = qn_path_join(folder, "model.safetensors");
    char *state = qn_path_join(folder, "state.safetensors");
    enum qn_status status = qn_checkpoint_load(t->model, model, err);
    if (status == QN_OK) {
        status = qn_state_load(state, &t->at, &t->optim, t->pass, err);
    }
    free(model);
    free(state);
    if (status != QN_OK) {
        return status;
    }
    t->checkpoint_step = t->at.step;
    t->checkpoint_evals = t->at.evals;
    return check_progress(t, folder, step, err);
}

/* Steps or epochs that are set must reach to where the run is. */
static enum qn_status check_total(const struct qn_trainer *t,
                                  const struct resume *r, struct qn_err *err)
{
    int64_t total = qn_trainer_steps_total(t);
    for (int i = r->n_changes - 1; i >= 0 && total < t->at.step; i--) {
        const struct change *c = &r->changes[i];
        if (qn_str_eq(c->key, "steps") || qn_str_eq(c->key, "epochs")) {
            return qn_fail(err, QN_EUSAGE,
                           "%s=%s ends the run at step %lld, it is at step "
                           "%lld already",
                           c->key, c->value, (long long)total,
                           (long long)t->at.step);
        }
    }
    return QN_OK;
}

static enum qn_status out_of_time(const struct qn_trainer *t,
                                  struct qn_err *err)
{
    struct qn_str after = {0};
    qn_spec_text(&t->spec, "stop.after", &after);
    enum qn_status status =
        qn_fail(err, QN_ESTATE,
                "%s is ended by stop.after=\"%s\" at step %lld of %lld; "
                "stop.after=none or a longer time makes it go on",
                qn_trainer_id(t), after.text, (long long)t->at.step,
                (long long)qn_trainer_steps_total(t));
    qn_str_free(&after);
    return status;
}

/* A run that is done goes on only if the changes leave it something to do. */
static enum qn_status check_end(const struct qn_trainer *t,
                                const struct resume *r, struct qn_err *err)
{
    double after = t->spec.stop.after;
    int64_t total = qn_trainer_steps_total(t);
    if (strcmp(r->history.end, "done") != 0) {
        return QN_OK;
    }
    if (t->at.step >= total) {
        return qn_fail(err, QN_ESTATE,
                       "%s is done at step %lld of %lld; a larger steps or "
                       "epochs makes it go on",
                       qn_trainer_id(t), (long long)t->at.step,
                       (long long)total);
    }
    return after > 0 && t->seconds >= after ? out_of_time(t, err) : QN_OK;
}

/* A crash may have come between a commit and its names; and what is damaged is
 * not to be found by them. */
static enum qn_status mend_names(const struct qn_trainer *t,
                                 const struct resume *r, struct qn_err *err)
{
    enum qn_status status =
        r->checkpoint != NULL
            ? qn_run_dir_correct_best(t->dir, t->at.best_step, err)
            : QN_OK;
    return status == QN_OK && r->damage.text[0] != '\0'
               ? qn_run_dir_rewind(t->dir, r->step, err)
               : status;
}

/* What a stop measured at this step is on record: it is not told twice. */
static void know_measured(struct qn_trainer *t, const struct resume *r)
{
    struct qn_figures figures = qn_run_checkpoint_figures(r->path, r->step);
    if (r->checkpoint != NULL && !isnan(figures.loss)) {
        t->measured.step = r->step;
        t->measured.loss = figures.loss;
        t->measured.accuracy = figures.accuracy;
    }
}

/* From here on the run is another one. */
static void begin(struct qn_trainer *t, struct resume *r)
{
    t->before = qn_trainer_moment(t);
    know_measured(t, r);
    t->segment = r->history.segments;
    qn_trainer_begin_segment(t, r->step, r->later);
    r->later = NULL;
    for (int i = 0; i < r->n_changes; i++) {
        qn_pending_cancel(t->pending, r->step, r->changes[i].key);
        qn_trainer_tell_set(t, r->changes[i].key, r->changes[i].value);
    }
    qn_trainer_find_left_out(t);
}

static enum qn_status take_up(struct resume *r, const struct qn_sink *sink,
                              struct qn_trainer **out, struct qn_err *err)
{
    enum qn_status status = build(r, sink, out, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_trainer *t = *out;
    t->seconds = r->history.seconds;
    status = qn_trainer_load(t, r->checkpoint, r->step, err);
    if (status == QN_OK) {
        status = check_total(t, r, err);
    }
    if (status == QN_OK) {
        status = check_end(t, r, err);
    }
    if (status == QN_OK) {
        status = mend_names(t, r, err);
    }
    if (status == QN_OK) {
        begin(t, r);
    }
    return status;
}

static void resume_fini(struct resume *r)
{
    qn_run_dir_close(r->dir);
    qn_pending_free(r->later);
    free(r->checkpoint);
    for (int i = 0; i < r->n_changes; i++) {
        free(r->changes[i].key);
        free(r->changes[i].value);
    }
    free(r->changes);
}

enum qn_status qn_trainer_resume(const struct qn_train_env *env,
                                 const char *run_path,
                                 const char *const *changes, int n,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err)
{
    struct resume r = {.env = env, .path = run_path};
    struct qn_trainer *t = NULL;
    enum qn_status status = look(&r, changes, n, err);
    if (status == QN_OK) {
        status = take_up(&r, sink, &t, err);
    }
    resume_fini(&r);
    if (status != QN_OK) {
        qn_trainer_free(t);
    } else {
        *out = t;
    }
    return status;
}
