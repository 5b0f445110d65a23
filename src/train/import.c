/* import.c - a run made from weights that were trained elsewhere. */
#include "train/import.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "nn/schema.h"
#include "train/trainer_self.h"

#include <stdlib.h>
#include <string.h>

/* What the tensors of a file may fix. */
static const char *const keys[] = {
    "model.cell",  "model.layers", "model.hidden",
    "model.embed", "model.window", "model.batch_norm",
    "model.dense", "model.bias",   "seq"};
#define N_KEYS (sizeof keys / sizeof keys[0])

/* The setting of a resolved spec as text, the windows of all layers in full. */
static void full_text(const struct qn_spec *spec, const char *key,
                      struct qn_str *out)
{
    struct qn_spec full = *spec;
    full.model.n_window = full.model.layers;
    qn_spec_text(&full, key, out);
}

/* Say what came from the file instead of the spec, in one line. */
static void notice_taken(const struct qn_train_env *env, const char *path,
                         const struct qn_spec *asked,
                         const struct qn_spec *found)
{
    struct qn_str taken = {0};
    for (size_t i = 0; i < N_KEYS; i++) {
        if (!qn_schema_applies(qn_schema_at(qn_schema_index(keys[i])), found)) {
            continue; /* a default in the place of what has no meaning now */
        }
        struct qn_str was = {0};
        struct qn_str is = {0};
        full_text(asked, keys[i], &was);
        full_text(found, keys[i], &is);
        if (strcmp(was.text, is.text) != 0) {
            qn_str_addf(&taken, " %s=%s", keys[i], is.text);
        }
        qn_str_free(&was);
        qn_str_free(&is);
    }
    if (taken.len > 0) {
        qn_log_write(env->log, QN_LOG_INFO, "%s: taken from its tensors:%s",
                     path, taken.text);
    }
    qn_str_free(&taken);
}

static bool is_typed(const char *key, const char *const *typed, int n)
{
    size_t len = strlen(key);
    for (int i = 0; i < n; i++) {
        if (strncmp(typed[i], key, len) == 0 && typed[i][len] == '=') {
            return true;
        }
    }
    return false;
}

enum qn_status qn_import_check(const char *weights_path,
                               const struct qn_spec *spec,
                               const char *const *typed, int n,
                               struct qn_err *err)
{
    struct qn_spec found = *spec;
    int vocab;
    enum qn_status status =
        qn_checkpoint_infer(weights_path, &found, &vocab, err);
    struct qn_str problems = {0};
    for (size_t i = 0; status == QN_OK && i < N_KEYS; i++) {
        struct qn_str was = {0}, is = {0};
        full_text(spec, keys[i], &was);
        full_text(&found, keys[i], &is);
        if (is_typed(keys[i], typed, n) && strcmp(was.text, is.text) != 0 &&
            qn_schema_applies(qn_schema_at(qn_schema_index(keys[i])), &found)) {
            qn_str_addf(&problems, "%s%s is %s, the tensors of %s have %s",
                        problems.len > 0 ? "\n" : "", keys[i], was.text,
                        weights_path, is.text);
        }
        qn_str_free(&was);
        qn_str_free(&is);
    }
    if (problems.len > 0) {
        status = qn_fail(err, QN_EUSAGE, "%s", problems.text);
    }
    qn_str_free(&problems);
    return status;
}

enum qn_status qn_import(const struct qn_train_env *env,
                         const char *weights_path, const struct qn_spec *spec,
                         char **id, struct qn_err *err)
{
    const struct qn_beginning imported = {.saved = true, .over = true};
    struct qn_spec found = *spec;
    int vocab;
    enum qn_status status =
        qn_checkpoint_infer(weights_path, &found, &vocab, err);
    if (status != QN_OK) {
        return status;
    }
    notice_taken(env, weights_path, spec, &found);
    struct qn_trainer *t;
    status = qn_trainer_build(env, &found, NULL, NULL, &t, err);
    if (status != QN_OK) {
        return status;
    }
    int symbols = qn_model_vocab(t->model);
    /* Word vectors are no part of the weights: any vocabulary suits those. */
    if (found.data.vectors[0] == '\0' && symbols != vocab) {
        status = qn_fail(err, QN_EUSAGE,
                         "%s knows %d symbols, data.train (%s) has %d",
                         weights_path, vocab, spec->data.train, symbols);
    }
    if (status == QN_OK) {
        status = qn_checkpoint_load(t->model, weights_path, err);
    }
    if (status == QN_OK) {
        status = qn_trainer_make_dir(t, &imported, err);
    }
    if (status == QN_OK) {
        *id = qn_xstrdup(qn_trainer_id(t));
    }
    qn_trainer_free(t);
    return status;
}
