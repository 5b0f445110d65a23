/* looking.c - tests of stores that can be read and not written.
 *
 * Permissions say nothing to root: each test runs as somebody else, in a
 * process of its own. */
#include "make_checkpoint.h"

#include "store/parent.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The one who owns nothing, on every Linux system. */
#define NOBODY 65534

/* Whether fn is true, called by one who has no rights beyond those that are
 * given. */
static bool as_nobody(bool (*fn)(const char *), const char *arg)
{
    pid_t child = fork();
    if (child == 0) {
        bool root = geteuid() == 0;
        if (root && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
            _exit(2);
        }
        _exit(fn(arg) ? 0 : 1);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Set the rights of a folder and all in it. */
static void set_rights(const char *path, mode_t folders, mode_t files)
{
    char **names;
    size_t n;
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(qn_dir_list(path, &names, &n, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        char *inner = qn_path_join(path, names[i]);
        if (qn_path_is_dir(inner)) {
            set_rights(inner, folders, files);
        } else {
            assert_int_equal(chmod(inner, files), 0);
        }
        free(inner);
        free(names[i]);
    }
    free(names);
    assert_int_equal(chmod(path, folders), 0);
}

/* A run with a checkpoint and a line, torn behind, that is not being trained,
 * in a store that nobody may write. */
static void make_read_only(const char *store)
{
    struct qn_run_dir *d = make_run(store, "r");
    append(d, QN_METRICS, NULL, 5);
    checkpoint(d, 5, "five", true, 1, keep_all);
    put(qn_run_dir_path(d), "events.jsonl", "{\"step\":1}\n{\"st");
    qn_run_dir_close(d);
    set_rights(store, 0555, 0444);
}

/* Says what differs, since a check of cmocka's in a child says nothing. */
static bool same_text(const char *a, const char *b)
{
    if (!qn_str_eq(a, b)) {
        (void)fprintf(stderr, "\"%s\" is not \"%s\"\n", a, b);
    }
    return qn_str_eq(a, b);
}

static bool count(void *user, const json_t *line)
{
    (void)line;
    ++*(int *)user;
    return true;
}

static bool reads_the_run(const char *run)
{
    char *folder = NULL;
    int64_t step = 0;
    struct qn_err damage;
    struct qn_parent parent;
    int n_lines = 0, n_tail = 0;
    bool reads = qn_run_dir_find_checkpoint(run, "last_good", &folder, &step,
                                            NULL) == QN_OK &&
                 step == 5;
    free(folder);
    reads = reads &&
            qn_run_dir_find_whole(run, &folder, &step, &damage, NULL) == QN_OK;
    free(reads ? folder : NULL);
    return reads && step == 5 &&
           qn_run_dir_lines(run, QN_EVENTS, count, &n_lines, NULL) == QN_OK &&
           qn_run_dir_tail(run, QN_EVENTS, 99, count, &n_tail, NULL) == QN_OK &&
           n_lines == 1 && n_tail == 1 &&
           qn_parent_read(run, &parent, NULL) == QN_ENOTFOUND;
}

static bool looks_at_all(const char *store)
{
    struct qn_run_summary *runs = NULL;
    int n = 0;
    struct qn_bad_runs bad = {.n = 0};
    char *run = NULL;
    bool reads = qn_store_list(store, &runs, &n, &bad, NULL) == QN_OK &&
                 n == 1 && bad.n == 0 && runs[0].step == 5 &&
                 runs[0].best_step == 5 &&
                 qn_str_eq(runs[0].state, "interrupted") &&
                 qn_store_find(store, "r", &run, NULL, NULL) == QN_OK &&
                 reads_the_run(run);
    char *fresh = qn_store_fresh_name(store, "r-*");
    reads = reads && qn_str_eq(fresh, "r-1");
    free(fresh);
    free(run);
    free(runs);
    return reads;
}

static void a_read_only_store_can_be_looked_at(void **state)
{
    make_read_only(*state);
    assert_true(as_nobody(looks_at_all, *state));
    set_rights(*state, 0700, 0600);
}

/* The times at which the folder and all in it changed, and its names. */
static void add_traces(const char *path, struct qn_str *out)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    qn_str_addf(out, "%s %lld.%09ld %lld\n", path, (long long)st.st_mtim.tv_sec,
                st.st_mtim.tv_nsec, (long long)st.st_size);
    if (!S_ISDIR(st.st_mode)) {
        return;
    }
    char **names;
    size_t n;
    assert_int_equal(qn_dir_list(path, &names, &n, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        char *inner = qn_path_join(path, names[i]);
        add_traces(inner, out);
        free(inner);
        free(names[i]);
    }
    free(names);
}

static void looking_writes_nothing_where_it_could(void **state)
{
    struct qn_str before = {0}, after = {0};
    make_read_only(*state);
    set_rights(*state, 0700, 0600);
    add_traces(*state, &before);
    assert_true(looks_at_all(*state));
    add_traces(*state, &after);
    assert_string_equal(before.text, after.text);
    qn_str_free(&before);
    qn_str_free(&after);
}

static bool training_is_refused(const char *store)
{
    struct qn_run_files files = {.name = "r", .spec_json = "{}"};
    struct qn_run_dir *d = NULL;
    struct qn_err err = {""};
    char *sentence =
        qn_xasprintf("%s: cannot make a run in it: Permission denied", store);
    bool refused = qn_run_dir_create(store, &files, &d, &err) == QN_EIO &&
                   same_text(err.text, sentence);
    free(sentence);
    char *run = NULL;
    if (!refused || qn_store_find(store, "r", &run, NULL, NULL) != QN_OK) {
        return false;
    }
    sentence = qn_xasprintf("%s/lock: cannot open: Permission denied", run);
    refused = qn_run_dir_open(run, &d, &err) == QN_EIO &&
              same_text(err.text, sentence);
    free(sentence);
    free(run);
    return refused;
}

static void training_in_a_read_only_store_is_refused(void **state)
{
    make_read_only(*state);
    assert_true(as_nobody(training_is_refused, *state));
    set_rights(*state, 0700, 0600);
}

/* All functions that look at a store say the same. */
static bool says(const char *store, const char *sentence)
{
    struct qn_run_summary *runs = NULL;
    int n;
    char *path = NULL;
    struct qn_err list = {""}, find = {""};
    return qn_store_list(store, &runs, &n, NULL, &list) == QN_EIO &&
           qn_store_find(store, "r", &path, NULL, &find) == QN_EIO &&
           same_text(list.text, sentence) && same_text(find.text, sentence);
}

static bool is_closed(const char *store)
{
    char *sentence =
        qn_xasprintf("%s: cannot open the folder: Permission denied", store);
    char *below = qn_path_join(store, "store");
    char *deeper =
        qn_xasprintf("%s: cannot open the folder: Permission denied", below);
    bool closed = says(store, sentence) && says(below, deeper);
    free(deeper);
    free(below);
    free(sentence);
    return closed;
}

static void a_store_that_may_not_be_read_is_not_an_empty_one(void **state)
{
    make_read_only(*state);
    assert_int_equal(chmod(*state, 0000), 0);
    assert_true(as_nobody(is_closed, *state));
    set_rights(*state, 0700, 0600);
}

static void a_store_that_is_a_file_is_named(void **state)
{
    char *file = qn_path_join(*state, "file");
    char *sentence =
        qn_xasprintf("%s: cannot open the folder: Not a directory", file);
    put(*state, "file", "");
    assert_true(says(file, sentence));
    free(sentence);
    free(file);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_read_only_store_can_be_looked_at),
        IN_SCRATCH(looking_writes_nothing_where_it_could),
        IN_SCRATCH(training_in_a_read_only_store_is_refused),
        IN_SCRATCH(a_store_that_may_not_be_read_is_not_an_empty_one),
        IN_SCRATCH(a_store_that_is_a_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
