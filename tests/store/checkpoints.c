/* checkpoints.c - tests of checkpoints, crash by crash. */
#include "make_checkpoint.h"

#include "base/thread.h"
#include "store/checkpoints.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

/* Name the folder of a checkpoint differently, as a crash may leave it. */
static void rename_in(const char *run, const char *from, const char *to)
{
    char *a = qn_xasprintf("%s/checkpoints/%s", run, from);
    char *b = qn_xasprintf("%s/checkpoints/%s", run, to);
    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

static void best_last_and_steps_are_found(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 0, "zero", false, (double)NAN, keep_all);
    check_found(run, "best", 0, "zero");
    checkpoint(d, 100, "one", true, 2.5, keep_all);
    checkpoint(d, 200, "two", false, 3.5, keep_all);
    check_found(run, "best", 100, "one");
    check_found(run, "last", 200, "two");
    check_found(run, "100", 100, "one");
    check_found(run, "0", 0, "zero");
    check_file(run, "best", "100\n");
    check_file(run, "last", "200\n");
    check_file(run, "checkpoints/0/metric", "nan\n");
    check_file(run, "checkpoints/100/metric", "2.5\n");
    qn_run_dir_close(d);
}

static void a_missing_checkpoint_error_lists_those_there_are(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    check_not_found(run, "last", "no checkpoint \"last\"; it has none yet");
    checkpoint(d, 9, "x", false, 1, keep_all);
    checkpoint(d, 10, "x", false, 1, keep_all);
    check_not_found(run, "11",
                    "no checkpoint \"11\"; it has those of steps 9, 10");
    check_not_found(run, "-9",
                    "no checkpoint \"-9\"; it has those of steps 9, 10");
    check_not_found(run, "009",
                    "no checkpoint \"009\"; it has those of steps 9, 10");
    check_not_found(run, "../checkpoints/9",
                    "no checkpoint \"../checkpoints/9\"; it has those of "
                    "steps 9, 10");
    qn_run_dir_close(d);
}

static void the_newest_and_the_best_stay(void **state)
{
    static const double metric[] = {9, 5, 3, 4, 8, 7, 6};
    struct qn_run_dir *d = make_run(*state, "r");
    for (int i = 0; i < 7; i++) {
        checkpoint(d, i + 1, "x", i == 2, metric[i], (struct qn_keep){2, 3});
    }
    check_steps(qn_run_dir_path(d), "3 4 5 6 7");
    d = reopened(d);
    checkpoint(d, 8, "x", false, (double)NAN, (struct qn_keep){2, 1});
    check_steps(qn_run_dir_path(d), "3 4 8");
    qn_run_dir_close(d);
}

/* The first of equal ones is the one that "best" names. */
static void of_equal_checkpoints_the_earliest_stays(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    for (int i = 1; i <= 4; i++) {
        checkpoint(d, i, "x", i == 1, -0.75, (struct qn_keep){2, 1});
    }
    check_steps(qn_run_dir_path(d), "1 2 4");
    qn_run_dir_close(d);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

/* Of older programs, of other systems, and damaged. */
static void figures_are_read_from_any_metric_file(void **state)
{
    const double none = (double)NAN;
    const struct {
        const char *text;
        struct qn_figures figures;
    } cases[] = {
        {"1.25\n", {1.25, 1.25, none}},
        {"1.25", {1.25, 1.25, none}},
        {"nan\n", {none, none, none}},
        {"-0.75\nloss 0.5\naccuracy 0.75\n", {-0.75, 0.5, 0.75}},
        {"-0.75\r\nloss 0.5\r\naccuracy 0.75\r\n", {-0.75, 0.5, 0.75}},
        {"-0.75\naccuracy 0.75\nloss 0.5", {-0.75, 0.5, 0.75}},
        {"-0.75\naccuracy 0.75\n", {-0.75, none, 0.75}},
        {"0.5\nloss 0.5\naccuracy ", {0.5, 0.5, none}},
        {"0.5\nloss x\naccuracy y\n", {0.5, 0.5, none}},
        {"x\nloss 0.5\naccuracy 0.75\n", {none, 0.5, 0.75}},
        {"\n\n\n", {none, none, none}},
        {"", {none, none, none}},
    };
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 1, "x", true, 1, (struct qn_keep){1, 1});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(qn_run_dir_path(d), "checkpoints/1/metric", cases[i].text);
        struct qn_figures f = qn_run_checkpoint_figures(qn_run_dir_path(d), 1);
        assert_true(same(f.metric, cases[i].figures.metric));
        assert_true(same(f.loss, cases[i].figures.loss));
        assert_true(same(f.accuracy, cases[i].figures.accuracy));
    }
    qn_run_dir_close(d);
}

