/* assert.c - die loudly, with the terminal restored first. */
#include "base/assert.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*restore_fn)(void);

/* The one piece of process-wide state: dying happens where no context is at
 * hand. Atomic, since any thread may die while the screen's sets it. */
static _Atomic(restore_fn) restore_hook;

/* Taken out before the call: a hook that dies itself must not run again. */
static void run_restore_hook(void)
{
    restore_fn hook = atomic_exchange(&restore_hook, (restore_fn)NULL);
    if (hook != NULL) {
        hook();
    }
}

void qn_set_restore_hook(void (*hook)(void))
{
    atomic_store(&restore_hook, hook);
}

_Noreturn void qn_assert_failed(const char *condition, const char *file,
                                int line)
{
    run_restore_hook();
    (void)fprintf(stderr, "quern: bug: %s:%d: %s does not hold\n", file, line,
                  condition);
    abort();
}

_Noreturn void qn_die(const char *why)
{
    run_restore_hook();
    (void)fprintf(stderr, "quern: %s\n", why);
    abort();
}
