/* whole_lines.c - what of a file of lines a crash has left whole.
 *
 * Looked at from the end backwards: the file may be long, and all but its end
 * is left to whoever reads it. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

/* How far a scan has come. */
struct scan {
    off_t end;    /* after the newline of the line being looked at; -1: none */
    bool has_nul; /* that line does */
};

/* Go on with the bytes in front of those seen before. True once a newline shows
 * that what follows it, up to scan->end, is a whole line without NUL. */
static bool scan_back(struct scan *scan, const char *bytes, off_t start,
                      size_t n)
{
    for (size_t i = n; i > 0; i--) {
        char c = bytes[i - 1];
        if (c == '\n' && scan->end >= 0 && !scan->has_nul) {
            return true;
        }
        if (c == '\n') {
            scan->end = start + (off_t)i;
            scan->has_nul = false;
        }
        scan->has_nul = scan->has_nul || c == '\0';
    }
    return false;
}

/* The length that is whole when the scan is over. */
static off_t whole(const struct scan *scan)
{
    return scan->end >= 0 && !scan->has_nul ? scan->end : 0;
}

size_t qn_whole_lines(const char *data, size_t len)
{
    struct scan scan = {.end = -1};
    (void)scan_back(&scan, data, 0, len);
    return (size_t)whole(&scan);
}

/* Of an open file of this size; -1 on a failure to read. */
static off_t whole_of_file(int fd, off_t size)
{
    char block[4096];
    struct scan scan = {.end = -1};
    for (off_t end = size; end > 0;) {
        off_t start = (end - 1) / (off_t)sizeof block * (off_t)sizeof block;
        ssize_t n = pread(fd, block, (size_t)(end - start), start);
        if (n != end - start) {
            errno = n < 0 ? errno : EIO;
            return -1;
        }
        if (scan_back(&scan, block, start, (size_t)n)) {
            break;
        }
        end = start;
    }
    return whole(&scan);
}

static enum qn_status repair_open(int fd, const char *path, struct qn_err *err)
{
    off_t size = lseek(fd, 0, SEEK_END);
    off_t keep = size < 0 ? -1 : whole_of_file(fd, size);
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
