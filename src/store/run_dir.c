/* run_dir.c - make, open and write a run's folder. */
#include "store/run_dir.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoints.h"
#include "store/files.h"
#include "store/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that a process was making when it died is removed by the next one
 * that makes a run, after so many seconds. */
#define STALE_AFTER 3600.0
#define MOST_TRIES 100

struct qn_run_dir {
    char *path; /* absolute */
    int lock;   /* descriptor that holds the lock */
    struct qn_appender *file[QN_N_RUN_FILES];
};

static void close_files(struct qn_run_dir *d)
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
    close_files(d);
    if (d->lock >= 0) {
        (void)close(d->lock);
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

static enum qn_status take_lock(struct qn_run_dir *d, struct qn_err *err)
{
    char *path = qn_path_join(d->path, QN_RUN_LOCK);
    enum qn_status status = qn_lock_take(path, &d->lock, err);
    if (status == QN_ESTATE) {
        status = qn_fail(err, status, "%s: is being trained already",
                         qn_path_base(d->path));
    }
    free(path);
    return status;
}

static enum qn_status open_files(struct qn_run_dir *d, struct qn_err *err)
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

static enum qn_status write_text(const struct qn_run_dir *d, const char *name,
                                 const char *text, struct qn_err *err)
{
    if (text == NULL) {
        return QN_OK;
    }
    char *path = qn_path_join(d->path, name);
    enum qn_status status = qn_file_write(path, text, strlen(text), err);
    free(path);
    return status;
}

/* Fill the new folder; spec.json comes last, since it makes the folder a run.
 */
static enum qn_status fill(struct qn_run_dir *d,
                           const struct qn_run_files *files, struct qn_err *err)
{
    enum qn_status status = take_lock(d, err);
    if (status == QN_OK) {
        status = open_files(d, err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_recover(d->path, err);
    }
    if (status == QN_OK && files->more != NULL) {
        status = files->more(files->user, d->path, err);
    }
    if (status == QN_OK) {
        status = write_text(d, QN_RUN_VOCAB, files->vocab_txt, err);
    }
    if (status == QN_OK) {
        status = write_text(d, QN_RUN_CODE, files->code_json, err);
    }
    return status == QN_OK ? write_text(d, QN_RUN_SPEC, files->spec_json, err)
                           : status;
}

/* Make .new-<id> for an id that no run has and no other process is making. */
static enum qn_status reserve(const char *store, const char *name, char **id,
                              struct qn_err *err)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        char *tried = qn_run_id_make(name, qn_clock_wall());
        char *fresh = qn_xasprintf("%s/" QN_NEW_PREFIX "%s", store, tried);
        char *place = qn_path_join(store, tried);
        int failed = mkdir(fresh, 0777) != 0 ? errno : 0;
        bool taken = failed == 0 && qn_path_exists(place);
        if (taken) {
            (void)rmdir(fresh);
        }
        free(place);
        if (failed == 0 && !taken) {
            free(fresh);
            *id = tried;
            return QN_OK;
        }
        if (failed != 0 && failed != EEXIST) {
            (void)qn_fail(err, QN_EIO, "%s: cannot make the folder: %s", fresh,
                          strerror(failed));
            free(fresh);
            free(tried);
            return QN_EIO;
        }
        free(fresh);
        free(tried);
    }
    return qn_fail(err, QN_EIO, "%s: no free name for a run", store);
}

/* Give the filled folder its name. */
static enum qn_status publish(struct qn_run_dir *d, const char *store,
                              const char *id, struct qn_err *err)
{
    char *place = qn_path_join(store, id);
    if (rename(d->path, place) != 0) {
        (void)qn_fail(err, QN_EIO, "%s: cannot rename: %s", place,
                      strerror(errno));
        free(place);
        return QN_EIO;
    }
    free(d->path);
    d->path = place;
    enum qn_status status = qn_dir_sync(store, err);
    if (status == QN_OK) {
        /* The appenders name their files in errors. */
        close_files(d);
        status = open_files(d, err);
    }
    return status;
}

static bool is_stale(const char *folder)
{
    struct stat st;
    char *lock = qn_path_join(folder, QN_RUN_LOCK);
    bool stale = stat(folder, &st) == 0 &&
                 qn_clock_wall() - (double)st.st_mtime > STALE_AFTER &&
                 !qn_lock_is_held(lock);
    free(lock);
    return stale;
}

