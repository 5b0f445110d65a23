/* pool.c - threads that share the tasks of whatever jobs there are.
 *
 * One lock guards everything. A thread takes it, ends the task it has run,
 * looks for the next that may start, and before it lets go calls as many
 * sleepers as there are other tasks to start (call_threads): so nobody need
 * poll, and no more are called than there is work for. A caller runs tasks of
 * its own job only, lest it be at another's long task when its own job ends.
 *
 * A caller is known by its thread. One that has a seat may run tasks. It keeps
 * the seat between its jobs: a run of short tasks would otherwise find, at each
 * of its jobs, every thread taken by the long tasks of another. */
#include "base/pool.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Weight of a job in the average of how many tasks a caller's jobs have. */
#define USUAL_WEIGHT 0.0625

enum place {
    AWAY,     /* nothing is known of it; free for another thread */
    STANDING, /* has a job, waits for a seat */
    SEATED
};

struct caller {
    pthread_t thread;
    pthread_cond_t wake; /* it may start a task, or its job has ended */
    enum place place;
    double since; /* when it sat down */
    bool served;  /* has run a task since */
    long ticket;  /* standing: the least is served first */
    double usual; /* tasks of a job on average, those beyond N not counted */
    bool asleep;  /* for want of room, and not called yet */

    bool calling; /* has a job */
    double left;  /* when its last job ended */
    qn_pool_fn fn;
    void *arg;
    int n, n_claimed, n_ended;
    int n_running;
};

struct qn_pool {
    int n_threads; /* in all */
    int n_workers;
    double turn; /* seconds */
    bool workers_give_way;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;  /* a task for a worker, or stop */
    bool stop;
    int n_idle;    /* workers that sleep */
    int n_called;  /* of these: those that have been called */
    int n_running; /* tasks */
    int n_seated, n_standing;
    long n_tickets;
    int next; /* index of the caller that workers look at first */
    struct caller **caller;
    int n_callers;

    pthread_t worker[];
};

/* All that follows, up to qn_pool_new: with the lock held. */

/* --- who may start how much --------------------------------------------- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int share(const struct qn_pool *pool)
{
    return pool->n_threads / pool->n_seated;
}

/* Threads that are kept free for the caller. */
static int reserved(const struct qn_pool *pool, const struct caller *c)
{
    int wanted = least(share(pool), (int)ceil(c->usual - 0.5));
    return wanted > c->n_running ? wanted - c->n_running : 0;
}

static int reserved_for_others(const struct qn_pool *pool,
                               const struct caller *c)
{
    int sum = 0;
    for (int i = 0; pool->n_seated > 1 && i < pool->n_callers; i++) {
        const struct caller *other = pool->caller[i];
        if (other != c && other->place == SEATED) {
            sum += reserved(pool, other);
        }
    }
    return sum;
}

/* How many tasks of the caller may start now. */
static int room(const struct qn_pool *pool, const struct caller *c)
{
    int waiting = c->calling ? c->n - c->n_claimed : 0;
    int idle = pool->n_threads - pool->n_running;
    if (c->place != SEATED || waiting == 0 || idle == 0) {
        return 0;
    }
    int own = share(pool) - c->n_running;
    int left_over = idle - reserved_for_others(pool, c);
    int n = own > left_over ? own : left_over;
    return n > 0 ? least(n, least(idle, waiting)) : 0;
}

static void wake_caller(struct caller *c)
{
    if (c->asleep) {
        c->asleep = false;
        qn_cond_signal(&c->wake);
    }
}

/* --- seats -------------------------------------------------------------- */

static void stand(struct qn_pool *pool, struct caller *c)
{
    c->place = STANDING;
    c->ticket = pool->n_tickets++;
    pool->n_standing++;
}

static void get_up(struct qn_pool *pool, struct caller *c)
{
    pool->n_seated--;
    c->place = AWAY;
    if (c->calling && c->n_claimed < c->n) {
        stand(pool, c);
    }
}

static void sit_down(struct qn_pool *pool, struct caller *c, double now)
{
    pool->n_standing--;
    pool->n_seated++;
    c->place = SEATED;
    c->since = now;
    c->served = false;
}

static struct caller *first_standing(const struct qn_pool *pool)
{
    struct caller *first = NULL;
    for (int i = 0; i < pool->n_callers; i++) {
        struct caller *c = pool->caller[i];
        if (c->place == STANDING &&
            (first == NULL || c->ticket < first->ticket)) {
            first = c;
        }
    }
    return first;
}

static double end_of_turn(const struct qn_pool *pool, double from)
{
    return from + pool->turn;
}

/* By the very number that a sleeper waits for: rounded otherwise, a turn might
 * be neither over nor still to end. */
static bool turn_over(const struct qn_pool *pool, double from, double now)
{
    return end_of_turn(pool, from) <= now;
}

