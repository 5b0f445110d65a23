/* rerun.c - a new run that does again what a stored one did. */
#include "train/trainer_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/line.h"
#include "train/metrics_read.h"
#include "train/origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of the run that is done again. */
struct original {
    const char *path;
    char from[24]; /* the step whose checkpoint it began from; "" = seed */
    int64_t first; /* that step, or 0 */
    int64_t end;   /* where it ended */
    bool imported; /* its weights come from elsewhere */
    struct qn_history history;
};

static bool find_import(void *user, const json_t *line)
{
    bool *imported = user;
    *imported = qn_str_eq(qn_line_text(line, "event"), "done") &&
                qn_line_int(line, "step") == 0;
    return !*imported;
}

/* Weights from the seed, or those of a checkpoint that it keeps: of a fork, of
 * a fork's rerun, of an import. */
static enum qn_status find_beginning(struct original *o, struct qn_err *err)
{
    struct qn_parent parent;
    enum qn_status status = qn_parent_read(o->path, &parent, err);
    bool has_origin = status == QN_OK && parent.sha256[0] != '\0';
    if (status == QN_ENOTFOUND) {
        status = qn_run_dir_lines(o->path, QN_EVENTS, find_import, &o->imported,
                                  err);
    }
    o->first = has_origin ? parent.step : 0;
    if (has_origin || o->imported) {
        (void)snprintf(o->from, sizeof o->from, "%" PRId64, o->first);
    }
    return status;
}

/* The last step that it recorded. */
static enum qn_status find_last(const struct original *o, int64_t *last,
                                struct qn_err *err)
{
    struct qn_metrics m = {.n_steps = 0};
    enum qn_status status = qn_metrics_read(o->path, &m, err);
    if (status == QN_OK) {
        *last = m.n_steps > 0 ? m.step[m.n_steps - 1].step : 0;
    }
    qn_metrics_free(&m);
    return status;
}

/* A run that did not come to an end is done again up to its last checkpoint,
 * so that there are weights to compare. */
static enum qn_status find_end(struct original *o, struct qn_err *err)
{
    struct qn_steps saved = {.n = 0};
    enum qn_status status = find_last(o, &o->end, err);
    if (status == QN_OK) {
        status = qn_history_read(o->path, o->end, &o->history, err);
    }
    if (status != QN_OK || qn_str_eq(o->history.end, "done") ||
        qn_str_eq(o->history.end, "stop")) {
        return status;
    }
    status = qn_steps_list(o->path, &saved, err);
    int64_t step = saved.n > 0 ? saved.at[saved.n - 1].step : 0;
    if (step > o->first && step < o->end) {
        o->end = step;
    }
    qn_steps_free(&saved);
    return status;
}

static enum qn_status look(struct original *o, struct qn_err *err)
{
    enum qn_status status = find_beginning(o, err);
    if (status == QN_OK) {
        status = find_end(o, err);
    }
    if (status != QN_OK || o->end > o->first) {
        return status;
    }
    return qn_fail(err, QN_ESTATE,
                   "%s has made no steps%s: nothing can be "
                   "done again",
                   qn_path_base(o->path),
                   o->imported ? " since it was imported" : "");
}

static bool is_assigned(const char *key, const char *const *changes, int n)
{
    size_t len = strlen(key);
    for (int i = 0; i < n; i++) {
        if (strncmp(changes[i], key, len) == 0 && changes[i][len] == '=') {
            return true;
        }
    }
    return false;
}

/* When the run ends is decided here, and what a person sets now is not to be
 * changed later. */
static bool is_dropped(const char *key, const char *const *changes, int n)
{
    return qn_str_eq(key, "steps") || qn_str_eq(key, "epochs") ||
           qn_str_eq(key, "stop.after") || is_assigned(key, changes, n);
}

static void drop_changes(struct qn_pending *p, const char *const *changes,
                         int n)
{
    int kept = 0;
    for (int i = 0; i < p->n; i++) {
        struct qn_change c = p->change[i];
        if (is_dropped(c.key, changes, n)) {
            free(c.key);
            free(c.value);
        } else {
            p->change[kept++] = c;
        }
    }
    p->n = kept;
}

/* The settings with which it was made, which ended where it did whatever the
 * time, with the assignments over them. */
static enum qn_status make_spec(const struct original *o,
                                const struct qn_spec *made,
                                const char *const *changes, int n,
                                struct qn_spec *out, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    char *name = qn_xasprintf("%s/rerun-*", made->name);
    char *end = qn_xasprintf("%" PRId64, o->end);
    qn_settings_take(s, made);
    qn_settings_set(s, "name", name, QN_FROM_PRESET);
    qn_settings_set(s, "steps", end, QN_FROM_PRESET);
    qn_settings_set(s, "stop.after", "none", QN_FROM_PRESET);
    for (int i = 0; i < n; i++) {
        qn_settings_assign(s, changes[i], QN_FROM_USER);
    }
    enum qn_status status = qn_settings_finish(s, out, err);
    qn_settings_free(s);
    free(name);
    free(end);
    return status;
}

/* Where it began, with all changes that it came to still to be made. */
static enum qn_status find_origin(const struct original *o,
                                  const char *const *changes, int n,
                                  struct qn_origin *out, struct qn_err *err)
{
    bool gone;
    const char *which = o->from[0] != '\0' ? o->from : NULL;
    enum qn_status status =
        qn_origin_find(o->path, which, QN_RERUN, &gone, out, err);
    if (status != QN_OK) {
        return status;
    }
    qn_pending_free(out->later);
    out->later = NULL;
    out->any_text = true;
    status = qn_history_spec(o->path, -1, &out->spec, &out->later, err);
    if (status != QN_OK) {
        qn_origin_fini(out);
        return status;
    }
    drop_changes(out->later, changes, n);
    return QN_OK;
}

enum qn_status qn_trainer_rerun(const struct qn_train_env *env,
                                const char *parent_path,
                                const char *const *changes, int n,
                                const struct qn_sink *sink,
                                struct qn_trainer **out, struct qn_err *err)
{
    struct original o = {.path = parent_path};
    struct qn_origin origin;
    struct qn_spec spec;
    bool gone;
    enum qn_status status = look(&o, err);
    if (status == QN_OK) {
        status = find_origin(&o, changes, n, &origin, err);
    }
    if (status != QN_OK) {
        return status;
    }
    status = make_spec(&o, &origin.spec, changes, n, &spec, err);
    if (status == QN_OK) {
        status = qn_origin_begin(env, &origin, &spec, sink, &gone, out, err);
    }
    qn_origin_fini(&origin);
    return status;
}
