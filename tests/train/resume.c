/* resume.c - a run that was cut anywhere goes on as if it had not been. */
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"

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

/* An epoch of the fixture's text is 40 segments: 50 steps cross its end. */
static const char *const settings[] = {
    "steps=50",           "eval.every=10 steps",
    "checkpoint.every=8", "stats.every=6",
    "sample.every=15",    "sample.length=4",
    "optim.kind=adam",    NULL};

/* A change that a person makes at a step. */
struct set {
    int64_t step;
    const char *key, *value;
};

static void run_with_sets(struct qn_trainer *t, const struct set *sets, int n,
                          int64_t to)
{
    struct qn_err err;
    for (int i = 0; i < n; i++) {
        if (sets[i].step < qn_trainer_step_count(t) || sets[i].step > to) {
            continue;
        }
        fixture_run(t, sets[i].step);
        if (qn_trainer_set(t, sets[i].key, sets[i].value, &err) != QN_OK) {
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

/* Train to step 'cut' in a child that is then killed; the run's folder. */
static char *killed_at(struct fixture *f, const struct set *sets, int n,
                       int64_t cut)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct qn_trainer *t = fixture_create(f, settings);
        run_with_sets(t, sets, n, cut);
        fixture_settle(t); /* saving.c kills it on the way */
        (void)kill(getpid(), SIGKILL);
        _exit(1); /* not reached */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return only_run(f);
}

static void remove_store(const struct fixture *f)
{
    struct qn_err err;
    assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
}

/* The run without a cut, kept outside the store. */
static char *uncut(struct fixture *f, const struct set *sets, int n)
{
    struct qn_trainer *t = fixture_create(f, settings);
    run_with_sets(t, sets, n, 50);
    char *run = fixture_finish(t);
    char *kept = qn_path_join(f->folder, "uncut");
    assert_int_equal(rename(run, kept), 0);
    free(run);
    return kept;
}

static void check_cut(struct fixture *f, const char *whole, int64_t cut)
{
    char *run = killed_at(f, NULL, 0, cut);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    /* Checkpoints: every 8 steps, and at each new best of every 10. */
    assert_true(qn_trainer_step_count(t) <= cut);
    assert_true(cut < 8 || qn_trainer_step_count(t) > 0);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(run);
    remove_store(f);
}

static void a_killed_run_ends_byte_for_byte_like_an_uncut_one(void **state)
{
    struct fixture *f = *state;
    /* Before any checkpoint, at and after some, around the epoch's end. */
    static const int64_t cuts[] = {0, 3, 8, 13, 39, 40, 41, 48, 49};
    char *whole = uncut(f, NULL, 0);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        check_cut(f, whole, cuts[i]);
    }
    free(whole);
}

static void so_does_one_on_the_cpu_backend(void **state)
{
    struct fixture *f = *state;
    f->env.backend = "cpu";
    char *whole = uncut(f, NULL, 0);
    check_cut(f, whole, 13);
    check_cut(f, whole, 41);
    free(whole);
}

static void a_run_cut_twice_ends_like_an_uncut_one(void **state)
{
    struct fixture *f = *state;
    char *whole = uncut(f, NULL, 0);
    char *run = killed_at(f, NULL, 0, 21);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    fixture_run(t, 30);
    qn_trainer_free(t); /* as a crash would: nothing is saved */
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 30);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(whole);
    free(run);
}

/* Add bytes to a file of the run, as a crash in the middle of a line does. */
static void tear(const char *run, const char *file)
{
    char *path = qn_path_join(run, file);
    FILE *out = fopen(path, "a");
    assert_non_null(out);
    assert_true(fputs("{\"event\":\"step\",\"st", out) >= 0);
    assert_int_equal(fclose(out), 0);
    free(path);
}

static void torn_lines_are_cut_off(void **state)
{
    struct fixture *f = *state;
    char *whole = uncut(f, NULL, 0);
    char *run = killed_at(f, NULL, 0, 21);
    tear(run, "metrics.jsonl");
    tear(run, "events.jsonl");
    tear(run, "stats.jsonl");
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    assert_same_training(run, whole, 50);
    free(whole);
    free(run);
}

