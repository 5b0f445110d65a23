/* deleted.c - tests of files and folders that vanish under a run. */
#include "make_checkpoint.h"

#include "base/thread.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void remove_from(const struct qn_run_dir *d, const char *name)
{
    char *path = qn_path_join(qn_run_dir_path(d), name);
    assert_int_equal(remove(path), 0);
    free(path);
}

static void move_away(const struct qn_run_dir *d, const char *name)
{
    char *path = qn_path_join(qn_run_dir_path(d), name);
    char *to = qn_xasprintf("%s.away", path);
    assert_int_equal(rename(path, to), 0);
    free(to);
    free(path);
}

#define LINE(step) "{\"step\":" #step "}\n"

static void a_removed_file_comes_back_with_all_that_it_held(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    append(d, QN_METRICS, NULL, 1);
    append(d, QN_METRICS, NULL, 2);
    remove_from(d, "metrics.jsonl");
    append(d, QN_METRICS, NULL, 3);
    check_file(qn_run_dir_path(d), "metrics.jsonl", LINE(1) LINE(2) LINE(3));
    remove_from(d, "metrics.jsonl");
    append(d, QN_METRICS, NULL, 4);
    check_file(qn_run_dir_path(d), "metrics.jsonl",
               LINE(1) LINE(2) LINE(3) LINE(4));
    qn_run_dir_close(d);
}

static void files_that_lost_their_names_are_back_at_the_commit(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    for (int i = 0; i < QN_N_RUN_FILES; i++) {
        append(d, (enum qn_run_file)i, NULL, 1);
    }
    remove_from(d, "metrics.jsonl");
    move_away(d, "events.jsonl");
    move_away(d, "stats.jsonl");
    put(run, "stats.jsonl", "somebody else's\n");
    remove_from(d, "stats.jsonl.away");
    checkpoint(d, 1, "x", true, 1, keep_all);
    append(d, QN_EVENTS, NULL, 2);
    check_file(run, "metrics.jsonl", LINE(1));
    check_file(run, "events.jsonl", LINE(1) LINE(2));
    check_file(run, "events.jsonl.away", LINE(1));
    check_file(run, "stats.jsonl", LINE(1));
    check_names(run,
                "best checkpoints code.json events.jsonl events.jsonl.away "
                "last lock metrics.jsonl spec.json stats.jsonl vocab.txt");
    qn_run_dir_close(d);
}

static void best_and_last_are_written_again(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 1, "x", true, 1, keep_all);
    remove_from(d, "best");
    remove_from(d, "last");
    checkpoint(d, 2, "x", false, 2, (struct qn_keep){0, 1});
    check_file(run, "best", "1\n");
    check_file(run, "last", "2\n");
    check_steps(run, "1 2");
    put(run, "best", "one\n");
    checkpoint(d, 3, "x", false, 3, (struct qn_keep){0, 1});
    check_file(run, "best", "1\n");
    check_steps(run, "1 3");
    qn_run_dir_close(d);
}

/* As a resume does it, which knows the best from the state that it loads. */
static void a_best_that_was_lost_between_two_sessions_is_corrected(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 1, "x", true, 1, keep_all);
    put(qn_run_dir_path(d), "best", "one\n");
    d = reopened(d);
    assert_int_equal(qn_run_dir_correct_best(d, 1, NULL), QN_OK);
    check_file(qn_run_dir_path(d), "best", "1\n");
    remove_from(d, "best");
    checkpoint(d, 2, "x", false, 2, keep_all);
    check_file(qn_run_dir_path(d), "best", "1\n");
    qn_run_dir_close(d);
}

/* As a crash leaves it between replacing "best" and "last". */
static void a_best_that_is_not_reached_is_corrected(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 1, "x", true, 2, keep_all);
    checkpoint(d, 2, "x", true, 1, keep_all);
    put(run, "last", "1\n");
    d = reopened(d);
    run = qn_run_dir_path(d);
    assert_int_equal(qn_run_dir_correct_best(d, 7, NULL), QN_OK);
    check_file(run, "best", "2\n"); /* there is no 7 */
    assert_int_equal(qn_run_dir_correct_best(d, 1, NULL), QN_OK);
    check_file(run, "best", "1\n");
    assert_int_equal(qn_run_dir_correct_best(d, -1, NULL), QN_OK);
    check_file(run, "best", NULL);
    assert_int_equal(qn_run_dir_correct_best(d, -1, NULL), QN_OK);
    checkpoint(d, 3, "x", false, 3, keep_all);
    check_file(run, "best", NULL);
    qn_run_dir_close(d);
}

