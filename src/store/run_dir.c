/* run_dir.c - open a run's folder and write into it. */
#include "store/run_dir_self.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoints.h"
#include "store/files.h"
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool same_folder(const struct qn_run_dir *d)
{
    return qn_path_names(AT_FDCWD, d->path, d->folder);
}

struct qn_run_dir *qn_run_dir_new(char *path)
{
    struct qn_run_dir *d = qn_xcalloc(1, sizeof *d);
    d->path = path;
    d->folder = d->lock = -1;
    d->best = -1;
    return d;
}

void qn_run_dir_close_files(struct qn_run_dir *d)
{
    for (int i = 0; i < QN_N_RUN_FILES; i++) {
        qn_appender_close(d->file[i]);
        d->file[i] = NULL;
    }
}

void qn_run_dir_close(struct qn_run_dir *d)
{
    if (d == NULL) {
        return;
    }
    qn_run_dir_close_files(d);
    if (d->lock >= 0) {
        (void)close(d->lock);
    }
    if (d->folder >= 0) {
        (void)close(d->folder);
    }
    free(d->path);
    free(d);
}

const char *qn_run_dir_path(const struct qn_run_dir *d)
{
    return d->path;
}

const char *qn_run_dir_id(const struct qn_run_dir *d)
{
    return qn_path_base(d->path);
}

enum qn_status qn_run_dir_hold(struct qn_run_dir *d, struct qn_err *err)
{
    d->folder = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->folder < 0) {
        return qn_fail_errno(err, d->path, "cannot open the folder");
    }
    char *path = qn_path_join(d->path, QN_RUN_LOCK);
    enum qn_status status = qn_lock_take(path, &d->lock, err);
    if (status == QN_ESTATE) {
        status = qn_fail(err, status, "%s: is being trained already",
                         qn_path_base(d->path));
    }
    free(path);
    return status;
}

/* A lock whose file was removed keeps nobody away: take one that does. */
static enum qn_status keep_lock(struct qn_run_dir *d, struct qn_err *err)
{
    char *path = qn_path_join(d->path, QN_RUN_LOCK);
    enum qn_status status = QN_OK;
    if (!qn_path_names(AT_FDCWD, path, d->lock)) {
        int fd;
        status = qn_lock_take(path, &fd, err);
        if (status == QN_OK) {
            (void)close(d->lock);
            d->lock = fd;
        } else if (status == QN_ESTATE) {
            status = qn_fail(err, status,
                             "%s: its lock was removed and another process "
                             "trains it now",
                             qn_path_base(d->path));
        }
    }
    free(path);
    return status;
}

/* Nothing is written where the folder was and another one may be, nor into a
 * run that somebody else has. */
static enum qn_status still_ours(struct qn_run_dir *d, struct qn_err *err)
{
    if (!same_folder(d)) {
        return qn_fail(err, QN_EIO, "%s: cannot be written to: %s", d->path,
                       errno == ENOENT ? "its folder was removed or renamed"
                                       : strerror(errno));
    }
    return keep_lock(d, err);
}

enum qn_status qn_run_dir_open_files(struct qn_run_dir *d, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (int i = 0; i < QN_N_RUN_FILES && status == QN_OK; i++) {
        char *path =
            qn_path_join(d->path, qn_run_file_name((enum qn_run_file)i));
        if (qn_path_exists(path)) {
            status = qn_file_repair_lines(path, err);
        }
        if (status == QN_OK) {
            status = qn_appender_open(path, &d->file[i], err);
        }
        free(path);
    }
    return status;
}

/* "NAME.<process>-<n>.tmp", as atomic writes are called until they are whole.
 */
static bool is_temporary(const char *name)
{
    static const char digits[] = "0123456789", end[] = ".tmp";
    if (!qn_ends_with(name, end)) {
        return false;
    }
    const char *dot = name + strlen(name) - strlen(end);
    while (dot > name && dot[-1] != '.') {
        dot--;
    }
    size_t process = strspn(dot, digits);
    const char *n = dot + process + (dot[process] == '-');
    size_t len = strspn(n, digits);
    return dot > name && process > 0 && dot[process] == '-' && len > 0 &&
           qn_str_eq(n + len, end);
}

