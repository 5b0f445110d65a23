/* interrupt.c - the flag that signals set. */
#include "app/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A handler has no other way to the rest of the program. */
static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
    if (caught && sig == SIGINT) {
        (void)signal(SIGINT, SIG_DFL);
        (void)raise(SIGINT);
    }
    caught = 1;
}

void qn_interrupt_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction before;
        (void)sigaction(signals[i], NULL, &before);
        if (signals[i] != SIGHUP || before.sa_handler != SIG_IGN) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

bool qn_interrupted(void)
{
    return caught != 0;
}

bool qn_interrupt_asked(void *user)
{
    (void)user;
    return qn_interrupted();
}