static void a_run_that_goes_back_forgets_what_came_after(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    for (int64_t step = 10; step <= 50; step += 10) {
        checkpoint(d, step, "x", step == 40, 1, keep_all);
    }
    assert_int_equal(qn_run_dir_rewind(d, 25, NULL), QN_OK);
    check_file(run, "last", "20\n");
    check_steps(run, "10 20 40");
    check_found(run, "last_good", 20, "x");
    assert_int_equal(qn_run_dir_correct_best(d, 10, NULL), QN_OK);
    assert_int_equal(qn_run_dir_rewind(d, 20, NULL), QN_OK);
    check_steps(run, "10 20");
    assert_int_equal(qn_run_dir_correct_best(d, -1, NULL), QN_OK);
    assert_int_equal(qn_run_dir_rewind(d, 0, NULL), QN_OK);
    check_file(run, "last", NULL);
    check_steps(run, "");
    qn_run_dir_close(d);
}

/* Whether somebody else can open the run while d is training it. */
static void check_locked(const struct qn_run_dir *d)
{
    struct qn_run_dir *other = NULL;
    assert_int_equal(qn_run_dir_open(qn_run_dir_path(d), &other, NULL),
                     QN_ESTATE);
}

static void a_removed_lock_is_taken_again(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    remove_from(d, "lock");
    checkpoint(d, 1, "x", true, 1, keep_all);
    check_locked(d);
    move_away(d, "lock");
    put(qn_run_dir_path(d), "lock", "");
    checkpoint(d, 2, "x", true, 1, keep_all);
    check_locked(d);
    qn_run_dir_close(d);
}

static void a_run_that_another_one_took_is_left_to_it(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r"), *other;
    const struct qn_figures figures = {1, 1, 1};
    char *folder;
    struct qn_err err = {""};
    char *sentence = qn_xasprintf(
        "%s: its lock was removed and another process trains it now",
        qn_run_dir_id(d));
    assert_int_equal(qn_run_dir_checkpoint(d, 1, &folder, NULL), QN_OK);
    free(folder);
    remove_from(d, "lock");
    assert_int_equal(qn_run_dir_open(qn_run_dir_path(d), &other, NULL), QN_OK);
    assert_int_equal(qn_run_dir_commit(d, 1, true, &figures, keep_all, &err),
                     QN_ESTATE);
    assert_string_equal(err.text, sentence);
    assert_int_equal(qn_run_dir_checkpoint(d, 2, &folder, &err), QN_ESTATE);
    assert_string_equal(err.text, sentence);
    check_steps(qn_run_dir_path(d), "");
    /* Once that one has gone it may be trained again. */
    qn_run_dir_close(other);
    checkpoint(d, 2, "x", true, 1, keep_all);
    check_locked(d);
    free(sentence);
    qn_run_dir_close(d);
}

static void check_folder_gone(struct qn_run_dir *d)
{
    const struct qn_figures figures = {1, 1, 1};
    char *folder;
    struct qn_err err = {""};
    char *sentence = qn_xasprintf(
        "%s: cannot be written to: its folder was removed or renamed",
        qn_run_dir_path(d));
    assert_int_equal(qn_run_dir_commit(d, 1, true, &figures, keep_all, &err),
                     QN_EIO);
    assert_string_equal(err.text, sentence);
    assert_int_equal(qn_run_dir_checkpoint(d, 1, &folder, &err), QN_EIO);
    assert_string_equal(err.text, sentence);
    assert_int_equal(qn_run_dir_rewind(d, 1, &err), QN_EIO);
    assert_string_equal(err.text, sentence);
    free(sentence);
}

static void a_folder_that_is_gone_is_not_made_elsewhere(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    struct qn_err err = {""};
    struct qn_json line = {0};
    qn_json_object(&line);
    qn_json_end_object(&line);
    append(d, QN_METRICS, NULL, 1);
    assert_int_equal(qn_remove_tree(qn_run_dir_path(d), NULL), QN_OK);
    assert_int_equal(qn_run_dir_append(d, QN_METRICS, &line, &err), QN_EIO);
    assert_true(qn_ends_with(
        err.text, "/metrics.jsonl: was removed and cannot be made again: "
                  "its folder is gone"));
    check_folder_gone(d);
    check_names(*state, "");
    /* Nor into another one that somebody makes there. */
    assert_int_equal(qn_make_dirs(qn_run_dir_path(d), NULL), QN_OK);
    assert_int_equal(qn_run_dir_append(d, QN_METRICS, &line, &err), QN_EIO);
    check_folder_gone(d);
    check_names(qn_run_dir_path(d), "");
    qn_json_free(&line);
    qn_run_dir_close(d);
}

