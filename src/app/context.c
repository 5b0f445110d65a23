/* context.c - what every command needs: store, pool of threads, notices. */
#include "app/context.h"

#include "app/out.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "store/run_dir.h"
#include "store/store.h"

#include <stdlib.h>

static void take_notice(void *user, enum qn_log_level level, const char *line)
{
    (void)user;
    (void)level;
    qn_complain(line);
}

void qn_context_init(struct qn_context *c, const struct qn_args *args)
{
    /* "ref" is the plain, slow backend: for finding out whether a fault lies in
     * the fast one. */
    const char *backend = getenv("QUERN_BACKEND");
    c->store = qn_store_dir(args->option[QN_OPT_STORE]);
    c->env = (struct qn_train_env){
        .pool = qn_pool_new(qn_n_cores()),
        .store = c->store,
        .data_dir = args->option[QN_OPT_DATA],
        .backend = backend != NULL && backend[0] != '\0' ? backend : "cpu",
        .log = qn_log_new(take_notice, NULL),
    };
}

void qn_context_fini(struct qn_context *c)
{
    qn_pool_free(c->env.pool);
    qn_log_free(c->env.log);
    free(c->store);
}

/* train: what data.train is when nobody sets it, NULL = unset. */
static enum qn_status make_spec(const struct qn_args *args, const char *train,
                                struct qn_spec *out, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    const char *preset = args->option[QN_OPT_PRESET];
    enum qn_status status = QN_OK;
    if (train != NULL) {
        qn_settings_set(s, "data.train", train, QN_FROM_DEFAULT);
    }
    if (preset != NULL) {
        status = qn_settings_preset(s, preset, err);
        /* A wrong name on the command line is a misuse, not a failure. */
        status = status == QN_ENOTFOUND ? QN_EUSAGE : status;
    }
    for (int i = 0; status == QN_OK && i < args->n_assignments; i++) {
        qn_settings_assign(s, args->assignments[i], QN_FROM_USER);
    }
    if (status == QN_OK) {
        status = qn_settings_finish(s, out, err);
    }
    qn_settings_free(s);
    return status;
}

enum qn_status qn_context_spec(const struct qn_args *args, struct qn_spec *out,
                               struct qn_err *err)
{
    return make_spec(args, NULL, out, err);
}

enum qn_status qn_context_shape(const struct qn_args *args, struct qn_spec *out,
                                struct qn_err *err)
{
    enum qn_status status = make_spec(args, "(not read)", out, err);
    if (status != QN_OK || out->data.vocab_size > 0 ||
        out->data.vectors[0] != '\0') {
        return status;
    }
    return make_spec(args, NULL, out, err);
}

enum qn_status qn_context_run_spec(const char *path, const struct qn_args *args,
                                   struct qn_spec *spec, struct qn_err *err)
{
    struct qn_bytes json = {0};
    enum qn_status status = qn_run_dir_read(path, "spec.json", &json, err);
    if (status == QN_OK) {
        status = qn_spec_parse(json.data, json.len, spec, err);
    }
    qn_bytes_free(&json);
    if (status != QN_OK || args->n_assignments == 0) {
        return status;
    }
    struct qn_settings *s = qn_settings_new();
    qn_settings_take(s, spec);
    for (int i = 0; i < args->n_assignments; i++) {
        qn_settings_assign(s, args->assignments[i], QN_FROM_USER);
    }
    status = qn_settings_finish(s, spec, err);
    qn_settings_free(s);
    return status;
}

enum qn_status qn_find_run(const char *store, const char *word, char **path,
                           struct qn_err *err)
{
    int n_same = 1;
    enum qn_status status = qn_store_find(store, word, path, &n_same, err);
    if (status == QN_OK && n_same > 1) {
        struct qn_str s = {0};
        qn_str_addf(&s, "%d runs are called %s; taking the newest, %s", n_same,
                    word, qn_path_base(*path));
        qn_complain(s.text);
        qn_str_free(&s);
    }
    return status;
}

enum qn_status qn_context_run(const struct qn_context *c,
                              const struct qn_args *args, char **path,
                              struct qn_err *err)
{
    return qn_find_run(c->store, args->words[0], path, err);
}
