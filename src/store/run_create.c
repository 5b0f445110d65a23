/* run_create.c - make a run's folder: filled under another name, then shown. */
#include "store/run_dir_self.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoints.h"
#include "store/files.h"
#include "store/lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that a process was making when it died is removed by the next one
 * that makes a run, after so many seconds. */
#define STALE_AFTER 3600.0
#define MOST_TRIES 100

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
    enum qn_status status = qn_run_dir_hold(d, err);
    if (status == QN_OK) {
        status = write_text(d, qn_run_file_name(QN_EVENTS), files->events_jsonl,
                            err);
    }
    if (status == QN_OK) {
        status = qn_run_dir_open_files(d, err);
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
    if (status == QN_OK) {
        status = write_text(d, QN_RUN_PARENT, files->parent_json, err);
    }
    return status == QN_OK ? write_text(d, QN_RUN_SPEC, files->spec_json, err)
                           : status;
}

/* The store's newest id, of runs that are being made, too; NULL when there is
 * none. The caller frees it. */
static char *newest_id(const char *store)
{
    char **names = NULL;
    size_t n = 0;
    char *newest = NULL;
    /* A store that cannot be listed is an error soon enough. */
    (void)qn_dir_list(store, &names, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        const char *id = names[i];
        id += qn_starts_with(id, QN_NEW_PREFIX) ? strlen(QN_NEW_PREFIX) : 0;
        if (qn_run_id_is_dated(id) &&
            (newest == NULL || strcmp(id, newest) > 0)) {
            free(newest);
            newest = qn_xstrdup(id);
        }
        free(names[i]);
    }
    free(names);
    return newest;
}

enum reserved { RESERVED, TAKEN, FAILED };

/* Make .new-<id>; errno says why it failed. */
static enum reserved reserve_id(const char *store, const char *id)
{
    char *fresh = qn_xasprintf("%s/" QN_NEW_PREFIX "%s", store, id);
    char *place = qn_path_join(store, id);
    enum reserved result = RESERVED;
    if (mkdir(fresh, 0777) != 0) {
        result = errno == EEXIST ? TAKEN : FAILED;
    } else if (qn_path_exists(place)) {
        (void)rmdir(fresh);
        result = TAKEN;
    }
    int why = errno;
    free(place);
    free(fresh);
    errno = why;
    return result;
}

/* An id that no run has and no other process is making, with its folder. */
static enum qn_status reserve(const char *store, const char *name, char **id,
                              struct qn_err *err)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        char *newest = newest_id(store);
        char *tried = qn_run_id_make(name, qn_clock_wall(), newest);
        enum reserved result = reserve_id(store, tried);
        free(newest);
        if (result == RESERVED) {
            *id = tried;
            return QN_OK;
        }
        free(tried);
        if (result == FAILED) {
            return qn_fail_errno(err, store, "cannot make a run in it");
        }
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
        qn_run_dir_close_files(d);
        status = qn_run_dir_open_files(d, err);
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
        status = qn_path_resolve(store, &root, err);
    }
    if (status != QN_OK) {
        return status;
    }
    sweep(root);
    struct qn_run_dir *d = qn_run_dir_new(NULL);
    status = create_in(root, files, d, err);
    free(root);
    if (status != QN_OK) {
        qn_run_dir_close(d);
        return status;
    }
    *out = d;
    return QN_OK;
}
