/* death.c - bugs end the program loudly, with the terminal restored. */
#include "base/assert.h"
#include "base/mem.h"
#include "base/pool.h"

#include "fork.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void restore(void)
{
    (void)!write(STDERR_FILENO, "restored;", 9);
}

static void fail_an_assertion(void)
{
    qn_set_restore_hook(restore);
    QN_ASSERT(1 + 1 == 3);
}

static void restore_badly(void)
{
    restore();
    QN_ASSERT(2 + 2 == 5);
}

static void fail_in_the_hook(void)
{
    qn_set_restore_hook(restore_badly);
    qn_die("first");
}

static void ask_for_too_much(void)
{
    free(qn_xmalloc(SIZE_MAX - 100));
}

static void overflow_calloc(void)
{
    free(qn_xcalloc(SIZE_MAX / 2 + 1, 2));
}

static void overflow_realloc(void)
{
    free(qn_xrealloc(NULL, SIZE_MAX / 2 + 1, 2));
}

static void call_again(void *pool, int task)
{
    (void)task;
    qn_pool_run(pool, 1, call_again, pool);
}

static void call_from_a_task(void)
{
    struct qn_pool *pool = qn_pool_new(1);
    qn_pool_run(pool, 1, call_again, pool);
    qn_pool_free(pool);
}

static void a_failed_assertion_restores_speaks_and_aborts(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(signal_of(fail_an_assertion, said, sizeof said), SIGABRT);
    assert_memory_equal(said, "restored;quern: bug: ", 21);
    assert_non_null(strstr(said, "1 + 1 == 3 does not hold"));
    assert_non_null(strstr(said, "death.c:"));
}

static void a_failing_hook_runs_once(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(signal_of(fail_in_the_hook, said, sizeof said), SIGABRT);
    const char *first = strstr(said, "restored;");
    assert_non_null(first);
    assert_null(strstr(first + 1, "restored;"));
}

static void small_allocations_abort_instead_of_failing(void **state)
{
    (void)state;
    assert_true(aborts(overflow_calloc));
    assert_true(aborts(overflow_realloc));
#ifndef QN_SANITIZED
    /* The sanitizers' malloc ends the program itself, in its own way. */
    assert_true(aborts(ask_for_too_much));
#else
    (void)ask_for_too_much;
#endif
}

static void a_task_that_calls_its_pool_is_a_bug(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(signal_of(call_from_a_task, said, sizeof said), SIGABRT);
    assert_non_null(strstr(said, "!c->calling does not hold"));
}

static void true_assertions_and_null_hooks_do_nothing(void **state)
{
    (void)state;
    qn_set_restore_hook(NULL);
    QN_ASSERT(1 + 1 == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_assertion_restores_speaks_and_aborts),
        cmocka_unit_test(a_failing_hook_runs_once),
        cmocka_unit_test(small_allocations_abort_instead_of_failing),
        cmocka_unit_test(a_task_that_calls_its_pool_is_a_bug),
        cmocka_unit_test(true_assertions_and_null_hooks_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