/* The one that has sat longest of those that can be asked to get up. */
static struct caller *longest_seated(const struct qn_pool *pool, double now)
{
    struct caller *longest = NULL;
    for (int i = 0; i < pool->n_callers; i++) {
        struct caller *c = pool->caller[i];
        if (c->place == SEATED && c->served && c->n_running == 0 &&
            turn_over(pool, c->since, now) &&
            (longest == NULL || c->since < longest->since)) {
            longest = c;
        }
    }
    return longest;
}

/* Let those go who have been away for a turn. */
static void let_go(struct qn_pool *pool, double now)
{
    for (int i = 0; i < pool->n_callers; i++) {
        struct caller *c = pool->caller[i];
        if (c->place == SEATED && !c->calling &&
            turn_over(pool, c->left, now)) {
            get_up(pool, c);
        }
    }
}

/* Let the first that stands sit down, if it can. */
static bool let_in(struct qn_pool *pool, double now)
{
    struct caller *first = first_standing(pool);
    if (first != NULL && pool->n_seated == pool->n_threads) {
        struct caller *old = longest_seated(pool, now);
        if (old == NULL) {
            return false;
        }
        get_up(pool, old);
    }
    if (first != NULL) {
        sit_down(pool, first, now);
    }
    return first != NULL;
}

static void change_seats(struct qn_pool *pool, double now)
{
    bool changed = false;
    let_go(pool, now);
    while (let_in(pool, now)) {
        changed = true;
    }
    struct caller *first = changed ? first_standing(pool) : NULL;
    if (first != NULL) {
        wake_caller(first); /* to wait for the turns that are now */
    }
}

/* When a turn ends next that is not over; infinite: when a task has ended. */
static double next_turn(const struct qn_pool *pool, double now)
{
    double next = (double)INFINITY;
    for (int i = 0; i < pool->n_callers; i++) {
        const struct caller *c = pool->caller[i];
        double end = end_of_turn(pool, c->since);
        if (c->place == SEATED && !turn_over(pool, c->since, now) &&
            end < next) {
            next = end;
        }
    }
    return next;
}

/* --- sleep -------------------------------------------------------------- */

/* Wake those who have to start what may start. Whoever can start something
 * itself does so first. */
static void call_threads(struct qn_pool *pool)
{
    int n = 0;
    for (int i = 0; i < pool->n_callers; i++) {
        struct caller *c = pool->caller[i];
        int n_here = room(pool, c);
        if (n_here > 0 && c->asleep) {
            wake_caller(c);
            n_here--;
        }
        n += n_here;
    }
    n = least(n, pool->n_threads - pool->n_running);
    while (pool->n_called < n && pool->n_called < pool->n_idle) {
        pool->n_called++;
        qn_cond_signal(&pool->work);
    }
}

static void sleep_as_worker(struct qn_pool *pool)
{
    pool->n_idle++;
    qn_cond_wait(&pool->work, &pool->lock);
    pool->n_idle--;
    if (pool->n_called > 0) { /* it is not when nobody called, which may be */
        pool->n_called--;
    }
}

/* Until the caller may start a task or, if it is the first that stands, the
 * turn of one that is away is over: all else is told by those at work. */
static void sleep_for_room(struct qn_pool *pool, struct caller *c)
{
    double now = qn_clock_now();
    change_seats(pool, now);
    c->asleep = true;
    call_threads(pool);
    if (c->asleep) {
        double when =
            c == first_standing(pool) ? next_turn(pool, now) : (double)INFINITY;
        if (isinf(when)) {
            qn_cond_wait(&c->wake, &pool->lock);
        } else {
            (void)qn_cond_wait_until(&c->wake, &pool->lock, when);
        }
    }
    c->asleep = false;
}

static void sleep_until_ended(struct qn_pool *pool, struct caller *c)
{
    call_threads(pool);
    while (c->n_ended < c->n) {
        qn_cond_wait(&c->wake, &pool->lock);
    }
}

/* --- work --------------------------------------------------------------- */

/* Run one task of the caller's job, letting go of the lock meanwhile. */
static void run_one(struct qn_pool *pool, struct caller *c)
{
    int task = c->n_claimed++;
    c->served = true;
    c->n_running++;
    pool->n_running++;
    call_threads(pool);
    qn_unlock(&pool->lock);
    c->fn(c->arg, task);
    qn_lock(&pool->lock);
    pool->n_running--;
    c->n_running--;
    c->n_ended++;
    if (c->n_ended == c->n) {
        qn_cond_signal(&c->wake);
    }
    if (pool->n_seated > 1 || pool->n_standing > 0) {
        change_seats(pool, qn_clock_now());
    }
}

