/* file.c - files come in whole, go out whole, or an error says why. */
#include "base/file.h"
#include "base/str.h"

#include "scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

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

static void what_is_written_is_read(void **state)
{
    char *path = in(state, "a");
    put(path, "one\0two", 7);
    holds(path, "one\0two", 7);
    put(path, "", 0);
    holds(path, "", 0);
    put(path, "shorter", 7);
    holds(path, "shorter", 7);
    assert_int_equal(n_names(*state), 1);
    free(path);
}

static void parts_are_written_one_after_the_other(void **state)
{
    char *path = in(state, "parts");
    struct qn_err err;
    const struct qn_span parts[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};
    assert_int_equal(qn_file_write_parts(path, parts, 3, &err), QN_OK);
    holds(path, "abcde", 5);
    assert_int_equal(qn_file_write_parts(path, NULL, 0, &err), QN_OK);
    holds(path, "", 0);
    free(path);
}

static void a_bare_name_is_written_in_the_current_folder(void **state)
{
    char *here = realpath(".", NULL);
    assert_non_null(here);
    assert_int_equal(chdir(*state), 0);
    put("bare", "x", 1);
    holds("bare", "x", 1);
    assert_int_equal(chdir(here), 0);
    free(here);
}

/* A process that died may have had the same number. */
static void a_temporary_left_behind_is_not_in_the_way(void **state)
{
    char *path = in(state, "a");
    char *left = qn_xasprintf("%s.%ld-0.tmp", path, (long)getpid());
    put(left, "half", 4);
    put(path, "whole", 5);
    holds(path, "whole", 5);
    holds(left, "half", 4);
    free(left);
    free(path);
}

static void long_files_are_whole(void **state)
{
    char *path = in(state, "long");
    size_t len = 1000003;
    char *text = qn_xmalloc(len);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)(i * 7 % 251);
    }
    put(path, text, len);
    holds(path, text, len);
    free(text);
    free(path);
}

/* Pieces of all sizes about that of the buffer, so that some fit and some do
 * not. */
static void pieces_of_a_new_file_come_in_their_order(void **state)
{
    static const size_t sizes[] = {1,     0, 65535, 1,    65536, 65537, 200000,
                                   30000, 3, 40000, 7000, 65536, 65536, 9};
    char *path = in(state, "new");
    struct qn_new_file *f;
    struct qn_err err;
    struct qn_str all = {0};
    put(path, "old", 3);
    assert_int_equal(qn_new_file_open(path, &f, &err), QN_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t before = all.len;
        for (size_t k = 0; k < sizes[i]; k++) {
            char byte = (char)(k * 7 % 251 + i);
            qn_str_add_bytes(&all, &byte, 1);
        }
        qn_new_file_add(f, all.text + before, sizes[i]);
    }
    assert_int_equal(qn_new_file_finish(f, &err), QN_OK);
    holds(path, "old", 3);
    assert_int_equal(qn_new_file_commit(f, &err), QN_OK);
    qn_new_file_close(f);
    holds(path, all.text, all.len);
    assert_int_equal(n_names(*state), 1);
    qn_str_free(&all);
    free(path);
}

/* A folder in the place of the last one is what its rename fails at. */
static void files_take_their_places_together_or_not_at_all(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct qn_new_file *f[3];
    struct qn_err err;
    char *old = in(state, "a"), *none = in(state, "b"), *last = in(state, "c");
    put(old, "old", 3);
    for (int i = 0; i < 3; i++) {
        char *path = in(state, names[i]);
        assert_int_equal(qn_new_file_open(path, &f[i], &err), QN_OK);
        qn_new_file_add(f[i], "new", 3);
        free(path);
    }
    assert_int_equal(mkdir(last, 0700), 0);
    says(qn_new_files_commit(f, 3, &err), QN_EIO, &err, last);
    holds(old, "old", 3);
    assert_false(qn_path_exists(none));
    for (int i = 0; i < 3; i++) {
        qn_new_file_close(f[i]);
    }
    assert_int_equal(n_names(*state), 2);
    assert_int_equal(qn_new_file_open(old, &f[0], &err), QN_OK);
    qn_new_file_add(f[0], "new", 3);
    assert_int_equal(qn_new_files_commit(f, 1, &err), QN_OK);
    qn_new_file_close(f[0]);
    holds(old, "new", 3);
    assert_int_equal(n_names(*state), 2);
    free(old);
    free(none);
    free(last);
}

