/* lock.c - advisory locks of an open file, as POSIX has them since 2024.
 *
 * The older fcntl locks belong to a process: closing any descriptor of the
 * file, as a listing of the store does, would drop them, and the process that
 * holds one never sees it. flock cannot be looked at without taking it. */
#define _GNU_SOURCE /* F_OFD_SETLK, which glibc does not show otherwise yet */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

enum qn_status qn_lock_take(const char *path, int *fd, struct qn_err *err)
{
    int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) {
        return qn_fail(err, QN_EIO, "%s: cannot open: %s", path,
                       strerror(errno));
    }
    struct flock lock = whole_file();
    if (fcntl(opened, F_OFD_SETLK, &lock) == 0) {
        *fd = opened;
        return QN_OK;
    }
    int why = errno;
    (void)close(opened);
    if (why == EACCES || why == EAGAIN) {
        return qn_fail(err, QN_ESTATE, "%s: another process holds the lock",
                       path);
    }
    return qn_fail(err, QN_EIO, "%s: cannot lock: %s", path, strerror(why));
}

bool qn_lock_is_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    struct flock lock = whole_file();
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
    return held;
}