static void a_folder_that_is_renamed_and_back_goes_on(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *away = qn_path_join(*state, "away");
    append(d, QN_METRICS, NULL, 1);
    assert_int_equal(rename(qn_run_dir_path(d), away), 0);
    append(d, QN_METRICS, NULL, 2);
    check_folder_gone(d);
    check_names(*state, "away");
    check_file(away, "metrics.jsonl", LINE(1) LINE(2));
    assert_int_equal(rename(away, qn_run_dir_path(d)), 0);
    checkpoint(d, 2, "x", true, 1, keep_all);
    check_found(qn_run_dir_path(d), "last", 2, "x");
    free(away);
    qn_run_dir_close(d);
}

static void a_removed_checkpoints_folder_is_made_again(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *folder = qn_path_join(qn_run_dir_path(d), "checkpoints");
    checkpoint(d, 1, "x", true, 1, keep_all);
    assert_int_equal(qn_remove_tree(folder, NULL), QN_OK);
    checkpoint(d, 2, "x", false, 2, keep_all);
    check_found(qn_run_dir_path(d), "last", 2, "x");
    free(folder);
    qn_run_dir_close(d);
}

#define N_LINES 3000
#define N_COMMITS 12

struct saver {
    struct qn_run_dir *d;
    bool failed;
};

/* A saver's thread. */
static void *commit_often(void *user)
{
    struct saver *s = user;
    struct qn_run_dir *d = s->d;
    const struct qn_figures figures = {1, 1, 1};
    for (int64_t step = 1; step <= N_COMMITS; step++) {
        char *folder;
        char *path = qn_path_join(qn_run_dir_path(d), "metrics.jsonl");
        (void)remove(path); /* what a person may do at any time */
        free(path);
        if (qn_run_dir_checkpoint(d, step, &folder, NULL) != QN_OK ||
            qn_run_dir_commit(d, step, step == 1, &figures,
                              (struct qn_keep){1, 1}, NULL) != QN_OK) {
            s->failed = true;
            return NULL;
        }
        free(folder);
    }
    return NULL;
}

static bool count(void *user, const json_t *line)
{
    int64_t *n = user;
    *n += json_integer_value(json_object_get(line, "step")) == *n + 1;
    return true;
}

static void lines_are_added_while_checkpoints_are_committed(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    struct saver saver = {.d = d};
    pthread_t thread;
    assert_int_equal(
        qn_thread_start(&thread, "saver", commit_often, &saver, NULL), QN_OK);
    for (int64_t i = 1; i <= N_LINES; i++) {
        append(d, QN_METRICS, NULL, i);
    }
    qn_thread_join(thread);
    assert_false(saver.failed);
    int64_t n = 0;
    append(d, QN_METRICS, NULL, N_LINES + 1); /* it may have been removed */
    assert_int_equal(
        qn_run_dir_lines(qn_run_dir_path(d), QN_METRICS, count, &n, NULL),
        QN_OK);
    assert_int_equal(n, N_LINES + 1);
    qn_run_dir_close(d);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_removed_file_comes_back_with_all_that_it_held),
        IN_SCRATCH(files_that_lost_their_names_are_back_at_the_commit),
        IN_SCRATCH(best_and_last_are_written_again),
        IN_SCRATCH(a_best_that_was_lost_between_two_sessions_is_corrected),
        IN_SCRATCH(a_best_that_is_not_reached_is_corrected),
        IN_SCRATCH(a_run_that_goes_back_forgets_what_came_after),
        IN_SCRATCH(a_removed_lock_is_taken_again),
        IN_SCRATCH(a_run_that_another_one_took_is_left_to_it),
        IN_SCRATCH(a_folder_that_is_gone_is_not_made_elsewhere),
        IN_SCRATCH(a_folder_that_is_renamed_and_back_goes_on),
        IN_SCRATCH(a_removed_checkpoints_folder_is_made_again),
        IN_SCRATCH(lines_are_added_while_checkpoints_are_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