static void settings_changed_before_the_checkpoint_hold_again(void **state)
{
    struct fixture *f = *state;
    static const struct set sets[] = {
        {0, "optim.clip_norm", "0.5"}, {5, "optim.lr", "0.002"},
        {16, "optim.beta1", "0.8"},    {16, "model.dropout", "0.3"},
        {20, "optim.lr", "0.004"},
    };
    char *whole = uncut(f, sets, 5);
    /* The one of step 20 comes with a checkpoint at 20 or before: a cut at 24
     * resumes from 24 and finds them all. */
    char *run = killed_at(f, sets, 5, 24);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 24);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.004);
    assert_true(qn_trainer_spec(t)->optim.clip_norm == 0.5);
    assert_true(qn_trainer_spec(t)->model.dropout == 0.3);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(whole);
    free(run);
}

static void settings_changed_after_the_checkpoint_are_undone(void **state)
{
    struct fixture *f = *state;
    static const struct set sets[] = {{18, "optim.lr", "0.5"}};
    char *whole = uncut(f, NULL, 0);
    char *run = killed_at(f, sets, 1, 19);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_true(qn_trainer_step_count(t) < 18);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.01);
    assert_non_null(strstr(f->lines.text, "optim.lr = 0.5"));
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(whole);
    free(run);
}

static void changes_on_resume_are_made_and_recorded(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 17);
    static const char *const changes[] = {"optim.lr=0.003", "steps=30"};
    struct qn_trainer *t = fixture_resume(f, run, changes, 2);
    int64_t from = qn_trainer_step_count(t);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.003);
    assert_int_equal(qn_trainer_steps_total(t), 30);
    fixture_run(t, from + 1);
    qn_trainer_free(t);
    assert_int_equal(recorded_events(run, "set"), 2);
    /* They hold from the checkpoint on, so they hold for the next resume. */
    t = fixture_resume(f, run, NULL, 0);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.003);
    free(fixture_finish(t));
    free(run);
}

static void changes_that_unset_each_other_can_be_made_again(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 17);
    static const char *const changes[] = {"steps=30", "epochs=1"};
    qn_trainer_free(fixture_resume(f, run, changes, 2));
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_steps_total(t), 40);
    qn_trainer_free(t);
    free(run);
}

static void a_checkpoint_that_is_gone_is_no_new_beginning(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 17); /* checkpoints at 10 and 16 */
    char *gone = qn_path_join(run, "checkpoints/16");
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_remove_tree(gone, &err), QN_OK);
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "10"));
    free(gone);
    free(run);
}

static void a_wrong_change_leaves_the_run_as_it_was(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 9);
    static const char *const wrong[] = {"model.hidden=3", "optim.lr=fast",
                                        "nonsense"};
    for (int i = 0; i < 3; i++) {
        struct qn_trainer *t;
        struct qn_err err;
        assert_int_equal(
            qn_trainer_resume(&f->env, run, &wrong[i], 1, NULL, &t, &err),
            QN_EUSAGE);
    }
    assert_int_equal(recorded_events(run, "set"), 0);
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    free(run);
}

static void refuses(struct fixture *f, const char *run, const char *change,
                    enum qn_status wanted, const char *sentence)
{
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_resume(&f->env, run, &change,
                                       change != NULL ? 1 : 0, NULL, &t, &err),
                     wanted);
    if (strstr(err.text, sentence) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    }
}

static void a_run_that_time_ended_says_what_makes_it_go_on(void **state)
{
    struct fixture *f = *state;
    static const char *const timed[] = {"steps=30", "stop.after=0.000001 s",
                                        NULL};
    static const char *const on[] = {"stop.after=none"};
    char *run = fixture_finish(fixture_create(f, timed));
    refuses(f, run, NULL, QN_ESTATE,
            "is ended by stop.after=\"1e-06 s\" at step 1 of 30; "
            "stop.after=none or a longer time makes it go on");
    refuses(f, run, "optim.lr=0.1", QN_ESTATE, "stop.after=none");
    struct qn_trainer *t = fixture_resume(f, run, on, 1);
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_step_count(t), 30);
    qn_trainer_free(t);
    free(run);
}