static void a_new_file_without_a_commit_leaves_nothing(void **state)
{
    char *path = in(state, "new");
    struct qn_new_file *f;
    struct qn_err err;
    qn_new_file_close(NULL);
    put(path, "old", 3);
    assert_int_equal(qn_new_file_open(path, &f, &err), QN_OK);
    qn_new_file_add(f, "new", 3);
    qn_new_file_close(f);
    assert_int_equal(qn_new_file_open(path, &f, &err), QN_OK);
    assert_int_equal(qn_new_file_finish(f, &err), QN_OK);
    qn_new_file_close(f);
    holds(path, "old", 3);
    assert_int_equal(n_names(*state), 1);
    free(path);
}

static void files_without_a_size_are_read_too(void **state)
{
    (void)state;
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(qn_file_read("/proc/self/status", &bytes, &err), QN_OK);
    assert_true(bytes.len > 100);
    assert_int_equal(strlen(bytes.data), bytes.len);
    qn_bytes_free(&bytes);
}

static void missing_files_and_folders_are_named(void **state)
{
    struct qn_bytes bytes = {0};
    struct qn_err err;
    char *path = in(state, "missing");
    says(qn_file_read(path, &bytes, &err), QN_ENOTFOUND, &err, path);
    says(qn_file_read_gz(path, &bytes, &err), QN_ENOTFOUND, &err, path);
    says(qn_file_read(*state, &bytes, &err), QN_EIO, &err, *state);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_null(bytes.data);
    free(path);
}

/* Its writer may never come. */
static void a_pipe_is_refused_without_waiting(void **state)
{
    char *path = in(state, "pipe");
    struct qn_bytes bytes = {0};
    struct qn_err err;
    assert_int_equal(mkfifo(path, 0600), 0);
    says(qn_file_read(path, &bytes, &err), QN_EIO, &err, path);
    assert_non_null(strstr(err.text, "regular file"));
    assert_null(bytes.data);
    free(path);
}

static void a_file_too_large_for_the_memory_is_refused(void **state)
{
    char *path = in(state, "huge");
    struct qn_bytes bytes = {0};
    struct qn_err err;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    /* Sparse: no disk is used. */
    int failed = ftruncate(fd, (off_t)1 << 43);
    (void)close(fd);
    if (!failed && qn_mem_available() < (size_t)1 << 43) {
        says(qn_file_read(path, &bytes, &err), QN_ENOMEM, &err, path);
    }
    assert_null(bytes.data);
    free(path);
}

static void a_failed_write_leaves_the_folder_as_it_was(void **state)
{
    struct qn_err err;
    char *folder = in(state, "inner/folder");
    char *parent = in(state, "inner");
    char *no_parent = in(state, "inner/none/file");
    char *pipe_path = in(state, "inner/pipe");
    assert_int_equal(qn_make_dirs(folder, &err), QN_OK);
    says(qn_file_write(folder, "x", 1, &err), QN_EIO, &err, folder);
    says(qn_file_write(no_parent, "x", 1, &err), QN_ENOTFOUND, &err, no_parent);
    assert_int_equal(n_names(parent), 1);
    assert_int_equal(n_names(folder), 0);
    /* A device or a pipe is not replaced either; a pipe harms nobody. */
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    says(qn_file_write(pipe_path, "x", 1, &err), QN_EIO, &err, pipe_path);
    assert_int_equal(n_names(parent), 2);
    free(pipe_path);
    free(folder);
    free(parent);
    free(no_parent);
}

