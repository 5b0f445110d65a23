/* queue.c - messages arrive in order, whole, and never too many. */
#include "base/clock.h"
#include "base/queue.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct message {
    int from, number;
    char text[20];
};

static void messages_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    struct qn_queue *q = qn_queue_new(sizeof(int), 3);
    int taken = -1;
    assert_false(qn_queue_take(q, &taken));
    for (int i = 0; i < 10; i += 2) {
        int next = i + 1;
        assert_true(qn_queue_post(q, &i));
        assert_true(qn_queue_post(q, &next));
        assert_true(qn_queue_take(q, &taken));
        assert_int_equal(taken, i);
        qn_queue_wait(q, &taken);
        assert_int_equal(taken, i + 1);
    }
    assert_false(qn_queue_take(q, &taken));
    qn_queue_free(q);
}

static void a_full_queue_refuses_and_loses_nothing(void **state)
{
    (void)state;
    struct qn_queue *q = qn_queue_new(sizeof(int), 2);
    int a = 1, b = 2, c = 3, taken;
    assert_true(qn_queue_post(q, &a));
    assert_true(qn_queue_post(q, &b));
    assert_false(qn_queue_post(q, &c));
    assert_true(qn_queue_take(q, &taken));
    assert_int_equal(taken, 1);
    assert_true(qn_queue_post(q, &c));
    assert_true(qn_queue_take(q, &taken));
    assert_int_equal(taken, 2);
    assert_true(qn_queue_take(q, &taken));
    assert_int_equal(taken, 3);
    qn_queue_free(q);
    qn_queue_free(NULL);
}

enum { N_POSTERS = 3, N_EACH = 300 };

struct poster {
    struct qn_queue *q;
    int id, n_posted;
};

static void *post_many(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < N_EACH; i++) {
        struct message m = {.from = p->id, .number = i, .text = "go on"};
        p->n_posted += qn_queue_post(p->q, &m);
    }
    return NULL;
}

static void a_sleeping_reader_gets_all_of_each_poster_in_order(void **state)
{
    (void)state;
    struct qn_queue *q =
        qn_queue_new(sizeof(struct message), N_POSTERS * N_EACH);
    struct poster posters[N_POSTERS];
    pthread_t thread[N_POSTERS];
    for (int i = 0; i < N_POSTERS; i++) {
        posters[i] = (struct poster){.q = q, .id = i};
        assert_int_equal(
            qn_thread_start(&thread[i], "post", post_many, &posters[i], NULL),
            QN_OK);
    }
    int next[N_POSTERS] = {0};
    for (int i = 0; i < N_POSTERS * N_EACH; i++) {
        struct message m;
        qn_queue_wait(q, &m);
        assert_in_range(m.from, 0, N_POSTERS - 1);
        assert_int_equal(m.number, next[m.from]++);
        assert_string_equal(m.text, "go on");
    }
    for (int i = 0; i < N_POSTERS; i++) {
        qn_thread_join(thread[i]);
        assert_int_equal(posters[i].n_posted, N_EACH);
    }
    qn_queue_free(q);
}

static void a_reader_sleeps_no_longer_than_it_wants(void **state)
{
    (void)state;
    struct qn_queue *q = qn_queue_new(sizeof(int), 2);
    int a = 7, taken = 0;
    double before = qn_clock_now();
    assert_false(qn_queue_wait_for(q, &taken, 0.02));
    assert_true(qn_clock_now() - before >= 0.02);
    assert_false(qn_queue_wait_for(q, &taken, -1));
    assert_true(qn_queue_post(q, &a));
    assert_true(qn_queue_wait_for(q, &taken, 0));
    assert_int_equal(taken, 7);
    qn_queue_free(q);
}

static void *post_one(void *arg)
{
    int a = 8;
    (void)qn_queue_post(arg, &a); /* an empty one takes it */
    return NULL;
}

/* An hour that ends with the first message. */
static void a_message_ends_a_long_sleep(void **state)
{
    (void)state;
    struct qn_queue *q = qn_queue_new(sizeof(int), 2);
    pthread_t thread;
    int taken = 0;
    assert_int_equal(qn_thread_start(&thread, "post", post_one, q, NULL),
                     QN_OK);
    assert_true(qn_queue_wait_for(q, &taken, 3600));
    assert_int_equal(taken, 8);
    qn_thread_join(thread);
    qn_queue_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_the_order_they_went_in),
        cmocka_unit_test(a_full_queue_refuses_and_loses_nothing),
        cmocka_unit_test(a_sleeping_reader_gets_all_of_each_poster_in_order),
        cmocka_unit_test(a_reader_sleeps_no_longer_than_it_wants),
        cmocka_unit_test(a_message_ends_a_long_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
