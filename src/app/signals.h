/* signals.h - signals as bytes in a pipe, for a loop that polls.
 *
 * Handlers only write the signal's number; they may run on any thread (a BLAS
 * library starts threads before main does). One set per process, hence no
 * object: handlers have no other way to the pipe.
 */
#ifndef QN_APP_SIGNALS_H
#define QN_APP_SIGNALS_H

#include "base/status.h"

/* Catch the workbench's signals: INT TERM HUP WINCH TSTP. PIPE is ignored. */
enum qn_status qn_signals_start(struct qn_err *err);
/* INT ends the process again; the others stay caught. */
void qn_signals_let_interrupt(void);
void qn_signals_stop(void); /* the default actions again */
int qn_signals_fd(void);
/* The next signal's number, 0 = none. */
int qn_signals_take(void);

#endif
