/* run_dir.c - tests of making, opening and writing a run's folder. */
#include "make_run.h"

#include "store/files.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_new_run_has_its_files(void **state)
{
    struct qn_run_dir *d = make_run(*state, "drelu/small");
    const char *run = qn_run_dir_path(d);
    check_names(run, "checkpoints code.json events.jsonl lock metrics.jsonl "
                     "spec.json stats.jsonl vocab.txt");
    check_file(run, "spec.json", "{\"name\":\"drelu/small\"}\n");
    check_file(run, "vocab.txt", "a\n");
    check_file(run, "code.json", "{}\n");
    check_file(run, "metrics.jsonl", "");
    check_names(*state, qn_run_dir_id(d));
    qn_run_dir_close(d);
}

static void an_id_is_a_time_four_digits_and_the_name(void **state)
{
    struct qn_run_dir *d = make_run(*state, "drelu/small");
    const char *id = qn_run_dir_id(d);
    assert_true(qn_ends_with(id, "-drelu~small"));
    assert_int_equal(strlen(id), 16 + 1 + 4 + strlen("-drelu~small"));
    assert_int_equal(id[8], 'T');
    assert_int_equal(id[15], 'Z');
    for (int i = 17; i < 21; i++) {
        assert_true(isxdigit((unsigned char)id[i]));
    }
    qn_run_dir_close(d);
}

static void check_id_name(const char *store, const char *name, const char *end)
{
    struct qn_run_files files = {.name = name, .spec_json = "{}"};
    struct qn_run_dir *d = NULL;
    assert_int_equal(qn_run_dir_create(store, &files, &d, NULL), QN_OK);
    assert_string_equal(qn_run_dir_id(d) + 22, end);
    qn_run_dir_close(d);
}

static void names_become_safe_file_names(void **state)
{
    check_id_name(*state, "", "run");
    check_id_name(*state, "../../etc", "_.~..~etc");
    check_id_name(*state, ".hidden", "_hidden");
    check_id_name(*state, "a\nb\x7f\x1b[31m", "a_b__[31m");
    check_id_name(*state, "caf\xc3\xa9 1", "caf\xc3\xa9 1");
    check_id_name(*state, "\xff\xc3", "__");
    check_id_name(*state, "\xc2\x85x", "_x");
}

static void long_names_are_cut_between_code_points(void **state)
{
    char name[901], end[199];
    for (int i = 0; i < 300; i++) {
        memcpy(name + 3 * i, "\xe2\x82\xac", 3);
    }
    name[900] = '\0';
    memcpy(end, name, 198);
    end[198] = '\0';
    check_id_name(*state, name, end);
    char letters[202];
    memset(letters, 'x', sizeof letters);
    letters[201] = '\0'; /* one more than stays */
    check_id_name(*state, letters, letters + 1);
    check_id_name(*state, letters + 1, letters + 1);
}

static void many_runs_of_one_second_have_folders_of_their_own(void **state)
{
    struct qn_run_dir *d[40];
    for (int i = 0; i < 40; i++) {
        d[i] = make_run(*state, "same");
    }
    char **names;
    size_t n;
    assert_int_equal(qn_dir_list(*state, &names, &n, NULL), QN_OK);
    assert_int_equal(n, 40);
    for (int i = 0; i < 40; i++) {
        free(names[i]);
        qn_run_dir_close(d[i]);
    }
    free(names);
}

static void check_create_fails(const char *store, enum qn_status status,
                               const char *sentence)
{
    struct qn_run_files files = {.name = "r", .spec_json = "{}"};
    struct qn_run_dir *d = NULL;
    struct qn_err err = {""};
    assert_int_equal(qn_run_dir_create(store, &files, &d, &err), status);
    assert_string_equal(err.text, sentence);
    assert_null(d);
}

static void ids_sort_by_the_millisecond(void **state)
{
    (void)state;
    for (int ms = 1; ms < 1000; ms++) {
        char *before = qn_run_id_make("b", 1e9 + (ms - 0.5) / 1000, NULL);
        char *after = qn_run_id_make("a", 1e9 + (ms + 0.5) / 1000, NULL);
        assert_true(strcmp(before, after) < 0);
        free(before);
        free(after);
    }
}