/* A limit on the size of files stands for a full disk. */
static void a_full_disk_keeps_the_old_file_and_no_temporary(void **state)
{
    char *path = in(state, "kept");
    put(path, "old", 3);
    struct rlimit before, tiny;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tiny = before;
    tiny.rlim_cur = 1000;
    (void)signal(SIGXFSZ, SIG_IGN);
    char text[5000] = {0};
    struct qn_err err;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    enum qn_status status = qn_file_write(path, text, sizeof text, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    says(status, QN_EIO, &err, path);
    holds(path, "old", 3);
    assert_int_equal(n_names(*state), 1);
    free(path);
}

/* One gzip member of the text, appended to the string. */
static void add_gzip(struct qn_str *s, const char *text, size_t len)
{
    unsigned char out[20000];
    z_stream z = {0};
    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    char *copy = qn_xmalloc(len);
    memcpy(copy, text, len);
    z.next_in = (Bytef *)copy;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = sizeof out;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    qn_str_add_bytes(s, out, sizeof out - z.avail_out);
    (void)deflateEnd(&z);
    free(copy);
}

static void gz_holds(const char *path, const char *text, size_t len)
{
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(qn_file_read_gz(path, &bytes, &err), QN_OK);
    assert_int_equal(bytes.len, len);
    assert_memory_equal(bytes.data, text, len);
    assert_int_equal(bytes.data[len], '\0');
    qn_bytes_free(&bytes);
}

static void gzip_is_decompressed_and_plain_text_is_not(void **state)
{
    char *path = in(state, "text.gz");
    char text[12288];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + i * i % 17);
    }
    /* 4096, the size the output grows by, is met exactly. */
    static const size_t lens[] = {0, 1, 4095, 4096, 4097, 8192, 12288};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct qn_str s = {0};
        add_gzip(&s, text, lens[i]);
        put(path, s.text, s.len);
        gz_holds(path, text, lens[i]);
        qn_str_free(&s);
    }
    put(path, "plain", 5);
    gz_holds(path, "plain", 5);
    put(path, "", 0);
    gz_holds(path, "", 0);
    put(path, "\x1f", 1);
    gz_holds(path, "\x1f", 1);
    free(path);
}

static void gzip_members_follow_each_other(void **state)
{
    char *path = in(state, "two.gz");
    struct qn_str s = {0};
    add_gzip(&s, "one,", 4);
    add_gzip(&s, "", 0);
    add_gzip(&s, "two", 3);
    put(path, s.text, s.len);
    gz_holds(path, "one,two", 7);
    qn_str_add_bytes(&s, "\0\0\0", 3);
    put(path, s.text, s.len);
    gz_holds(path, "one,two", 7);
    qn_str_add(&s, "junk");
    put(path, s.text, s.len);
    struct qn_bytes bytes = {0};
    struct qn_err err;
    says(qn_file_read_gz(path, &bytes, &err), QN_EFORMAT, &err, path);
    qn_str_free(&s);
    free(path);
}

static void every_truncated_gzip_is_an_error(void **state)
{
    char *path = in(state, "cut.gz");
    struct qn_str s = {0};
    add_gzip(&s, "some text to compress, some text", 32);
    struct qn_bytes bytes = {0};
    struct qn_err err;
    for (size_t len = 2; len < s.len; len++) {
        put(path, s.text, len);
        says(qn_file_read_gz(path, &bytes, &err), QN_EFORMAT, &err, path);
        assert_non_null(strstr(err.text, "cut short"));
    }
    for (size_t i = 0; i < 8; i++) {
        s.text[s.len - 1 - i] ^= 1; /* checksum and length */
        put(path, s.text, s.len);
        says(qn_file_read_gz(path, &bytes, &err), QN_EFORMAT, &err, path);
        s.text[s.len - 1 - i] ^= 1;
    }
    assert_null(bytes.data);
    qn_str_free(&s);
    free(path);
}

