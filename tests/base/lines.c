/* lines.c - lines come one after the other, whole or told to be too long. */
#include "base/lines.h"
#include "base/str.h"

#include "scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <zlib.h>

/* A file of these bytes in the scratch folder; the caller frees its path. */
static char *put(void **state, const char *text, size_t len)
{
    char *path = qn_path_join(*state, "text");
    assert_int_equal(qn_file_write(path, text, len, NULL), QN_OK);
    return path;
}

static char *put_gz(void **state, const char *text, size_t len)
{
    char *path = qn_path_join(*state, "text.gz");
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)len), len);
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static struct qn_lines *opened(const char *path, size_t longest)
{
    struct qn_lines *l = NULL;
    struct qn_err err;
    if (qn_lines_open(path, longest, &l, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return l;
}

/* All lines as "[1:text][3:text]", too long ones as "[2!]". */
static void check_lines(const char *path, size_t longest, const char *expected)
{
    struct qn_lines *l = opened(path, longest);
    struct qn_str out = {0};
    struct qn_line line;
    qn_str_add(&out, "");
    do {
        assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
        if (line.number > 0 && line.text == NULL) {
            qn_str_addf(&out, "[%zu!]", line.number);
        } else if (line.number > 0) {
            qn_str_addf(&out, "[%zu:", line.number);
            qn_str_add_bytes(&out, line.text, line.len);
            qn_str_add(&out, "]");
        }
    } while (line.number > 0);
    /* The end stays the end. */
    assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
    assert_int_equal(line.number, 0);
    qn_lines_close(l);
    assert_string_equal(out.text, expected);
    qn_str_free(&out);
}

static void check_text(void **state, const char *text, const char *expected)
{
    char *path = put(state, text, strlen(text));
    check_lines(path, 5, expected);
    free(path);
}

static void lines_end_at_newlines_and_at_the_end(void **state)
{
    check_text(state, "", "");
    check_text(state, "a", "[1:a]");
    check_text(state, "a\nb\n", "[1:a][2:b]");
    check_text(state, "a\n\nb", "[1:a][2:][3:b]");
    check_text(state, "\n", "[1:]");
    check_text(state, "a\r\n", "[1:a\r]");
}

static void lines_that_are_too_long_are_told_and_counted(void **state)
{
    check_text(state, "12345\n123456\n1\n", "[1:12345][2!][3:1]");
    check_text(state, "123456", "[1!]");
    check_text(state, "12345", "[1:12345]");
}

static void any_bytes_may_stand_in_a_line(void **state)
{
    char *path = put(state, "a\0z\n\xff", 5);
    struct qn_lines *l = opened(path, 10);
    struct qn_line line;
    assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
    assert_int_equal(line.len, 3);
    assert_memory_equal(line.text, "a\0z", 3);
    assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
    assert_int_equal(line.len, 1);
    assert_memory_equal(line.text, "\xff", 1);
    qn_lines_close(l);
    qn_lines_close(NULL);
    free(path);
}

/* Longer than what is read at a time, whole or not. */
static void long_lines_are_put_together(void **state)
{
    const size_t len = 1000000;
    char *text = qn_xmalloc(len + 3);
    memset(text, 'x', len);
    memcpy(text + len, "\na\n", 3);
    char *path = put_gz(state, text, len + 3);
    struct qn_lines *l = opened(path, len);
    struct qn_line line;
    assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
    assert_int_equal(line.len, len);
    assert_memory_equal(line.text, text, len);
    assert_int_equal(qn_lines_next(l, &line, NULL), QN_OK);
    assert_int_equal(line.len, 1);
    qn_lines_close(l);
    check_lines(path, len - 1, "[1!][2:a]");
    check_lines(path, 1, "[1!][2:a]");
    free(path);
    free(text);
}

static void check_broken(const char *path, const char *sentence)
{
    struct qn_lines *l = opened(path, 100);
    struct qn_line line = {.number = 1};
    struct qn_err err = {""};
    enum qn_status status = QN_OK;
    while (status == QN_OK && line.number > 0) {
        status = qn_lines_next(l, &line, &err);
    }
    qn_lines_close(l);
    assert_int_equal(status, QN_EFORMAT);
    char *whole = qn_xasprintf("%s: %s", path, sentence);
    assert_string_equal(err.text, whole);
    free(whole);
}

static void broken_streams_are_told(void **state)
{
    char *path = put_gz(state, "one\ntwo\n", 8);
    struct qn_bytes bytes;
    assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
    assert_int_equal(qn_file_write(path, bytes.data, bytes.len - 4, NULL),
                     QN_OK);
    check_broken(path, "the gzip stream is cut short");
    bytes.data[bytes.len - 8] ^= 1; /* of the checksum */
    assert_int_equal(qn_file_write(path, bytes.data, bytes.len, NULL), QN_OK);
    check_broken(path, "damaged gzip stream: incorrect data check");
    qn_bytes_free(&bytes);
    free(path);
}

static void folders_and_missing_files_do_not_open(void **state)
{
    struct qn_lines *l = NULL;
    struct qn_err err = {""};
    assert_int_equal(qn_lines_open(*state, 1, &l, &err), QN_EIO);
    assert_true(qn_ends_with(err.text, ": is a folder, not a file"));
    char *path = qn_path_join(*state, "none");
    assert_int_equal(qn_lines_open(path, 1, &l, &err), QN_ENOTFOUND);
    assert_true(qn_starts_with(err.text, path));
    assert_null(l);
    free(path);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(lines_end_at_newlines_and_at_the_end),
        IN_SCRATCH(lines_that_are_too_long_are_told_and_counted),
        IN_SCRATCH(any_bytes_may_stand_in_a_line),
        IN_SCRATCH(long_lines_are_put_together),
        IN_SCRATCH(broken_streams_are_told),
        IN_SCRATCH(folders_and_missing_files_do_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