/* A caller of whose tasks one may start, each in its turn; NULL: none. */
static struct caller *next_caller(struct qn_pool *pool)
{
    for (int i = 0; i < pool->n_callers; i++) {
        int at = (pool->next + i) % pool->n_callers;
        if (room(pool, pool->caller[at]) > 0) {
            pool->next = at + 1;
            return pool->caller[at];
        }
    }
    return NULL;
}

static void *work(void *arg)
{
    struct qn_pool *pool = arg;
    bool gives_way = false;
    qn_lock(&pool->lock);
    while (!pool->stop) {
        if (pool->workers_give_way && !gives_way) {
            gives_way = true;
            qn_unlock(&pool->lock);
            qn_thread_give_way();
            qn_lock(&pool->lock);
            continue; /* it may have to stop now */
        }
        struct caller *c = next_caller(pool);
        if (c != NULL) {
            run_one(pool, c);
        } else {
            sleep_as_worker(pool);
        }
    }
    qn_unlock(&pool->lock);
    return NULL;
}

/* --- callers ------------------------------------------------------------ */

static struct caller *new_caller(struct qn_pool *pool)
{
    for (int i = 0; i < pool->n_callers; i++) {
        if (pool->caller[i]->place == AWAY && !pool->caller[i]->calling) {
            return pool->caller[i];
        }
    }
    pool->caller = qn_xrealloc(pool->caller, (size_t)pool->n_callers + 1,
                               sizeof(struct caller *));
    struct caller *c = qn_xcalloc(1, sizeof *c);
    qn_cond_init(&c->wake);
    pool->caller[pool->n_callers++] = c;
    return c;
}

static struct caller *this_caller(struct qn_pool *pool, int n)
{
    pthread_t self = pthread_self();
    for (int i = 0; i < pool->n_callers; i++) {
        struct caller *c = pool->caller[i];
        if (c->place == SEATED && pthread_equal(c->thread, self)) {
            return c;
        }
    }
    struct caller *c = new_caller(pool);
    c->thread = self;
    c->usual = n;
    stand(pool, c);
    return c;
}

/* Make the job known and its caller sit down, if it can. */
static struct caller *arrive(struct qn_pool *pool, int n, qn_pool_fn fn,
                             void *arg)
{
    int counted = least(n, pool->n_threads);
    struct caller *c = this_caller(pool, counted);
    QN_ASSERT(!c->calling); /* by one of its own tasks */
    c->usual += (counted - c->usual) * USUAL_WEIGHT;
    c->fn = fn;
    c->arg = arg;
    c->n = n;
    c->n_claimed = c->n_ended = 0;
    c->calling = true;
    change_seats(pool, qn_clock_now());
    return c;
}

struct qn_pool *qn_pool_new(int n_threads)
{
    int n_wanted = n_threads > 1 ? n_threads - 1 : 0;
    struct qn_pool *pool =
        qn_xcalloc(1, sizeof *pool + (size_t)n_wanted * sizeof(pthread_t));
    pool->turn = QN_POOL_TURN_SECONDS;
    pool->n_threads = n_wanted + 1;
    qn_mutex_init(&pool->lock);
    qn_cond_init(&pool->work);
    while (pool->n_workers < n_wanted &&
           qn_thread_start(&pool->worker[pool->n_workers], "worker", work, pool,
                           NULL) == QN_OK) {
        pool->n_workers++;
    }
    pool->n_threads = pool->n_workers + 1;
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
    for (int i = 0; i < pool->n_callers; i++) {
        qn_cond_fini(&pool->caller[i]->wake);
        free(pool->caller[i]);
    }
    free(pool->caller);
    qn_cond_fini(&pool->work);
    qn_mutex_fini(&pool->lock);
    free(pool);
}

int qn_pool_size(const struct qn_pool *pool)
{
    return pool != NULL ? pool->n_threads : 1;
}

void qn_pool_set_turn(struct qn_pool *pool, double seconds)
{
    pool->turn = seconds;
}

void qn_pool_give_way(struct qn_pool *pool)
{
    qn_lock(&pool->lock);
    pool->workers_give_way = true;
    qn_unlock(&pool->lock);
}

void qn_pool_run(struct qn_pool *pool, int n, qn_pool_fn fn, void *arg)
{
    if (pool == NULL) {
        for (int task = 0; task < n; task++) {
            fn(arg, task);
        }
        return;
    }
    if (n <= 0) {
        return;
    }
    qn_lock(&pool->lock);
    struct caller *c = arrive(pool, n, fn, arg);
    while (c->n_claimed < n) {
        if (room(pool, c) > 0) {
            run_one(pool, c);
        } else {
            sleep_for_room(pool, c);
        }
    }
    sleep_until_ended(pool, c);
    c->calling = false;
    c->left = qn_clock_now();
    qn_unlock(&pool->lock);
}
