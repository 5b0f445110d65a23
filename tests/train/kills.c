/* kills.c - kill -9 at any stage of a checkpoint leaves a run that goes on. */
#include "between.h"
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int setup(void **state)
{
    between_reset();
    return fixture_setup(state);
}

static int64_t step_named(const char *run, const char *which)
{
    char *folder;
    int64_t step;
    struct qn_err err;
    if (qn_run_dir_find_checkpoint(run, which, &folder, &step, &err) != QN_OK) {
        return -1;
    }
    free(folder);
    return step;
}

/* Best ones among them, so that "best" is written and old ones are removed. */
static const char *const short_run[] = {
    "checkpoint.every=3",     "eval.every=4",           "steps=8",
    "checkpoint.keep.last=1", "checkpoint.keep.best=1", "optim.kind=adam",
    "model.hidden=4",         "model.layers=1",         NULL};

/* The only run of the store; the caller frees it. */
static char *only_run(const struct fixture *f)
{
    char **names;
    size_t n;
    struct qn_err err;
    assert_int_equal(qn_dir_list(f->store, &names, &n, &err), QN_OK);
    assert_int_equal(n, 1);
    char *path = qn_path_join(f->store, names[0]);
    free(names[0]);
    free(names);
    return path;
}

/* Train in a child that the saver's call number n ends; false when it makes no
 * such call. */
static bool killed_at_call(struct fixture *f, int n)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        between.calls = 0;
        between.kill_at = n;
        char *run = fixture_finish(fixture_create(f, short_run));
        _exit(run != NULL ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                    : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void killed_at_any_stage_of_a_checkpoint_a_run_goes_on(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    char *run = fixture_finish(fixture_create(f, short_run));
    char *whole = qn_path_join(f->folder, "whole");
    assert_int_equal(rename(run, whole), 0);
    free(run);
    int n = 1;
    for (; killed_at_call(f, n); n++) {
        run = only_run(f);
        free(fixture_finish(fixture_resume(f, run, NULL, 0)));
        assert_same_training(run, whole, 8);
        assert_int_equal(step_named(run, "best"), step_named(whole, "best"));
        assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
        free(run);
    }
    assert_in_range(n, 40, 400); /* four checkpoints of many steps each */
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            killed_at_any_stage_of_a_checkpoint_a_run_goes_on, setup,
            fixture_teardown),
    };
    between_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
