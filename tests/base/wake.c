/* wake.c - a poll loop is woken once, and no news is lost. */
#include "base/thread.h"
#include "base/wake.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

static struct qn_wake *new_wake(void)
{
    struct qn_wake *wake = NULL;
    assert_int_equal(qn_wake_new(&wake, NULL), QN_OK);
    return wake;
}

static int readable(const struct qn_wake *wake, int timeout_ms)
{
    struct pollfd p = {.fd = qn_wake_fd(wake), .events = POLLIN};
    return poll(&p, 1, timeout_ms);
}

static void it_is_readable_from_wake_to_clear(void **state)
{
    (void)state;
    struct qn_wake *wake = new_wake();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(readable(wake, 0), 0);
        qn_wake_clear(wake);
        qn_wake_up(wake);
        qn_wake_up(wake);
        assert_int_equal(readable(wake, 0), 1);
        qn_wake_clear(wake);
    }
    qn_wake_free(wake);
    qn_wake_free(NULL);
    qn_wake_up(NULL);
}

static void many_wake_ups_write_one_byte(void **state)
{
    (void)state;
    struct qn_wake *wake = new_wake();
    for (int i = 0; i < 100000; i++) {
        qn_wake_up(wake);
    }
    char bytes[8];
    assert_int_equal(read(qn_wake_fd(wake), bytes, sizeof bytes), 1);
    qn_wake_free(wake);
}

static void waking_keeps_errno_and_the_ends_are_private(void **state)
{
    (void)state;
    struct qn_wake *wake = new_wake();
    errno = 77;
    qn_wake_up(wake);
    assert_int_equal(errno, 77);
    int fd = qn_wake_fd(wake);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    qn_wake_free(wake);
}

enum { N_NEWS = 5000 };

struct news {
    struct qn_wake *wake;
    atomic_int n;
};

static void *tell(void *arg)
{
    struct news *news = arg;
    for (int i = 0; i < N_NEWS; i++) {
        atomic_fetch_add(&news->n, 1);
        qn_wake_up(news->wake);
    }
    return NULL;
}

/* Two tellers; the loop sleeps without a time limit, so that a lost wake-up
 * would leave it asleep for ever: the test's own limit ends it then. */
static void no_news_is_lost(void **state)
{
    (void)state;
    struct news news = {.wake = new_wake()};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(qn_thread_start(&thread[i], "tell", tell, &news, NULL),
                         QN_OK);
    }
    while (atomic_load(&news.n) < 2 * N_NEWS) {
        assert_int_equal(readable(news.wake, -1), 1);
        qn_wake_clear(news.wake);
    }
    for (int i = 0; i < 2; i++) {
        qn_thread_join(thread[i]);
    }
    qn_wake_free(news.wake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_readable_from_wake_to_clear),
        cmocka_unit_test(many_wake_ups_write_one_byte),
        cmocka_unit_test(waking_keeps_errno_and_the_ends_are_private),
        cmocka_unit_test(no_news_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
