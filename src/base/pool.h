/* pool.h - the process's worker threads, for work that splits into tasks.
 *
 * One pool serves every run of a process. A job is n tasks; the caller takes
 * part, idle workers sleep. Which thread runs a task is chance: what a task
 * computes and where it puts it must depend on its number only. */
#ifndef QN_BASE_POOL_H
#define QN_BASE_POOL_H

#include "base/status.h"

struct qn_pool;

typedef void (*qn_pool_fn)(void *arg, int task);

/* A pool of n_threads in all, counting the one that calls qn_pool_run: it
 * starts n_threads - 1 workers, as many as it can. */
struct qn_pool *qn_pool_new(int n_threads);
void qn_pool_free(
    struct qn_pool *pool); /* no job may be running; NULL is fine */
int qn_pool_size(const struct qn_pool *pool); /* threads, the caller included */

/* Run fn(arg, 0) ... fn(arg, n - 1) and return when all have ended. Several
 * threads may call it at once and share the workers. A NULL pool runs them in
 * order on the caller. Tasks must not call qn_pool_run. */
void qn_pool_run(struct qn_pool *pool, int n, qn_pool_fn fn, void *arg);

#endif