static void paths_join_and_split(void **state)
{
    (void)state;
    static const char *const joins[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"},
        {"", "b", "b"},    {"a", "", "a"},     {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        char *joined = qn_path_join(joins[i][0], joins[i][1]);
        assert_string_equal(joined, joins[i][2]);
        free(joined);
    }
    static const char *const bases[][2] = {
        {"a/b.c", "b.c"}, {"a", "a"}, {"/a", "a"},  {"a/b/", "b/"},
        {"", ""},         {"/", "/"}, {"a//b", "b"}};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        assert_string_equal(qn_path_base(bases[i][0]), bases[i][1]);
    }
}

static void folders_are_made_listed_and_removed(void **state)
{
    struct qn_err err;
    char *deep = in(state, "x/y//z/");
    char *x = in(state, "x");
    char *link_path = in(state, "x/link");
    char *kept = in(state, "kept");
    assert_int_equal(qn_make_dirs(deep, &err), QN_OK);
    assert_int_equal(qn_make_dirs(deep, &err), QN_OK);
    assert_true(qn_path_is_dir(deep));
    put(kept, "k", 1);
    assert_int_equal(symlink(*state, link_path), 0);
    assert_int_equal(qn_remove_tree(x, &err), QN_OK);
    assert_false(qn_path_exists(x));
    assert_true(qn_path_exists(kept));
    assert_false(qn_path_is_dir(kept));
    assert_int_equal(qn_remove_tree(x, &err), QN_OK);
    free(deep);
    free(x);
    free(link_path);
    free(kept);
}

static void a_file_in_the_way_of_a_folder_is_named(void **state)
{
    struct qn_err err;
    char *file = in(state, "file");
    char *below = in(state, "file/below");
    put(file, "", 0);
    says(qn_make_dirs(file, &err), QN_EIO, &err, file);
    says(qn_make_dirs(below, &err), QN_EIO, &err, file);
    says(qn_make_dirs("", &err), QN_ENOTFOUND, &err, "");
    free(file);
    free(below);
}

static void names_are_sorted_by_byte(void **state)
{
    struct qn_err err;
    const char *const made[] = {"b", "a", "\xc3\xa9", "B", ".hidden"};
    const char *const sorted[] = {".hidden", "B", "a", "b", "\xc3\xa9"};
    for (int i = 0; i < 5; i++) {
        char *path = in(state, made[i]);
        put(path, "", 0);
        free(path);
    }
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(qn_dir_list(*state, &names, &n, &err), QN_OK);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(names[i], sorted[i]);
        free(names[i]);
    }
    free(names);
    char *missing = in(state, "none");
    says(qn_dir_list(missing, &names, &n, &err), QN_ENOTFOUND, &err, missing);
    says(qn_dir_sync(missing, &err), QN_ENOTFOUND, &err, missing);
    assert_int_equal(qn_dir_sync(*state, &err), QN_OK);
    free(missing);
}

static void xdg_is(const char *kind, const char *wanted)
{
    char *dir = qn_xdg_dir(kind);
    assert_string_equal(dir, wanted);
    free(dir);
}

static void xdg_folders_follow_the_environment(void **state)
{
    (void)state;
    (void)setenv("HOME", "/home/me", 1);
    (void)unsetenv("XDG_DATA_HOME");
    (void)unsetenv("XDG_CACHE_HOME");
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)setenv("XDG_STATE_HOME", "/var/state", 1);
    xdg_is("DATA", "/home/me/.local/share/quern");
    xdg_is("CACHE", "/home/me/.cache/quern");
    xdg_is("CONFIG", "/home/me/.config/quern");
    xdg_is("STATE", "/var/state/quern");
    (void)setenv("XDG_STATE_HOME", "relative", 1);
    xdg_is("STATE", "/home/me/.local/state/quern");
}

static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    char hex[65];
    qn_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c"
                             "a495991b7852b855");
    qn_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"
                             "b410ff61f20015ad");
}

