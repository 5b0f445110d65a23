/* fork.h - run something that ends the process, in a process of its own. */
#ifndef QN_TESTS_BASE_FORK_H
#define QN_TESTS_BASE_FORK_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The signal that ended fn, 0 when it returned or exited; what it wrote to
 * stderr, up to size - 1 bytes, goes to 'said'. */
static inline int signal_of(void (*fn)(void), char *said, size_t size)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(fd[1], STDERR_FILENO);
        (void)close(fd[0]);
        (void)signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    (void)close(fd[1]);
    size_t len = 0;
    ssize_t n;
    while (len + 1 < size &&
           (n = read(fd[0], said + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    said[len] = '\0';
    (void)close(fd[0]);
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static inline bool aborts(void (*fn)(void))
{
    char said[512];
    return signal_of(fn, said, sizeof said) == SIGABRT;
}

#endif