/* Those that a crash cut short. */
static enum qn_status remove_temporaries(const char *path, struct qn_err *err)
{
    char **names = NULL;
    size_t n = 0;
    enum qn_status status = qn_dir_list(path, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (status == QN_OK && is_temporary(names[i])) {
            char *file = qn_path_join(path, names[i]);
            status = qn_remove_tree(file, err);
            free(file);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

static enum qn_status open_in(struct qn_run_dir *d, struct qn_err *err)
{
    enum qn_status status = qn_run_dir_hold(d, err);
    if (status == QN_OK) {
        status = remove_temporaries(d->path, err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_recover(d->path, err);
    }
    if (status == QN_OK) {
        /* What it says that is no step is an error to whoever needs it. */
        (void)qn_run_checkpoint_named(d->path, "best", &d->best, NULL);
        status = qn_run_dir_open_files(d, err);
    }
    return status;
}

static bool has(const char *folder, const char *name)
{
    char *path = qn_path_join(folder, name);
    bool there = qn_path_exists(path);
    free(path);
    return there;
}

bool qn_is_run(const char *path)
{
    return has(path, QN_RUN_SPEC) &&
           (has(path, QN_RUN_CODE) || has(path, QN_RUN_CHECKPOINTS));
}

enum qn_status qn_run_dir_open(const char *path, struct qn_run_dir **out,
                               struct qn_err *err)
{
    char *resolved = NULL;
    enum qn_status status = qn_path_resolve(path, &resolved, err);
    if (status != QN_OK) {
        return status;
    }
    if (!has(resolved, QN_RUN_SPEC)) {
        free(resolved);
        return qn_fail(err, QN_ENOTFOUND,
                       "%s: is not a run, it has no " QN_RUN_SPEC, path);
    }
    struct qn_run_dir *d = qn_run_dir_new(resolved);
    status = open_in(d, err);
    if (status != QN_OK) {
        qn_run_dir_close(d);
        return status;
    }
    *out = d;
    return QN_OK;
}

enum qn_status qn_run_dir_append(struct qn_run_dir *d, enum qn_run_file file,
                                 const struct qn_json *line, struct qn_err *err)
{
    return qn_appender_line(d->file[file], line->text.text, line->text.len,
                            err);
}

enum qn_status qn_run_dir_checkpoint(struct qn_run_dir *d, int64_t step,
                                     char **path, struct qn_err *err)
{
    QN_ASSERT(step >= 0);
    enum qn_status status = still_ours(d, err);
    return status == QN_OK ? qn_run_checkpoint_begin(d->path, step, path, err)
                           : status;
}

static bool has_checkpoint(const struct qn_run_dir *d, int64_t step)
{
    char *folder = step >= 0 ? qn_run_checkpoint_folder(d->path, step) : NULL;
    free(folder);
    return folder != NULL;
}

/* A file "best" that was removed or no longer holds a step is written again. */
static enum qn_status keep_best(struct qn_run_dir *d, struct qn_err *err)
{
    int64_t named;
    enum qn_status status =
        qn_run_checkpoint_named(d->path, "best", &named, NULL);
    bool lost = status == QN_EFORMAT || (status == QN_OK && named < 0);
    return lost && has_checkpoint(d, d->best)
               ? qn_run_checkpoint_name(d->path, "best", d->best, err)
               : QN_OK;
}

enum qn_status qn_run_dir_commit(struct qn_run_dir *d, int64_t step,
                                 bool is_best, const struct qn_figures *figures,
                                 struct qn_keep keep, struct qn_err *err)
{
    enum qn_status status = still_ours(d, err);
    /* The lines up to this step are durable before "last" names it. */
    for (int i = 0; i < QN_N_RUN_FILES && status == QN_OK; i++) {
        status = qn_appender_sync(d->file[i], err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_commit(d->path, step, is_best, figures, err);
    }
    if (status == QN_OK) {
        d->best = is_best ? step : d->best;
        status = keep_best(d, err);
    }
    return status == QN_OK ? qn_run_checkpoint_prune(d->path, step, keep, err)
                           : status;
}

enum qn_status qn_run_dir_correct_best(struct qn_run_dir *d, int64_t step,
                                       struct qn_err *err)
{
    int64_t named;
    if (step >= 0 && !has_checkpoint(d, step)) {
        return QN_OK;
    }
    d->best = step;
    enum qn_status status =
        qn_run_checkpoint_named(d->path, "best", &named, err);
    if (status == QN_OK && named == step) {
        return QN_OK;
    }
    if (status != QN_OK && status != QN_EFORMAT) {
        return status;
    }
    return step >= 0 ? qn_run_checkpoint_name(d->path, "best", step, err)
                     : qn_run_checkpoint_unname(d->path, "best", err);
}

enum qn_status qn_run_dir_rewind(struct qn_run_dir *d, int64_t step,
                                 struct qn_err *err)
{
    enum qn_status status = still_ours(d, err);
    return status == QN_OK ? qn_run_checkpoint_rewind(d->path, step, err)
                           : status;
}

enum qn_status qn_run_dir_read(const char *path, const char *file,
                               struct qn_bytes *out, struct qn_err *err)
{
    char *full = qn_path_join(path, file);
    enum qn_status status = qn_file_read(full, out, err);
    free(full);
    return status;
}
