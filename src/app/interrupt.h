/* interrupt.h - a wish to end, from a signal, for work without a screen.
 *
 * The first SIGINT, SIGTERM or SIGHUP sets a flag that the work looks at
 * between steps; a second SIGINT ends the process at once. SIGHUP stays ignored
 * when it was (nohup).
 */
#ifndef QN_APP_INTERRUPT_H
#define QN_APP_INTERRUPT_H

#include <stdbool.h>

void qn_interrupt_catch(void);
bool qn_interrupted(void);
/* The same as a callback; user is not looked at. */
bool qn_interrupt_asked(void *user);

#endif
