/* resume.c - a run that was cut anywhere goes on as if it had not been. */
#include "cuts.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 50 steps: they cross the end of an epoch of the fixture's text. */
#define settings cut_settings

static void check_cut(struct fixture *f, const char *whole, int64_t cut)
{
    char *run = cut_killed_at(f, NULL, 0, cut);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    /* Checkpoints: every 8 steps, and at each new best of every 10. */
    assert_true(qn_trainer_step_count(t) <= cut);
    assert_true(cut < 8 || qn_trainer_step_count(t) > 0);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(run);
    cut_remove_store(f);
}

static void a_killed_run_ends_byte_for_byte_like_an_uncut_one(void **state)
{
    struct fixture *f = *state;
    /* Before any checkpoint, at and after some, around the epoch's end. */
    static const int64_t cuts[] = {0, 3, 8, 13, 39, 40, 41, 48, 49};
    char *whole = cut_uncut(f, NULL, 0);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        check_cut(f, whole, cuts[i]);
    }
    free(whole);
}

static void so_does_one_on_the_cpu_backend(void **state)
{
    struct fixture *f = *state;
    f->env.backend = "cpu";
    char *whole = cut_uncut(f, NULL, 0);
    check_cut(f, whole, 13);
    check_cut(f, whole, 41);
    free(whole);
}

static void a_run_cut_twice_ends_like_an_uncut_one(void **state)
{
    struct fixture *f = *state;
    char *whole = cut_uncut(f, NULL, 0);
    char *run = cut_killed_at(f, NULL, 0, 21);
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
    char *whole = cut_uncut(f, NULL, 0);
    char *run = cut_killed_at(f, NULL, 0, 21);
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
    static const struct cut_change sets[] = {
        {0, "optim.clip_norm", "0.5"}, {5, "optim.lr", "0.002"},
        {16, "optim.beta1", "0.8"},    {16, "model.dropout", "0.3"},
        {20, "optim.lr", "0.004"},
    };
    char *whole = cut_uncut(f, sets, 5);
    /* The one of step 20 comes with a checkpoint at 20 or before: a cut at 24
     * resumes from 24 and finds them all. */
    char *run = cut_killed_at(f, sets, 5, 24);
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

static void damage_goes_back_to_the_newest_whole_checkpoint(void **state)
{
    struct fixture *f = *state;
    char *whole = cut_uncut(f, NULL, 0);
    char *run = cut_killed_at(f, NULL, 0, 17); /* checkpoints at 10 and 16 */
    char *model = qn_xasprintf("%s/checkpoints/16/model.safetensors", run);
    struct qn_err err;
    assert_int_equal(qn_file_write(model, "abc", 3, &err), QN_OK);
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 10);
    assert_non_null(strstr(f->lines.text, "model.safetensors"));
    assert_non_null(strstr(f->lines.text, "from its checkpoint of step 10"));
    /* What is damaged is not gone on from by anybody else either. */
    fixture_run(t, 11);
    qn_trainer_free(t);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 10);
    free(fixture_finish(t));
    assert_same_training(run, whole, 50);
    free(model);
    free(whole);
    free(run);
}

static void changes_on_resume_are_made_and_recorded(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at(f, NULL, 0, 17);
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
    char *run = cut_killed_at(f, NULL, 0, 17);
    static const char *const changes[] = {"steps=30", "epochs=1"};
    qn_trainer_free(fixture_resume(f, run, changes, 2));
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_steps_total(t), 40);
    qn_trainer_free(t);
    free(run);
}

static void checkpoints_that_are_gone_are_no_new_beginning(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at(f, NULL, 0, 17); /* checkpoints at 10 and 16 */
    char *gone = qn_path_join(run, "checkpoints/16");
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_remove_tree(gone, &err), QN_OK);
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 10);
    qn_trainer_free(t);
    free(gone);
    gone = qn_path_join(run, "checkpoints");
    assert_int_equal(qn_remove_tree(gone, &err), QN_OK);
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_EFORMAT);
    free(gone);
    free(run);
}

/* The best is the one that the state knows, whatever a crash left. */
static void the_name_of_the_best_is_mended(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at(f, NULL, 0, 17); /* checkpoints at 10 and 16 */
    char *best = qn_path_join(run, "best");
    struct qn_err err;
    assert_int_equal(qn_file_write(best, "16\n", 3, &err), QN_OK);
    qn_trainer_free(fixture_resume(f, run, NULL, 0));
    struct qn_bytes text;
    assert_int_equal(qn_file_read(best, &text, &err), QN_OK);
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.data, "10\n", 3);
    qn_bytes_free(&text);
    free(best);
    free(run);
}