/* The id of a run "a" made at this time after the newest one; its digits are
 * these, or with "" whatever they are. */
static void check_id(double wall, const char *newest, const char *stamp,
                     const char *digits)
{
    char *id = qn_run_id_make("a", wall, newest);
    assert_true(qn_run_id_is_dated(id));
    assert_true(qn_starts_with(id, stamp));
    assert_true(qn_starts_with(id + 17, digits));
    assert_string_equal(id + 21, "-a");
    assert_true(newest == NULL || strncmp(id, newest, 22) > 0);
    free(id);
}

static void an_id_made_after_the_clock_was_set_back_continues(void **state)
{
    (void)state;
    const double sep = 1e9; /* 2001-09-09T01:46:40Z */
    check_id(sep, NULL, "20010909T014640Z", "");
    check_id(sep, "20010909T014639Z-ffff-z", "20010909T014640Z", "");
    check_id(sep, "20010909T014640Z-7000-z", "20010909T014640Z", "7001");
    check_id(sep, "20261128T000000Z-00ff-z", "20261128T000000Z", "0100");
    check_id(sep, "20261231T235959Z-ffff-z", "20270101T000000Z", "0000");
    check_id(sep, "20261128T000000Z-0ABC-z", "20261128T000000Z", "0abd");
    check_id(0, "20010909T014640Z-0000-z", "20010909T014640Z", "0001");
}

/* What only looks like a date, and the end of all dates. */
static void an_id_without_a_time_does_not_stop_the_clock(void **state)
{
    static const char *const others[] = {
        "",
        "my-run",
        "20261128T000000Z",
        "99999999T999999Z-ffff-z",
        "2026112xT000000Z-0000-z",
        "20261128T000000Z-000g-z",
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(qn_run_id_is_dated(others[i]));
        char *id = qn_run_id_make("a", 1e9, others[i]);
        assert_true(qn_starts_with(id, "20010909T014640Z-"));
        free(id);
    }
    char *id = qn_run_id_make("a", 1e9, "99991231T235959Z-ffff-z");
    assert_true(qn_run_id_is_dated(id));
    free(id);
}

static void a_run_is_the_newest_whatever_the_clock_says(void **state)
{
    char *future = qn_path_join(*state, "22991231T235959Z-fffe-x");
    char *being_made = qn_path_join(*state, ".new-22991231T235959Z-ffff-x");
    char *other = qn_path_join(*state, "zzz");
    assert_int_equal(qn_make_dirs(future, NULL), QN_OK);
    assert_int_equal(qn_make_dirs(being_made, NULL), QN_OK);
    assert_int_equal(qn_make_dirs(other, NULL), QN_OK);
    for (int i = 0; i < 3; i++) {
        struct qn_run_dir *d = make_run(*state, "r");
        char *expected = qn_xasprintf("23000101T000000Z-%04d-r", i);
        assert_string_equal(qn_run_dir_id(d), expected);
        free(expected);
        qn_run_dir_close(d);
    }
    free(other);
    free(being_made);
    free(future);
}

/* Permissions say nothing to root, so the folder is one that cannot be. */
static void a_store_that_cannot_be_written_is_named(void **state)
{
    put(*state, "file", "");
    char *file = qn_path_join(*state, "file");
    char *below = qn_path_join(file, "store");
    char *sentence = qn_xasprintf("%s: exists and is not a folder", file);
    check_create_fails(below, QN_EIO, sentence);
    check_create_fails(file, QN_EIO, sentence);
    free(sentence);
    free(below);
    free(file);
    check_create_fails("/proc/quern", QN_ENOTFOUND,
                       "/proc/quern: cannot make the folder: No such file or "
                       "directory");
}

/* In a process of its own whose files may not grow beyond 'size' bytes. */
static int with_file_limit(rlim_t size, bool (*fn)(const char *),
                           const char *arg)
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {size, size};
        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            _exit(2);
        }
        _exit(fn(arg) ? 0 : 1);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool creating_fails_cleanly(const char *store)
{
    struct qn_run_files files = {.name = "r", .spec_json = "{\"name\":\"r\"}"};
    struct qn_run_dir *d = NULL;
    struct qn_err err = {""};
    return qn_run_dir_create(store, &files, &d, &err) == QN_EIO && d == NULL &&
           strstr(err.text, "spec.json: cannot write: File too large") != NULL;
}

