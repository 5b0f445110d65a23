/* measure_open.c - the weights of a stored run, to be asked. */
#include "train/measure_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "store/run_dir.h"
#include "train/code.h"
#include "train/history.h"
#include "train/text.h"

#include <stdlib.h>
#include <string.h>

/* Checkpoints that a training run removes while they are loaded: so often the
 * word is looked up anew. */
#define MOST_TRIES 50

void qn_stored_free(struct qn_stored *own)
{
    if (own == NULL) {
        return;
    }
    qn_model_free(own->model);
    qn_corpus_free(own->corpus);
    qn_vocab_free(own->vocab);
    qn_backend_free(own->be);
    free(own->run_path);
    free(own);
}

/* Keys that do not change what the weights mean. */
static bool may_change(const char *assignment)
{
    static const char *const allowed[] = {"eval.", "stats.", "sample.", "data.",
                                          "threads="};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (qn_starts_with(assignment, allowed[i])) {
            return true;
        }
    }
    return false;
}

/* A fixed spec with changes: its keys are taken like a preset's, so that the
 * changes are checked as a person's would be on any spec. */
static enum qn_status change_spec(struct qn_spec *spec,
                                  const char *const *changes, int n,
                                  struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    qn_settings_take(s, spec);
    /* A limit that kept training quick is not meant for later questions. */
    qn_settings_set(s, "eval.limit", "none", QN_FROM_PRESET);
    for (int i = 0; i < n; i++) {
        if (qn_starts_with(changes[i], "data.vectors=")) {
            qn_settings_complain(s,
                                 "%s: a trained run keeps the word vectors "
                                 "that it was trained with",
                                 changes[i]);
        } else if (may_change(changes[i])) {
            qn_settings_assign(s, changes[i], QN_FROM_USER);
        } else {
            qn_settings_complain(s,
                                 "%s: a trained run can only be asked with "
                                 "other eval, stats, sample, data and threads "
                                 "settings",
                                 changes[i]);
        }
    }
    enum qn_status status = qn_settings_finish(s, spec, err);
    qn_settings_free(s);
    return status;
}

/* Splits whose text is another one than the run was made with. */
static void find_other_text(struct qn_stored *own, const struct qn_spec *was)
{
    const struct qn_spec *now = &own->spec;
    bool train = !qn_str_eq(now->data.train, was->data.train);
    own->other_text[QN_TRAIN] = train;
    own->other_text[QN_VALID] = !qn_str_eq(now->data.valid, was->data.valid) ||
                                (train && now->data.valid[0] == '\0');
    own->other_text[QN_TEST] = !qn_str_eq(now->data.test, was->data.test) ||
                               (train && now->data.test[0] == '\0');
}

static enum qn_status load_model(struct qn_stored *own, const char *folder,
                                 struct qn_err *err)
{
    const char *name = own->env.backend ? own->env.backend : "cpu";
    enum qn_status status =
        qn_backend_new(name, own->env.pool, own->spec.threads, &own->be, err);
    if (status == QN_OK) {
        status = qn_model_new(own->be, &own->spec, qn_vocab_size(own->vocab),
                              &own->model, err);
    }
    if (status != QN_OK) {
        return status;
    }
    status = qn_text_vectors(own->run_path, own->model, err);
    if (status != QN_OK) {
        return status;
    }
    char *path = qn_path_join(folder, "model.safetensors");
    status = qn_checkpoint_load(own->model, path, err);
    free(path);
    return status;
}

/* *gone: the checkpoint was there and no longer is. */
static enum qn_status open_stored(struct qn_stored *own, const char *checkpoint,
                                  const char *const *changes, int n_changes,
                                  bool *gone, int64_t *step, struct qn_err *err)
{
    char *folder = NULL;
    enum qn_status status = qn_run_dir_find_checkpoint(
        own->run_path, checkpoint, &folder, step, err);
    struct qn_spec was;
    if (status == QN_OK) {
        status = qn_history_spec(own->run_path, *step, &was, NULL, err);
    }
    if (status == QN_OK) {
        own->spec = was;
        status = change_spec(&own->spec, changes, n_changes, err);
    }
    if (status == QN_OK) {
        find_other_text(own, &was);
        /* As it was written: the text is then checked against it. */
        status = qn_text_vocab(own->run_path, &was, &own->vocab, err);
    }
    if (status == QN_OK) {
        status = load_model(own, folder, err);
    }
    *gone = status != QN_OK && folder != NULL && !qn_path_is_dir(folder);
    free(folder);
    return status;
}

