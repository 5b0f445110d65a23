/* pool_share.c - several callers share a pool's threads: never more at work
 * than there are, some for each, the rest in turn.
 *
 * Nothing here is timed. Turns are endless (who has called once stays) or of no
 * length (who has no task running has left); tasks wait for each other where an
 * order matters, so that a pool that shares differently hangs or is seen. */
#include "base/pool.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_CALLERS 8

/* What all tasks of a test share. */
struct scene {
    struct qn_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_running, n_most; /* by lock, as all that follows: tasks at once */
    int n_begun;           /* tasks in all */
    bool open;             /* a gate that tasks may wait for */
};

static void scene_open(struct scene *s, int n_threads, double turn)
{
    *s = (struct scene){.pool = qn_pool_new(n_threads)};
    qn_pool_set_turn(s->pool, turn);
    qn_mutex_init(&s->lock);
    qn_cond_init(&s->changed);
}

static void scene_close(struct scene *s)
{
    qn_cond_fini(&s->changed);
    qn_mutex_fini(&s->lock);
    qn_pool_free(s->pool);
}

static void begin(struct scene *s)
{
    qn_lock(&s->lock);
    s->n_begun++;
    s->n_running++;
    s->n_most = s->n_running > s->n_most ? s->n_running : s->n_most;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
}

static void end(struct scene *s)
{
    qn_lock(&s->lock);
    s->n_running--;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
}

static void wait_for(struct scene *s, const int *count, int least)
{
    qn_lock(&s->lock);
    while (*count < least) {
        qn_cond_wait(&s->changed, &s->lock);
    }
    qn_unlock(&s->lock);
}

static void open_gate(struct scene *s)
{
    qn_lock(&s->lock);
    s->open = true;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
}

static void wait_for_gate(struct scene *s)
{
    qn_lock(&s->lock);
    while (!s->open) {
        qn_cond_wait(&s->changed, &s->lock);
    }
    qn_unlock(&s->lock);
}

static void plain_task(void *arg, int task)
{
    (void)task;
    begin(arg);
    end(arg);
}

static void gated_task(void *arg, int task)
{
    (void)task;
    begin(arg);
    wait_for_gate(arg);
    end(arg);
}

static void *run_two_gated(void *arg)
{
    struct scene *s = arg;
    qn_pool_run(s->pool, 2, gated_task, s);
    return NULL;
}

static pthread_t started(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    assert_int_equal(qn_thread_start(&thread, "caller", fn, arg, NULL), QN_OK);
    return thread;
}

/* --- at most N, and nothing is lost ------------------------------------- */

struct busy {
    struct scene *scene;
    atomic_int *n_running, *n_most;
    int n_jobs, n_tasks;
    int n_ran[9]; /* by the number of the task */
};

static void tiny_task(void *arg, int task)
{
    struct busy *b = arg;
    int n = atomic_fetch_add(b->n_running, 1) + 1;
    int most = atomic_load(b->n_most);
    while (n > most && !atomic_compare_exchange_weak(b->n_most, &most, n)) {
    }
    if (task == 0) {
        sched_yield(); /* let others be seen beside it */
    }
    b->n_ran[task]++;
    atomic_fetch_sub(b->n_running, 1);
}

static void *call_often(void *arg)
{
    struct busy *b = arg;
    for (int i = 0; i < b->n_jobs; i++) {
        qn_pool_run(b->scene->pool, b->n_tasks, tiny_task, b);
    }
    return NULL;
}

static void crowd(int n_threads, int n_callers, double turn, int n_jobs)
{
    struct scene s;
    struct busy busy[MAX_CALLERS];
    pthread_t thread[MAX_CALLERS];
    atomic_int n_running = 0, n_most = 0;
    scene_open(&s, n_threads, turn);
    for (int i = 0; i < n_callers; i++) {
        busy[i] = (struct busy){.scene = &s,
                                .n_running = &n_running,
                                .n_most = &n_most,
                                .n_jobs = n_jobs,
                                .n_tasks = 1 + 2 * i % 9};
        thread[i] = started(call_often, &busy[i]);
    }
    for (int i = 0; i < n_callers; i++) {
        qn_thread_join(thread[i]);
        for (int task = 0; task < busy[i].n_tasks; task++) {
            assert_int_equal(busy[i].n_ran[task], n_jobs);
        }
    }
    assert_in_range(n_most, 1, n_threads);
    scene_close(&s);
}

