/* origin.c - a new run that begins from what another one holds. */
#include "train/origin.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "train/text.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The name of a run's folder, however its path was typed. */
static void copy_id(char *id, size_t size, const char *run)
{
    char *path = qn_xstrdup(run);
    for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--) {
        path[len - 1] = '\0';
    }
    qn_copy_text(id, size, qn_path_base(path));
    free(path);
}

static enum qn_status fill_parent(struct qn_origin *o,
                                  enum qn_relation relation, struct qn_err *err)
{
    struct qn_parent *p = &o->parent;
    uint64_t size;
    *p = (struct qn_parent){.relation = relation, .step = o->step};
    copy_id(p->run, sizeof p->run, o->run);
    qn_copy_text(p->name, sizeof p->name, o->spec.name);
    if (o->checkpoint == NULL) {
        return QN_OK;
    }
    char *model = qn_path_join(o->checkpoint, "model.safetensors");
    enum qn_status status = qn_file_sha256(model, p->sha256, &size, err);
    free(model);
    return status;
}

static bool is_gone(const struct qn_origin *o)
{
    return o->checkpoint != NULL && !qn_path_is_dir(o->checkpoint);
}

enum qn_status qn_origin_find(const char *run, const char *which,
                              enum qn_relation relation, bool *gone,
                              struct qn_origin *out, struct qn_err *err)
{
    struct qn_origin o = {.run = run};
    enum qn_status status = QN_OK;
    if (which != NULL) {
        status =
            qn_run_dir_find_checkpoint(run, which, &o.checkpoint, &o.step, err);
    }
    if (status == QN_OK) {
        status = qn_history_spec(run, o.step, &o.spec, &o.later, err);
    }
    if (status == QN_OK) {
        status = fill_parent(&o, relation, err);
    }
    *gone = status != QN_OK && is_gone(&o);
    if (status != QN_OK) {
        qn_origin_fini(&o);
        return status;
    }
    *out = o;
    return QN_OK;
}

void qn_origin_fini(struct qn_origin *o)
{
    free(o->checkpoint);
    qn_pending_free(o->later);
    o->checkpoint = NULL;
    o->later = NULL;
}

/* Whether two specs name the same data. */
static bool same_data(const struct qn_spec *a, const struct qn_spec *b)
{
    struct qn_str x = {0}, y = {0};
    bool same = a->task == b->task;
    for (int i = 0; same && i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        if (strncmp(key, "data.", 5) == 0) {
            qn_str_clear(&x);
            qn_str_clear(&y);
            qn_spec_text(a, key, &x);
            qn_spec_text(b, key, &y);
            same = qn_str_eq(x.text, y.text);
        }
    }
    qn_str_free(&x);
    qn_str_free(&y);
    return same;
}

/* Data, model and moments, as the other run has them. */
static enum qn_status build(const struct qn_train_env *env,
                            const struct qn_origin *o,
                            const struct qn_spec *spec,
                            const struct qn_sink *sink, struct qn_trainer **out,
                            struct qn_err *err)
{
    static const bool none[QN_N_SPLITS] = {false};
    struct qn_vocab *vocab = NULL;
    /* Weights from the seed suit any vocabulary: it is made anew, as all that
     * comes from the data, but for word vectors, whose file is kept. */
    bool fixed = o->checkpoint != NULL || spec->data.vectors[0] != '\0';
    bool same = fixed && same_data(spec, &o->spec);
    enum qn_status status =
        same ? qn_text_vocab(o->run, spec, &vocab, err) : QN_OK;
    if (status == QN_OK) {
        status = qn_trainer_build(env, spec, sink, vocab, out, err);
    }
    if (status == QN_OK && !o->any_text) {
        status = qn_code_check_data(o->run, (*out)->corpus, none, err);
    }
    return status == QN_OK && same ? qn_text_vectors(o->run, (*out)->model, err)
                                   : status;
}

