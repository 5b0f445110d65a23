/* pool.c - every task runs once, whoever asks and however many. */
#include "base/pool.h"
#include "base/rng.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

struct tasks {
    int n_runs[1000];
    uint64_t result[1000];
};

static void compute(void *arg, int task)
{
    struct tasks *t = arg;
    t->n_runs[task]++;
    t->result[task] = qn_mix64((uint64_t)task);
}

static void each_ran(const struct tasks *t, int n, int times)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(t->n_runs[i], i < n ? times : 0);
        assert_true(t->result[i] == (i < n ? qn_mix64((uint64_t)i) : 0));
    }
}

static void every_task_runs_once_on_any_number_of_threads(void **state)
{
    (void)state;
    static const int sizes[] = {-1, 0, 1, 2, 3, 8};
    static const int counts[] = {0, 1, 2, 7, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct qn_pool *pool = qn_pool_new(sizes[i]);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            struct tasks t = {.n_runs = {0}};
            for (int times = 1; times <= 20; times++) {
                qn_pool_run(pool, counts[k], compute, &t);
                each_ran(&t, counts[k], times);
            }
        }
        qn_pool_free(pool);
    }
}

/* Each task waits for the other, so that two threads take one each. */
struct pair {
    pthread_t caller;
    atomic_int n_begun;
    int nice_caller, nice_worker;
};

static void read_priority(void *arg, int task)
{
    (void)task;
    struct pair *p = arg;
    atomic_fetch_add(&p->n_begun, 1);
    while (atomic_load(&p->n_begun) < 2) {
        (void)sched_yield();
    }
    int nice = getpriority(PRIO_PROCESS, 0);
    if (pthread_equal(pthread_self(), p->caller)) {
        p->nice_caller = nice;
    } else {
        p->nice_worker = nice;
    }
}

static void workers_give_way_and_callers_do_not(void **state)
{
    (void)state;
    int before = getpriority(PRIO_PROCESS, 0);
    struct pair p = {.caller = pthread_self()};
    struct qn_pool *pool = qn_pool_new(2);
    qn_pool_give_way(pool);
    qn_pool_run(pool, 2, read_priority, &p);
    qn_pool_free(pool);
    assert_int_equal(p.nice_caller, before);
    assert_int_equal(p.nice_worker, before + 5 < 19 ? before + 5 : 19);
}

static void no_pool_runs_them_in_order(void **state)
{
    (void)state;
    struct tasks t = {.n_runs = {0}};
    qn_pool_run(NULL, 10, compute, &t);
    each_ran(&t, 10, 1);
    qn_pool_free(NULL);
    assert_int_equal(qn_pool_size(NULL), 1);
}

static void the_size_counts_the_caller(void **state)
{
    (void)state;
    struct qn_pool *one = qn_pool_new(0), *three = qn_pool_new(3);
    assert_int_equal(qn_pool_size(one), 1);
    assert_int_equal(qn_pool_size(three), 3);
    qn_pool_free(one);
    qn_pool_free(three);
}

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int n_here, n_wanted; /* by lock */
};

/* Returns only when n_wanted tasks are running at the same time. */
static void meet(void *arg, int task)
{
    struct meeting *m = arg;
    (void)task;
    qn_lock(&m->lock);
    m->n_here++;
    qn_cond_broadcast(&m->all_here);
    while (m->n_here < m->n_wanted) {
        qn_cond_wait(&m->all_here, &m->lock);
    }
    qn_unlock(&m->lock);
}

static void as_many_tasks_as_threads_run_at_once(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(4);
    struct meeting m = {.n_wanted = 4};
    qn_mutex_init(&m.lock);
    qn_cond_init(&m.all_here);
    for (int i = 0; i < 50; i++) {
        m.n_here = 0;
        qn_pool_run(pool, 4, meet, &m);
        assert_int_equal(m.n_here, 4);
    }
    qn_cond_fini(&m.all_here);
    qn_mutex_fini(&m.lock);
    qn_pool_free(pool);
}

struct caller {
    struct qn_pool *pool;
    struct tasks tasks;
};

static void *call_often(void *arg)
{
    struct caller *c = arg;
    for (int i = 0; i < 200; i++) {
        qn_pool_run(c->pool, 1 + i % 9, compute, &c->tasks);
    }
    return NULL;
}

static void several_callers_share_the_workers(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(3);
    static struct caller callers[4];
    memset(callers, 0, sizeof callers);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        callers[i].pool = pool;
        assert_int_equal(qn_thread_start(&thread[i], "caller", call_often,
                                         &callers[i], NULL),
                         QN_OK);
    }
    for (int i = 0; i < 4; i++) {
        qn_thread_join(thread[i]);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(callers[i].tasks.n_runs[0], 200);
        assert_int_equal(callers[i].tasks.n_runs[8], 22);
    }
    qn_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once_on_any_number_of_threads),
        cmocka_unit_test(no_pool_runs_them_in_order),
        cmocka_unit_test(the_size_counts_the_caller),
        cmocka_unit_test(as_many_tasks_as_threads_run_at_once),
        cmocka_unit_test(several_callers_share_the_workers),
        cmocka_unit_test(workers_give_way_and_callers_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
