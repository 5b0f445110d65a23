/* checkpoints.c - commit, remove and recover checkpoints, crash by crash.
 *
 * A checkpoint counts from the moment that its last file, "metric", is there:
 * that one is written by one rename, after the others are synced and their
 * digests are written down. Then "best"
 * and "last" are replaced, in this order: "last" is where a resume begins, and
 * a resume from the old one comes to the new one again. */
#include "store/checkpoints.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/checkpoint_sums.h"
#include "store/files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD_PREFIX ".old-"
#define GONE_PREFIX ".gone-"

static char *folder_path(const char *run, const char *prefix, int64_t step)
{
    return qn_xasprintf("%s/" QN_RUN_CHECKPOINTS "/%s%" PRId64, run, prefix,
                        step);
}

static enum qn_status move(const char *from, const char *to, struct qn_err *err)
{
    if (rename(from, to) != 0) {
        return qn_fail(err, QN_EIO, "%s: cannot rename to %s: %s", from, to,
                       strerror(errno));
    }
    return QN_OK;
}

/* Remove a folder such that a crash halfway does not leave half of it under a
 * name that means something. A missing one is fine. */
static enum qn_status discard(const char *run, const char *prefix, int64_t step,
                              struct qn_err *err)
{
    char *folder = folder_path(run, prefix, step);
    char *gone = folder_path(run, GONE_PREFIX, step);
    enum qn_status status = QN_OK;
    if (qn_path_exists(folder)) {
        status = qn_remove_tree(gone, err);
        if (status == QN_OK) {
            status = move(folder, gone, err);
        }
        if (status == QN_OK) {
            status = qn_remove_tree(gone, err);
        }
    }
    free(gone);
    free(folder);
    return status;
}

static bool is_committed(const char *folder)
{
    char *metric = qn_path_join(folder, QN_METRIC);
    bool is = qn_path_exists(metric);
    free(metric);
    return is;
}

char *qn_run_checkpoint_folder(const char *run, int64_t step)
{
    static const char *const prefixes[] = {"", OLD_PREFIX};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char *folder = folder_path(run, prefixes[i], step);
        if (is_committed(folder)) {
            return folder;
        }
        free(folder);
    }
    return NULL;
}

/* A checkpoint of the same step, as when a run is resumed with other settings,
 * steps aside and counts until the new one does. */
static enum qn_status clear_place(const char *run, int64_t step,
                                  const char *place, struct qn_err *err)
{
    if (!is_committed(place)) {
        return qn_remove_tree(place, err);
    }
    enum qn_status status = discard(run, OLD_PREFIX, step, err);
    if (status == QN_OK) {
        char *old = folder_path(run, OLD_PREFIX, step);
        status = move(place, old, err);
        free(old);
    }
    return status;
}

enum qn_status qn_run_checkpoint_begin(const char *run, int64_t step,
                                       char **path, struct qn_err *err)
{
    char *place = folder_path(run, "", step);
    char *parent = qn_path_join(run, QN_RUN_CHECKPOINTS);
    /* Not qn_make_dirs: a run's folder that is gone must not come back. */
    enum qn_status status = qn_make_dir(parent, err);
    if (status == QN_OK) {
        status = clear_place(run, step, place, err);
    }
    if (status == QN_OK) {
        status = qn_make_dir(place, err);
    }
    free(parent);
    if (status != QN_OK) {
        free(place);
        return status;
    }
    *path = place;
    return QN_OK;
}

/* Make the folder's files and their digests durable, then let it count. */
static enum qn_status seal(const char *run, const char *folder,
                           const struct qn_str *metric, struct qn_err *err)
{
    char *parent = qn_path_join(run, QN_RUN_CHECKPOINTS);
    char *path = qn_path_join(folder, QN_METRIC);
    enum qn_status status =
        qn_sums_write(folder, metric->text, metric->len, err);
    if (status == QN_OK) {
        status = qn_dir_sync(folder, err);
    }
    if (status == QN_OK) {
        status = qn_dir_sync(parent, err);
    }
    if (status == QN_OK) {
        status = qn_file_write(path, metric->text, metric->len, err);
    }
    free(path);
    free(parent);
    return status;
}

enum qn_status qn_run_checkpoint_name(const char *run, const char *which,
                                      int64_t step, struct qn_err *err)
{
    char text[32];
    char *path = qn_path_join(run, which);
    int len = snprintf(text, sizeof text, "%" PRId64 "\n", step);
    enum qn_status status = qn_file_write(path, text, (size_t)len, err);
    free(path);
    return status;
}

