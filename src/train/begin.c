/* begin.c - a new run: its folder, and what that holds from the start.
 *
 * The folder appears in the store with all of it, its first checkpoint and its
 * first lines among it, so that a crash leaves a run that knows where it began,
 * or none. */
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
    const struct qn_beginning *how;
    struct qn_code code;
    float *read; /* word vectors, when they are read back from the model */
};

/* Word vectors stay with the run: their file may be large, and gone one day. */
static enum qn_status write_vectors(const struct contents *c,
                                    const char *folder, struct qn_err *err)
{
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

static enum qn_status write_more(void *user, const char *folder,
                                 struct qn_err *err)
{
    const struct contents *c = user;
    enum qn_status status = write_vectors(c, folder, err);
    return status == QN_OK && c->how->saved
               ? qn_trainer_save_in(c->t, folder, err)
               : status;
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

static void begin_line(struct qn_json *j, const struct qn_trainer *t,
                       const char *event)
{
    qn_json_clear(j);
    qn_json_object(j);
    qn_json_kstring(j, "event", event);
    qn_json_kint(j, "step", t->at.step);
}

static void end_line(struct qn_json *j, struct qn_str *lines)
{
    qn_json_end_object(j);
    qn_str_addf(lines, "%s\n", j->text.text);
}

/* What events.jsonl begins with. */
static void first_lines(const struct contents *c, struct qn_str *lines)
{
    const struct qn_trainer *t = c->t;
    const struct qn_pending *later = c->how->later;
    struct qn_json j = {.comma = false};
    begin_line(&j, t, "start");
    if (later != NULL && later->n > 0) {
        qn_json_key(&j, "later");
        qn_pending_json(later, &j);
    }
    end_line(&j, lines);
    if (c->how->saved) {
        begin_line(&j, t, "checkpoint");
        qn_json_kbool(&j, "best", t->at.best_step == t->at.step);
        end_line(&j, lines);
    }
    if (c->how->over) {
        begin_line(&j, t, "done");
        end_line(&j, lines);
    }
    qn_json_free(&j);
}

static enum qn_status create_dir(struct contents *c, struct qn_run_dir **dir,
                                 struct qn_err *err)
{
    struct qn_trainer *t = c->t;
    struct qn_json spec = {0}, code = {0}, parent = {0};
    struct qn_str vocab = {0}, events = {0};
    qn_spec_json(&t->spec, &spec);
    qn_code_json(&c->code, &code);
    qn_vocab_text(qn_corpus_vocab(t->corpus), &vocab);
    first_lines(c, &events);
    if (c->how->parent != NULL) {
        qn_parent_json(c->how->parent, &parent);
    }
    struct qn_run_files files = {
        .name = t->spec.name,
        .spec_json = spec.text.text,
        .vocab_txt = vocab.text ? vocab.text : "",
        .code_json = code.text.text,
        .parent_json = parent.text.text,
        .events_jsonl = events.text,
        .more = write_more,
        .user = c,
    };
    enum qn_status status = qn_run_dir_create(t->env.store, &files, dir, err);
    qn_json_free(&spec);
    qn_json_free(&code);
    qn_json_free(&parent);
    qn_str_free(&vocab);
    qn_str_free(&events);
    return status;
}

enum qn_status qn_trainer_make_dir(struct qn_trainer *t,
                                   const struct qn_beginning *how,
                                   struct qn_err *err)
{
    struct contents c = {.t = t, .how = how};
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
    qn_corpus_drop_vectors(t->corpus); /* the model and the folder have them */
    status = qn_trainer_take_dir(t, dir, err);
    if (status == QN_OK && how->saved) {
        status = qn_trainer_take_saved(t, err);
    }
    if (status != QN_OK) {
        (void)qn_remove_tree(qn_run_dir_path(dir), NULL);
    }
    return status;
}

enum qn_status qn_trainer_create(const struct qn_train_env *env,
                                 const struct qn_spec *spec,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err)
{
    const struct qn_beginning seed = {.parent = NULL};
    struct qn_trainer *t;
    enum qn_status status = qn_trainer_build(env, spec, sink, NULL, &t, err);
    if (status != QN_OK) {
        return status;
    }
    qn_model_init(t->model, (uint64_t)spec->seed);
    status = qn_trainer_make_dir(t, &seed, err);
    if (status != QN_OK) {
        qn_trainer_free(t);
        return status;
    }
    *out = t;
    return QN_OK;
}