static void a_full_disk_leaves_no_new_run(void **state)
{
    assert_int_equal(with_file_limit(4, creating_fails_cleanly, *state), 0);
    check_names(*state, "");
}

/* What a caller writes into the folder that is being made; 'user' is a count of
 * calls, the second of which finds no room. */
static enum qn_status write_more(void *user, const char *folder,
                                 struct qn_err *err)
{
    int *calls = user;
    check_file(folder, "spec.json", NULL); /* it is no run yet */
    put(folder, "more", "x");
    return ++*calls == 1 ? QN_OK : qn_fail(err, QN_EIO, "more: no room");
}

static void what_else_a_run_needs_is_there_before_it_shows(void **state)
{
    int calls = 0;
    struct qn_run_files files = {
        .name = "r", .spec_json = "{}\n", .more = write_more, .user = &calls};
    struct qn_run_dir *d;
    struct qn_err err;
    assert_int_equal(qn_run_dir_create(*state, &files, &d, NULL), QN_OK);
    check_file(qn_run_dir_path(d), "more", "x");
    char *id = qn_xstrdup(qn_run_dir_id(d));
    qn_run_dir_close(d);
    assert_int_equal(qn_run_dir_create(*state, &files, &d, &err), QN_EIO);
    assert_string_equal(err.text, "more: no room");
    check_names(*state, id);
    free(id);
}

static bool appending_fails_cleanly(const char *path)
{
    struct qn_run_dir *d;
    struct qn_err err = {""};
    struct qn_json line = {0};
    qn_json_object(&line);
    qn_json_kstring(&line, "event", "a line that is too long for the disk");
    qn_json_end_object(&line);
    if (qn_run_dir_open(path, &d, &err) != QN_OK) {
        return false;
    }
    bool fails = qn_run_dir_append(d, QN_EVENTS, &line, &err) == QN_EIO &&
                 strstr(err.text, "events.jsonl: cannot append: ") != NULL;
    char *folder = NULL;
    if (qn_run_dir_checkpoint(d, 2, &folder, &err) != QN_OK) {
        return false;
    }
    char *model = qn_path_join(folder, "model.safetensors");
    fails = fails && qn_file_write(model, path, strlen(path), &err) == QN_EIO;
    free(model);
    free(folder);
    qn_json_free(&line);
    qn_run_dir_close(d);
    return fails;
}

static void a_full_disk_leaves_whole_lines_and_the_last_checkpoint(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    char *folder;
    static const struct qn_figures figures = {.metric = 1};
    append(d, QN_EVENTS, NULL, 1);
    assert_int_equal(qn_run_dir_checkpoint(d, 1, &folder, NULL), QN_OK);
    assert_int_equal(
        qn_run_dir_commit(d, 1, true, &figures, (struct qn_keep){1, 1}, NULL),
        QN_OK);
    free(folder);
    qn_run_dir_close(d);
    assert_int_equal(with_file_limit(20, appending_fails_cleanly, path), 0);
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    append(d, QN_EVENTS, NULL, 2);
    check_file(path, "events.jsonl", "{\"step\":1}\n{\"step\":2}\n");
    int64_t step;
    assert_int_equal(
        qn_run_dir_find_checkpoint(path, "last", &folder, &step, NULL), QN_OK);
    assert_int_equal(step, 1);
    free(folder);
    qn_run_dir_close(d);
    free(path);
}

static void lines_are_appended_whole(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    append(d, QN_METRICS, NULL, 1);
    append(d, QN_EVENTS, "start", 0);
    append(d, QN_METRICS, NULL, 2);
    append(d, QN_STATS, NULL, 3);
    check_file(qn_run_dir_path(d), "metrics.jsonl",
               "{\"step\":1}\n{\"step\":2}\n");
    check_file(qn_run_dir_path(d), "events.jsonl",
               "{\"event\":\"start\",\"step\":0}\n");
    check_file(qn_run_dir_path(d), "stats.jsonl", "{\"step\":3}\n");
    qn_run_dir_close(d);
}

