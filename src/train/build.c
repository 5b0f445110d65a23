/* build.c - put a trainer together: data, model, passes, and the folder. */
#include "train/trainer_self.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/source.h"
#include "model/checkpoint.h"
#include "store/store.h"
#include "train/history.h"
#include "train/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static enum qn_status check_memory(const struct qn_trainer *t,
                                   struct qn_err *err)
{
    const struct qn_spec *spec = &t->spec;
    int vocab = qn_vocab_size(qn_corpus_vocab(t->corpus));
    int eval_batch = spec->eval.batch > 0 ? spec->eval.batch : spec->batch;
    struct qn_memory_plan plan;
    qn_model_plan(spec, vocab, qn_text_longest(t->corpus, spec), eval_batch,
                  t->be, &plan);
    return qn_memory_plan_check(&plan, qn_mem_available(), err);
}

static enum qn_status make_model(struct qn_trainer *t, struct qn_err *err)
{
    const struct qn_spec *spec = &t->spec;
    int vocab = qn_vocab_size(qn_corpus_vocab(t->corpus));
    enum qn_status status = qn_model_new(t->be, spec, vocab, &t->model, err);
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
    enum qn_status status =
        qn_backend_new(backend_name(env), env->pool,
                       spec->threads > 0 ? spec->threads : 1, &t->be, err);
    if (status == QN_OK) {
        status = open_data(t, err);
    }
    if (status == QN_OK) {
        status = check_memory(t, err);
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

/* A file found from here is named so that it is found from anywhere: the store
 * is one, wherever a person stands. One of the data folder keeps its short
 * name, since that folder may move. */
static void keep_path(const char *found, char path[QN_PATH_LEN])
{
    char here[QN_PATH_LEN];
    if (path[0] == '\0' || found[0] == '/' || !qn_path_exists(found) ||
        getcwd(here, sizeof here) == NULL) {
        return;
    }
    char *full = qn_path_join(here, found);
    if (strlen(full) < QN_PATH_LEN) {
        memset(path, 0, QN_PATH_LEN); /* equal specs are equal bytes */
        memcpy(path, full, strlen(full));
    }
    free(full);
}

static void keep_paths(struct qn_trainer *t)
{
    struct qn_spec *spec = &t->spec;
    keep_path(qn_corpus_path(t->corpus, QN_TRAIN), spec->data.train);
    keep_path(qn_corpus_path(t->corpus, QN_VALID), spec->data.valid);
    keep_path(qn_corpus_path(t->corpus, QN_TEST), spec->data.test);
    char *vectors = NULL;
    if (spec->data.vectors[0] != '\0' &&
        qn_source_find(spec->data.vectors, t->env.data_dir, &vectors, NULL) ==
            QN_OK) {
        keep_path(vectors, spec->data.vectors);
    }
    free(vectors);
}

/* A new folder, and what it holds from the start. */
struct contents {
    struct qn_trainer *t;
    const struct qn_parent *parent;
    struct qn_code code;
    float *read; /* word vectors, when they are read back from the model */
};

/* Word vectors stay with the run: their file may be large, and gone one day. */
static enum qn_status write_vectors(void *user, const char *folder,
                                    struct qn_err *err)
{
    const struct contents *c = user;
    if (c->code.vectors == NULL) {
        return QN_OK;
    }
    char *path = qn_path_join(folder, QN_VECTORS_FILE);
    enum qn_status status =
        qn_vectors_save(path, c->code.vectors, qn_model_vocab(c->t->model),
                        c->t->spec.model.embed, err);
    free(path);
    return status;
}

/* A run that comes from another one has the word vectors of that one, which are
 * in the model and no longer in the corpus. */
static enum qn_status find_vectors(struct contents *c, struct qn_err *err)
{
    struct qn_backend *be = c->t->be;
    struct qn_tensor table = qn_model_vectors(c->t->model);
    c->code = qn_trainer_code(c->t);
    if (table.buffer == NULL || c->code.vectors != NULL) {
        return QN_OK;
    }
    c->read = qn_try_big(table.count, sizeof *c->read);
    if (c->read == NULL) {
        return qn_fail(err, QN_ENOMEM, "no memory for %zu word vectors",
                       table.count / (size_t)c->t->spec.model.embed);
    }
    c->code.vectors = c->read;
    c->code.n_vectors = table.count;
    return be->ops->read(be, table, c->read, err);
}

static enum qn_status create_dir(struct contents *c, struct qn_run_dir **dir,
                                 struct qn_err *err)
{
    struct qn_trainer *t = c->t;
    struct qn_json spec = {0}, code = {0}, parent = {0};
    struct qn_str vocab = {0};
    qn_spec_json(&t->spec, &spec);
    qn_code_json(&c->code, &code);
    qn_vocab_text(qn_corpus_vocab(t->corpus), &vocab);
    if (c->parent != NULL) {
        qn_parent_json(c->parent, &parent);
    }
    struct qn_run_files files = {
        .name = t->spec.name,
        .spec_json = spec.text.text,
        .vocab_txt = vocab.text ? vocab.text : "",
        .code_json = code.text.text,
        .parent_json = parent.text.text,
        .more = write_vectors,
        .user = c,
    };
    enum qn_status status = qn_run_dir_create(t->env.store, &files, dir, err);
    qn_json_free(&spec);
    qn_json_free(&code);
    qn_json_free(&parent);
    qn_str_free(&vocab);
    return status;
}

enum qn_status qn_trainer_take_dir(struct qn_trainer *t, struct qn_run_dir *dir,
                                   struct qn_err *err)
{
    t->dir = dir;
    t->record = qn_record_new(dir);
    return qn_saver_new(t->model, &t->optim, t->pass, dir, &t->saver, err);
}

enum qn_status qn_trainer_make_dir(struct qn_trainer *t,
                                   const struct qn_parent *parent,
                                   struct qn_err *err)
{
    struct contents c = {.t = t, .parent = parent};
    struct qn_run_dir *dir;
    keep_paths(t);
    char *name = qn_store_fresh_name(t->env.store, t->spec.name);
    qn_copy_text(t->spec.name, sizeof t->spec.name, name);
    free(name);
    enum qn_status status = find_vectors(&c, err);
    if (status == QN_OK) {
        status = create_dir(&c, &dir, err);
    }
    free(c.read);
    if (status != QN_OK) {
        return status;
    }
    status = qn_trainer_take_dir(t, dir, err);
    if (status != QN_OK) {
        (void)qn_remove_tree(qn_run_dir_path(dir), NULL);
    }
    return status;
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

enum qn_status qn_trainer_create(const struct qn_train_env *env,
                                 const struct qn_spec *spec,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err)
{
    struct qn_trainer *t;
    enum qn_status status = qn_trainer_build(env, spec, sink, NULL, &t, err);
    if (status != QN_OK) {
        return status;
    }
    qn_model_init(t->model, (uint64_t)spec->seed);
    status = qn_trainer_make_dir(t, NULL, err);
    if (status != QN_OK) {
        qn_trainer_free(t);
        return status;
    }
    qn_trainer_start(t, NULL);
    *out = t;
    return QN_OK;
}
