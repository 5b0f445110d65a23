/* between.c - what stands between the program and the disk in a test. */
#include "between.h"

#include "base/thread.h"
#include "store/run_dir.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct between between;

void between_init(void)
{
    qn_mutex_init(&between.lock);
    qn_cond_init(&between.opened);
}

void between_reset(void)
{
    between.closed = false;
    between.trainer = pthread_self();
    between.full = between.everyone = false;
    between.calls = between.refused = between.kill_at = between.syncs = 0;
}

void between_gate(bool closed)
{
    qn_lock(&between.lock);
    between.closed = closed;
    qn_cond_broadcast(&between.opened);
    qn_unlock(&between.lock);
}

static bool by_trainer(void)
{
    return pthread_equal(pthread_self(), between.trainer) != 0;
}

/* A moment between two things that the disk is asked for. */
static void seam(void)
{
    if ((between.everyone || !by_trainer()) &&
        ++between.calls == between.kill_at) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
ssize_t __real_write(int fd, const void *data, size_t n);
int __real_rename(const char *from, const char *to);
int __real_mkdir(const char *path, mode_t mode);
int __real_unlink(const char *path);
int __real_rmdir(const char *path);
enum qn_status __real_qn_run_dir_checkpoint(struct qn_run_dir *d, int64_t step,
                                            char **path, struct qn_err *err);

ssize_t __wrap_write(int fd, const void *data, size_t n);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_unlink(const char *path);
int __wrap_rmdir(const char *path);
enum qn_status __wrap_qn_run_dir_checkpoint(struct qn_run_dir *d, int64_t step,
                                            char **path, struct qn_err *err);

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    seam();
    if (between.full) {
        between.refused += !by_trainer();
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, data, n);
}

int __wrap_fsync(int fd)
{
    seam();
    between.syncs += by_trainer();
    (void)fd; /* the end of a process loses nothing that it has written */
    return 0;
}

int __wrap_rename(const char *from, const char *to)
{
    seam();
    return __real_rename(from, to);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    seam();
    return __real_mkdir(path, mode);
}

int __wrap_unlink(const char *path)
{
    seam();
    return __real_unlink(path);
}

int __wrap_rmdir(const char *path)
{
    seam();
    return __real_rmdir(path);
}

enum qn_status __wrap_qn_run_dir_checkpoint(struct qn_run_dir *d, int64_t step,
                                            char **path, struct qn_err *err)
{
    qn_lock(&between.lock);
    while (between.closed) {
        qn_cond_wait(&between.opened, &between.lock);
    }
    qn_unlock(&between.lock);
    return __real_qn_run_dir_checkpoint(d, step, path, err);
}
/* NOLINTEND(bugprone-reserved-identifier) */
