/* appender.c - files that grow by whole lines and come back when removed.
 *
 * The open descriptor keeps what the file held after its name is gone, so that
 * a copy can take the name again. The folder is kept open, too: a copy goes
 * where the file was, whatever stands at the path by now. */
#include "base/file.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct qn_appender {
    char *path;
    int folder;           /* descriptor of the folder that it lies in */
    pthread_mutex_t lock; /* guards the rest */
    int fd;
    char *line; /* the next write, kept so that appending does not allocate */
    size_t cap;
};

enum qn_status qn_appender_open(const char *path, struct qn_appender **out,
                                struct qn_err *err)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    char *parent = qn_path_folder(path);
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        enum qn_status status =
            qn_fail_errno(err, parent, "cannot open the folder");
        (void)close(fd);
        free(parent);
        return status;
    }
    free(parent);
    struct qn_appender *a = qn_xcalloc(1, sizeof *a);
    a->path = qn_xstrdup(path);
    a->folder = folder;
    a->fd = fd;
    qn_mutex_init(&a->lock);
    *out = a;
    return QN_OK;
}

static ssize_t write_once(int fd, const char *data, size_t len)
{
    ssize_t n;
    do {
        n = write(fd, data, len);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Write all of it; when the kernel takes only a part, the rest is tried too,
 * which either completes it or says what is wrong. */
static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write_once(fd, data, len);
        if (n < 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool copy_all(int from, int to)
{
    char piece[32768];
    for (off_t at = 0;;) {
        ssize_t n = pread(from, piece, sizeof piece, at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0;
        }
        if (!write_all(to, piece, (size_t)n)) {
            return false;
        }
        at += n;
    }
}

/* A copy, durable and in the file's place; -1 with the reason in errno. */
static int copy_into_place(const struct qn_appender *a)
{
    const char *name = qn_path_base(a->path);
    char *beside = qn_xasprintf("%s.%ld-0.tmp", name, (long)getpid());
    int fd = openat(a->folder, beside,
                    O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && (!copy_all(a->fd, fd) || fsync(fd) != 0 ||
                    renameat(a->folder, beside, a->folder, name) != 0)) {
        int why = errno;
        (void)unlinkat(a->folder, beside, 0);
        (void)close(fd);
        fd = -1;
        errno = why;
    }
    free(beside);
    return fd;
}

static enum qn_status make_again(struct qn_appender *a, struct qn_err *err)
{
    int fd = copy_into_place(a);
    if (fd < 0) {
        return qn_fail(
            err, QN_EIO, "%s: was removed and cannot be made again: %s",
            a->path, errno == ENOENT ? "its folder is gone" : strerror(errno));
    }
    (void)close(a->fd);
    a->fd = fd;
    /* Without it a power cut may lose the name, never what is in the file. */
    (void)fsync(a->folder);
    return QN_OK;
}

/* Cheap enough for every line; whether it was renamed is looked at when it is
 * synced. */
static bool is_removed(const struct qn_appender *a)
{
    struct stat st;
    return fstat(a->fd, &st) == 0 && st.st_nlink == 0;
}

static enum qn_status append(struct qn_appender *a, size_t len,
                             struct qn_err *err)
{
    off_t before = lseek(a->fd, 0, SEEK_END);
    if (write_all(a->fd, a->line, len)) {
        return QN_OK;
    }
    enum qn_status status = qn_fail_errno(err, a->path, "cannot append");
    /* Take back a part, lest the next line be glued to it; when even that
     * fails, repairing at the next start does it. */
    if (before >= 0) {
        (void)!ftruncate(a->fd, before);
    }
    return status;
}

enum qn_status qn_appender_line(struct qn_appender *a, const char *line,
                                size_t len, struct qn_err *err)
{
    QN_ASSERT(len == 0 || memchr(line, '\n', len) == NULL);
    qn_lock(&a->lock);
    if (len + 1 > a->cap) {
        a->cap = (len + 1) * 2;
        a->line = qn_xrealloc(a->line, a->cap, 1);
    }
    if (len > 0) {
        memcpy(a->line, line, len);
    }
    a->line[len] = '\n';
    enum qn_status status = is_removed(a) ? make_again(a, err) : QN_OK;
    if (status == QN_OK) {
        status = append(a, len + 1, err);
    }
    qn_unlock(&a->lock);
    return status;
}

/* A second descriptor of the file that is in its place, made again if need be.
 */
static enum qn_status second(struct qn_appender *a, int *fd, struct qn_err *err)
{
    qn_lock(&a->lock);
    enum qn_status status = QN_OK;
    if (!qn_path_names(a->folder, qn_path_base(a->path), a->fd)) {
        status = make_again(a, err);
    }
    if (status == QN_OK) {
        *fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
        status = *fd >= 0 ? QN_OK : qn_fail_errno(err, a->path, "cannot sync");
    }
    qn_unlock(&a->lock);
    return status;
}

enum qn_status qn_appender_sync(struct qn_appender *a, struct qn_err *err)
{
    int fd;
    enum qn_status status = second(a, &fd, err);
    if (status != QN_OK) {
        return status;
    }
    if (fsync(fd) != 0) {
        status = qn_fail_errno(err, a->path, "cannot sync");
    }
    (void)close(fd);
    return status;
}

void qn_appender_close(struct qn_appender *a)
{
    if (a == NULL) {
        return;
    }
    qn_mutex_fini(&a->lock);
    (void)close(a->fd);
    (void)close(a->folder);
    free(a->line);
    free(a->path);
    free(a);
}
