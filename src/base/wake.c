/* wake.c - a pipe that is readable from the first wake-up to the next clear.
 *
 * 'pending' says that a byte is in the pipe or about to be, so that a thousand
 * wake-ups write one. Clearing drains first and lowers the flag last: a waker
 * that finds the flag still up has written its news before, and the exchange
 * makes them visible to the loop, which looks only after clearing. */
#include "base/wake.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct qn_wake {
    int read_fd, write_fd;
    atomic_bool pending; /* by anyone */
};

static bool set_flags(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

enum qn_status qn_wake_new(struct qn_wake **out, struct qn_err *err)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return qn_fail(err, QN_EIO, "cannot make a pipe: %s", strerror(errno));
    }
    if (!set_flags(fd[0]) || !set_flags(fd[1])) {
        enum qn_status status =
            qn_fail(err, QN_EIO, "cannot set up a pipe: %s", strerror(errno));
        (void)close(fd[0]);
        (void)close(fd[1]);
        return status;
    }
    struct qn_wake *wake = qn_xmalloc(sizeof *wake);
    wake->read_fd = fd[0];
    wake->write_fd = fd[1];
    atomic_init(&wake->pending, false);
    *out = wake;
    return QN_OK;
}

void qn_wake_free(struct qn_wake *wake)
{
    if (wake != NULL) {
        (void)close(wake->read_fd);
        (void)close(wake->write_fd);
        free(wake);
    }
}

int qn_wake_fd(const struct qn_wake *wake)
{
    return wake->read_fd;
}

/* Fit for a signal handler: no lock, errno kept. */
void qn_wake_up(struct qn_wake *wake)
{
    if (wake == NULL ||
        atomic_exchange_explicit(&wake->pending, true, memory_order_acq_rel)) {
        return;
    }
    int saved = errno;
    while (write(wake->write_fd, "", 1) < 0 && errno == EINTR) {
    }
    /* A full pipe (EAGAIN) is readable, which is all that is wanted. */
    errno = saved;
}

void qn_wake_clear(struct qn_wake *wake)
{
    char drain[64];
    ssize_t n;
    do {
        n = read(wake->read_fd, drain, sizeof drain);
    } while (n > 0 || (n < 0 && errno == EINTR));
    (void)atomic_exchange_explicit(&wake->pending, false, memory_order_acq_rel);
}
