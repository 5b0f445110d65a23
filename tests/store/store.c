/* store.c - tests of finding and listing runs. */
#include "make_run.h"

#include "store/store.h"

#include <math.h>
#include <sys/stat.h>

static void the_store_is_given_set_or_in_the_state_folder(void **state)
{
    (void)state;
    assert_int_equal(setenv("QUERN_STORE", "/some/store", 1), 0);
    char *dir = qn_store_dir("given");
    assert_string_equal(dir, "given");
    free(dir);
    dir = qn_store_dir(NULL);
    assert_string_equal(dir, "/some/store");
    free(dir);
    assert_int_equal(setenv("QUERN_STORE", "", 1), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
    dir = qn_store_dir(NULL);
    assert_string_equal(dir, "/state/quern/runs");
    free(dir);
}

/* A run by hand, with the id that sorts as the test wants. */
static char *put_run(const char *store, const char *id, const char *spec)
{
    char *path = qn_path_join(store, id);
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    put(path, "spec.json", spec);
    put(path, "code.json", "{}");
    return path;
}

static struct qn_run_summary *listed(const char *store, int n, int n_bad)
{
    struct qn_run_summary *runs = NULL;
    int found;
    struct qn_bad_runs bad;
    struct qn_err err = {""};
    if (qn_store_list(store, &runs, &found, &bad, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(found, n);
    assert_int_equal(bad.n, n_bad);
    return runs;
}

static void check_fresh(const char *store, const char *name,
                        const char *expected)
{
    char *fresh = qn_store_fresh_name(store, name);
    assert_string_equal(fresh, expected);
    free(fresh);
}

static void a_fresh_name_has_the_first_number_above_all_others(void **state)
{
    free(put_run(*state, "20260101T000000Z-0001-a", "{\"name\":\"a/b-2\"}"));
    free(put_run(*state, "20260102T000000Z-0002-b", "{\"name\":\"a/b-9\"}"));
    free(put_run(*state, "20260103T000000Z-0003-c", "{\"name\":\"a/b-x\"}"));
    free(put_run(*state, "20260104T000000Z-0004-d",
                 "{\"name\":\"a/b-9223372036854775807\"}"));
    check_fresh(*state, "a/b-*", "a/b-10");
    check_fresh(*state, "a/bc-*", "a/bc-1");
    check_fresh(*state, "a/b", "a/b");
    check_fresh("/none/there", "run-*", "run-1");
}

static void a_missing_or_empty_store_has_no_runs(void **state)
{
    char *none = qn_path_join(*state, "none");
    free(listed(none, 0, 0));
    free(listed(*state, 0, 0));
    free(none);
}

static void runs_are_listed_oldest_first(void **state)
{
    free(put_run(*state, "20260102T000000Z-0001-b", "{\"name\":\"x/b\"}"));
    free(put_run(*state, "20260101T000000Z-0002-a~1", "{}"));
    free(put_run(*state, "renamed~run", "{\"name\":\"\"}"));
    struct qn_run_summary *runs = listed(*state, 3, 0);
    assert_string_equal(runs[0].id, "20260101T000000Z-0002-a~1");
    assert_string_equal(runs[0].name, "a/1");
    assert_string_equal(runs[1].name, "x/b");
    assert_string_equal(runs[2].name, "renamed/run");
    assert_int_equal(runs[0].step, 0);
    assert_int_equal(runs[0].best_step, 0);
    assert_true(isnan(runs[0].best_loss));
    free(runs);
}

static void what_cannot_be_read_is_counted(void **state)
{
    char *broken = put_run(*state, "a", "{");
    char *list = put_run(*state, "b", "[]");
    char *events = put_run(*state, "c", "{}");
    char *best = put_run(*state, "d", "{}");
    char *metrics = put_run(*state, "e", "{}");
    char *empty = qn_path_join(*state, "f");
    put(events, "events.jsonl", "{]\n");
    put(best, "best", "x\n");
    put(metrics, "metrics.jsonl", "{]\n");
    assert_int_equal(qn_make_dirs(empty, NULL), QN_OK);
    put(*state, "file", "no folder is no run");
    free(put_run(*state, ".new-x", "{}"));
    free(put_run(*state, "good", "{}"));
    struct qn_run_summary *runs = listed(*state, 1, 5);
    assert_string_equal(runs[0].id, "good");
    free(runs);
    free(empty);
    free(metrics);
    free(best);
    free(events);
    free(list);
    free(broken);
}

/* In a folder that came from elsewhere anything may lie. */
static void a_pipe_in_a_run_keeps_nobody_waiting(void **state)
{
    static const struct {
        const char *name;
        int n;
    } files[] = {
        {"spec.json", 0},   {"events.jsonl", 0},  {"best", 0},
        {"last", 1},        {"metrics.jsonl", 1}, {"lock", 1},
        {"parent.json", 1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *run = put_run(*state, "r", "{}");
        char *path = qn_path_join(run, files[i].name);
        (void)remove(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        free(listed(*state, files[i].n, 1 - files[i].n));
        struct qn_err err, damage;
        char *folder = NULL;
        int64_t step;
        (void)qn_run_dir_find_whole(run, &folder, &step, &damage, &err);
        struct qn_run_dir *d = NULL;
        (void)qn_run_dir_open(run, &d, &err);
        qn_run_dir_close(d);
        assert_null(folder);
        assert_int_equal(qn_remove_tree(run, NULL), QN_OK);
        free(path);
        free(run);
    }
}

static void check_state(const char *store, const char *state)
{
    struct qn_run_summary *runs = listed(store, 1, 0);
    assert_string_equal(runs[0].state, state);
    free(runs);
}

static void the_state_follows_events_and_the_lock(void **state)
{
    static const struct {
        const char *event, *held, *left;
    } after[] = {
        {"start", "running", "interrupted"},
        {"set", "running", "interrupted"},
        {"pause", "paused", "interrupted"},
        {"checkpoint", "paused", "interrupted"},
        {"resume", "running", "interrupted"},
        {"done", "done", "done"},
        {"eval", "done", "done"},
        {"resume", "running", "interrupted"},
        {"stop", "stopped", "stopped"},
        {"start", "running", "interrupted"},
        {"failed", "failed", "failed"},
    };
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    check_state(*state, "running");
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        append(d, QN_EVENTS, after[i].event, (int64_t)i);
        check_state(*state, after[i].held);
        qn_run_dir_close(d);
        check_state(*state, after[i].left);
        assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    }
    qn_run_dir_close(d);
    free(path);
}

static void a_resume_makes_a_finished_run_unfinished(void **state)
{
    char *run = put_run(*state, "r", "{}");
    put(run, "events.jsonl",
        "{\"event\":\"done\",\"step\":5}\n{\"segment\":2,\"from\":5}\n");
    check_state(*state, "interrupted");
    free(run);
}

static void listing_does_not_drop_the_lock(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r"), *other;
    check_state(*state, "running");
    assert_int_equal(qn_run_dir_open(qn_run_dir_path(d), &other, NULL),
                     QN_ESTATE);
    check_state(*state, "running");
    qn_run_dir_close(d);
}

static void check_step(const char *store, int64_t step)
{
    struct qn_run_summary *runs = listed(store, 1, 0);
    assert_int_equal(runs[0].step, step);
    free(runs);
}

static void the_step_is_the_last_one_recorded(void **state)
{
    char *run = put_run(*state, "r", "{}");
    check_step(*state, 0);
    put(run, "metrics.jsonl", "{\"step\":7}\n{\"a\":1}\n{\"step\":9");
    check_step(*state, 7);
    put(run, "metrics.jsonl", "{\"step\":7}\n{\"segment\":2,\"from\":3}\n");
    check_step(*state, 3);
    struct qn_str many = {0};
    for (int i = 1; i <= 5000; i++) {
        qn_str_addf(&many, "{\"step\":%d,\"loss\":%d}\n", i, i * 7);
    }
    put(run, "metrics.jsonl", many.text);
    check_step(*state, 5000);
    qn_str_free(&many);
    free(run);
}

static void the_best_checkpoint_is_told(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *folder;
    const struct qn_figures figures = {1.25, 1.25, (double)NAN};
    assert_int_equal(qn_run_dir_checkpoint(d, 40, &folder, NULL), QN_OK);
    assert_int_equal(
        qn_run_dir_commit(d, 40, true, &figures, (struct qn_keep){1, 1}, NULL),
        QN_OK);
    free(folder);
    qn_run_dir_close(d);
    struct qn_run_summary *runs = listed(*state, 1, 0);
    assert_int_equal(runs[0].best_step, 40);
    assert_true(runs[0].best_loss == 1.25);
    assert_true(isnan(runs[0].best_accuracy));
    free(runs);
}

static void the_accuracy_of_a_classifier_is_told(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *folder;
    const struct qn_figures figures = {-0.75, 0.5, 0.75};
    char *run = qn_xstrdup(qn_run_dir_path(d));
    put(run, "spec.json",
        "{\"name\":\"r\",\"task\":\"classify\","
        "\"data\":{\"level\":\"word\"}}\n");
    assert_int_equal(qn_run_dir_checkpoint(d, 40, &folder, NULL), QN_OK);
    assert_int_equal(
        qn_run_dir_commit(d, 40, true, &figures, (struct qn_keep){1, 1}, NULL),
        QN_OK);
    check_file(run, "checkpoints/40/metric",
               "-0.75\nloss 0.5\naccuracy 0.75\n");
    free(folder);
    free(run);
    qn_run_dir_close(d);
    struct qn_run_summary *runs = listed(*state, 1, 0);
    assert_true(runs[0].of_labels);
    assert_false(runs[0].of_words);
    assert_int_equal(runs[0].best_step, 40);
    assert_true(runs[0].best_loss == 0.5);
    assert_true(runs[0].best_accuracy == 0.75);
    free(runs);
}

static void long_names_are_cut_between_code_points(void **state)
{
    struct qn_str spec = {0};
    qn_str_add(&spec, "{\"name\":\"");
    for (int i = 0; i < 100; i++) {
        qn_str_add(&spec, "\xe2\x82\xac");
    }
    qn_str_add(&spec, "\"}");
    free(put_run(*state, "r", spec.text));
    struct qn_run_summary *runs = listed(*state, 1, 0);
    assert_int_equal(strlen(runs[0].name), 255);
    assert_true(qn_ends_with(runs[0].name, "\xe2\x82\xac"));
    free(runs);
    qn_str_free(&spec);
}

static void check_finds(const char *store, const char *run, const char *id,
                        int n_same)
{
    char *path = NULL;
    int same = 0;
    struct qn_err err = {""};
    if (qn_store_find(store, run, &path, &same, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(qn_path_base(path), id);
    assert_int_equal(same, n_same);
    free(path);
}

static void check_finds_not(const char *store, const char *run,
                            enum qn_status status, const char *sentence)
{
    char *path = NULL;
    struct qn_err err;
    assert_int_equal(qn_store_find(store, run, &path, NULL, &err), status);
    assert_string_equal(err.text, sentence);
    assert_null(path);
}

static void runs_are_found_by_path_id_name_and_prefix(void **state)
{
    char *first =
        put_run(*state, "20260101T000000Z-0001-a~1", "{\"name\":\"a/1\"}");
    free(put_run(*state, "20260102T000000Z-0001-a~1", "{\"name\":\"a/1\"}"));
    free(put_run(*state, "20260103T000000Z-0001-b", "{\"name\":\"b\"}"));
    free(put_run(*state, "20270101T000000Z-0001-b2", "{\"name\":\"2027\"}"));
    check_finds(*state, first, "20260101T000000Z-0001-a~1", 1);
    check_finds(*state, "20260101T000000Z-0001-a~1",
                "20260101T000000Z-0001-a~1", 1);
    check_finds(*state, "a/1", "20260102T000000Z-0001-a~1", 2);
    check_finds(*state, "20260103", "20260103T000000Z-0001-b", 1);
    check_finds(*state, "2027", "20270101T000000Z-0001-b2", 1);
    check_finds(*state, "b", "20260103T000000Z-0001-b", 1);
    free(first);
}

static void runs_not_found_are_told_with_the_nearest(void **state)
{
    char *none = qn_xasprintf("no run \"x\": %s holds no runs", (char *)*state);
    check_finds_not(*state, "x", QN_ENOTFOUND, none);
    free(none);
    free(put_run(*state, "20260101T000000Z-0001-a", "{\"name\":\"drelu\"}"));
    free(put_run(*state, "20260102T000000Z-0001-b", "{\"name\":\"tanh\"}"));
    char *near = qn_xasprintf("no run \"dreli\" in %s; did you mean \"drelu\"",
                              (char *)*state);
    check_finds_not(*state, "dreli", QN_ENOTFOUND, near);
    free(near);
    char *far = qn_xasprintf("no run \"elephant\" in %s", (char *)*state);
    check_finds_not(*state, "elephant", QN_ENOTFOUND, far);
    free(far);
    check_finds_not(*state, "2026", QN_EUSAGE,
                    "\"2026\" begins the ids of 2 runs, the newest "
                    "20260102T000000Z-0001-b");
    check_finds_not(*state, "", QN_EUSAGE, "no run is named");
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_is_given_set_or_in_the_state_folder),
        IN_SCRATCH(a_fresh_name_has_the_first_number_above_all_others),
        IN_SCRATCH(a_missing_or_empty_store_has_no_runs),
        IN_SCRATCH(runs_are_listed_oldest_first),
        IN_SCRATCH(what_cannot_be_read_is_counted),
        IN_SCRATCH(a_pipe_in_a_run_keeps_nobody_waiting),
        IN_SCRATCH(the_state_follows_events_and_the_lock),
        IN_SCRATCH(a_resume_makes_a_finished_run_unfinished),
        IN_SCRATCH(listing_does_not_drop_the_lock),
        IN_SCRATCH(the_step_is_the_last_one_recorded),
        IN_SCRATCH(the_best_checkpoint_is_told),
        IN_SCRATCH(the_accuracy_of_a_classifier_is_told),
        IN_SCRATCH(long_names_are_cut_between_code_points),
        IN_SCRATCH(runs_are_found_by_path_id_name_and_prefix),
        IN_SCRATCH(runs_not_found_are_told_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
