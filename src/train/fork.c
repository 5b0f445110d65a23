/* fork.c - a new run that goes on from a checkpoint of another one. */
#include "train/trainer_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "train/origin.h"

#include <stdlib.h>
#include <string.h>

/* Checkpoints that a training run removes while they are read: so often a newer
 * one is looked for. */
#define MOST_TRIES 50

/* What decides how the data is cut stays: a fork goes on in the middle of it.
 */
static bool is_of_data(const char *key)
{
    static const char *const fixed[] = {"task", "batch", "seq"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (qn_str_eq(key, fixed[i])) {
            return true;
        }
    }
    return strncmp(key, "data.", 5) == 0;
}

/* Complain of a change that a fork cannot have. */
static void check_change(const struct qn_origin *o, const char *assignment,
                         struct qn_settings *s, bool *refused)
{
    size_t len = strcspn(assignment, "=");
    char *key = qn_xstrndup(assignment, len);
    struct qn_str now = {0};
    if (is_of_data(key) && qn_key_find(key) != NULL && assignment[len] == '=') {
        qn_spec_text(&o->spec, key, &now);
        if (!qn_str_eq(now.text, assignment + len + 1)) {
            qn_settings_complain(s,
                                 "%s is %s and stays: a fork goes on where its "
                                 "parent was in the data",
                                 key, now.text);
            *refused = true;
        }
    }
    qn_str_free(&now);
    free(key);
}

static enum qn_status refuse(const struct qn_origin *o, struct qn_err *err)
{
    struct qn_str text = {0};
    qn_str_addf(&text,
                "%s\nquern import %s/model.safetensors makes a new run of any "
                "settings from these weights",
                err->text, o->checkpoint);
    enum qn_status status = qn_fail(err, QN_EUSAGE, "%s", text.text);
    qn_str_free(&text);
    return status;
}

/* The parent's settings at that step with the changes over them. */
static enum qn_status make_spec(const struct qn_origin *o,
                                const char *const *changes, int n,
                                struct qn_spec *out, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    bool refused = false;
    qn_settings_take(s, &o->spec);
    char *name = qn_xasprintf("%s/fork-*", o->spec.name);
    qn_settings_set(s, "name", name, QN_FROM_PRESET);
    free(name);
    for (int i = 0; i < n; i++) {
        check_change(o, changes[i], s, &refused);
        qn_settings_assign(s, changes[i], QN_FROM_USER);
    }
    enum qn_status status = qn_settings_finish(s, out, err);
    qn_settings_free(s);
    return refused ? refuse(o, err) : status;
}

static enum qn_status fork_once(const struct qn_train_env *env,
                                struct qn_origin *o, const char *const *changes,
                                int n, const struct qn_sink *sink, bool *gone,
                                struct qn_trainer **out, struct qn_err *err)
{
    struct qn_spec spec;
    /* What comes after the step is the parent's own future. */
    qn_pending_free(o->later);
    o->later = NULL;
    enum qn_status status = make_spec(o, changes, n, &spec, err);
    if (status == QN_OK) {
        status = qn_origin_begin(env, o, &spec, sink, gone, out, err);
    }
    if (status == QN_OK) {
        qn_log_write(env->log, QN_LOG_INFO, "%s goes on from step %lld of %s",
                     qn_trainer_id(*out), (long long)o->step, o->parent.run);
    }
    return status;
}

enum qn_status qn_trainer_fork(const struct qn_train_env *env,
                               const char *parent_path, const char *from,
                               const char *const *changes, int n,
                               const struct qn_sink *sink,
                               struct qn_trainer **out, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    bool gone = true;
    for (int i = 0; gone && i < MOST_TRIES; i++) {
        struct qn_origin o;
        status = qn_origin_find(parent_path, from != NULL ? from : "last",
                                QN_FORK, &gone, &o, err);
        if (status == QN_OK) {
            status = fork_once(env, &o, changes, n, sink, &gone, out, err);
            qn_origin_fini(&o);
        }
    }
    return status;
}
