/* thread.c - pthreads whose misuse stops the program. */

/* Thread names and processor sets are GNU's; the rest of the program is POSIX.
 */
#define _GNU_SOURCE

#include "base/thread.h"

#include "base/assert.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Each is a factor of 1.25 in the time that the scheduler gives. */
#define STEPS_OF_NICE 5

enum qn_status qn_thread_start(pthread_t *out, const char *name,
                               void *(*fn)(void *), void *arg,
                               struct qn_err *err)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    /* The new thread inherits the mask, so it is set around its creation. */
    QN_ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int failed = pthread_create(&thread, NULL, fn, arg);
    QN_ASSERT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (failed) {
        return qn_fail(err, QN_EIO, "cannot start thread %s: %s", name,
                       strerror(failed));
    }
    char cut[16]; /* the kernel's limit, NUL included */
    (void)snprintf(cut, sizeof cut, "%s", name);
    (void)pthread_setname_np(thread, cut); /* only for debuggers and top */
    *out = thread;
    return QN_OK;
}

void qn_thread_join(pthread_t thread)
{
    QN_ASSERT(pthread_join(thread, NULL) == 0);
}

void qn_thread_give_way(void)
{
    /* To Linux a priority is a thread's, whatever POSIX says. A refusal changes
     * the share of time and nothing else. */
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) {
        (void)setpriority(PRIO_PROCESS, 0, nice + STEPS_OF_NICE);
    }
}

void qn_mutex_init(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    QN_ASSERT(pthread_mutexattr_init(&attr) == 0);
    /* Locking twice or unlocking another's lock is then an error we see. */
    QN_ASSERT(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) == 0);
    QN_ASSERT(pthread_mutex_init(m, &attr) == 0);
    QN_ASSERT(pthread_mutexattr_destroy(&attr) == 0);
}

void qn_mutex_fini(pthread_mutex_t *m)
{
    QN_ASSERT(pthread_mutex_destroy(m) == 0);
}

void qn_lock(pthread_mutex_t *m)
{
    QN_ASSERT(pthread_mutex_lock(m) == 0);
}

void qn_unlock(pthread_mutex_t *m)
{
    QN_ASSERT(pthread_mutex_unlock(m) == 0);
}

void qn_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    QN_ASSERT(pthread_condattr_init(&attr) == 0);
    /* A clock that is set must not make anybody wait longer. */
    QN_ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    QN_ASSERT(pthread_cond_init(c, &attr) == 0);
    QN_ASSERT(pthread_condattr_destroy(&attr) == 0);
}

void qn_cond_fini(pthread_cond_t *c)
{
    QN_ASSERT(pthread_cond_destroy(c) == 0);
}

void qn_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    QN_ASSERT(pthread_cond_wait(c, m) == 0);
}

bool qn_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, double when)
{
    double second = floor(when);
    struct timespec time = {.tv_sec = (time_t)second,
                            .tv_nsec = (long)((when - second) * 1e9)};
    int failed = pthread_cond_timedwait(c, m, &time);
    QN_ASSERT(failed == 0 || failed == ETIMEDOUT);
    return failed == 0;
}

void qn_cond_signal(pthread_cond_t *c)
{
    QN_ASSERT(pthread_cond_signal(c) == 0);
}

void qn_cond_broadcast(pthread_cond_t *c)
{
    QN_ASSERT(pthread_cond_broadcast(c) == 0);
}

int qn_n_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < 1 << 20 ? (int)n : 1;
}
