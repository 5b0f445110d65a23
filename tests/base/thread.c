/* thread.c - threads start with signals blocked; cores are counted. */
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static void *read_mask(void *arg)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

static void a_started_thread_blocks_every_signal(void **state)
{
    (void)state;
    sigset_t before, inside, after;
    pthread_t thread;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(qn_thread_start(&thread,
                                     "a name of more than fifteen letters",
                                     read_mask, &inside, NULL),
                     QN_OK);
    qn_thread_join(thread);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    const int signals[] = {SIGINT, SIGTERM, SIGWINCH, SIGTSTP, SIGCHLD, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        assert_int_equal(sigismember(&inside, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]),
                         sigismember(&before, signals[i]));
    }
}

static void *read_priorities(void *arg)
{
    int *nice = arg;
    nice[0] = getpriority(PRIO_PROCESS, 0);
    qn_thread_give_way();
    nice[1] = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

static void a_thread_gives_way_alone(void **state)
{
    (void)state;
    int before = getpriority(PRIO_PROCESS, 0), nice[2];
    pthread_t thread;
    assert_int_equal(
        qn_thread_start(&thread, "polite", read_priorities, nice, NULL), QN_OK);
    qn_thread_join(thread);
    assert_int_equal(nice[0], before);
    assert_int_equal(nice[1], before + 5 < 19 ? before + 5 : 19);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

struct ping {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn; /* by lock: whose it is */
    int n;    /* by lock */
};

static void play(struct ping *p, int me)
{
    qn_lock(&p->lock);
    for (int i = 0; i < 200; i++) {
        while (p->turn != me) {
            qn_cond_wait(&p->changed, &p->lock);
        }
        p->turn = !me;
        p->n++;
        qn_cond_signal(&p->changed);
    }
    qn_unlock(&p->lock);
}

static void *play_one(void *arg)
{
    play(arg, 1);
    return NULL;
}

static void conditions_pass_turns(void **state)
{
    (void)state;
    struct ping p = {.turn = 0};
    qn_mutex_init(&p.lock);
    qn_cond_init(&p.changed);
    pthread_t thread;
    assert_int_equal(qn_thread_start(&thread, "ping", play_one, &p, NULL),
                     QN_OK);
    play(&p, 0);
    qn_thread_join(thread);
    assert_int_equal(p.n, 400);
    qn_cond_fini(&p.changed);
    qn_mutex_fini(&p.lock);
}

static void there_is_a_core(void **state)
{
    (void)state;
    assert_true(qn_n_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_started_thread_blocks_every_signal),
        cmocka_unit_test(a_thread_gives_way_alone),
        cmocka_unit_test(conditions_pass_turns),
        cmocka_unit_test(there_is_a_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