static void no_more_tasks_run_than_there_are_threads(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        crowd(n_threads, 4, 0, 500);
        crowd(n_threads, 4, QN_POOL_TURN_SECONDS, 500);
    }
}

static void thousands_of_tiny_jobs_lose_no_wake_up(void **state)
{
    (void)state;
    static const double turns[] = {0, 1e-6, 1e-4, 1e-3};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        crowd(1, MAX_CALLERS, turns[i], 300);
        crowd(2, MAX_CALLERS, turns[i], 300);
        crowd(3, 2, turns[i], 300);
        crowd(5, MAX_CALLERS, turns[i], 300);
        crowd(8, 1, turns[i], 300);
    }
}

/* --- some for each ------------------------------------------------------ */

static void a_caller_keeps_its_thread_between_its_jobs(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 2, (double)INFINITY);
    qn_pool_run(s.pool, 1, plain_task, &s);
    pthread_t other = started(run_two_gated, &s);
    wait_for(&s, &s.n_begun, 2);
    /* The other's tasks would wait on both threads for what follows. */
    qn_pool_run(s.pool, 1, plain_task, &s);
    assert_int_equal(s.n_begun, 3);
    s.n_most = 0;
    open_gate(&s);
    qn_thread_join(other);
    assert_int_equal(s.n_begun, 4);
    assert_int_equal(s.n_most, 1);
    scene_close(&s);
}

static void a_caller_that_has_left_keeps_no_thread(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 2, 0);
    qn_pool_run(s.pool, 1, plain_task, &s);
    pthread_t other = started(run_two_gated, &s);
    wait_for(&s, &s.n_running, 2);
    open_gate(&s);
    qn_thread_join(other);
    scene_close(&s);
}

static void *run_seven_gated(void *arg)
{
    struct scene *s = arg;
    qn_pool_run(s->pool, 7, gated_task, s);
    return NULL;
}

static void jobs_of_one_task_keep_one_thread(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 8, (double)INFINITY);
    qn_pool_run(s.pool, 1, plain_task, &s);
    pthread_t other = started(run_seven_gated, &s);
    wait_for(&s, &s.n_running, 7);
    open_gate(&s);
    qn_thread_join(other);
    scene_close(&s);
}

/* --- the rest in turn --------------------------------------------------- */

enum { N_DEALT = 20 };

struct dealt {
    struct scene *scene;
    struct hand *hand[2];
    int order[2 * N_DEALT]; /* whose task a worker ran, by scene's lock */
    int n_by_workers;       /* by scene's lock */
    int n_called;           /* by scene's lock */
};

struct hand {
    struct dealt *dealt;
    int number;
    pthread_t thread;
};

static void note_worker(struct hand *h)
{
    struct dealt *d = h->dealt;
    qn_lock(&d->scene->lock);
    d->order[d->n_by_workers++] = h->number;
    qn_cond_broadcast(&d->scene->changed);
    qn_unlock(&d->scene->lock);
}

/* The callers stay at their first task until workers have done the others. The
 * first of these waits until both have called. */
static void dealt_task(void *arg, int task)
{
    struct hand *h = arg;
    struct dealt *d = h->dealt;
    (void)task;
    if (pthread_equal(pthread_self(), h->thread)) {
        begin(d->scene);
        wait_for(d->scene, &d->n_by_workers, 2 * (N_DEALT - 1));
        end(d->scene);
    } else {
        begin(d->scene);
        wait_for(d->scene, &d->scene->n_begun, 3);
        note_worker(h);
        end(d->scene);
    }
}

static void *play(void *arg)
{
    struct hand *h = arg;
    struct scene *s = h->dealt->scene;
    h->thread = pthread_self();
    qn_pool_run(s->pool, 1, plain_task, s);
    qn_lock(&s->lock);
    h->dealt->n_called++;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
    wait_for(s, &h->dealt->n_called, 3); /* both are known, see below */
    qn_pool_run(s->pool, N_DEALT, dealt_task, h);
    return NULL;
}

