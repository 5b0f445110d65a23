/* pool.h - the process's worker threads, for work that splits into tasks.
 *
 * One pool serves every run of a process. A job is n tasks; the caller takes
 * part, idle workers sleep. Which thread runs a task is chance: what a task
 * computes and where it puts it must depend on its number only.
 *
 * How callers share N threads: tasks of at most N callers run at a time, at
 * most N in all. Each of these callers has N / callers of the threads for
 * itself, also between its jobs (fewer when its jobs are of fewer tasks); what
 * is left over is dealt in turn, task by task. Who stays away for a turn has
 * left. When more than N call, each works for a turn, or a task if that takes
 * longer, and then the one that has waited longest takes its place. */
#ifndef QN_BASE_POOL_H
#define QN_BASE_POOL_H

#include "base/status.h"

struct qn_pool;

typedef void (*qn_pool_fn)(void *arg, int task);

/* Long beside a switch of threads, short for a person who waits. */
#define QN_POOL_TURN_SECONDS 0.05

/* A pool of n_threads in all, counting the one that calls qn_pool_run: it
 * starts n_threads - 1 workers, as many as it can. */
struct qn_pool *qn_pool_new(int n_threads);
void qn_pool_free(
    struct qn_pool *pool); /* no job may be running; NULL is fine */
int qn_pool_size(const struct qn_pool *pool); /* threads, the caller included */
/* Other than QN_POOL_TURN_SECONDS; before the first job. */
void qn_pool_set_turn(struct qn_pool *pool, double seconds);

/* Its workers give way (qn_thread_give_way); callers are left as they are.
 * Before the first job. */
void qn_pool_give_way(struct qn_pool *pool);

/* Run fn(arg, 0) ... fn(arg, n - 1) and return when all have ended. Several
 * threads may call it at once and share the pool's as said above: it sleeps
 * while it is the turn of others. A NULL pool runs them in order on the caller.
 * Tasks must not call qn_pool_run. */
void qn_pool_run(struct qn_pool *pool, int n, qn_pool_fn fn, void *arg);

#endif