static void opening_cuts_torn_lines_and_goes_on_behind_them(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    qn_run_dir_close(d);
    put(path, "metrics.jsonl", "{\"step\":1}\n{\"st");
    put(path, "spec.json.99-0.tmp", "{");
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    append(d, QN_METRICS, NULL, 2);
    check_file(path, "metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n");
    check_file(path, "spec.json.99-0.tmp", NULL);
    qn_run_dir_close(d);
    free(path);
}

/* What else is called so is somebody's. */
static void opening_removes_temporary_files_and_no_others(void **state)
{
    static const char *const names[] = {
        "a.tmp",        ".tmp",           "tmp",
        "1-0.tmp",      "a.1-.tmp",       "a.-0.tmp",
        "a.1-0x.tmp",   "a.x1-0.tmp",     "a.10.tmp",
        "a.1-0.tmp.gz", "last.123-0.tmp", "b.7-12.tmp",
    };
    const size_t n = sizeof names / sizeof *names, n_stay = n - 2;
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    qn_run_dir_close(d);
    for (size_t i = 0; i < n; i++) {
        put(path, names[i], "x");
    }
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        check_file(path, names[i], i < n_stay ? "x" : NULL);
    }
    qn_run_dir_close(d);
    free(path);
}

static void opening_cuts_what_a_power_cut_left(void **state)
{
    static const char with_zeros[] = "{\"step\":1}\n{\"st\0\0\0\0}\n\0\0\0";
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    char *metrics = qn_path_join(path, "metrics.jsonl");
    qn_run_dir_close(d);
    assert_int_equal(
        qn_file_write(metrics, with_zeros, sizeof with_zeros - 1, NULL), QN_OK);
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    append(d, QN_METRICS, NULL, 2);
    check_file(path, "metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n");
    qn_run_dir_close(d);
    free(metrics);
    free(path);
}

static void opening_leaves_damage_further_up_as_it_is(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    qn_run_dir_close(d);
    put(path, "metrics.jsonl", "{\"step\":1}\n{]\n{\"step\":3}\n{\"st");
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    check_file(path, "metrics.jsonl", "{\"step\":1}\n{]\n{\"step\":3}\n");
    qn_run_dir_close(d);
    free(path);
}

static void a_run_without_some_files_can_be_opened(void **state)
{
    put(*state, "spec.json", "{}\n");
    struct qn_run_dir *d;
    assert_int_equal(qn_run_dir_open(*state, &d, NULL), QN_OK);
    append(d, QN_STATS, NULL, 2);
    qn_run_dir_close(d);
    check_names(*state, "checkpoints events.jsonl lock metrics.jsonl spec.json "
                        "stats.jsonl");
}

static void check_locked(const char *path)
{
    struct qn_run_dir *d = NULL;
    struct qn_err err;
    char *sentence =
        qn_xasprintf("%s: is being trained already", qn_path_base(path));
    assert_int_equal(qn_run_dir_open(path, &d, &err), QN_ESTATE);
    assert_string_equal(err.text, sentence);
    assert_null(d);
    free(sentence);
}

static void a_run_is_opened_by_one_at_a_time(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    check_locked(path);
    /* A second look must not have dropped the first one's lock. */
    check_locked(path);
    qn_run_dir_close(d);
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    check_locked(path);
    qn_run_dir_close(d);
    free(path);
}

static void the_lock_holds_against_other_processes(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *path = qn_run_dir_path(d);
    pid_t child = fork();
    if (child == 0) {
        struct qn_run_dir *other = NULL;
        _exit(qn_run_dir_open(path, &other, NULL) == QN_ESTATE ? 0 : 1);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    qn_run_dir_close(d);
}

static void the_lock_of_a_killed_process_is_free(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *path = qn_xstrdup(qn_run_dir_path(d));
    qn_run_dir_close(d);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct qn_run_dir *held = NULL;
        bool opened = qn_run_dir_open(path, &held, NULL) == QN_OK;
        (void)!write(ready[1], opened ? "y" : "n", 1);
        for (;;) {
            (void)pause();
        }
    }
    char answer = 0;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    check_locked(path);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    assert_int_equal(qn_run_dir_open(path, &d, NULL), QN_OK);
    qn_run_dir_close(d);
    (void)close(ready[0]);
    (void)close(ready[1]);
    free(path);
}

