/* kills.c - kill -9 at any stage of a checkpoint, of a rollback or of a run's
 * beginning leaves a run that goes on, or none. */
#include "between.h"
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/line.h"
#include "train/import.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The only run of the store, NULL when none has come to be; the caller frees
 * it. */
static char *only_run(const struct fixture *f)
{
    char **names = NULL;
    size_t n = 0;
    struct qn_err err;
    char *path = NULL;
    if (qn_path_exists(f->store)) {
        assert_int_equal(qn_dir_list(f->store, &names, &n, &err), QN_OK);
    }
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] != '.') {
            assert_null(path);
            path = qn_path_join(f->store, names[i]);
        }
        free(names[i]);
    }
    free(names);
    return path;
}

/* What a child does until it is killed. */
struct job {
    void (*work)(struct fixture *f, const struct job *j);
    const char *const *settings; /* of a new run */
    const char *from;            /* another run */
    const char *const *more;     /* [n_more], changes when it is resumed */
    int n_more;
    bool everyone; /* kill at calls of any thread */
};

/* In a child that call number n ends; false when it makes no such call. */
static bool killed_at_call(struct fixture *f, const struct job *j, int n)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        between.everyone = j->everyone;
        between.calls = 0;
        between.kill_at = n;
        j->work(f, j);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                    : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void train(struct fixture *f, const struct job *j)
{
    free(fixture_finish(fixture_create(f, j->settings)));
}

/* The run, out of the store; frees its old path. */
static char *set_aside(struct fixture *f, char *run, const char *name)
{
    char *aside = qn_path_join(f->folder, name);
    assert_int_equal(rename(run, aside), 0);
    free(run);
    return aside;
}

static void remove_store(struct fixture *f)
{
    struct qn_err err;
    assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
}

static bool add_loss(void *user, const json_t *line)
{
    struct qn_str *s = user;
    if (json_object_get(line, "segment") == NULL) {
        qn_str_addf(s, "%s %lld %.17g\n", qn_line_text(line, "event"),
                    (long long)qn_line_int(line, "step"),
                    qn_line_number(line, "loss"));
    }
    return true;
}

static void add_losses(const char *run, struct qn_str *s)
{
    struct qn_err err;
    assert_int_equal(qn_run_dir_lines(run, QN_METRICS, add_loss, s, &err),
                     QN_OK);
}

/* Of steps and evaluations, whatever step they begin with. */
static void assert_same_losses(const char *run_a, const char *run_b)
{
    struct qn_str a = {0}, b = {0};
    add_losses(run_a, &a);
    add_losses(run_b, &b);
    assert_string_equal(a.text, b.text);
    qn_str_free(&a);
    qn_str_free(&b);
}

/* Killed at every call and resumed, it ends as 'whole' did, if it had come to
 * be a run, which happens at some call and lasts. */
static int end_as(struct fixture *f, const struct job *j, const char *whole,
                  int64_t step)
{
    int n = 1, runs = 0;
    for (; killed_at_call(f, j, n); n++) {
        char *run = only_run(f);
        if (run != NULL) {
            free(fixture_finish(fixture_resume(f, run, j->more, j->n_more)));
            assert_same_file(run, whole, step, "model.safetensors");
            assert_same_file(run, whole, step, "state.safetensors");
            assert_same_losses(run, whole);
            assert_int_equal(step_named(run, "best"),
                             step_named(whole, "best"));
            runs++;
        }
        assert_true(run != NULL || runs == 0);
        remove_store(f);
        free(run);
    }
    assert_in_range(runs, 1, n - 1);
    return n;
}

static void killed_at_any_stage_of_a_checkpoint_a_run_goes_on(void **state)
{
    struct fixture *f = *state;
    const struct job job = {.work = train, .settings = short_run};
    char *run = fixture_finish(fixture_create(f, short_run));
    char *whole = set_aside(f, run, "whole");
    int n = end_as(f, &job, whole, 8);
    assert_in_range(n, 40, 400); /* four checkpoints of many steps each */
    free(whole);
}

