/* wake.h - wake a poll loop from another thread, once however often called. */
#ifndef QN_BASE_WAKE_H
#define QN_BASE_WAKE_H

#include "base/status.h"

struct qn_wake;

enum qn_status qn_wake_new(struct qn_wake **out, struct qn_err *err);
void qn_wake_free(struct qn_wake *wake);    /* NULL is fine */
int qn_wake_fd(const struct qn_wake *wake); /* readable when woken */
void qn_wake_up(struct qn_wake *wake);      /* any thread; NULL is fine */
void qn_wake_clear(struct qn_wake *wake);   /* the loop, before it looks */

#endif