static void what_is_no_run_is_not_opened(void **state)
{
    struct qn_run_dir *d = NULL;
    struct qn_err err;
    char *none = qn_path_join(*state, "none");
    assert_int_equal(qn_run_dir_open(none, &d, &err), QN_ENOTFOUND);
    assert_true(qn_starts_with(err.text, none));
    assert_int_equal(qn_run_dir_open(*state, &d, &err), QN_ENOTFOUND);
    assert_true(qn_ends_with(err.text, ": is not a run, it has no spec.json"));
    check_names(*state, "");
    assert_null(d);
    free(none);
}

/* A folder as a process leaves it that dies while it makes a run. */
static void make_leftover(const char *store, const char *name, bool is_old)
{
    char *folder = qn_path_join(store, name);
    assert_int_equal(qn_make_dirs(folder, NULL), QN_OK);
    put(folder, "lock", "");
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    if (is_old) {
        assert_int_equal(utimensat(AT_FDCWD, folder, old, 0), 0);
    }
    free(folder);
}

static void leftovers_of_crashes_are_swept_when_old(void **state)
{
    make_leftover(*state, ".new-20200101T000000Z-0000-r", true);
    make_leftover(*state, ".new-20260101T000000Z-0000-r", false);
    make_leftover(*state, ".other", true);
    struct qn_run_dir *d = make_run(*state, "r");
    char *names = qn_xasprintf(".new-20260101T000000Z-0000-r .other %s",
                               qn_run_dir_id(d));
    check_names(*state, names);
    free(names);
    qn_run_dir_close(d);
}

static void files_of_a_run_can_be_read(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_read(qn_run_dir_path(d), "vocab.txt", &bytes, NULL), QN_OK);
    assert_string_equal(bytes.data, "a\n");
    qn_bytes_free(&bytes);
    assert_int_equal(
        qn_run_dir_read(qn_run_dir_path(d), "vectors", &bytes, &err),
        QN_ENOTFOUND);
    qn_run_dir_close(d);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_new_run_has_its_files),
        IN_SCRATCH(an_id_is_a_time_four_digits_and_the_name),
        IN_SCRATCH(names_become_safe_file_names),
        IN_SCRATCH(long_names_are_cut_between_code_points),
        IN_SCRATCH(many_runs_of_one_second_have_folders_of_their_own),
        cmocka_unit_test(ids_sort_by_the_millisecond),
        cmocka_unit_test(an_id_made_after_the_clock_was_set_back_continues),
        cmocka_unit_test(an_id_without_a_time_does_not_stop_the_clock),
        IN_SCRATCH(a_run_is_the_newest_whatever_the_clock_says),
        IN_SCRATCH(a_store_that_cannot_be_written_is_named),
        IN_SCRATCH(a_full_disk_leaves_no_new_run),
        IN_SCRATCH(what_else_a_run_needs_is_there_before_it_shows),
        IN_SCRATCH(a_full_disk_leaves_whole_lines_and_the_last_checkpoint),
        IN_SCRATCH(lines_are_appended_whole),
        IN_SCRATCH(opening_cuts_torn_lines_and_goes_on_behind_them),
        IN_SCRATCH(opening_removes_temporary_files_and_no_others),
        IN_SCRATCH(opening_cuts_what_a_power_cut_left),
        IN_SCRATCH(opening_leaves_damage_further_up_as_it_is),
        IN_SCRATCH(a_run_without_some_files_can_be_opened),
        IN_SCRATCH(a_run_is_opened_by_one_at_a_time),
        IN_SCRATCH(the_lock_holds_against_other_processes),
        IN_SCRATCH(the_lock_of_a_killed_process_is_free),
        IN_SCRATCH(what_is_no_run_is_not_opened),
        IN_SCRATCH(leftovers_of_crashes_are_swept_when_old),
        IN_SCRATCH(files_of_a_run_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
