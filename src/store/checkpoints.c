/* checkpoints.c - commit, find and recover checkpoints, crash by crash.
 *
 * A checkpoint counts from the moment that its last file, "metric", is there:
 * that one is written by one rename, after the others are synced. Then "best"
 * and "last" are replaced, in this order: "last" is where a resume begins, and
 * a resume from the old one comes to the new one again. */
#include "store/checkpoints.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD_PREFIX ".old-"
#define GONE_PREFIX ".gone-"
#define METRIC "metric"
/* What its lines after the first begin with. */
#define LOSS "loss "
#define ACCURACY "accuracy "

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
    char *metric = qn_path_join(folder, METRIC);
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
    enum qn_status status = clear_place(run, step, place, err);
    if (status == QN_OK) {
        status = qn_make_dirs(place, err);
    }
    if (status != QN_OK) {
        free(place);
        return status;
    }
    *path = place;
    return QN_OK;
}

/* A line of the number, after the name if it has one. */
static void add_figure(struct qn_str *text, const char *name, double value)
{
    char number[32] = "nan";
    if (isfinite(value)) {
        (void)qn_format_double(number, sizeof number, value);
    }
    qn_str_addf(text, "%s%s\n", name, number);
}

static enum qn_status write_metric(const char *folder,
                                   const struct qn_figures *figures,
                                   struct qn_err *err)
{
    struct qn_str text = {0};
    char *path = qn_path_join(folder, METRIC);
    add_figure(&text, "", figures->metric);
    if (!isnan(figures->accuracy)) {
        add_figure(&text, LOSS, figures->loss);
        add_figure(&text, ACCURACY, figures->accuracy);
    }
    enum qn_status status = qn_file_write(path, text.text, text.len, err);
    free(path);
    qn_str_free(&text);
    return status;
}

/* Make the folder's files durable, then let it count. */
static enum qn_status seal(const char *run, int64_t step,
                           const struct qn_figures *figures, struct qn_err *err)
{
    char *folder = folder_path(run, "", step);
    char *parent = qn_path_join(run, QN_RUN_CHECKPOINTS);
    enum qn_status status = qn_dir_sync(folder, err);
    if (status == QN_OK) {
        status = qn_dir_sync(parent, err);
    }
    if (status == QN_OK) {
        status = write_metric(folder, figures, err);
    }
    free(parent);
    free(folder);
    return status;
}

static enum qn_status write_name(const char *run, const char *which,
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
    enum qn_status status = seal(run, step, figures, err);
    if (status == QN_OK && is_best) {
        status = write_name(run, "best", step, err);
    }
    if (status == QN_OK) {
        status = write_name(run, "last", step, err);
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

/* The number of the first line that begins with this name, NaN without one. */
static double figure(const char *text, const char *name)
{
    double value = (double)NAN;
    while (*text != '\0' && !qn_starts_with(text, name)) {
        text += strcspn(text, "\n");
        text += *text != '\0';
    }
    if (*text != '\0') {
        text += strlen(name);
        char *number = qn_xstrndup(text, strcspn(text, "\r\n"));
        (void)qn_parse_double(number, &value);
        free(number);
    }
    return value;
}

struct qn_figures qn_run_checkpoint_figures(const char *run, int64_t step)
{
    struct qn_figures figures = {(double)NAN, (double)NAN, (double)NAN};
    char *folder = qn_run_checkpoint_folder(run, step);
    if (folder == NULL) {
        return figures;
    }
    char *path = qn_path_join(folder, METRIC);
    struct qn_bytes text = {0};
    if (qn_file_read(path, &text, NULL) == QN_OK) {
        figures.metric = figure(text.data, "");
        figures.accuracy = figure(text.data, ACCURACY);
        figures.loss =
            isnan(figures.accuracy) ? figures.metric : figure(text.data, LOSS);
    }
    qn_bytes_free(&text);
    free(path);
    free(folder);
    return figures;
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

static enum qn_status recover_one(const char *run, const char *name,
                                  struct qn_err *err)
{
    int64_t step;
    enum qn_status status = QN_OK;
    char *folder = qn_xasprintf("%s/" QN_RUN_CHECKPOINTS "/%s", run, name);
    if (qn_starts_with(name, OLD_PREFIX) &&
        qn_step_parse(name + strlen(OLD_PREFIX), &step)) {
        status = recover_old(run, folder, step, err);
    } else if (name[0] == '.' || !is_committed(folder)) {
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
    enum qn_status status = qn_make_dirs(parent, err);
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

static enum qn_status fail_no_checkpoint(const char *run, const char *which,
                                         struct qn_err *err)
{
    struct qn_steps steps;
    enum qn_status status = qn_steps_list(run, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_str text = {0};
    for (size_t i = 0; i < steps.n; i++) {
        qn_str_addf(&text, "%s%" PRId64, i > 0 ? ", " : "", steps.at[i].step);
    }
    status = qn_fail(err, QN_ENOTFOUND, "%s: no checkpoint \"%s\"; %s%s",
                     qn_path_base(run), which,
                     steps.n > 0 ? "it has those of steps " : "it has none yet",
                     steps.n > 0 ? text.text : "");
    qn_str_free(&text);
    qn_steps_free(&steps);
    return status;
}

/* The step that a person's word means, -1 when it means none. */
static enum qn_status resolve(const char *run, const char *which, int64_t *step,
                              struct qn_err *err)
{
    bool best = qn_str_eq(which, "best");
    if (!best && !qn_str_eq(which, "last")) {
        *step = -1;
        (void)qn_step_parse(which, step);
        return QN_OK;
    }
    enum qn_status status = qn_run_checkpoint_named(run, which, step, err);
    if (status == QN_OK && best && *step < 0) {
        status = qn_run_checkpoint_named(run, "last", step, err);
    }
    return status;
}

enum qn_status qn_run_dir_find_checkpoint(const char *path, const char *which,
                                          char **folder, int64_t *step,
                                          struct qn_err *err)
{
    int64_t found;
    enum qn_status status = resolve(path, which, &found, err);
    if (status != QN_OK) {
        return status;
    }
    char *there = found >= 0 ? qn_run_checkpoint_folder(path, found) : NULL;
    if (there != NULL) {
        *folder = there;
        *step = found;
        return QN_OK;
    }
    return fail_no_checkpoint(path, which, err);
}