static void all_mistakes_are_named_at_once(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at(f, NULL, 0, 9);
    static const char *const wrong[] = {"model.hidden=3", "optim.lr=fast",
                                        "log.every=2", "nonsense"};
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(qn_trainer_resume(&f->env, run, wrong, 4, NULL, &t, &err),
                     QN_EUSAGE);
    assert_non_null(strstr(err.text, "model.hidden is fixed"));
    assert_non_null(strstr(err.text, "optim.lr"));
    assert_non_null(strstr(err.text, "\"nonsense\" is not KEY=VALUE"));
    assert_null(strstr(err.text, "log.every"));
    free(run);
}

/* Without them the settings may be others than those it was trained with. */
static void lines_that_are_lost_are_named(void **state)
{
    struct fixture *f = *state;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 30);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    assert_int_equal(qn_trainer_stop(t, true, NULL), QN_OK);
    qn_trainer_free(t);
    qn_trainer_free(fixture_resume(f, run, NULL, 0));
    assert_int_equal(f->lines.len, 0);
    static const char *const files[] = {"events.jsonl", "metrics.jsonl"};
    for (int i = 0; i < 2; i++) {
        char *path = qn_path_join(run, files[i]);
        assert_int_equal(remove(path), 0);
        qn_trainer_free(fixture_resume(f, run, NULL, 0));
        char *said = qn_xasprintf("has lost %s: ", files[i]);
        assert_non_null(strstr(f->lines.text, said));
        free(said);
        free(path);
    }
    free(run);
}

static bool at_once(void *user)
{
    (void)user;
    return true;
}

/* A person who stops the run a second time has no patience for what is due. */
static void an_evaluation_that_a_stop_left_out_is_made_up(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    char *whole = cut_uncut(f, NULL, 0);
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 29);
    qn_trainer_set_interrupt(t, at_once, NULL);
    assert_int_equal(qn_trainer_step(t, &err), QN_OK);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_ESTOPPED);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    /* Nor has the next one, which gets no further. */
    t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 30);
    qn_trainer_set_interrupt(t, at_once, NULL);
    assert_int_equal(qn_trainer_step(t, &err), QN_ESTOPPED);
    assert_int_equal(qn_trainer_step_count(t), 30);
    qn_trainer_free(t);
    t = fixture_resume(f, run, NULL, 0);
    fixture_run(t, 31);
    qn_trainer_free(t);
    free(fixture_finish(fixture_resume(f, run, NULL, 0)));
    assert_same_training(run, whole, 50);
    free(whole);
    free(run);
}

static void what_a_stop_did_make_is_not_made_again(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 30);
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    int told = fixture_notes(f, QN_NOTE_EVAL);
    t = fixture_resume(f, run, NULL, 0);
    fixture_run(t, 31);
    assert_int_equal(fixture_notes(f, QN_NOTE_EVAL), told);
    qn_trainer_free(t);
    free(run);
}

static void a_wrong_change_leaves_the_run_as_it_was(void **state)
{
    struct fixture *f = *state;
    char *run = cut_killed_at(f, NULL, 0, 9);
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
    char *run = cut_killed_at(f, NULL, 0, 9);
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
    char *run = cut_killed_at(f, NULL, 0, 9);
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
        CASE(damage_goes_back_to_the_newest_whole_checkpoint),
        CASE(the_name_of_the_best_is_mended),
        CASE(all_mistakes_are_named_at_once),
        CASE(an_evaluation_that_a_stop_left_out_is_made_up),
        CASE(what_a_stop_did_make_is_not_made_again),
        CASE(changes_on_resume_are_made_and_recorded),
        CASE(changes_that_unset_each_other_can_be_made_again),
        CASE(checkpoints_that_are_gone_are_no_new_beginning),
        CASE(a_wrong_change_leaves_the_run_as_it_was),
        CASE(a_run_that_time_ended_says_what_makes_it_go_on),
        CASE(an_end_before_the_step_reached_is_refused),
        CASE(a_run_that_is_done_goes_on_only_with_more_to_do),
        CASE(a_run_cannot_be_trained_twice_at_once),
        CASE(a_changed_text_is_refused),
        CASE(a_damaged_state_is_named),
        CASE(lines_that_are_lost_are_named),
        CASE(seconds_go_on_where_the_checkpoint_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
