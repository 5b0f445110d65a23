/* pool.c - workers that share the tasks of whatever jobs are on the list.
 *
 * A job lives on the stack of the thread that runs it. It is on the list while
 * it has tasks that nobody has claimed; workers claim from the oldest job, its
 * caller from its own, so that every job goes on even when all workers are at
 * another one. */
#include "base/pool.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdlib.h>

struct job {
    qn_pool_fn fn;
    void *arg;
    int n;
    int n_claimed, n_ended; /* by the pool's lock */
    struct job *next;       /* by the pool's lock */
};

struct qn_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* the list is not empty, or stop */
    pthread_cond_t done; /* the last task of some job has ended */
    struct job *jobs;    /* by lock: oldest first */
    bool stop;           /* by lock */
    int n_workers;
    pthread_t worker[];
};

/* All of these: with the lock held. */

static void list_append(struct qn_pool *pool, struct job *job)
{
    struct job **link = &pool->jobs;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = job;
}

static void list_remove(struct qn_pool *pool, struct job *job)
{
    struct job **link = &pool->jobs;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
}

static int claim(struct qn_pool *pool, struct job *job)
{
    int task = job->n_claimed++;
    if (job->n_claimed == job->n) {
        list_remove(pool, job);
    }
    return task;
}

/* Run one task of the job, letting go of the lock meanwhile. When it was the
 * last to end, the job is gone as soon as the lock is released. */
static void run_one(struct qn_pool *pool, struct job *job)
{
    int task = claim(pool, job);
    qn_unlock(&pool->lock);
    job->fn(job->arg, task);
    qn_lock(&pool->lock);
    job->n_ended++;
    if (job->n_ended == job->n) {
        qn_cond_broadcast(&pool->done);
    }
}

static void *work(void *arg)
{
    struct qn_pool *pool = arg;
    qn_lock(&pool->lock);
    while (!pool->stop) {
        if (pool->jobs != NULL) {
            run_one(pool, pool->jobs);
        } else {
            qn_cond_wait(&pool->work, &pool->lock);
        }
    }
    qn_unlock(&pool->lock);
    return NULL;
}

struct qn_pool *qn_pool_new(int n_threads)
{
    int n_wanted = n_threads > 1 ? n_threads - 1 : 0;
    struct qn_pool *pool =
        qn_xcalloc(1, sizeof *pool + (size_t)n_wanted * sizeof(pthread_t));
    qn_mutex_init(&pool->lock);
    qn_cond_init(&pool->work);
    qn_cond_init(&pool->done);
    while (pool->n_workers < n_wanted &&
           qn_thread_start(&pool->worker[pool->n_workers], "worker", work, pool,
                           NULL) == QN_OK) {
        pool->n_workers++;
    }
    return pool;
}

void qn_pool_free(struct qn_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    qn_lock(&pool->lock);
    pool->stop = true;
    qn_cond_broadcast(&pool->work);
    qn_unlock(&pool->lock);
    for (int i = 0; i < pool->n_workers; i++) {
        qn_thread_join(pool->worker[i]);
    }
    qn_cond_fini(&pool->done);
    qn_cond_fini(&pool->work);
    qn_mutex_fini(&pool->lock);
    free(pool);
}

int qn_pool_size(const struct qn_pool *pool)
{
    return pool != NULL ? pool->n_workers + 1 : 1;
}

static void run_alone(int n, qn_pool_fn fn, void *arg)
{
    for (int task = 0; task < n; task++) {
        fn(arg, task);
    }
}

/* Wake as many workers as there are tasks beside the caller's first. */
static void call_workers(struct qn_pool *pool, int n_tasks)
{
    if (n_tasks > pool->n_workers) {
        qn_cond_broadcast(&pool->work);
        return;
    }
    for (int i = 1; i < n_tasks; i++) {
        qn_cond_signal(&pool->work);
    }
}

void qn_pool_run(struct qn_pool *pool, int n, qn_pool_fn fn, void *arg)
{
    if (pool == NULL || pool->n_workers == 0 || n <= 1) {
        run_alone(n, fn, arg);
        return;
    }
    struct job job = {.fn = fn, .arg = arg, .n = n};
    qn_lock(&pool->lock);
    list_append(pool, &job);
    call_workers(pool, n);
    while (job.n_claimed < n) {
        run_one(pool, &job);
    }
    while (job.n_ended < n) {
        qn_cond_wait(&pool->done, &pool->lock);
    }
    qn_unlock(&pool->lock);
}
