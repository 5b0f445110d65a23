/* lock.h - one process trains a run: a lock that dies with its holder. */
#ifndef QN_STORE_LOCK_H
#define QN_STORE_LOCK_H

#include "base/status.h"

#include <stdbool.h>

/* Take the lock file, made when missing, until the descriptor is closed.
 * QN_ESTATE when another holds it, in this process or another one. */
enum qn_status qn_lock_take(const char *path, int *fd, struct qn_err *err);
/* Whether somebody holds it; false when there is no such file. Takes nothing,
 * so that a process that starts training is never in the way of a look. */
bool qn_lock_is_held(const char *path);

#endif
