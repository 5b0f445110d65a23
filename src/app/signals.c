/* signals.c - the self-pipe. */
#include "app/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
#define N_CAUGHT (sizeof caught / sizeof *caught)

static int signal_pipe[2] = {-1, -1};

static void on_signal(int sig)
{
    int saved = errno;
    unsigned char byte = (unsigned char)sig;
    /* A full pipe has a signal in it already; the loop will wake. */
    ssize_t n = write(signal_pipe[1], &byte, 1);
    (void)n;
    errno = saved;
}

enum qn_status qn_signals_start(struct qn_err *err)
{
    if (pipe(signal_pipe) != 0)
        return qn_fail(err, QN_EIO, "pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC);
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i], &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    return QN_OK;
}

void qn_signals_let_interrupt(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void qn_signals_stop(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i], &action, NULL);
    for (int i = 0; i < 2; i++) {
        close(signal_pipe[i]);
        signal_pipe[i] = -1;
    }
}

int qn_signals_fd(void)
{
    return signal_pipe[0];
}

int qn_signals_take(void)
{
    unsigned char byte;
    return read(signal_pipe[0], &byte, 1) == 1 ? byte : 0;
}
