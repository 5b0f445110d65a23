/* replay.c - changes made by hand hold again at their steps, wherever a run was
 * cut. */
#include "cuts.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

#define settings cut_changing
#define changes cut_changes

static void go_on_to_the_end(struct fixture *f, char *run, const char *whole)
{
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    assert_same_training(run, whole, 50);
    assert_int_equal(recorded_events(run, "set"), CUT_N_CHANGES);
    free(run);
    cut_remove_store(f);
}

/* Before, at and behind changes and checkpoints; replay_everywhere.c has them
 * all. */
static void changes_are_made_again_where_a_run_was_cut(void **state)
{
    struct fixture *f = *state;
    static const int64_t cuts[] = {0, 3, 9, 10, 22, 33, 39, 49};
    char *whole = cut_uncut_of(f, settings, changes, CUT_N_CHANGES);
    for (int i = 0; i < N(cuts); i++) {
        cut_check_changes(f, whole, cuts[i]);
    }
    free(whole);
}

/* Damage the checkpoints from this step on, so that changes lie ahead. */
static void damage_from(const char *run, int64_t step)
{
    char *folder = qn_path_join(run, "checkpoints");
    char **names;
    size_t n;
    struct qn_err err;
    bool any = false;
    assert_int_equal(qn_dir_list(folder, &names, &n, &err), QN_OK);
    for (size_t i = 0; i < n; i++) {
        int64_t at;
        if (qn_parse_int(names[i], &at) && at >= step) {
            char *path =
                qn_xasprintf("%s/%s/state.safetensors", folder, names[i]);
            assert_int_equal(qn_file_write(path, "abc", 3, &err), QN_OK);
            free(path);
            any = true;
        }
        free(names[i]);
    }
    assert_true(any);
    free(names);
    free(folder);
}

static void so_are_those_of_a_run_that_was_cut_twice(void **state)
{
    struct fixture *f = *state;
    char *whole = cut_uncut_of(f, settings, changes, CUT_N_CHANGES);
    static const int64_t again[] = {24, 31, 32, 38, 45, 49};
    for (int i = 0; i < N(again); i++) {
        char *run = cut_killed_at_of(f, settings, changes, CUT_N_CHANGES, 49);
        damage_from(run, 25);
        cut_kill_again(f, run, again[i]);
        go_on_to_the_end(f, run, whole);
    }
    free(whole);
}

static void a_change_made_again_is_told(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at_of(f, settings, changes, CUT_N_CHANGES, 11);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 10);
    qn_trainer_free(t);
    damage_from(run, 10);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 8);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.02);
    assert_int_equal(fixture_notes(f, QN_NOTE_SET), 0);
    assert_int_equal(recorded_events(run, "set"), 2);
    fixture_run(t, 10);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.004);
    assert_int_equal(fixture_notes(f, QN_NOTE_SET), 2);
    assert_string_equal(fixture_note(f, QN_NOTE_SET)->key, "optim.lr");
    assert_int_equal(fixture_note(f, QN_NOTE_SET)->step, 9);
    assert_int_equal(recorded_events(run, "set"), 4);
    qn_trainer_free(t);
    free(run);
}

/* A resume that is killed before it made them has not lost them. */
static void changes_ahead_outlive_resumes_that_get_nowhere(void **state)
{
    struct fixture *f = *state;
    char *whole = cut_uncut_of(f, settings, changes, CUT_N_CHANGES);
    char *run = cut_killed_at_of(f, settings, changes, CUT_N_CHANGES, 49);
    damage_from(run, 25);
    for (int i = 0; i < 3; i++) {
        qn_trainer_free(fixture_resume(f, run, NULL, 0));
    }
    go_on_to_the_end(f, run, whole);
    free(whole);
}

static void a_new_change_replaces_old_ones_that_lie_ahead(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    char *run = cut_killed_at_of(f, settings, changes, CUT_N_CHANGES, 49);
    damage_from(run, 25);
    /* By hand while it runs, and on resuming: each holds to the end. */
    static const char *const lr[] = {"optim.lr=0.005"};
    struct qn_trainer *t = fixture_resume(f, run, lr, 1);
    int64_t from = qn_trainer_step_count(t);
    assert_int_equal(from, 24);
    assert_int_equal(qn_trainer_set(t, "steps", "47", &err), QN_OK);
    fixture_run(t, 34);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.005);
    assert_int_equal(qn_trainer_steps_total(t), 47);
    qn_trainer_free(t);
    /* What was replaced does not come back with the next resume. */
    t = fixture_resume(f, run, NULL, 0);
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_step_count(t), 47);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.005);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    qn_trainer_free(t);
    free(run);
}

/* The run was done, and went on with more steps; then its newest checkpoints
 * are damaged. It must not end where it had ended first. */
static void an_end_that_was_moved_is_moved_again(void **state)
{
    struct fixture *f = *state;
    static const char *const on[] = {"steps=44"};
    static const char *const first[] = {"steps=32", "checkpoint.every=8",
                                        "checkpoint.keep.last=9", NULL};
    char *run = fixture_finish(fixture_create(f, first));
    struct qn_trainer *t = fixture_resume(f, run, on, 1);
    fixture_run(t, 36);
    qn_trainer_free(t);
    damage_from(run, 32);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 24);
    assert_int_equal(qn_trainer_steps_total(t), 32);
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_step_count(t), 44);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    qn_trainer_free(t);
    free(run);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(changes_are_made_again_where_a_run_was_cut),
        CASE(so_are_those_of_a_run_that_was_cut_twice),
        CASE(a_change_made_again_is_told),
        CASE(changes_ahead_outlive_resumes_that_get_nowhere),
        CASE(a_new_change_replaces_old_ones_that_lie_ahead),
        CASE(an_end_that_was_moved_is_moved_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