static void what_best_and_last_name_stays_whatever_the_rule(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    struct qn_keep none = {0, 0};
    checkpoint(d, 1, "x", true, 1, none);
    checkpoint(d, 2, "x", false, 2, none);
    check_steps(qn_run_dir_path(d), "1 2");
    checkpoint(d, 3, "x", false, 3, none);
    check_steps(qn_run_dir_path(d), "1 3");
    qn_run_dir_close(d);
}

static void steps_of_a_replaced_history_go_except_the_best(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 100, "x", false, 4, keep_all);
    checkpoint(d, 200, "x", true, 1, keep_all);
    checkpoint(d, 300, "x", false, 2, keep_all);
    checkpoint(d, 150, "x", false, 3, keep_all);
    check_steps(run, "100 150 200");
    check_found(run, "last", 150, "x");
    check_found(run, "best", 200, "x");
    qn_run_dir_close(d);
}

static void a_checkpoint_may_be_written_anew(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 5, "old", true, 1, keep_all);
    checkpoint(d, 5, "new", false, 2, keep_all);
    check_steps(run, "5");
    check_found(run, "best", 5, "new");
    check_file(run, "checkpoints/5/metric", "2\n");
    qn_run_dir_close(d);
}

static void an_uncommitted_checkpoint_does_not_count(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "five", true, 1, keep_all);
    char *folder;
    assert_int_equal(qn_run_dir_checkpoint(d, 6, &folder, NULL), QN_OK);
    put(folder, "model.safetensors", "half");
    free(folder);
    check_found(qn_run_dir_path(d), "last", 5, "five");
    check_not_found(qn_run_dir_path(d), "6",
                    "no checkpoint \"6\"; it has those of steps 5");
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5");
    check_found(qn_run_dir_path(d), "last", 5, "five");
    qn_run_dir_close(d);
}

static void a_crash_while_writing_anew_leaves_the_old_one(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "old", true, 1, keep_all);
    for (int i = 0; i < 2; i++) {
        /* The second time what the first left is found first. */
        char *folder;
        assert_int_equal(qn_run_dir_checkpoint(d, 5, &folder, NULL), QN_OK);
        put(folder, "model.safetensors", "half");
        free(folder);
        check_found(qn_run_dir_path(d), "last", 5, "old");
    }
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5");
    check_found(qn_run_dir_path(d), "last", 5, "old");
    qn_run_dir_close(d);
}

static void a_crash_between_the_renames_leaves_the_old_one(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "old", true, 1, keep_all);
    rename_in(qn_run_dir_path(d), "5", ".old-5");
    check_found(qn_run_dir_path(d), "last", 5, "old");
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5");
    check_found(qn_run_dir_path(d), "best", 5, "old");
    qn_run_dir_close(d);
}

static void a_crash_after_the_commit_leaves_the_new_one(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 4, "old", true, 1, keep_all);
    rename_in(qn_run_dir_path(d), "4", ".old-5");
    checkpoint(d, 6, "six", true, 1, keep_all);
    rename_in(qn_run_dir_path(d), "6", "5");
    put(qn_run_dir_path(d), "last", "5\n");
    check_found(qn_run_dir_path(d), "last", 5, "six");
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5");
    check_found(qn_run_dir_path(d), "last", 5, "six");
    qn_run_dir_close(d);
}

static void a_crash_before_last_is_written_leaves_the_old_last(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "five", true, 1, keep_all);
    checkpoint(d, 6, "six", false, 2, keep_all);
    put(qn_run_dir_path(d), "last", "5\n");
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5 6");
    check_found(qn_run_dir_path(d), "last", 5, "five");
    checkpoint(d, 6, "six again", false, 2, keep_all);
    check_found(qn_run_dir_path(d), "last", 6, "six again");
    qn_run_dir_close(d);
}

static void half_removed_checkpoints_are_removed(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "five", true, 1, keep_all);
    checkpoint(d, 6, "six", false, 2, keep_all);
    rename_in(qn_run_dir_path(d), "6", ".gone-6");
    put(qn_run_dir_path(d), "last", "5\n");
    d = reopened(d);
    check_steps(qn_run_dir_path(d), "5");
    qn_run_dir_close(d);
}

