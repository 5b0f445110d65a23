/* appender.c - files of lines: added whole, mended, made again when removed. */
#include "base/file.h"
#include "base/str.h"

#include "scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The path of 'name' in the scratch folder; the caller frees it. */
static char *in(void **state, const char *name)
{
    return qn_path_join(*state, name);
}

static void put(const char *path, const char *text, size_t len)
{
    struct qn_err err;
    assert_int_equal(qn_file_write(path, text, len, &err), QN_OK);
}

static void holds(const char *path, const char *text, size_t len)
{
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(qn_file_read(path, &bytes, &err), QN_OK);
    assert_int_equal(bytes.len, len);
    assert_memory_equal(bytes.data, text, len);
    assert_int_equal(bytes.data[len], '\0');
    qn_bytes_free(&bytes);
    assert_null(bytes.data);
}

/* The error is of this status and its sentence begins with the path. */
static void says(enum qn_status got, enum qn_status wanted,
                 const struct qn_err *err, const char *path)
{
    assert_int_equal(got, wanted);
    assert_true(qn_starts_with(err->text, path));
}

static size_t n_names(const char *folder)
{
    char **names;
    size_t n;
    struct qn_err err;
    assert_int_equal(qn_dir_list(folder, &names, &n, &err), QN_OK);
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
    return n;
}

