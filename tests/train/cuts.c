/* cuts.c - a run that is killed at a step, and the same one that is not. */
#include "cuts.h"

#include "base/file.h"
#include "train/trainer_self.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above before it. */
#include <cmocka.h>

const char *const cut_settings[] = {"steps=50",           "eval.every=10 steps",
                                    "checkpoint.every=8", "stats.every=6",
                                    "sample.every=15",    "sample.length=4",
                                    "optim.kind=adam",    NULL};

const char *const cut_changing[] = {"steps=60",
                                    "eval.every=10 steps",
                                    "checkpoint.every=8",
                                    "stats.every=6",
                                    "optim.kind=adam",
                                    "checkpoint.keep.last=9",
                                    NULL};
const struct cut_change cut_changes[CUT_N_CHANGES] = {
    {0, "optim.clip_norm", "0.5"},  {3, "optim.lr", "0.02"},
    {9, "model.dropout", "0.3"},    {9, "optim.lr", "0.004"},
    {17, "eval.every", "7 steps"},  {23, "optim.beta1", "0.8"},
    {31, "optim.lr", "0.01"},       {33, "epochs", "1.5"},
    {39, "checkpoint.every", "11"}, {44, "steps", "50"},
};

void cut_run(struct qn_trainer *t, const struct cut_change *changes, int n,
             int64_t to)
{
    struct qn_err err;
    for (int i = 0; i < n; i++) {
        if (changes[i].step < qn_trainer_step_count(t) ||
            changes[i].step > to) {
            continue;
        }
        fixture_run(t, changes[i].step);
        if (qn_trainer_set(t, changes[i].key, changes[i].value, &err) !=
            QN_OK) {
            fail_msg("%s", err.text);
        }
    }
    fixture_run(t, to);
}

/* The only run of the fixture's store; the caller frees it. */
static char *only_run(const struct fixture *f)
{
    char **names;
    size_t n;
    struct qn_err err;
    assert_int_equal(qn_dir_list(f->store, &names, &n, &err), QN_OK);
    char *path = NULL;
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] != '.') {
            assert_null(path);
            path = qn_path_join(f->store, names[i]);
        }
        free(names[i]);
    }
    free(names);
    assert_non_null(path);
    return path;
}

char *cut_uncut_of(struct fixture *f, const char *const *settings,
                   const struct cut_change *changes, int n)
{
    struct qn_trainer *t = fixture_create(f, settings);
    cut_run(t, changes, n, INT64_MAX);
    char *run = fixture_finish(t);
    char *kept = qn_path_join(f->folder, "uncut");
    assert_int_equal(rename(run, kept), 0);
    free(run);
    return kept;
}

char *cut_uncut(struct fixture *f, const struct cut_change *changes, int n)
{
    return cut_uncut_of(f, cut_settings, changes, n);
}

static void await_kill(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Where the newest checkpoint is depends on the step alone. */
static void kill_self(struct qn_trainer *t)
{
    (void)qn_trainer_await_saver(t, NULL);
    (void)kill(getpid(), SIGKILL);
    _exit(1); /* not reached */
}

char *cut_killed_at_of(struct fixture *f, const char *const *settings,
                       const struct cut_change *changes, int n, int64_t cut)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct qn_trainer *t = fixture_create(f, settings);
        cut_run(t, changes, n, cut);
        kill_self(t);
    }
    await_kill(child);
    return only_run(f);
}

char *cut_killed_at(struct fixture *f, const struct cut_change *changes, int n,
                    int64_t cut)
{
    return cut_killed_at_of(f, cut_settings, changes, n, cut);
}

void cut_kill_again(struct fixture *f, const char *run, int64_t cut)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
        fixture_run(t, cut);
        kill_self(t);
    }
    await_kill(child);
}

void cut_remove_store(const struct fixture *f)
{
    struct qn_err err;
    assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
}

void cut_check_changes(struct fixture *f, const char *whole, int64_t cut)
{
    char *run =
        cut_killed_at_of(f, cut_changing, cut_changes, CUT_N_CHANGES, cut);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    /* Those that a person had made are the run's; the rest is made now. */
    int made = 0;
    while (made < CUT_N_CHANGES && cut_changes[made].step <= cut) {
        made++;
    }
    cut_run(t, cut_changes + made, CUT_N_CHANGES - made, INT64_MAX);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    assert_int_equal(recorded_events(run, "set"), CUT_N_CHANGES);
    free(run);
    cut_remove_store(f);
}
