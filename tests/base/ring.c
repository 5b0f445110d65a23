/* ring.c - records pass between two threads in order and untorn. */
#include "base/ring.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>

static void records_come_out_in_order_round_and_round(void **state)
{
    (void)state;
    struct qn_ring *ring = qn_ring_new(sizeof(int), 3);
    int out = -1;
    assert_false(qn_ring_take(ring, &out));
    for (int i = 0; i < 20; i++) {
        assert_true(qn_ring_put(ring, &i));
        assert_true(qn_ring_take(ring, &out));
        assert_int_equal(out, i);
    }
    assert_false(qn_ring_take(ring, &out));
    qn_ring_free(ring);
    qn_ring_free(NULL);
}

static void a_full_ring_drops_the_new_and_counts_it(void **state)
{
    (void)state;
    struct qn_ring *ring = qn_ring_new(sizeof(int), 2);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(qn_ring_put(ring, &i), i < 2);
    }
    assert_true(qn_ring_dropped(ring) == 3);
    int out = -1;
    assert_true(qn_ring_take(ring, &out));
    assert_int_equal(out, 0);
    assert_true(qn_ring_take(ring, &out));
    assert_int_equal(out, 1);
    assert_false(qn_ring_take(ring, &out));
    qn_ring_free(ring);
}

/* Every field of a record says the same number. */
struct record {
    uint64_t same[5];
};

enum { N_RECORDS = 20000 };

static void *produce(void *arg)
{
    for (uint64_t i = 1; i <= N_RECORDS; i++) {
        struct record r = {{i, i, i, i, i}};
        (void)qn_ring_put(arg, &r);
        if (i % 64 == 0) {
            (void)sched_yield(); /* let the reader catch up now and then */
        }
    }
    return NULL;
}

static int untorn(const struct record *r)
{
    for (int k = 1; k < 5; k++) {
        if (r->same[k] != r->same[0]) {
            return 0;
        }
    }
    return 1;
}

static void two_threads_lose_only_what_is_counted(void **state)
{
    (void)state;
    struct qn_ring *ring = qn_ring_new(sizeof(struct record), 16);
    pthread_t thread;
    assert_int_equal(qn_thread_start(&thread, "produce", produce, ring, NULL),
                     QN_OK);
    struct record r;
    uint64_t last = 0, n = 0;
    while (n + qn_ring_dropped(ring) < N_RECORDS) {
        if (!qn_ring_take(ring, &r)) {
            (void)sched_yield();
            continue;
        }
        assert_true(untorn(&r));
        assert_true(r.same[0] > last);
        last = r.same[0];
        n++;
    }
    qn_thread_join(thread);
    assert_false(qn_ring_take(ring, &r));
    assert_true(n >= 16);
    qn_ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_in_order_round_and_round),
        cmocka_unit_test(a_full_ring_drops_the_new_and_counts_it),
        cmocka_unit_test(two_threads_lose_only_what_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