enum qn_status qn_run_checkpoint_commit(const char *run, int64_t step,
                                        bool is_best,
                                        const struct qn_figures *figures,
                                        struct qn_err *err)
{
    struct qn_str metric = {0};
    char *folder = folder_path(run, "", step);
    qn_figures_add(&metric, figures);
    enum qn_status status = seal(run, folder, &metric, err);
    free(folder);
    qn_str_free(&metric);
    if (status == QN_OK && is_best) {
        status = qn_run_checkpoint_name(run, "best", step, err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_name(run, "last", step, err);
    }
    return status == QN_OK ? discard(run, OLD_PREFIX, step, err) : status;
}

enum qn_status qn_run_checkpoint_named(const char *run, const char *which,
                                       int64_t *step, struct qn_err *err)
{
    char *path = qn_path_join(run, which);
    struct qn_bytes text = {0};
    enum qn_status status = QN_OK;
    *step = -1;
    if (qn_path_exists(path)) {
        status = qn_file_read(path, &text, err);
    }
    if (status == QN_OK && text.data != NULL) {
        text.data[strcspn(text.data, "\r\n")] = '\0';
        if (!qn_step_parse(text.data, step)) {
            status = qn_fail(err, QN_EFORMAT, "%s: holds \"%.40s\", not a step",
                             path, text.data);
        }
    }
    qn_bytes_free(&text);
    free(path);
    return status;
}

enum qn_status qn_run_checkpoint_prune(const char *run, int64_t step,
                                       struct qn_keep keep, struct qn_err *err)
{
    struct qn_steps steps;
    enum qn_status status = qn_steps_list(run, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_steps_mark(run, &steps, step, keep, err);
    for (size_t i = 0; i < steps.n && status == QN_OK; i++) {
        if (!steps.at[i].keep) {
            status = discard(run, "", steps.at[i].step, err);
        }
    }
    qn_steps_free(&steps);
    return status;
}

/* The newest checkpoint that is not after this step, -1 when there is none. */
static int64_t newest_until(const struct qn_steps *steps, int64_t step)
{
    int64_t newest = -1;
    for (size_t i = 0; i < steps->n && steps->at[i].step <= step; i++) {
        newest = steps->at[i].step;
    }
    return newest;
}

enum qn_status qn_run_checkpoint_unname(const char *run, const char *which,
                                        struct qn_err *err)
{
    char *path = qn_path_join(run, which);
    enum qn_status status = qn_remove_tree(path, err);
    free(path);
    return status == QN_OK ? qn_dir_sync(run, err) : status;
}

enum qn_status qn_run_checkpoint_rewind(const char *run, int64_t step,
                                        struct qn_err *err)
{
    struct qn_steps steps;
    enum qn_status status = qn_steps_list(run, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    int64_t newest = newest_until(&steps, step);
    status = newest >= 0 ? qn_run_checkpoint_name(run, "last", newest, err)
                         : qn_run_checkpoint_unname(run, "last", err);
    qn_steps_free(&steps);
    /* Nothing is too old to be kept. */
    const struct qn_keep all = {.best = 0, .last = INT_MAX};
    return status == QN_OK ? qn_run_checkpoint_prune(run, step, all, err)
                           : status;
}

/* What was being replaced takes its place again unless the new one counts. */
static enum qn_status recover_old(const char *run, const char *old,
                                  int64_t step, struct qn_err *err)
{
    char *place = folder_path(run, "", step);
    enum qn_status status;
    if (is_committed(place)) {
        status = discard(run, OLD_PREFIX, step, err);
    } else {
        status = qn_remove_tree(place, err);
        if (status == QN_OK) {
            status = move(old, place, err);
        }
    }
    free(place);
    return status;
}

static bool is_step_behind(const char *prefix, const char *name, int64_t *step)
{
    return qn_starts_with(name, prefix) &&
           qn_step_parse(name + strlen(prefix), step);
}

/* What a person put there, under any other name, stays. */
static enum qn_status recover_one(const char *run, const char *name,
                                  struct qn_err *err)
{
    int64_t step;
    enum qn_status status = QN_OK;
    char *folder = qn_xasprintf("%s/" QN_RUN_CHECKPOINTS "/%s", run, name);
    if (is_step_behind(OLD_PREFIX, name, &step)) {
        status = recover_old(run, folder, step, err);
    } else if (is_step_behind(GONE_PREFIX, name, &step) ||
               (qn_step_parse(name, &step) && !is_committed(folder))) {
        status = qn_remove_tree(folder, err);
    }
    free(folder);
    return status;
}

enum qn_status qn_run_checkpoint_recover(const char *run, struct qn_err *err)
{
    char *parent = qn_path_join(run, QN_RUN_CHECKPOINTS);
    char **names = NULL;
    size_t n = 0;
    enum qn_status status = qn_make_dir(parent, err);
    if (status == QN_OK) {
        status = qn_dir_list(parent, &names, &n, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (status == QN_OK) {
            status = recover_one(run, names[i], err);
        }
        free(names[i]);
    }
    free(names);
    free(parent);
    return status;
}
