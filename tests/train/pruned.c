/* pruned.c - checkpoints that whoever trains the run removes between being
 * found and being read. The linker puts __wrap_qn_run_dir_find_checkpoint in
 * the place of the function that finds them. */
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "train/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What the trainer does behind a look. */
static struct {
    int prunes;   /* as often what was just found goes; -1: always */
    bool returns; /* it is back for the next look */
    int looks;
    char *away, *place; /* where it is meanwhile; NULL: nowhere */
} trainer;

static void bring_back(void)
{
    if (trainer.away != NULL && trainer.returns) {
        assert_int_equal(rename(trainer.away, trainer.place), 0);
    }
    free(trainer.away);
    free(trainer.place);
    trainer.away = trainer.place = NULL;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
enum qn_status __real_qn_run_dir_find_checkpoint(const char *path,
                                                 const char *which,
                                                 char **folder, int64_t *step,
                                                 struct qn_err *err);
enum qn_status __wrap_qn_run_dir_find_checkpoint(const char *path,
                                                 const char *which,
                                                 char **folder, int64_t *step,
                                                 struct qn_err *err);

enum qn_status __wrap_qn_run_dir_find_checkpoint(const char *path,
                                                 const char *which,
                                                 char **folder, int64_t *step,
                                                 struct qn_err *err)
{
    bring_back();
    enum qn_status status =
        __real_qn_run_dir_find_checkpoint(path, which, folder, step, err);
    trainer.looks++;
    if (status == QN_OK && trainer.prunes != 0) {
        trainer.prunes -= trainer.prunes > 0;
        trainer.place = qn_xstrdup(*folder);
        trainer.away = qn_xasprintf("%s/.gone-%lld", path, (long long)*step);
        assert_int_equal(rename(trainer.place, trainer.away), 0);
    }
    return status;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void begin_to_prune(int prunes, bool returns)
{
    trainer.prunes = prunes;
    trainer.returns = returns;
    trainer.looks = 0;
}

static void end_pruning(void)
{
    bring_back();
    trainer.prunes = 0;
}

/* A run with checkpoints of steps 10 and 20. */
static char *two_checkpoints(struct fixture *f)
{
    static const char *const s[] = {"checkpoint.every=10", "steps=20",
                                    "checkpoint.keep.last=9", NULL};
    return fixture_finish(fixture_create(f, s));
}

static void a_measure_takes_what_the_word_means_now(void **state)
{
    struct fixture *f = *state;
    struct qn_measure *m = NULL;
    struct qn_err err = {""};
    char *run = two_checkpoints(f);
    begin_to_prune(1, true);
    enum qn_status status =
        qn_measure_open(&f->env, run, "10", NULL, 0, &m, &err);
    end_pruning();
    if (status != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(trainer.looks, 2);
    assert_int_equal(qn_measure_checkpoint_step(m), 10);
    qn_measure_free(m);
    free(run);
}

static void a_step_that_is_gone_for_good_is_said_with_those_left(void **state)
{
    struct fixture *f = *state;
    struct qn_measure *m = NULL;
    struct qn_err err = {""};
    char *run = two_checkpoints(f);
    begin_to_prune(1, false);
    enum qn_status status =
        qn_measure_open(&f->env, run, "20", NULL, 0, &m, &err);
    end_pruning();
    assert_int_equal(status, QN_ENOTFOUND);
    assert_non_null(
        strstr(err.text, "no checkpoint \"20\"; it has those of steps 10"));
    free(run);
}

static void one_that_is_always_gone_is_said_in_a_sentence(void **state)
{
    struct fixture *f = *state;
    struct qn_measure *m = NULL;
    struct qn_err err = {""};
    char *run = two_checkpoints(f);
    begin_to_prune(-1, true);
    enum qn_status status =
        qn_measure_open(&f->env, run, "last", NULL, 0, &m, &err);
    end_pruning();
    assert_int_equal(status, QN_ENOTFOUND);
    assert_true(trainer.looks > 2);
    assert_non_null(strstr(err.text, qn_path_base(run)));
    assert_non_null(strstr(err.text, "checkpoint \"last\" was removed"));
    assert_null(strchr(err.text, '\n'));
    free(run);
}

/* It is no difference between the two. */
static void a_comparison_takes_the_last_that_both_have_now(void **state)
{
    struct fixture *f = *state;
    struct qn_comparison c;
    struct qn_err err;
    char *a = two_checkpoints(f), *b = two_checkpoints(f);
    begin_to_prune(1, false);
    enum qn_status status = qn_compare_runs(a, b, &c, &err);
    end_pruning();
    if (status != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(c.weights_step, 10);
    assert_true(c.weights_same);
    assert_int_equal(c.n, 0);
    qn_comparison_fini(&c);
    free(a);
    free(b);
}

static void a_comparison_does_not_look_for_ever(void **state)
{
    struct fixture *f = *state;
    struct qn_comparison c;
    struct qn_err err = {""};
    char *a = two_checkpoints(f), *b = two_checkpoints(f);
    begin_to_prune(-1, true);
    enum qn_status status = qn_compare_runs(a, b, &c, &err);
    end_pruning();
    assert_int_equal(status, QN_ENOTFOUND);
    assert_non_null(strstr(err.text, qn_path_base(a)));
    assert_non_null(strstr(err.text, "was removed while it was compared"));
    free(a);
    free(b);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_measure_takes_what_the_word_means_now),
        CASE(a_step_that_is_gone_for_good_is_said_with_those_left),
        CASE(one_that_is_always_gone_is_said_in_a_sentence),
        CASE(a_comparison_takes_the_last_that_both_have_now),
        CASE(a_comparison_does_not_look_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
