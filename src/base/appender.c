/* appender.c - files of lines: add one whole, cut a torn one off. */
#include "base/file.h"

#include "base/assert.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct qn_appender {
    int fd;
    char *path;
    char *line; /* the next write, kept so that appending does not allocate */
    size_t cap;
};

enum qn_status qn_appender_open(const char *path, struct qn_appender **out,
                                struct qn_err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    struct qn_appender *a = qn_xcalloc(1, sizeof *a);
    a->fd = fd;
    a->path = qn_xstrdup(path);
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

/* Write the line; when the kernel takes only a part of it, the rest is tried
 * too, which either completes it or says what is wrong. */
static bool write_line(int fd, const char *line, size_t len)
{
    while (len > 0) {
        ssize_t n = write_once(fd, line, len);
        if (n < 0) {
            return false;
        }
        line += n;
        len -= (size_t)n;
    }
    return true;
}

enum qn_status qn_appender_line(struct qn_appender *a, const char *line,
                                size_t len, struct qn_err *err)
{
    QN_ASSERT(len == 0 || memchr(line, '\n', len) == NULL);
    if (len + 1 > a->cap) {
        a->cap = (len + 1) * 2;
        a->line = qn_xrealloc(a->line, a->cap, 1);
    }
    if (len > 0) {
        memcpy(a->line, line, len);
    }
    a->line[len] = '\n';
    off_t before = lseek(a->fd, 0, SEEK_END);
    if (write_line(a->fd, a->line, len + 1)) {
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

enum qn_status qn_appender_sync(struct qn_appender *a, struct qn_err *err)
{
    if (fsync(a->fd) != 0) {
        return qn_fail_errno(err, a->path, "cannot sync");
    }
    return QN_OK;
}

void qn_appender_close(struct qn_appender *a)
{
    if (a == NULL) {
        return;
    }
    (void)close(a->fd);
    free(a->line);
    free(a->path);
    free(a);
}

/* Offset after the last newline before 'end', 0 when there is none, -1 on a
 * failure to read. Looks from the end backwards: the file may be long. */
static off_t after_last_newline(int fd, off_t end)
{
    char block[4096];
    while (end > 0) {
        off_t start = (end - 1) / (off_t)sizeof block * (off_t)sizeof block;
        ssize_t n = pread(fd, block, (size_t)(end - start), start);
        if (n != end - start) {
            errno = n < 0 ? errno : EIO;
            return -1;
        }
        for (ssize_t i = n; i > 0; i--) {
            if (block[i - 1] == '\n') {
                return start + i;
            }
        }
        end = start;
    }
    return 0;
}

static enum qn_status repair_open(int fd, const char *path, struct qn_err *err)
{
    off_t size = lseek(fd, 0, SEEK_END);
    off_t keep = size < 0 ? -1 : after_last_newline(fd, size);
    if (keep < 0) {
        return qn_fail_errno(err, path, "cannot read");
    }
    if (keep < size && (ftruncate(fd, keep) != 0 || fsync(fd) != 0)) {
        return qn_fail_errno(err, path, "cannot cut its torn last line");
    }
    return QN_OK;
}

enum qn_status qn_file_repair_lines(const char *path, struct qn_err *err)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    enum qn_status status = repair_open(fd, path, err);
    (void)close(fd);
    return status;
}
