/* labelled.c - tests of documents with a label, from folders and files. */
#include "data/labelled.h"

#include "world.h"

#include "base/rng.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum qn_status try_read(const char *path, struct qn_labelled *l,
                               struct qn_err *err)
{
    return qn_labelled_read(path, NULL, NULL, l, err);
}

static struct qn_labelled read_whole(const char *path)
{
    struct qn_labelled l;
    struct qn_err err = {""};
    if (try_read(path, &l, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return l;
}

static void check_doc(const struct qn_labelled *l, size_t i, int label,
                      const char *text, const char *where)
{
    char buf[64];
    assert_true(i < l->n);
    assert_int_equal(l->docs[i].label, label);
    assert_int_equal(l->docs[i].len, strlen(text));
    assert_memory_equal(l->docs[i].text, text, strlen(text));
    assert_string_equal(qn_labelled_where(l, i, buf, sizeof buf), where);
}

/* Refused with "PATH: SENTENCE", or "PATH/SENTENCE" when it begins so. */
static void check_refused_path(const char *path, const char *sentence)
{
    struct qn_labelled l = {0};
    struct qn_err err = {""};
    assert_int_equal(try_read(path, &l, &err), QN_EFORMAT);
    assert_true(qn_starts_with(err.text, path));
    assert_string_equal(err.text + strlen(path), sentence);
    assert_null(l.docs);
}

static void check_bad_file(const struct world *w, const char *text,
                           const char *sentence)
{
    char *path = put(w, "bad.tsv", text);
    check_refused_path(path, sentence);
    free(path);
}

static void make_folder(const struct world *w, const char *name)
{
    char *path = in(w, name);
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    free(path);
}

static void put_in(const struct world *w, const char *name, const char *text)
{
    free(put(w, name, text));
}

static void a_line_is_a_document_split_at_two_tabs(void **state)
{
    struct world *w = *state;
    char *path = put(
        w, "d.tsv", "0\t3\tbad\n1\t10\tgood\tand more\t\nneg\t\t\npos\tx\tyes");
    struct qn_labelled l = read_whole(path);
    assert_int_equal(l.n, 4);
    check_doc(&l, 0, 0, "bad", "line 1");
    check_doc(&l, 1, 1, "good\tand more\t", "line 2");
    check_doc(&l, 2, 0, "", "line 3");
    check_doc(&l, 3, 1, "yes", "line 4");
    assert_string_equal(l.path, path);
    assert_null(l.names);
    qn_labelled_fini(&l);
    free(path);
}

static void a_packed_file_has_the_sum_of_its_text(void **state)
{
    struct world *w = *state;
    const char *text = "0\t\ta\n1\t\tb\n";
    char sum[65];
    qn_sha256_hex(text, strlen(text), sum);
    char *gz = put_gz(w, "d.tsv.gz", text);
    char *plain = in(w, "d.tsv");
    struct qn_labelled l = read_whole(plain);
    check_doc(&l, 1, 1, "b", "line 2");
    assert_string_equal(l.sha256, sum);
    assert_string_equal(l.path, gz);
    qn_labelled_fini(&l);
    free(gz);
    free(plain);
}

static void mistakes_in_a_file_name_the_line(void **state)
{
    struct world *w = *state;
    check_bad_file(w, "0\t1\ta\n2\t1\tb\n",
                   ": line 2: the label is \"2\", must be 0 or neg, 1 or pos");
    check_bad_file(w, "\t1\ta\n",
                   ": line 1: the label is \"\", must be 0 or neg, 1 or pos");
    check_bad_file(
        w, "positively\x1b[31m much so\t1\ta\n",
        ": line 1: the label is \"positively?[31m much so\", must be 0 or neg, "
        "1 or pos");
    check_bad_file(w, "0\x7f\t1\ta\n",
                   ": line 1: the label is \"0?\", must be 0 or neg, 1 or pos");
    check_bad_file(w, "0\t1 a\n",
                   ": line 1: has fewer than two tabs, must be label TAB "
                   "rating TAB text");
    check_bad_file(w, "0\t1\ta\n\n",
                   ": line 2: has fewer than two tabs, must be label TAB "
                   "rating TAB text");
    check_bad_file(w, "0\t1\ta\n1\t1\tb\xff\n",
                   ": line 2: invalid UTF-8 at its byte 5");
    /* A code point must not go on in the next line. */
    check_bad_file(w, "0\t1\ta\xc3\n1\t1\tb\n",
                   ": line 1: invalid UTF-8 at its byte 5");
    check_bad_file(w, "", ": is empty, holds no documents");
}

static void a_nul_in_a_label_is_seen(void **state)
{
    struct world *w = *state;
    static const char text[] = "0\0\t1\ta\n";
    char *path = in(w, "d.tsv");
    assert_int_equal(qn_file_write(path, text, sizeof text - 1, NULL), QN_OK);
    check_refused_path(
        path, ": line 1: the label is \"0?\", must be 0 or neg, 1 or pos");
    free(path);
}

/* Programs of Windows begin a file with one. */
static void a_byte_order_mark_is_no_part_of_a_label(void **state)
{
    struct world *w = *state;
    char *path = put(w, "d.tsv",
                     "\xef\xbb\xbf"
                     "1\t\ta\n0\t\tb\n");
    struct qn_labelled l = read_whole(path);
    assert_int_equal(l.n, 2);
    check_doc(&l, 0, 1, "a", "line 1");
    check_doc(&l, 1, 0, "b", "line 2");
    qn_labelled_fini(&l);
    free(path);
    check_bad_file(w, "\xef\xbb\xbf", ": is empty, holds no documents");
    check_bad_file(w,
                   "0\t\ta\n\xef\xbb\xbf"
                   "2\t\tb\n",
                   ": line 2: the label is \"\xef\xbb\xbf"
                   "2\", must be 0 or "
                   "neg, 1 or pos");
}

/* Reading a pipe waits for somebody who writes, perhaps for ever. */
static void a_folder_of_what_is_no_file_is_refused(void **state)
{
    struct world *w = *state;
    make_folder(w, "set/neg");
    make_folder(w, "set/pos");
    put_in(w, "set/neg/1.txt", "x");
    char *path = in(w, "set");
    char *odd = in(w, "set/pos/1.txt");
    assert_int_equal(symlink("/dev/null", odd), 0);
    check_refused_path(path, "/pos/1.txt: is not a regular file");
    assert_int_equal(unlink(odd), 0);
    assert_int_equal(mkfifo(odd, 0600), 0);
    check_refused_path(path, "/pos/1.txt: is not a regular file");
    free(odd);
    free(path);
}

static void a_folder_is_read_by_name_and_class(void **state)
{
    struct world *w = *state;
    make_folder(w, "set/pos");
    make_folder(w, "set/neg/deep.d");
    put_in(w, "set/pos/1_7.txt", "fine\n");
    put_in(w, "set/pos/10_9.txt", "great");
    put_in(w, "set/neg/b.txt", "dull");
    put_in(w, "set/neg/a.txt", "");
    put_in(w, "set/neg/notes.md", "\xff");
    put_in(w, "set/labels.txt", "\xff");
    char *path = in(w, "set");
    struct qn_labelled l = read_whole(path);
    assert_int_equal(l.n, 4);
    check_doc(&l, 0, 0, "", "neg/a.txt");
    check_doc(&l, 1, 0, "dull", "neg/b.txt");
    check_doc(&l, 2, 1, "great", "pos/10_9.txt");
    check_doc(&l, 3, 1, "fine\n", "pos/1_7.txt");
    char sum[65];
    qn_sha256_hex("dullgreatfine\n", 14, sum);
    assert_string_equal(l.sha256, sum);
    qn_labelled_fini(&l);
    free(path);
}

static void a_folder_wants_both_classes(void **state)
{
    struct world *w = *state;
    make_folder(w, "set/train/neg");
    char *path = in(w, "set/train");
    char *above = in(w, "set");
    check_refused_path(path, ": holds one class only: there is a folder neg "
                             "and no folder pos");
    check_refused_path(above, ": has no folders neg and pos with documents");
    make_folder(w, "set/train/pos");
    char *deeper = qn_xasprintf(
        ": has no folders neg and pos with documents; %s has them", path);
    check_refused_path(above, deeper);
    check_refused_path(path, "/neg: holds no .txt file");
    put_in(w, "set/train/neg/1.txt", "x");
    check_refused_path(path, "/pos: holds no .txt file");
    put_in(w, "set/train/pos/1.txt", "ab\xe2\x82");
    check_refused_path(path, "/pos/1.txt: invalid UTF-8 at byte 2");
    free(deeper);
    free(above);
    free(path);
}

static void a_text_without_labels_is_refused(void **state)
{
    (void)state;
    struct qn_labelled l;
    struct qn_err err = {""};
    assert_int_equal(try_read("builtin:kjv", &l, &err), QN_EUSAGE);
    assert_string_equal(err.text, "builtin:kjv: is a text without labels, not "
                                  "labelled documents");
}

static void the_data_folder_is_looked_in(void **state)
{
    struct world *w = *state;
    make_folder(w, "quern/imdb/neg");
    make_folder(w, "quern/imdb/pos");
    put_in(w, "quern/imdb/neg/1.txt", "x");
    put_in(w, "quern/imdb/pos/1.txt", "y");
    struct qn_labelled l = read_whole("imdb");
    assert_int_equal(l.n, 2);
    qn_labelled_fini(&l);
    struct qn_err err = {""};
    assert_int_equal(try_read("imdb/none.tsv", &l, &err), QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "; scripts/get-data imdb fetches it"));
    /* Of that set one file is enough. */
    assert_int_equal(try_read("glove/a.txt", &l, &err), QN_ENOTFOUND);
    assert_non_null(
        strstr(err.text, "; scripts/get-data glove/a.txt fetches it"));
}

/* Files that begin well and are then changed at random. */
static void damaged_files_are_read_or_refused(void **state)
{
    struct world *w = *state;
    const char whole[] = "0\t3\tbad \xc3\xa9\n1\t10\tgood\nneg\t1\tx\n";
    for (uint64_t round = 0; round < 500; round++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (uint64_t k = 0; k < 3; k++) {
            double u = qn_rng_uniform(round, 2 * k);
            size_t at = (size_t)(u * (double)(sizeof whole - 1));
            double v = qn_rng_uniform(round, 2 * k + 1);
            text[at] = (char)(1 + (int)(v * 255));
        }
        char *path = put(w, "d.tsv", text);
        struct qn_labelled l;
        struct qn_err err = {""};
        if (try_read(path, &l, &err) == QN_OK) {
            assert_true(l.n >= 1);
            qn_labelled_fini(&l);
        } else {
            assert_true(qn_starts_with(err.text, path));
            assert_null(strchr(err.text, '\n'));
        }
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_line_is_a_document_split_at_two_tabs),
        IN_WORLD(a_packed_file_has_the_sum_of_its_text),
        IN_WORLD(mistakes_in_a_file_name_the_line),
        IN_WORLD(a_nul_in_a_label_is_seen),
        IN_WORLD(a_byte_order_mark_is_no_part_of_a_label),
        IN_WORLD(a_folder_of_what_is_no_file_is_refused),
        IN_WORLD(a_folder_is_read_by_name_and_class),
        IN_WORLD(a_folder_wants_both_classes),
        cmocka_unit_test(a_text_without_labels_is_refused),
        IN_WORLD(the_data_folder_is_looked_in),
        IN_WORLD(damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