static enum qn_status fail_gone(const char *run_path, const char *checkpoint,
                                struct qn_err *err)
{
    return qn_fail(err, QN_ENOTFOUND,
                   "%s: its checkpoint \"%s\" was removed while it was read, "
                   "%d times in a row: the run saves too often",
                   qn_path_base(run_path), checkpoint, MOST_TRIES);
}

enum qn_status qn_measure_open(const struct qn_train_env *env,
                               const char *run_path, const char *checkpoint,
                               const char *const *changes, int n_changes,
                               struct qn_measure **out, struct qn_err *err)
{
    struct qn_stored *own = NULL;
    int64_t step = 0;
    bool gone = true;
    enum qn_status status = QN_OK;
    for (int i = 0; gone && i < MOST_TRIES; i++) {
        qn_stored_free(own);
        own = qn_xcalloc(1, sizeof *own);
        own->env = *env;
        own->run_path = qn_xstrdup(run_path);
        status =
            open_stored(own, checkpoint, changes, n_changes, &gone, &step, err);
    }
    if (status != QN_OK) {
        qn_stored_free(own);
        return gone ? fail_gone(run_path, checkpoint, err) : status;
    }
    struct qn_measure *m = qn_xcalloc(1, sizeof *m);
    m->own = own;
    m->model = own->model;
    m->spec = &own->spec;
    m->vocab = own->vocab;
    m->step = step;
    *out = m;
    return QN_OK;
}

static bool has_file(const struct qn_spec *spec, enum qn_split split)
{
    return (split == QN_VALID && spec->data.valid[0] != '\0') ||
           (split == QN_TEST && spec->data.test[0] != '\0');
}

/* The spec that reads no more than this split needs: its own file, or train
 * with all that is cut from it. */
static struct qn_spec spec_of_split(const struct qn_spec *spec,
                                    enum qn_split split)
{
    struct qn_spec only = *spec;
    if (split != QN_VALID) {
        only.data.valid[0] = '\0';
    }
    if (split != QN_TEST) {
        only.data.test[0] = '\0';
    }
    if (has_file(spec, split)) {
        only.data.train[0] = '\0';
        only.data.fold = (struct qn_fold){0};
        only.data.valid_fraction = only.data.test_fraction = 0;
    }
    return only;
}

enum qn_status qn_stored_text(struct qn_measure *m, enum qn_split split,
                              struct qn_err *err)
{
    struct qn_stored *own = m->own;
    if (own->corpus != NULL && own->is_read[split]) {
        return QN_OK;
    }
    qn_corpus_free(own->corpus);
    m->corpus = own->corpus = NULL;
    struct qn_spec only = spec_of_split(&own->spec, split);
    enum qn_status status =
        qn_text_open(&own->env, &only, own->vocab, &own->corpus, err);
    if (status != QN_OK) {
        return status;
    }
    m->corpus = own->corpus;
    bool skip[QN_N_SPLITS];
    for (int s = 0; s < QN_N_SPLITS; s++) {
        own->is_read[s] = has_file(&own->spec, split)
                              ? s == (int)split
                              : !has_file(&own->spec, (enum qn_split)s);
        skip[s] = own->other_text[s] || !own->is_read[s];
    }
    /* A text that has changed can be measured, but not unsaid. */
    struct qn_err changed;
    if (qn_code_check_data(own->run_path, own->corpus, skip, &changed) !=
        QN_OK) {
        qn_log_write(own->env.log, QN_LOG_WARN, "%s", changed.text);
    }
    return QN_OK;
}