static void the_digest_of_a_file_is_that_of_its_content(void **state)
{
    char *path = in(state, "a");
    char *missing = in(state, "none");
    char *pipe_path = in(state, "pipe");
    char of_file[65], of_text[65];
    uint64_t size;
    struct qn_err err;
    static char text[100001]; /* more than is read at once */
    memset(text, 'x', sizeof text);
    static const size_t lens[] = {0, 1, 32768, sizeof text};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        put(path, text, lens[i]);
        qn_sha256_hex(text, lens[i], of_text);
        assert_int_equal(qn_file_sha256(path, of_file, &size, &err), QN_OK);
        assert_string_equal(of_file, of_text);
        assert_int_equal(size, lens[i]);
    }
    says(qn_file_sha256(missing, of_file, &size, &err), QN_ENOTFOUND, &err,
         missing);
    says(qn_file_sha256(*state, of_file, &size, &err), QN_EFORMAT, &err,
         *state);
    /* Nobody writes to it: this must not wait for it. */
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    says(qn_file_sha256(pipe_path, of_file, &size, &err), QN_EFORMAT, &err,
         pipe_path);
    free(pipe_path);
    free(missing);
    free(path);
}

static void folder_is(const char *path, const char *expected)
{
    char *folder = qn_path_folder(path);
    assert_string_equal(folder, expected);
    free(folder);
}

static void a_path_lies_in_a_folder(void **state)
{
    (void)state;
    folder_is("a/b", "a");
    folder_is("a/b/c", "a/b");
    folder_is("/b", "/");
    folder_is("b", ".");
}

static void a_path_names_an_open_file_until_it_is_replaced(void **state)
{
    char *path = in(state, "a");
    put(path, "old", 3);
    int fd = open(path, O_RDONLY);
    int folder = open(*state, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0 && folder >= 0);
    assert_true(qn_path_names(AT_FDCWD, path, fd));
    assert_true(qn_path_names(folder, "a", fd));
    put(path, "new", 3);
    assert_false(qn_path_names(folder, "a", fd));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(unlink(path), 0);
    assert_false(qn_path_names(AT_FDCWD, path, fd));
    assert_int_equal(errno, ENOENT);
    (void)close(folder);
    (void)close(fd);
    free(path);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(what_is_written_is_read),
        IN_SCRATCH(parts_are_written_one_after_the_other),
        IN_SCRATCH(a_bare_name_is_written_in_the_current_folder),
        IN_SCRATCH(a_temporary_left_behind_is_not_in_the_way),
        IN_SCRATCH(long_files_are_whole),
        IN_SCRATCH(pieces_of_a_new_file_come_in_their_order),
        IN_SCRATCH(files_take_their_places_together_or_not_at_all),
        IN_SCRATCH(a_new_file_without_a_commit_leaves_nothing),
        cmocka_unit_test(files_without_a_size_are_read_too),
        IN_SCRATCH(missing_files_and_folders_are_named),
        IN_SCRATCH(a_pipe_is_refused_without_waiting),
        IN_SCRATCH(a_file_too_large_for_the_memory_is_refused),
        IN_SCRATCH(a_failed_write_leaves_the_folder_as_it_was),
        IN_SCRATCH(a_full_disk_keeps_the_old_file_and_no_temporary),
        IN_SCRATCH(gzip_is_decompressed_and_plain_text_is_not),
        IN_SCRATCH(gzip_members_follow_each_other),
        IN_SCRATCH(every_truncated_gzip_is_an_error),
        cmocka_unit_test(paths_join_and_split),
        IN_SCRATCH(folders_are_made_listed_and_removed),
        IN_SCRATCH(a_file_in_the_way_of_a_folder_is_named),
        IN_SCRATCH(names_are_sorted_by_byte),
        cmocka_unit_test(xdg_folders_follow_the_environment),
        cmocka_unit_test(digests_are_those_of_the_standard),
        IN_SCRATCH(the_digest_of_a_file_is_that_of_its_content),
        cmocka_unit_test(a_path_lies_in_a_folder),
        IN_SCRATCH(a_path_names_an_open_file_until_it_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