static bool same_rule(const struct qn_spec *a, const struct qn_spec *b)
{
    return a->optim.kind == b->optim.kind &&
           (a->optim.momentum > 0) == (b->optim.momentum > 0);
}

/* Load the state of a run with another rule, whose moments have no use here:
 * those of the new rule begin at zero, and with them its count of updates. */
static enum qn_status load_without_moments(struct qn_trainer *t,
                                           const struct qn_origin *o,
                                           struct qn_err *err)
{
    struct qn_optim own = t->optim;
    enum qn_status status = qn_optim_init(
        &t->optim, t->be, &o->spec, qn_model_trained(t->model).count, err);
    if (status == QN_OK) {
        status = qn_trainer_load(t, o->checkpoint, o->step, err);
        qn_optim_fini(&t->optim);
    }
    t->optim = own;
    t->at.updates = 0;
    t->at.usual_loss = (double)NAN;
    return status;
}

/* The best so far is the new run's only if it has those weights: those that it
 * begins from, if they were evaluated. */
static void find_best(struct qn_trainer *t)
{
    struct qn_progress *at = &t->at;
    if (at->best_step == at->step) {
        return;
    }
    bool evaluated = at->eval_step == at->step && !isnan(at->eval_loss);
    at->best_step = evaluated ? at->step : -1;
    at->best_loss = evaluated ? at->eval_loss : (double)NAN;
    at->best_accuracy = evaluated ? at->eval_accuracy : (double)NAN;
}

static enum qn_status load(struct qn_trainer *t, const struct qn_origin *o,
                           struct qn_err *err)
{
    enum qn_status status =
        o->checkpoint == NULL || same_rule(&o->spec, &t->spec)
            ? qn_trainer_load(t, o->checkpoint, o->step, err)
            : load_without_moments(t, o, err);
    if (status != QN_OK) {
        return status;
    }
    find_best(t);
    t->before = qn_trainer_moment(t);
    if (o->checkpoint != NULL) {
        qn_trainer_find_left_out(t);
    }
    return QN_OK;
}

/* Where a run has ended with these settings nothing is left to do. */
static enum qn_status check_total(const struct qn_trainer *t,
                                  const struct qn_origin *o, struct qn_err *err)
{
    int64_t total = qn_trainer_steps_total(t);
    if (t->at.step < total) {
        return QN_OK;
    }
    return qn_fail(err, QN_ESTATE,
                   "%s is at step %lld of %lld: a larger steps or epochs gives "
                   "a %s something to do",
                   o->parent.run, (long long)t->at.step, (long long)total,
                   qn_relation_name(o->parent.relation));
}

/* Its folder; it is a run from then on. */
static enum qn_status begin(struct qn_trainer *t, struct qn_origin *o,
                            struct qn_err *err)
{
    const struct qn_beginning how = {
        .parent = &o->parent,
        .later = o->later,
        .saved = o->checkpoint != NULL,
    };
    enum qn_status status = qn_trainer_make_dir(t, &how, err);
    if (status == QN_OK) {
        t->pending = o->later;
        o->later = NULL;
    }
    return status;
}

enum qn_status qn_origin_begin(const struct qn_train_env *env,
                               struct qn_origin *o, const struct qn_spec *spec,
                               const struct qn_sink *sink, bool *gone,
                               struct qn_trainer **out, struct qn_err *err)
{
    struct qn_trainer *t = NULL;
    *gone = false;
    enum qn_status status = build(env, o, spec, sink, &t, err);
    if (status == QN_OK) {
        status = load(t, o, err);
        *gone = status != QN_OK && is_gone(o);
    }
    if (status == QN_OK) {
        status = check_total(t, o, err);
    }
    if (status == QN_OK) {
        status = begin(t, o, err);
    }
    if (status != QN_OK) {
        qn_trainer_free(t);
        return status;
    }
    *out = t;
    return QN_OK;
}