static void what_a_person_put_beside_checkpoints_stays(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "five", true, 1, keep_all);
    char *folder = qn_path_join(qn_run_dir_path(d), "checkpoints");
    char *copy = qn_path_join(folder, "5 as sent");
    put(folder, "notes", "mine");
    put(folder, ".hidden", "mine");
    assert_int_equal(qn_make_dirs(copy, NULL), QN_OK);
    d = reopened(d);
    checkpoint(d, 6, "six", true, 1, keep_all);
    check_steps(qn_run_dir_path(d), ".hidden 5 5 as sent 6 notes");
    free(copy);
    free(folder);
    qn_run_dir_close(d);
}

static void a_damaged_last_is_named(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    checkpoint(d, 5, "five", true, 1, keep_all);
    put(qn_run_dir_path(d), "last", "five\n");
    struct qn_err err;
    char *folder;
    int64_t step;
    assert_int_equal(qn_run_dir_find_checkpoint(qn_run_dir_path(d), "last",
                                                &folder, &step, &err),
                     QN_EFORMAT);
    assert_true(qn_ends_with(err.text, "/last: holds \"five\", not a step"));
    check_found(qn_run_dir_path(d), "5", 5, "five");
    qn_run_dir_close(d);
}

static void equal_checkpoints_have_equal_bytes(void **state)
{
    struct qn_run_dir *a = make_run(*state, "a"), *b = make_run(*state, "b");
    struct qn_run_dir *runs[] = {a, b};
    for (int i = 0; i < 2; i++) {
        checkpoint(runs[i], 7, "x", true, 0.1, keep_all);
        char *folder = qn_path_join(qn_run_dir_path(runs[i]), "checkpoints/7");
        check_names(folder, "SHA256SUMS metric model.safetensors");
        check_file(folder, "metric", "0.1\n");
        free(folder);
        qn_run_dir_close(runs[i]);
    }
}

#define N_BETTER 50

struct better {
    struct qn_run_dir *d;
    atomic_bool done, failed;
};

/* A trainer that gets better at every step; only the newest stays. */
static void *get_better(void *user)
{
    struct better *b = user;
    for (int64_t step = 2; step <= N_BETTER; step++) {
        char *folder;
        struct qn_figures figures = {-(double)step, 1, (double)NAN};
        if (qn_run_dir_checkpoint(b->d, step, &folder, NULL) != QN_OK ||
            qn_run_dir_commit(b->d, step, true, &figures,
                              (struct qn_keep){0, 0}, NULL) != QN_OK) {
            atomic_store(&b->failed, true);
            break;
        }
        free(folder);
    }
    atomic_store(&b->done, true);
    return NULL;
}

static void the_best_is_found_while_better_ones_come(void **state)
{
    struct better b = {.d = make_run(*state, "r")};
    const char *run = qn_run_dir_path(b.d);
    pthread_t thread;
    checkpoint(b.d, 1, "x", true, -1, (struct qn_keep){0, 0});
    assert_int_equal(qn_thread_start(&thread, "trainer", get_better, &b, NULL),
                     QN_OK);
    struct qn_err err = {""};
    enum qn_status status = QN_OK;
    while (status == QN_OK && !atomic_load(&b.done)) {
        char *folder = NULL;
        int64_t step;
        status = qn_run_dir_find_checkpoint(run, "best", &folder, &step, &err);
        free(folder);
    }
    qn_thread_join(thread);
    assert_false(atomic_load(&b.failed));
    if (status != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_run_dir_close(b.d);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(best_last_and_steps_are_found),
        IN_SCRATCH(a_missing_checkpoint_error_lists_those_there_are),
        IN_SCRATCH(the_newest_and_the_best_stay),
        IN_SCRATCH(of_equal_checkpoints_the_earliest_stays),
        IN_SCRATCH(figures_are_read_from_any_metric_file),
        IN_SCRATCH(what_best_and_last_name_stays_whatever_the_rule),
        IN_SCRATCH(steps_of_a_replaced_history_go_except_the_best),
        IN_SCRATCH(a_checkpoint_may_be_written_anew),
        IN_SCRATCH(an_uncommitted_checkpoint_does_not_count),
        IN_SCRATCH(a_crash_while_writing_anew_leaves_the_old_one),
        IN_SCRATCH(a_crash_between_the_renames_leaves_the_old_one),
        IN_SCRATCH(a_crash_after_the_commit_leaves_the_new_one),
        IN_SCRATCH(a_crash_before_last_is_written_leaves_the_old_last),
        IN_SCRATCH(half_removed_checkpoints_are_removed),
        IN_SCRATCH(what_a_person_put_beside_checkpoints_stays),
        IN_SCRATCH(a_damaged_last_is_named),
        IN_SCRATCH(equal_checkpoints_have_equal_bytes),
        IN_SCRATCH(the_best_is_found_while_better_ones_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