/* Remove what earlier crashes left in the store; failing that harms nobody. */
static void sweep(const char *store)
{
    char **names = NULL;
    size_t n = 0;
    (void)qn_dir_list(store, &names, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        char *folder = qn_path_join(store, names[i]);
        if (qn_starts_with(names[i], QN_NEW_PREFIX) && is_stale(folder)) {
            (void)qn_remove_tree(folder, NULL);
        }
        free(folder);
        free(names[i]);
    }
    free(names);
}

/* The path of an existing folder from the root, so that a later chdir does not
 * lead astray. */
static enum qn_status absolute(const char *path, char **out, struct qn_err *err)
{
    char *resolved = realpath(path, NULL);
    if (resolved == NULL) {
        return qn_fail(err, errno == ENOENT ? QN_ENOTFOUND : QN_EIO, "%s: %s",
                       path, strerror(errno));
    }
    *out = resolved;
    return QN_OK;
}

static enum qn_status create_in(const char *store,
                                const struct qn_run_files *files,
                                struct qn_run_dir *d, struct qn_err *err)
{
    char *id = NULL;
    enum qn_status status = reserve(store, files->name, &id, err);
    if (status != QN_OK) {
        return status;
    }
    d->path = qn_xasprintf("%s/" QN_NEW_PREFIX "%s", store, id);
    status = fill(d, files, err);
    if (status == QN_OK) {
        status = publish(d, store, id, err);
    }
    if (status != QN_OK) {
        (void)qn_remove_tree(d->path, NULL);
    }
    free(id);
    return status;
}

enum qn_status qn_run_dir_create(const char *store,
                                 const struct qn_run_files *files,
                                 struct qn_run_dir **out, struct qn_err *err)
{
    char *root = NULL;
    enum qn_status status = qn_make_dirs(store, err);
    if (status == QN_OK) {
        status = absolute(store, &root, err);
    }
    if (status != QN_OK) {
        return status;
    }
    sweep(root);
    struct qn_run_dir *d = qn_xcalloc(1, sizeof *d);
    d->lock = -1;
    status = create_in(root, files, d, err);
    free(root);
    if (status != QN_OK) {
        qn_run_dir_close(d);
        return status;
    }
    *out = d;
    return QN_OK;
}

/* Temporary files of atomic writes that a crash cut short. */
static enum qn_status remove_temporaries(const char *path, struct qn_err *err)
{
    char **names = NULL;
    size_t n = 0;
    enum qn_status status = qn_dir_list(path, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (status == QN_OK && qn_ends_with(names[i], ".tmp")) {
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
    enum qn_status status = take_lock(d, err);
    if (status == QN_OK) {
        status = remove_temporaries(d->path, err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_recover(d->path, err);
    }
    return status == QN_OK ? open_files(d, err) : status;
}

enum qn_status qn_run_dir_open(const char *path, struct qn_run_dir **out,
                               struct qn_err *err)
{
    char *resolved = NULL;
    enum qn_status status = absolute(path, &resolved, err);
    if (status != QN_OK) {
        return status;
    }
    char *spec = qn_path_join(resolved, QN_RUN_SPEC);
    bool is_run = qn_path_exists(spec);
    free(spec);
    if (!is_run) {
        free(resolved);
        return qn_fail(err, QN_ENOTFOUND,
                       "%s: is not a run, it has no " QN_RUN_SPEC, path);
    }
    struct qn_run_dir *d = qn_xcalloc(1, sizeof *d);
    d->path = resolved;
    d->lock = -1;
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
    return qn_run_checkpoint_begin(d->path, step, path, err);
}

enum qn_status qn_run_dir_commit(struct qn_run_dir *d, int64_t step,
                                 bool is_best, const struct qn_figures *figures,
                                 struct qn_keep keep, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    /* The lines up to this step are durable before "last" names it. */
    for (int i = 0; i < QN_N_RUN_FILES && status == QN_OK; i++) {
        status = qn_appender_sync(d->file[i], err);
    }
    if (status == QN_OK) {
        status = qn_run_checkpoint_commit(d->path, step, is_best, figures, err);
    }
    return status == QN_OK ? qn_run_checkpoint_prune(d->path, step, keep, err)
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
