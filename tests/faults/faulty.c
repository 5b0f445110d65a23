/* faulty.c - a library to preload: calls that write below a folder fail.
 *
 *   QN_FAULT_BELOW  the folder, from the root; without it nothing fails
 *   QN_FAULT_LOG    a file that gets a line for every call that concerns it
 *   QN_FAULT_FIRST  number of the first call that fails, from 1; 0: none
 *   QN_FAULT_COUNT  how many fail from there on; 0: all
 *   QN_FAULT_ERRNO  the number of the error
 *   QN_FAULT_SHORT  set: before a write fails, one writes half of its bytes
 *   QN_TEST_CLOCK   seconds by which the wall clock is wrong
 *   QN_TEST_HASTE   set: who sleeps wakes at once, and the clock has gone on
 *
 * Numbers are counted over all threads. Reading, removing and closing work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static atomic_long n_calls;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* The next function of this name, which is the C library's. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* By system calls, since everything else here may fail. */
static void log_call(long n, const char *call, const char *path)
{
    const char *name = getenv("QN_FAULT_LOG");
    char line[PATH_MAX + 64];
    if (name == NULL) {
        return;
    }
    int len = snprintf(line, sizeof line, "%ld %s %s\n", n, call, path);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name,
                          O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    (void)syscall(SYS_write, fd, line, len);
    (void)syscall(SYS_close, fd);
}

/* A path from the root, without looking at "..", which nobody here writes. */
static void absolute(int dir, const char *path, char out[PATH_MAX])
{
    char base[PATH_MAX] = "";
    if (path[0] != '/' && dir == AT_FDCWD) {
        (void)!getcwd(base, sizeof base);
    } else if (path[0] != '/') {
        char link[64];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t len = readlink(link, base, sizeof base - 1);
        base[len > 0 ? len : 0] = '\0';
    }
    (void)snprintf(out, PATH_MAX, "%.2000s%s%.2000s", base,
                   path[0] != '/' ? "/" : "", path);
}

static bool is_below(const char *path)
{
    const char *folder = getenv("QN_FAULT_BELOW");
    size_t len = folder != NULL ? strlen(folder) : 0;
    return len > 0 && strncmp(path, folder, len) == 0 &&
           (path[len] == '/' || path[len] == '\0');
}

/* How call number n fares: it may be the one before the first that fails. */
enum fate { WORKS, HALF, FAILS };

static enum fate fate_of(const char *call, const char *path)
{
    if (!is_below(path)) {
        return WORKS;
    }
    long n = atomic_fetch_add(&n_calls, 1) + 1;
    long first = number("QN_FAULT_FIRST"), count = number("QN_FAULT_COUNT");
    log_call(n, call, path);
    if (first == 0 || n < first || (count > 0 && n >= first + count)) {
        return WORKS;
    }
    if (n == first && getenv("QN_FAULT_SHORT") != NULL) {
        return HALF;
    }
    errno = (int)number("QN_FAULT_ERRNO");
    return FAILS;
}

static enum fate fate_of_path(const char *call, int dir, const char *path)
{
    char whole[PATH_MAX];
    absolute(dir, path, whole);
    return fate_of(call, whole);
}

static enum fate fate_of_fd(const char *call, int fd)
{
    int before = errno;
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len > 0 ? len : 0] = '\0';
    errno = before;
    return fate_of(call, path);
}

/* ------------------------------------------------------- making, naming -- */

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    bool makes = (flags & (O_CREAT | O_TRUNC)) != 0;
    if (makes && fate_of_path("open", dir, path) == FAILS) {
        return -1;
    }
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN_MODE(last)                                                        \
    va_list args;                                                              \
    va_start(args, last);                                                      \
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;           \
    va_end(args)

int open(const char *path, int flags, ...)
{
    OPEN_MODE(flags);
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    OPEN_MODE(flags);
    return open_at(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    OPEN_MODE(flags);
    return open_at(dir, path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return fate_of_path("mkdir", AT_FDCWD, path) == FAILS
               ? -1
               : REAL(mkdir)(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fate_of_path("mkdir", dir, path) == FAILS
               ? -1
               : REAL(mkdirat)(dir, path, mode);
}

int rename(const char *from, const char *to)
{
    return fate_of_path("rename", AT_FDCWD, to) == FAILS
               ? -1
               : REAL(rename)(from, to);
}

int renameat(int from_dir, const char *from, int dir, const char *to)
{
    return fate_of_path("rename", dir, to) == FAILS
               ? -1
               : REAL(renameat)(from_dir, from, dir, to);
}

int link(const char *from, const char *to)
{
    return fate_of_path("link", AT_FDCWD, to) == FAILS ? -1
                                                       : REAL(link)(from, to);
}

int linkat(int from_dir, const char *from, int dir, const char *to, int flags)
{
    return fate_of_path("link", dir, to) == FAILS
               ? -1
               : REAL(linkat)(from_dir, from, dir, to, flags);
}

/* -------------------------------------------------------------- writing -- */

ssize_t write(int fd, const void *bytes, size_t len)
{
    enum fate fate = fate_of_fd("write", fd);
    if (fate == FAILS) {
        return -1;
    }
    return REAL(write)(fd, bytes, fate == HALF && len > 1 ? len / 2 : len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    enum fate fate = fate_of_fd("pwrite", fd);
    if (fate == FAILS) {
        return -1;
    }
    return REAL(pwrite)(fd, bytes, fate == HALF && len > 1 ? len / 2 : len, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    enum fate fate = fate_of_fd("writev", fd);
    if (fate == FAILS) {
        return -1;
    }
    return REAL(writev)(fd, parts, fate == HALF && n > 1 ? n / 2 : n);
}

int fsync(int fd)
{
    return fate_of_fd("fsync", fd) == FAILS ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return fate_of_fd("fdatasync", fd) == FAILS ? -1 : REAL(fdatasync)(fd);
}

int ftruncate(int fd, off_t len)
{
    return fate_of_fd("ftruncate", fd) == FAILS ? -1 : REAL(ftruncate)(fd, len);
}

/* ---------------------------------------------------------------- clock -- */

#define SECOND 1000000000LL

/* Nanoseconds that were slept through in no time. */
static atomic_llong n_slept;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += number("QN_TEST_CLOCK");
    } else if (result == 0 && clock == CLOCK_MONOTONIC) {
        long long ns = now->tv_nsec + atomic_load(&n_slept);
        now->tv_sec += (time_t)(ns / SECOND);
        now->tv_nsec = (long)(ns % SECOND);
    }
    return result;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (getenv("QN_TEST_HASTE") == NULL) {
        return REAL(nanosleep)(wanted, left);
    }
    (void)atomic_fetch_add(&n_slept, wanted->tv_sec * SECOND + wanted->tv_nsec);
    const struct timespec moment = {.tv_nsec = 1000000};
    return REAL(nanosleep)(&moment, NULL);
}

time_t time(time_t *out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
