/* latest.c - the newest value is handed over whole, never an older one. */
#include "base/latest.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <string.h>

static void publish_int(struct qn_latest *box, int v)
{
    memcpy(qn_latest_back(box), &v, sizeof v);
    qn_latest_publish(box);
}

static void nothing_is_new_before_the_first_and_after_each_take(void **state)
{
    (void)state;
    struct qn_latest *box = qn_latest_new(sizeof(int));
    assert_null(qn_latest_take(box));
    publish_int(box, 5);
    const int *v = qn_latest_take(box);
    assert_non_null(v);
    assert_int_equal(*v, 5);
    assert_null(qn_latest_take(box));
    assert_int_equal(*v, 5);
    qn_latest_free(box);
    qn_latest_free(NULL);
}

static void only_the_newest_is_taken(void **state)
{
    (void)state;
    struct qn_latest *box = qn_latest_new(sizeof(int));
    for (int n = 1; n < 6; n++) {
        for (int i = 0; i < n; i++) {
            publish_int(box, 10 * n + i);
        }
        const int *v = qn_latest_take(box);
        assert_int_equal(*v, 10 * n + n - 1);
    }
    qn_latest_free(box);
}

static void a_taken_value_stays_while_the_writer_goes_on(void **state)
{
    (void)state;
    struct qn_latest *box = qn_latest_new(sizeof(int));
    publish_int(box, 1);
    const int *v = qn_latest_take(box);
    for (int i = 2; i < 10; i++) {
        publish_int(box, i);
        assert_int_equal(*v, 1);
    }
    qn_latest_free(box);
}

static void slots_are_zero_at_first(void **state)
{
    (void)state;
    struct qn_latest *box = qn_latest_new(100);
    const char zeros[100] = {0};
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(qn_latest_back(box), zeros, 100);
        qn_latest_publish(box);
    }
    qn_latest_free(box);
}

enum { WORDS = 50, N_VALUES = 20000 };

static void *write_values(void *arg)
{
    for (uint64_t i = 1; i <= N_VALUES; i++) {
        uint64_t *slot = qn_latest_back(arg);
        for (int k = 0; k < WORDS; k++) {
            slot[k] = i;
        }
        qn_latest_publish(arg);
        if (i % 128 == 0) {
            (void)sched_yield();
        }
    }
    return NULL;
}

static void reader_never_sees_a_torn_or_older_value(void **state)
{
    (void)state;
    struct qn_latest *box = qn_latest_new(WORDS * sizeof(uint64_t));
    pthread_t thread;
    assert_int_equal(qn_thread_start(&thread, "write", write_values, box, NULL),
                     QN_OK);
    uint64_t last = 0;
    while (last < N_VALUES) {
        const uint64_t *v = qn_latest_take(box);
        if (v == NULL) {
            (void)sched_yield();
            continue;
        }
        assert_true(v[0] > last);
        last = v[0];
        for (int k = 1; k < WORDS; k++) {
            assert_true(v[k] == last);
        }
    }
    qn_thread_join(thread);
    assert_null(qn_latest_take(box));
    qn_latest_free(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_new_before_the_first_and_after_each_take),
        cmocka_unit_test(only_the_newest_is_taken),
        cmocka_unit_test(a_taken_value_stays_while_the_writer_goes_on),
        cmocka_unit_test(slots_are_zero_at_first),
        cmocka_unit_test(reader_never_sees_a_torn_or_older_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