static void a_full_disk_leaves_no_half_line(void **state)
{
    char *path = in(state, "lines");
    struct rlimit before, tiny;
    struct qn_appender *a;
    struct qn_err err;
    char line[700];
    memset(line, 'x', sizeof line);
    assert_int_equal(qn_appender_open(path, &a, &err), QN_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tiny = before;
    tiny.rlim_cur = 1000;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    enum qn_status first = qn_appender_line(a, line, sizeof line, &err);
    enum qn_status second = qn_appender_line(a, line, sizeof line, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(first, QN_OK);
    says(second, QN_EIO, &err, path);
    assert_int_equal(qn_appender_line(a, "end", 3, &err), QN_OK);
    qn_appender_close(a);
    struct qn_bytes bytes;
    assert_int_equal(qn_file_read(path, &bytes, &err), QN_OK);
    assert_int_equal(bytes.len, 701 + 4);
    assert_string_equal(bytes.data + 700, "\nend\n");
    qn_bytes_free(&bytes);
    free(path);
}

static void lines_are_appended_after_what_is_there(void **state)
{
    char *path = in(state, "log");
    struct qn_err err;
    for (int i = 0; i < 2; i++) {
        struct qn_appender *a;
        assert_int_equal(qn_appender_open(path, &a, &err), QN_OK);
        assert_int_equal(qn_appender_line(a, "{}", 2, &err), QN_OK);
        assert_int_equal(qn_appender_line(a, NULL, 0, &err), QN_OK);
        assert_int_equal(qn_appender_sync(a, &err), QN_OK);
        qn_appender_close(a);
    }
    qn_appender_close(NULL);
    holds(path, "{}\n\n{}\n\n", 8);
    struct qn_appender *none = NULL;
    says(qn_appender_open(*state, &none, &err), QN_EIO, &err, *state);
    assert_null(none);
    free(path);
}

static void appending_does_not_allocate(void **state)
{
    char *path = in(state, "quiet");
    struct qn_appender *a;
    struct qn_err err;
    assert_int_equal(qn_appender_open(path, &a, &err), QN_OK);
    assert_int_equal(qn_appender_line(a, "a first line", 12, &err), QN_OK);
    uint64_t before = qn_mem_count();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(qn_appender_line(a, "a later line", 12, &err), QN_OK);
    }
    assert_true(qn_mem_count() == before);
    qn_appender_close(a);
    free(path);
}

static void a_torn_last_line_is_cut_off(void **state)
{
    char *path = in(state, "torn");
    char text[10000];
    memset(text, 'x', sizeof text);
    static const struct {
        int newline; /* its offset in the text, -1: none */
        size_t len, kept;
    } cases[] = {{-1, 0, 0},         {-1, 5, 0},         {4, 5, 5},
                 {4, 6, 5},          {-1, 9999, 0},      {10, 9999, 11},
                 {4095, 9999, 4096}, {4096, 9999, 4097}, {0, 4097, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char saved = 'x';
        if (cases[i].newline >= 0) {
            text[cases[i].newline] = '\n';
        }
        put(path, text, cases[i].len);
        struct qn_err err;
        assert_int_equal(qn_file_repair_lines(path, &err), QN_OK);
        holds(path, text, cases[i].kept);
        if (cases[i].newline >= 0) {
            text[cases[i].newline] = saved;
        }
    }
    struct qn_err err;
    char *missing = in(state, "none");
    says(qn_file_repair_lines(missing, &err), QN_ENOTFOUND, &err, missing);
    free(missing);
    free(path);
}

/* Whole lines of "x", "y" and so on; "0" stands for a NUL. */
static void whole_is(void **state, const char *text, size_t whole)
{
    char bytes[64];
    size_t len = strlen(text);
    char *path = in(state, "lines");
    for (size_t i = 0; i <= len; i++) {
        bytes[i] = (char)(text[i] == '0' ? '\0' : text[i]);
    }
    assert_int_equal(qn_whole_lines(bytes, len), whole);
    put(path, bytes, len);
    assert_int_equal(qn_file_repair_lines(path, NULL), QN_OK);
    holds(path, bytes, whole);
    free(path);
}

/* A power cut leaves zeros of blocks that were not synced. */
static void last_lines_that_hold_nul_bytes_are_cut_off(void **state)
{
    whole_is(state, "", 0);
    whole_is(state, "x", 0);
    whole_is(state, "0", 0);
    whole_is(state, "\n", 1);
    whole_is(state, "0\n", 0);
    whole_is(state, "x\ny\n", 4);
    whole_is(state, "x\ny", 2);
    whole_is(state, "x\n000", 2);
    whole_is(state, "x\n000\n", 2);
    whole_is(state, "x\n000y\n", 2);
    whole_is(state, "x\ny00\n0z\n", 2);
    whole_is(state, "x\ny00\n0z\nw", 2);
    whole_is(state, "000\n00\n", 0);
}

static void damage_further_up_is_left_as_it_is(void **state)
{
    whole_is(state, "x\n0y\nz\n", 7);
    whole_is(state, "x\n0y\nz\nw", 7);
    whole_is(state, "x\n0y\nz\n0\n", 7);
}

/* More than is read at once, with the line's end at every place about it. */
static void nul_bytes_are_found_across_blocks(void **state)
{
    char *path = in(state, "lines");
    for (size_t n_zeros = 8180; n_zeros < 8200; n_zeros++) {
        struct qn_str s = {0};
        qn_str_add(&s, "{}\n");
        for (size_t i = 0; i < n_zeros; i++) {
            qn_str_add_bytes(&s, "", 1);
        }
        qn_str_add(&s, "}\n");
        FILE *file = fopen(path, "wb");
        assert_int_equal(fwrite(s.text, 1, s.len, file), s.len);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(qn_file_repair_lines(path, NULL), QN_OK);
        holds(path, "{}\n", 3);
        qn_str_free(&s);
    }
    free(path);
}

static struct qn_appender *opened(const char *path, const char *line)
{
    struct qn_appender *a = NULL;
    assert_int_equal(qn_appender_open(path, &a, NULL), QN_OK);
    assert_int_equal(qn_appender_line(a, line, strlen(line), NULL), QN_OK);
    return a;
}

static void a_removed_file_is_made_again_by_the_next_line(void **state)
{
    char *path = in(state, "a");
    struct qn_appender *a = opened(path, "one");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(qn_appender_line(a, "two", 3, NULL), QN_OK);
    holds(path, "one\ntwo\n", 8);
    assert_int_equal(qn_appender_line(a, "three", 5, NULL), QN_OK);
    holds(path, "one\ntwo\nthree\n", 14);
    assert_int_equal(n_names(*state), 1);
    qn_appender_close(a);
    free(path);
}

static void a_replaced_file_is_made_again(void **state)
{
    char *path = in(state, "a");
    struct qn_appender *a = opened(path, "one");
    put(path, "other", 5);
    assert_int_equal(qn_appender_line(a, "two", 3, NULL), QN_OK);
    holds(path, "one\ntwo\n", 8);
    assert_int_equal(n_names(*state), 1);
    qn_appender_close(a);
    free(path);
}

static void a_renamed_file_is_made_again_when_synced(void **state)
{
    char *path = in(state, "a"), *away = in(state, "away");
    struct qn_appender *a = opened(path, "one");
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(qn_appender_sync(a, NULL), QN_OK);
    holds(path, "one\n", 4);
    holds(away, "one\n", 4);
    assert_int_equal(qn_appender_line(a, "two", 3, NULL), QN_OK);
    holds(path, "one\ntwo\n", 8);
    holds(away, "one\n", 4);
    qn_appender_close(a);
    free(away);
    free(path);
}

/* Not in a folder that has taken its folder's name. */
static void a_file_is_made_again_only_where_it_was(void **state)
{
    char *folder = in(state, "folder"), *away = in(state, "away");
    char *path = in(state, "folder/a"), *moved = in(state, "away/a");
    struct qn_err err = {""};
    assert_int_equal(qn_make_dir(folder, NULL), QN_OK);
    struct qn_appender *a = opened(path, "one");
    assert_int_equal(rename(folder, away), 0);
    assert_int_equal(qn_make_dir(folder, NULL), QN_OK);
    assert_int_equal(unlink(moved), 0);
    assert_int_equal(qn_appender_line(a, "two", 3, NULL), QN_OK);
    holds(moved, "one\ntwo\n", 8);
    assert_int_equal(n_names(folder), 0);
    assert_int_equal(qn_remove_tree(away, NULL), QN_OK);
    says(qn_appender_line(a, "three", 5, &err), QN_EIO, &err, path);
    assert_true(qn_ends_with(err.text, ": its folder is gone"));
    says(qn_appender_sync(a, &err), QN_EIO, &err, path);
    assert_int_equal(n_names(*state), 1);
    qn_appender_close(a);
    free(moved);
    free(path);
    free(away);
    free(folder);
}

/* Without room the copy fails, and nothing is lost once there is some. */
static void a_full_disk_delays_the_new_file(void **state)
{
    char *path = in(state, "a");
    struct qn_appender *a = opened(path, "a line that needs some room");
    struct rlimit before, tiny;
    struct qn_err err;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tiny = before;
    tiny.rlim_cur = 10;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    enum qn_status status = qn_appender_line(a, "two", 3, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    says(status, QN_EIO, &err, path);
    assert_int_equal(n_names(*state), 0);
    assert_int_equal(qn_appender_line(a, "two", 3, NULL), QN_OK);
    holds(path, "a line that needs some room\ntwo\n", 32);
    qn_appender_close(a);
    free(path);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(lines_are_appended_after_what_is_there),
        IN_SCRATCH(appending_does_not_allocate),
        IN_SCRATCH(a_full_disk_leaves_no_half_line),
        IN_SCRATCH(a_torn_last_line_is_cut_off),
        IN_SCRATCH(last_lines_that_hold_nul_bytes_are_cut_off),
        IN_SCRATCH(damage_further_up_is_left_as_it_is),
        IN_SCRATCH(nul_bytes_are_found_across_blocks),
        IN_SCRATCH(a_removed_file_is_made_again_by_the_next_line),
        IN_SCRATCH(a_replaced_file_is_made_again),
        IN_SCRATCH(a_renamed_file_is_made_again_when_synced),
        IN_SCRATCH(a_file_is_made_again_only_where_it_was),
        IN_SCRATCH(a_full_disk_delays_the_new_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