static void what_is_left_over_is_dealt_in_turn(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 3, (double)INFINITY);
    struct dealt d = {.scene = &s};
    struct hand hand[2] = {{.dealt = &d}, {.dealt = &d, .number = 1}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        thread[i] = started(play, &hand[i]);
    }
    wait_for(&s, &d.n_called, 2);
    qn_lock(&s.lock);
    s.n_begun = s.n_most = 0;
    d.n_called++;
    qn_cond_broadcast(&s.changed);
    qn_unlock(&s.lock);
    for (int i = 0; i < 2; i++) {
        qn_thread_join(thread[i]);
    }
    assert_int_equal(s.n_most, 3);
    assert_int_equal(d.n_by_workers, 2 * (N_DEALT - 1));
    for (int i = 1; i < d.n_by_workers; i++) {
        assert_int_equal(d.order[i], !d.order[i - 1]);
    }
    scene_close(&s);
}

/* --- more callers than threads ------------------------------------------ */

enum { N_AT_TABLE = 3, N_TURNS = 100 };

struct turns {
    struct scene scene;
    int order[N_AT_TABLE * N_TURNS]; /* by scene's lock, as what follows */
    int n, n_coming;
};

struct turn {
    struct turns *turns;
    int number;
};

static void turn_task(void *arg, int task)
{
    struct turn *t = arg;
    struct turns *all = t->turns;
    begin(&all->scene);
    if (task == 0) {
        wait_for(&all->scene, &all->n_coming, N_AT_TABLE);
    }
    qn_lock(&all->scene.lock);
    all->order[all->n++] = t->number;
    qn_unlock(&all->scene.lock);
    sched_yield();
    end(&all->scene);
}

static void *take_turns(void *arg)
{
    struct turn *t = arg;
    struct scene *s = &t->turns->scene;
    qn_lock(&s->lock);
    t->turns->n_coming++;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
    qn_pool_run(s->pool, N_TURNS, turn_task, t);
    return NULL;
}

/* Once all have come and until one has no task left, each task is of the caller
 * whose last is longest ago. Returns how many there were of these. */
static int n_in_turn(const int *order)
{
    int count[N_AT_TABLE] = {0}, n_here = 0, n_checked = 0, since = 0;
    for (int i = 0; count[order[i]] < N_TURNS - 1; i++) {
        if (n_here == N_AT_TABLE && i - since >= N_AT_TABLE) {
            assert_int_equal(order[i], order[i - N_AT_TABLE]);
            n_checked++;
        }
        if (count[order[i]]++ == 0) {
            n_here++;
            since = i;
        }
    }
    return n_checked;
}

static int play_turns(void)
{
    struct turns turns = {.n = 0};
    struct turn turn[N_AT_TABLE];
    pthread_t thread[N_AT_TABLE];
    scene_open(&turns.scene, 1, 0);
    for (int i = 0; i < N_AT_TABLE; i++) {
        turn[i] = (struct turn){&turns, i};
        thread[i] = started(take_turns, &turn[i]);
    }
    for (int i = 0; i < N_AT_TABLE; i++) {
        qn_thread_join(thread[i]);
    }
    assert_int_equal(turns.n, N_AT_TABLE * N_TURNS);
    assert_int_equal(turns.scene.n_most, 1);
    scene_close(&turns.scene);
    return n_in_turn(turns.order);
}

static void more_callers_than_threads_take_turns(void **state)
{
    (void)state;
    int n_games = 0;
    while (play_turns() < N_AT_TABLE) { /* one had ended early: chance */
        assert_in_range(++n_games, 1, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_tasks_run_than_there_are_threads),
        cmocka_unit_test(thousands_of_tiny_jobs_lose_no_wake_up),
        cmocka_unit_test(a_caller_keeps_its_thread_between_its_jobs),
        cmocka_unit_test(a_caller_that_has_left_keeps_no_thread),
        cmocka_unit_test(jobs_of_one_task_keep_one_thread),
        cmocka_unit_test(what_is_left_over_is_dealt_in_turn),
        cmocka_unit_test(more_callers_than_threads_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