/* Back to the beginning twice, then to a checkpoint. */
static const char *const rolling[] = {
    "stop.nan=rollback", "stop.spike=1.1",    "optim.kind=sgd",
    "optim.lr=24",       "optim.clip_norm=5", "checkpoint.every=3",
    "eval.every=6",      "steps=18",          NULL};

static void killed_at_any_stage_of_a_rollback_a_run_goes_on(void **state)
{
    struct fixture *f = *state;
    const struct job job = {
        .work = train, .settings = rolling, .everyone = true};
    char *run = fixture_finish(fixture_create(f, rolling));
    assert_int_equal(fixture_notes(f, QN_NOTE_ROLLBACK), 3);
    char *whole = set_aside(f, run, "whole");
    assert_in_range(end_as(f, &job, whole, 18), 100, 1000);
    free(whole);
}

/* --- beginnings ----------------------------------------------------------- */

static const char *const keeping[] = {
    "checkpoint.every=3", "checkpoint.keep.last=9", "steps=8",
    "model.hidden=4",     "model.layers=1",         NULL};

/* A run with a change that a person made. */
static char *parent_run(struct fixture *f)
{
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, keeping);
    fixture_run(t, 4);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.5", &err), QN_OK);
    return set_aside(f, fixture_finish(t), "parent");
}

static void begin_fork(struct fixture *f, const struct job *j)
{
    struct qn_trainer *t;
    struct qn_err err;
    if (qn_trainer_fork(&f->env, j->from, "6", NULL, 0, NULL, &t, &err)) {
        fail_msg("%s", err.text);
    }
    qn_trainer_free(t);
}

static void begin_rerun(struct fixture *f, const struct job *j)
{
    struct qn_trainer *t;
    struct qn_err err;
    if (qn_trainer_rerun(&f->env, j->from, NULL, 0, NULL, &t, &err)) {
        fail_msg("%s", err.text);
    }
    qn_trainer_free(t);
}

static void import(struct fixture *f, const struct job *j)
{
    struct qn_err err;
    struct qn_spec spec = fixture_spec(f, keeping);
    char *path = qn_path_join(j->from, "checkpoints/6/model.safetensors");
    char *id;
    if (qn_import(&f->env, path, &spec, &id, &err)) {
        fail_msg("%s", err.text);
    }
    free(path);
    free(id);
}

static void a_fork_is_killed_before_it_is_a_run_or_goes_on(void **state)
{
    struct fixture *f = *state;
    char *parent = parent_run(f);
    const struct job job = {
        .work = begin_fork, .from = parent, .everyone = true};
    begin_fork(f, &job);
    free(fixture_finish(fixture_resume(f, only_run(f), NULL, 0)));
    char *whole = set_aside(f, only_run(f), "whole");
    assert_in_range(end_as(f, &job, whole, 8), 20, 200);
    free(whole);
    free(parent);
}

/* It would begin with other weights. */
static void an_import_is_killed_before_it_is_a_run_or_goes_on(void **state)
{
    struct fixture *f = *state;
    static const char *const more[] = {"steps=9"};
    char *parent = parent_run(f);
    const struct job job = {.work = import,
                            .from = parent,
                            .more = more,
                            .n_more = 1,
                            .everyone = true};
    import(f, &job);
    free(fixture_finish(fixture_resume(f, only_run(f), more, 1)));
    char *whole = set_aside(f, only_run(f), "whole");
    assert_in_range(end_as(f, &job, whole, 9), 20, 200);
    free(whole);
    free(parent);
}

/* The changes that it will make are there with it. */
static void a_rerun_is_killed_before_it_is_a_run_or_goes_on(void **state)
{
    struct fixture *f = *state;
    char *parent = parent_run(f);
    const struct job job = {
        .work = begin_rerun, .from = parent, .everyone = true};
    assert_in_range(end_as(f, &job, parent, 8), 10, 100);
    free(parent);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(killed_at_any_stage_of_a_checkpoint_a_run_goes_on),
        CASE(killed_at_any_stage_of_a_rollback_a_run_goes_on),
        CASE(a_fork_is_killed_before_it_is_a_run_or_goes_on),
        CASE(an_import_is_killed_before_it_is_a_run_or_goes_on),
        CASE(a_rerun_is_killed_before_it_is_a_run_or_goes_on),
    };
    between_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
