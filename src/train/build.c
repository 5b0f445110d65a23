/* build.c - put a trainer together: data, model, passes; and take it apart. */
#include "train/trainer_self.h"

#include "base/mem.h"
#include "train/history.h"
#include "train/memory.h"
#include "train/text.h"

#include <stdlib.h>

static const char *backend_name(const struct qn_train_env *env)
{
    return env->backend ? env->backend : "cpu";
}

struct qn_code qn_trainer_code(const struct qn_trainer *t)
{
    const float *vectors = qn_corpus_vectors(t->corpus);
    return (struct qn_code){
        .backend = backend_name(&t->env),
        .threads = t->spec.threads,
        .corpus = t->corpus,
        .vectors = vectors,
        .n_vectors = vectors != NULL ? qn_model_vectors(t->model).count : 0,
    };
}

static enum qn_status open_data(struct qn_trainer *t, struct qn_err *err)
{
    const struct qn_spec *spec = &t->spec;
    enum qn_status status =
        qn_text_open(&t->env, spec, t->fixed_vocab, &t->corpus, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_feed_train(t->corpus, spec->batch, spec->seq,
                           (uint64_t)spec->seed, &t->feed, err);
    if (status != QN_OK) {
        return status;
    }
    if (!qn_text_has(t->corpus, QN_VALID)) {
        qn_log_write(t->env.log, QN_LOG_WARN,
                     "there is no valid split: the run is not evaluated and "
                     "its last checkpoint counts as the best");
    }
    status = qn_trainer_check_prompt(t, spec, err);
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, "sample");
}

static enum qn_status check_memory(struct qn_trainer *t,
                                   const struct qn_held *before,
                                   struct qn_err *err)
{
    qn_memory_plan_run(t, before, &t->plan);
    return qn_memory_plan_check(&t->plan, qn_mem_available(), err);
}

static enum qn_status make_model(struct qn_trainer *t, struct qn_err *err)
{
    const struct qn_spec *spec = &t->spec;
    int vocab = qn_vocab_size(qn_corpus_vocab(t->corpus));
    enum qn_status status = qn_model_new(t->be, spec, vocab, &t->model, err);
    if (status == QN_OK && !t->be->ops->reserve(t->be, t->plan.workspace)) {
        char size[32];
        qn_format_bytes(size, sizeof size, (double)t->plan.workspace);
        status =
            qn_fail(err, QN_ENOMEM, "no memory for a workspace of %s", size);
    }
    if (status == QN_OK) {
        status = qn_pass_new(t->model, spec->batch, qn_feed_steps(t->feed),
                             true, &t->pass, err);
    }
    if (status == QN_OK) {
        status = qn_optim_init(&t->optim, t->be, spec,
                               qn_model_trained(t->model).count, err);
    }
    if (status != QN_OK) {
        return status;
    }
    const float *vectors = qn_corpus_vectors(t->corpus);
    if (vectors != NULL) {
        qn_model_set_vectors(t->model, vectors);
    }
    t->measure = qn_measure_new(t->model, &t->spec, t->corpus);
    return QN_OK;
}

enum qn_status qn_trainer_build(const struct qn_train_env *env,
                                const struct qn_spec *spec,
                                const struct qn_sink *sink,
                                struct qn_vocab *vocab, struct qn_trainer **out,
                                struct qn_err *err)
{
    struct qn_trainer *t = qn_xcalloc(1, sizeof *t);
    t->env = *env;
    t->spec = *spec;
    if (sink != NULL) {
        t->sink = *sink;
    }
    t->fixed_vocab = vocab;
    t->at = qn_progress_zero();
    t->checkpoint_step = -1;
    t->measured.step = -1;
    t->segment = 1;
    struct qn_held before = qn_held_now();
    enum qn_status status =
        qn_backend_new(backend_name(env), env->pool,
                       spec->threads > 0 ? spec->threads : 1, &t->be, err);
    if (status == QN_OK) {
        status = open_data(t, err);
    }
    if (status == QN_OK) {
        status = check_memory(t, &before, err);
    }
    if (status == QN_OK) {
        status = make_model(t, err);
    }
    if (status != QN_OK) {
        qn_trainer_free(t);
        return status;
    }
    t->before = qn_trainer_moment(t);
    *out = t;
    return QN_OK;
}

enum qn_status qn_trainer_take_dir(struct qn_trainer *t, struct qn_run_dir *dir,
                                   struct qn_err *err)
{
    t->dir = dir;
    t->record = qn_record_new(dir);
    return qn_saver_new(t->model, &t->optim, t->pass, dir, t->env.gives_way,
                        &t->saver, err);
}

void qn_trainer_free(struct qn_trainer *t)
{
    if (t == NULL) {
        return;
    }
    (void)qn_trainer_await_saver(t, NULL);
    qn_saver_free(t->saver);
    qn_record_free(t->record);
    qn_pending_free(t->pending);
    qn_run_dir_close(t->dir);
    qn_measure_free(t->measure);
    if (t->be) {
        qn_optim_fini(&t->optim);
    }
    qn_pass_free(t->pass);
    qn_model_free(t->model);
    qn_feed_free(t->feed);
    qn_corpus_free(t->corpus);
    qn_vocab_free(t->fixed_vocab);
    qn_backend_free(t->be);
    free(t);
}
