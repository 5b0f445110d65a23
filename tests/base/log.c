/* log.c - lines reach the sink whole, one at a time. */
#include "base/log.h"
#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* By the log's lock. */
struct seen {
    int n;
    enum qn_log_level level;
    char last[3000];
};

static void see(void *user, enum qn_log_level level, const char *line)
{
    struct seen *seen = user;
    seen->n++;
    seen->level = level;
    (void)strncpy(seen->last, line, sizeof seen->last - 1);
}

static void a_line_arrives_formatted_with_its_level(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct qn_log *log = qn_log_new(see, &seen);
    qn_log_write(log, QN_LOG_WARN, "%s: %d of %d", "x", 1, 2);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.level, QN_LOG_WARN);
    assert_string_equal(seen.last, "x: 1 of 2");
    qn_log_free(log);
}

static void a_message_is_one_line_however_long(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct qn_log *log = qn_log_new(see, &seen);
    qn_log_write(log, QN_LOG_INFO, "a\nb\r%02500d", 1);
    assert_int_equal(seen.n, 1);
    assert_memory_equal(seen.last, "a b 0", 5);
    assert_int_equal(strlen(seen.last), 2047);
    qn_log_free(log);
}

/* File names come from anywhere. */
static void a_message_does_not_steer_the_terminal(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct qn_log *log = qn_log_new(see, &seen);
    qn_log_write(log, QN_LOG_WARN, "%s", "a\x1b[2Jb\x7f \xc2\x9b \xc3\xa9");
    assert_string_equal(seen.last, "a?[2Jb? ?? \xc3\xa9");
    qn_log_free(log);
}

static void no_log_drops_the_line(void **state)
{
    (void)state;
    qn_log_write(NULL, QN_LOG_ERROR, "%d", 1);
    qn_log_free(NULL);
}

static void *write_many(void *arg)
{
    for (int i = 0; i < 500; i++) {
        qn_log_write(arg, QN_LOG_INFO, "%d", i);
    }
    return NULL;
}

static void any_thread_may_write(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct qn_log *log = qn_log_new(see, &seen);
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            qn_thread_start(&thread[i], "log", write_many, log, NULL), QN_OK);
    }
    for (int i = 0; i < 3; i++) {
        qn_thread_join(thread[i]);
    }
    assert_int_equal(seen.n, 1500);
    qn_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_arrives_formatted_with_its_level),
        cmocka_unit_test(a_message_is_one_line_however_long),
        cmocka_unit_test(a_message_does_not_steer_the_terminal),
        cmocka_unit_test(no_log_drops_the_line),
        cmocka_unit_test(any_thread_may_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