static void an_end_before_the_step_reached_is_refused(void **state)
{
    struct fixture *f = *state;
    char *run = fixture_finish(fixture_create(f, settings));
    refuses(f, run, "steps=3", QN_EUSAGE,
            "steps=3 ends the run at step 3, it is at step ");
    assert_int_equal(recorded_events(run, "set"), 0);
    free(run);
}

static void a_run_that_is_done_goes_on_only_with_more_to_do(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t;
    struct qn_err err;
    char *run = fixture_finish(fixture_create(f, settings));
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_ESTATE);
    assert_non_null(strstr(err.text, "a larger steps or epochs "
                                     "makes it go on"));
    static const char *const lr[] = {"optim.lr=0.1"};
    assert_int_equal(qn_trainer_resume(&f->env, run, lr, 1, NULL, &t, &err),
                     QN_ESTATE);
    assert_int_equal(recorded_events(run, "set"), 0);
    static const char *const more[] = {"steps=60"};
    free(fixture_finish(fixture_resume(f, run, more, 1)));
    double loss[60];
    assert_int_equal(recorded_losses(run, loss, 60), 60);
    free(run);
}

static void a_run_cannot_be_trained_twice_at_once(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *a = fixture_create(f, settings);
    struct qn_trainer *b;
    struct qn_err err;
    assert_int_equal(
        qn_trainer_resume(&f->env, qn_trainer_dir(a), NULL, 0, NULL, &b, &err),
        QN_ESTATE);
    qn_trainer_free(a);
}

static void a_changed_text_is_refused(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 9);
    struct qn_bytes text;
    struct qn_err err;
    assert_int_equal(qn_file_read(f->text, &text, &err), QN_OK);
    text.data[0] = text.data[4]; /* a symbol that the vocabulary has */
    assert_int_equal(qn_file_write(f->text, text.data, text.len, &err), QN_OK);
    qn_bytes_free(&text);
    struct qn_trainer *t;
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_ESTATE);
    assert_non_null(strstr(err.text, "data.train"));
    assert_non_null(strstr(err.text, "has changed"));
    free(run);
}

static void a_damaged_state_is_named(void **state)
{
    struct fixture *f = *state;
    char *run = killed_at(f, NULL, 0, 9);
    char *path = qn_xasprintf("%s/checkpoints/8/state.safetensors", run);
    struct qn_err err;
    assert_int_equal(qn_file_write(path, "abc", 3, &err), QN_OK);
    struct qn_trainer *t;
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "state.safetensors"));
    free(path);
    free(run);
}

static void seconds_go_on_where_the_checkpoint_was(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 8);
    double seconds = qn_trainer_seconds(t);
    fixture_run(t, 9);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    t = fixture_resume(f, run, NULL, 0);
    /* All but the time that the checkpoint itself took. */
    assert_true(qn_trainer_seconds(t) > 0);
    assert_true(qn_trainer_seconds(t) <= seconds);
    qn_trainer_free(t);
    free(run);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_killed_run_ends_byte_for_byte_like_an_uncut_one),
        CASE(so_does_one_on_the_cpu_backend),
        CASE(a_run_cut_twice_ends_like_an_uncut_one),
        CASE(torn_lines_are_cut_off),
        CASE(settings_changed_before_the_checkpoint_hold_again),
        CASE(settings_changed_after_the_checkpoint_are_undone),
        CASE(changes_on_resume_are_made_and_recorded),
        CASE(changes_that_unset_each_other_can_be_made_again),
        CASE(a_checkpoint_that_is_gone_is_no_new_beginning),
        CASE(a_wrong_change_leaves_the_run_as_it_was),
        CASE(a_run_that_time_ended_says_what_makes_it_go_on),
        CASE(an_end_before_the_step_reached_is_refused),
        CASE(a_run_that_is_done_goes_on_only_with_more_to_do),
        CASE(a_run_cannot_be_trained_twice_at_once),
        CASE(a_changed_text_is_refused),
        CASE(a_damaged_state_is_named),
        CASE(seconds_go_on_where_the_checkpoint_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
