/* new_file.c - files made beside their path, which they take when whole. */
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM ((size_t)64 << 10)

struct qn_new_file {
    char *path, *temporary;
    char *old;        /* a second name of what was at path, or NULL */
    bool old_is_lost; /* it can have none */
    int fd;           /* -1 once finished */
    bool renamed;     /* the temporary is no longer there */
    enum qn_status status;
    struct qn_err err; /* of the first failure */
    size_t n_waiting;
    char waiting[ROOM]; /* added and not written yet */
};

/* Renaming over a device or a folder would replace or fail in odd ways. */
static enum qn_status check_target(const char *path, struct qn_err *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
        return QN_OK;
    }
    return qn_fail(err, QN_EIO, "%s: %s", path,
                   S_ISDIR(st.st_mode) ? "is a folder, not a file"
                                       : "is not a regular file");
}

/* A new file beside path, whose name goes to *temporary. Names left over from
 * a process that died are skipped. */
static int open_temporary(const char *path, char **temporary)
{
    for (int i = 0;; i++) {
        *temporary = qn_xasprintf("%s.%ld-%d.tmp", path, (long)getpid(), i);
        int fd =
            open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        free(*temporary);
    }
}

enum qn_status qn_new_file_open(const char *path, struct qn_new_file **out,
                                struct qn_err *err)
{
    enum qn_status status = check_target(path, err);
    if (status != QN_OK) {
        return status;
    }
    char *temporary;
    int fd = open_temporary(path, &temporary);
    if (fd < 0) {
        status = qn_fail_errno(err, path, "cannot create");
        free(temporary);
        return status;
    }
    struct qn_new_file *f = qn_xmalloc(sizeof *f);
    f->path = qn_xstrdup(path);
    f->temporary = temporary;
    f->fd = fd;
    f->old = NULL;
    f->old_is_lost = false;
    f->renamed = false;
    f->status = QN_OK;
    f->n_waiting = 0;
    *out = f;
    return QN_OK;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void write_now(struct qn_new_file *f, const char *data, size_t len)
{
    if (f->status == QN_OK && !write_all(f->fd, data, len)) {
        f->status = qn_fail_errno(&f->err, f->path, "cannot write");
    }
}

static void write_waiting(struct qn_new_file *f)
{
    write_now(f, f->waiting, f->n_waiting);
    f->n_waiting = 0;
}

void qn_new_file_add(struct qn_new_file *f, const void *data, size_t len)
{
    if (len > ROOM - f->n_waiting) {
        write_waiting(f);
    }
    if (len > ROOM) {
        write_now(f, data, len);
    } else if (len > 0) {
        memcpy(f->waiting + f->n_waiting, data, len);
        f->n_waiting += len;
    }
}

/* Close the file, whatever happened. */
static void end_writing(struct qn_new_file *f)
{
    write_waiting(f);
    if (f->status == QN_OK && fsync(f->fd) != 0) {
        f->status = qn_fail_errno(&f->err, f->path, "cannot sync");
    }
    if (close(f->fd) != 0 && f->status == QN_OK) {
        f->status = qn_fail_errno(&f->err, f->path, "cannot close");
    }
    f->fd = -1;
}

enum qn_status qn_new_file_finish(struct qn_new_file *f, struct qn_err *err)
{
    if (f->fd >= 0) {
        end_writing(f);
    }
    return f->status == QN_OK ? QN_OK
                              : qn_fail(err, f->status, "%s", f->err.text);
}

static enum qn_status sync_folder(const char *path, struct qn_err *err)
{
    char *folder = qn_path_folder(path);
    enum qn_status status = qn_dir_sync(folder, err);
    free(folder);
    return status;
}

enum qn_status qn_new_file_commit(struct qn_new_file *f, struct qn_err *err)
{
    enum qn_status status = qn_new_file_finish(f, err);
    if (status != QN_OK) {
        return status;
    }
    if (rename(f->temporary, f->path) != 0) {
        return qn_fail_errno(err, f->path, "cannot replace");
    }
    f->renamed = true;
    return sync_folder(f->path, err);
}

/* Give what is at path a second name, if something is. */
static void keep_old(struct qn_new_file *f)
{
    char *old = qn_xasprintf("%s.%ld-old.tmp", f->path, (long)getpid());
    (void)unlink(old);
    f->old_is_lost = link(f->path, old) != 0 && errno != ENOENT;
    if (qn_path_exists(old)) {
        f->old = old;
    } else {
        free(old);
    }
}

/* What was there before is there again. */
static void take_back(struct qn_new_file *f)
{
    if (!f->renamed || f->old_is_lost) {
        return;
    }
    if (f->old == NULL) {
        (void)unlink(f->path);
    } else if (rename(f->old, f->path) == 0) {
        free(f->old);
        f->old = NULL;
    }
}

enum qn_status qn_new_files_commit(struct qn_new_file *const *files, int n,
                                   struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (int i = 0; i < n && status == QN_OK; i++) {
        status = qn_new_file_finish(files[i], err);
    }
    for (int i = 0; i < n && status == QN_OK; i++) {
        keep_old(files[i]);
        status = qn_new_file_commit(files[i], err);
    }
    for (int i = 0; i < n && status != QN_OK; i++) {
        take_back(files[i]);
    }
    return status;
}

void qn_new_file_close(struct qn_new_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    if (!f->renamed) {
        (void)unlink(f->temporary);
    }
    if (f->old != NULL) {
        (void)unlink(f->old);
    }
    free(f->old);
    free(f->temporary);
    free(f->path);
    free(f);
}

enum qn_status qn_file_write_parts(const char *path,
                                   const struct qn_span *parts, size_t n,
                                   struct qn_err *err)
{
    struct qn_new_file *f;
    enum qn_status status = qn_new_file_open(path, &f, err);
    if (status != QN_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        qn_new_file_add(f, parts[i].data, parts[i].len);
    }
    status = qn_new_file_commit(f, err);
    qn_new_file_close(f);
    return status;
}

enum qn_status qn_file_write(const char *path, const void *data, size_t len,
                             struct qn_err *err)
{
    struct qn_span whole = {data, len};
    return qn_file_write_parts(path, &whole, 1, err);
}
