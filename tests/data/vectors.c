/* vectors.c - of a file of word vectors comes what is wanted, and no more. */
#include "data/vectors.h"

#include "world.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_WANTED 4

struct request {
    const char *given;
    int width;
    const char *wanted[MOST_WANTED];
};

struct answer {
    struct qn_words *found;
    float *table;
    struct qn_err err;
};

static void hear(void *user, enum qn_log_level level, const char *line)
{
    struct world *w = user;
    assert_int_equal(level, QN_LOG_WARN);
    w->n_heard++;
    (void)snprintf(w->heard, sizeof w->heard, "%s", line);
}

static enum qn_status ask(struct world *w, const struct request *r,
                          struct answer *a)
{
    *a = (struct answer){0};
    struct qn_words *wanted = qn_words_new();
    for (int i = 0; i < MOST_WANTED && r->wanted[i] != NULL; i++) {
        (void)qn_words_add(wanted, r->wanted[i], strlen(r->wanted[i]));
    }
    w->n_heard = 0;
    w->heard[0] = '\0';
    struct qn_log *log = qn_log_new(hear, w);
    enum qn_status status =
        qn_vectors_read(r->given, w->folder, r->width, wanted, log, &a->found,
                        &a->table, &a->err);
    qn_log_free(log);
    qn_words_free(wanted);
    return status;
}

/* The words found and their numbers, as "word: 1 2, word: 3 4". */
static char *describe(const struct answer *a, int width)
{
    struct qn_str out = {0};
    qn_str_add(&out, "");
    for (int i = 0; i < qn_words_size(a->found); i++) {
        size_t len;
        qn_str_addf(&out, "%s%s:", i > 0 ? ", " : "",
                    qn_words_get(a->found, i, &len));
        for (int k = 0; k < width; k++) {
            char number[32];
            qn_format_float(number, sizeof number,
                            (double)a->table[i * width + k]);
            qn_str_addf(&out, " %s", number);
        }
    }
    return qn_str_take(&out);
}

static void check_found(struct world *w, struct request r, const char *expected)
{
    struct answer a;
    if (ask(w, &r, &a) != QN_OK) {
        fail_msg("%s", a.err.text);
    }
    char *text = describe(&a, r.width);
    assert_string_equal(text, expected);
    free(text);
    free(a.table);
    qn_words_free(a.found);
}

/* The words a, b and c of a file of vectors of two numbers. */
static void check_pair(struct world *w, const char *text, const char *expected)
{
    free(put(w, "v", text));
    check_found(w, (struct request){"v", 2, {"a", "b", "c"}}, expected);
}

static void check_heard(const struct world *w, const char *sentence)
{
    char *path = in(w, "v");
    char *whole = qn_xasprintf("%s: %s", path, sentence);
    assert_int_equal(w->n_heard, 1);
    assert_string_equal(w->heard, whole);
    free(whole);
    free(path);
}

static void check_failed(struct world *w, struct request r,
                         enum qn_status status, const char *sentence)
{
    struct answer a;
    assert_int_equal(ask(w, &r, &a), status);
    assert_string_equal(a.err.text, sentence);
    assert_null(a.found);
    assert_null(a.table);
    assert_int_equal(w->n_heard, 0);
}

static void check_format(struct world *w, int width, const char *sentence)
{
    char *path = in(w, "v");
    char *whole = qn_xasprintf("%s: %s", path, sentence);
    check_failed(w, (struct request){"v", width, {"a"}}, QN_EFORMAT, whole);
    free(whole);
    free(path);
}

static void check_bad(struct world *w, const char *text, const char *sentence)
{
    free(put(w, "v", text));
    check_format(w, 2, sentence);
}

static void wanted_words_come_in_their_own_order(void **state)
{
    struct world *w = *state;
    check_pair(w, "c 5 6\nx 9 9\nb 3 4\n", "b: 3 4, c: 5 6");
    check_pair(w, "c 5 6\na 1 2\nb 3 4\n", "a: 1 2, b: 3 4, c: 5 6");
    assert_int_equal(w->n_heard, 0);
}

static void no_wanted_word_is_no_error(void **state)
{
    struct world *w = *state;
    check_pair(w, "x 1 2\n", "");
    check_found(w, (struct request){"v", 2, {NULL}}, "");
}

static void a_packed_file_stands_in(void **state)
{
    struct world *w = *state;
    free(put_gz(w, "z.gz", "a 1 2\nb 3 4\n"));
    check_found(w, (struct request){"z", 2, {"a"}}, "a: 1 2");
    free(put(w, "p", "a 5 6\n"));
    check_found(w, (struct request){"p.gz", 2, {"a"}}, "a: 5 6");
}

static void line_ends_may_be_of_any_kind(void **state)
{
    struct world *w = *state;
    check_pair(w, "a 1 2\r\nb 3 4\r\n", "a: 1 2, b: 3 4");
    check_pair(w, "a 1 2 \nb 3 4 \n", "a: 1 2, b: 3 4");
    check_pair(w, "a 1 2\nb 3 4", "a: 1 2, b: 3 4");
    assert_int_equal(w->n_heard, 0);
}

static void a_header_is_skipped(void **state)
{
    struct world *w = *state;
    check_pair(w, "2 2\na 1 2\nb 3 4\n", "a: 1 2, b: 3 4");
    check_pair(w, "2 2 \r\na 1 2\n", "a: 1 2");
    assert_int_equal(w->n_heard, 0);
    check_pair(w, "a 1 2\n2 2\n", "a: 1 2");
    check_heard(w, "left out 1 line that is no word and 2 numbers, the first "
                   "is line 2");
    /* With a word of digits it is no header. */
    free(put(w, "v", "7 1 2\n"));
    check_found(w, (struct request){"v", 2, {"7"}}, "7: 1 2");
}

static void a_byte_order_mark_is_no_part_of_a_word(void **state)
{
    struct world *w = *state;
    check_pair(w,
               "\xef\xbb\xbf"
               "a 1 2\nb 3 4\n",
               "a: 1 2, b: 3 4");
    check_pair(w,
               "\xef\xbb\xbf"
               "2 2\na 1 2\n",
               "a: 1 2");
    assert_int_equal(w->n_heard, 0);
}

static void a_word_may_hold_spaces(void **state)
{
    struct world *w = *state;
    free(put(w, "v", ". . . 1 2\nat x@y.z 3 4\na 5 6\n"));
    check_found(w, (struct request){"v", 2, {"at x@y.z", "a", ". . ."}},
                "at x@y.z: 3 4, a: 5 6, . . .: 1 2");
    assert_int_equal(w->n_heard, 0);
}

static void any_bytes_may_be_a_word(void **state)
{
    struct world *w = *state;
    free(put(w, "v", "\xff\xfe 1 2\n2000 3 4\n-1.5 5 6\n\xc2\xa0 7 8\n"));
    check_found(
        w, (struct request){"v", 2, {"\xff\xfe", "2000", "-1.5", "\xc2\xa0"}},
        "\xff\xfe: 1 2, 2000: 3 4, -1.5: 5 6, \xc2\xa0: 7 8");
}

static void the_first_line_of_a_word_holds(void **state)
{
    check_pair(*state, "a 1 2\na 3 4\nb 5 6\nb 7 8\n", "a: 1 2, b: 5 6");
}

static void ragged_lines_are_left_out_and_counted(void **state)
{
    struct world *w = *state;
    check_pair(w, "x 1 2\na 1\nb 1 2 3\nc 3 4\n1 2\n\n 1 2\nx 1 2\n", "c: 3 4");
    check_heard(w, "left out 5 lines that are no word and 2 numbers, the "
                   "first is line 2");
    /* A word does not end with a space. */
    check_pair(w, "b 1 2\na  1 2\n  1 2\nc 3 4\n", "b: 1 2, c: 3 4");
    check_heard(w, "left out 2 lines that are no word and 2 numbers, the "
                   "first is line 2");
    /* Those of words that nobody wants as well. */
    check_pair(w, "a 1 2\nx 1\ny 1 z\ny 1  2\nx 1 2\nx 3 4\n", "a: 1 2");
    check_heard(w, "left out 3 lines that are no word and 2 numbers, the "
                   "first is line 2");
}

static void numbers_that_are_not_finite_are_left_out(void **state)
{
    struct world *w = *state;
    check_pair(w,
               "a nan 2\nb 1 -inf\nc 1e39 2\nc 1e999 2\nx 1 Infinity\n"
               "c 3 4\n",
               "c: 3 4");
    check_heard(w, "left out 5 lines that are no word and 2 numbers, the "
                   "first is line 1");
}

static void a_later_good_line_makes_up_for_a_bad_one(void **state)
{
    check_pair(*state, "a 1 x\na 1 2\n", "a: 1 2");
}

static void numbers_are_decimal_only(void **state)
{
    struct world *w = *state;
    static const char *const none[] = {"0x10", "1,5", "-",   "1.2.3",   "1e",
                                       "+-1",  ".",   "1_0", "\xd9\xa1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char *text = qn_xasprintf("b 1 2\na %s 2\n", none[i]);
        check_pair(w, text, "b: 1 2");
        assert_int_equal(w->n_heard, 1);
        free(text);
    }
}

/* Each against strtof, which rounds the decimal text once: a double in between
 * may tip a float only where it is next to a tie, which these are not. */
static void numbers_are_read_to_the_nearest_float(void **state)
{
    struct world *w = *state;
    static const char *const numbers[] = {
        "-0.038194",
        "0.24487",
        "3",
        "+4.5",
        "-0",
        ".5",
        "5.",
        "1e-05",
        "1.5E+3",
        "0.1234567890123456789",
        "1e-46",
        "3.4028e38",
        "1e-38",
        "16777217",
        "0.000000000000000000001",
        "12345678901234567890",
        "-1e-310",
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *text = qn_xasprintf("a %s 1\n", numbers[i]);
        free(put(w, "v", text));
        struct request r = {"v", 2, {"a"}};
        struct answer a;
        assert_int_equal(ask(w, &r, &a), QN_OK);
        float expected = strtof(numbers[i], NULL);
        assert_memory_equal(&a.table[0], &expected, sizeof expected);
        free(a.table);
        qn_words_free(a.found);
        free(text);
    }
}

static void the_locale_has_no_say(void **state)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
        skip();
    }
    check_pair(*state, "a 0.5 1.25e-2\n", "a: 0.5 0.0125");
    (void)setlocale(LC_ALL, "C");
}

static void another_width_is_an_error_that_names_both(void **state)
{
    struct world *w = *state;
    check_bad(w, "a 1 2 3\nb 1 2 3\n",
              "its vectors have 3 numbers, model.embed is 2");
    check_bad(w, "2 1\na 1\nb 1\n",
              "its vectors have 1 number, model.embed is 2");
    check_bad(w, "a 1 2\nb 1 2 3\nb 1 2 nan\n",
              "its vectors have 3 numbers, model.embed is 2");
}

/* The first hundred decide, without a look at the rest. */
static void the_width_shows_in_the_first_lines(void **state)
{
    struct world *w = *state;
    struct qn_str text = {0};
    for (int i = 0; i < 51; i++) {
        qn_str_add(&text, "x 1 2 3\n");
    }
    for (int i = 0; i < 1000; i++) {
        qn_str_add(&text, "a 1 2\n");
    }
    check_bad(w, text.text, "its vectors have 3 numbers, model.embed is 2");
    /* Half of them are the wanted width. */
    check_pair(w, text.text + strlen("x 1 2 3\n"), "a: 1 2");
    qn_str_free(&text);
}

/* Whoever has no width yet is told, without a read of the whole file. */
static void the_width_is_told_by_itself(void **state)
{
    struct world *w = *state;
    free(put(w, "v", "3 2\n. . . 1 2 \na 3 4 \na 5 nan \n"));
    assert_int_equal(qn_vectors_width("v", w->folder), 2);
    free(put(w, "v", "a 1 2 3"));
    assert_int_equal(qn_vectors_width("v", w->folder), 3);
    free(put(w, "v", "hello world\n"));
    assert_int_equal(qn_vectors_width("v", w->folder), 0);
    free(put(w, "v", ""));
    assert_int_equal(qn_vectors_width("v", w->folder), 0);
    assert_int_equal(qn_vectors_width("nowhere", w->folder), 0);
    assert_int_equal(qn_vectors_width(".", w->folder), 0);
    free(put_gz(w, "z.gz", "a 1 2 3 4\n"));
    assert_int_equal(qn_vectors_width("z", w->folder), 4);
}

static void a_file_without_vectors_is_an_error(void **state)
{
    struct world *w = *state;
    static const char none[] =
        "holds no word vectors: its lines are no word and numbers with single "
        "spaces between";
    check_bad(w, "", "is empty");
    check_bad(w, "\n", none);
    check_bad(w, "hello world\nhow are you\n", none);
    check_bad(w, "a\t1\t2\nb\t3\t4\n", none);
    check_bad(w, "a  1 2\nb  3 4\n", none);
    check_bad(w, "a  1  2\nb  3  4\n", none);
    check_bad(w, "2 2\n", "no line is a word and 2 numbers");
    check_bad(w, "a 1 nan\n", "no line is a word and 2 numbers");
}

static void a_binary_file_is_an_error(void **state)
{
    struct world *w = *state;
    char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * i % 251);
    }
    char *path = in(w, "v");
    assert_int_equal(qn_file_write(path, bytes, sizeof bytes, NULL), QN_OK);
    free(path);
    check_format(w, 2,
                 "holds no word vectors: its lines are no word and numbers "
                 "with single spaces between");
}

static void a_line_beyond_all_bounds_is_left_out(void **state)
{
    struct world *w = *state;
    struct qn_str text = {0};
    qn_str_add(&text, "a 1 2\n");
    for (int i = 0; i < 100000; i++) {
        qn_str_add(&text, "long");
    }
    qn_str_add(&text, " 1 2\nb 3 4\n");
    check_pair(w, text.text, "a: 1 2, b: 3 4");
    check_heard(w, "left out 1 line that is no word and 2 numbers, the first "
                   "is line 2");
    qn_str_free(&text);
}

/* More than any buffer holds, with lines across its ends. */
static void a_long_file_is_read_to_its_end(void **state)
{
    struct world *w = *state;
    struct qn_str text = {0};
    for (int i = 0; i < 100000; i++) {
        qn_str_addf(&text, "x%d %d.5 -%d\n", i, i, i);
    }
    free(put_gz(w, "v.gz", text.text));
    check_found(w,
                (struct request){"v", 2, {"x99999", "x0", "x31415", "x100000"}},
                "x99999: 99999.5 -99999, x0: 0.5 -0, x31415: 31415.5 -31415");
    assert_int_equal(w->n_heard, 0);
    qn_str_free(&text);
}

/* Cut a packed file to its first 'len' bytes, or spoil the byte there. */
static void damage(const struct world *w, const char *name, size_t len,
                   bool spoil)
{
    char *path = in(w, name);
    struct qn_bytes bytes;
    assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
    assert_true(len < bytes.len);
    bytes.data[len] = (char)~bytes.data[len];
    assert_int_equal(
        qn_file_write(path, bytes.data, spoil ? bytes.len : len, NULL), QN_OK);
    qn_bytes_free(&bytes);
    free(path);
}

static void a_damaged_packed_file_is_an_error(void **state)
{
    struct world *w = *state;
    char *path = put_gz(w, "z.gz", "a 1 2\nb 3 4\n");
    char *cut = qn_xasprintf("%s: the gzip stream is cut short", path);
    char *crc =
        qn_xasprintf("%s: damaged gzip stream: incorrect data check", path);
    damage(w, "z.gz", 20, false);
    check_failed(w, (struct request){"z", 2, {"a"}}, QN_EFORMAT, cut);
    free(put_gz(w, "z.gz", "a 1 2\nb 3 4\n"));
    struct qn_bytes bytes;
    assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
    damage(w, "z.gz", bytes.len - 8, true);
    check_failed(w, (struct request){"z", 2, {"a"}}, QN_EFORMAT, crc);
    qn_bytes_free(&bytes);
    free(crc);
    free(cut);
    free(path);
}

static void a_missing_file_says_where_it_was_looked_for(void **state)
{
    struct world *w = *state;
    struct request r = {"glove/none.txt", 2, {"a"}};
    struct answer a;
    assert_int_equal(ask(w, &r, &a), QN_ENOTFOUND);
    assert_true(
        qn_starts_with(a.err.text, "glove/none.txt: not found; looked for"));
    assert_non_null(strstr(a.err.text, "scripts/get-data glove"));
    assert_null(a.found);
}

static void a_folder_is_refused(void **state)
{
    struct world *w = *state;
    char *path = in(w, "d");
    char *whole = qn_xasprintf("%s: is a folder, not a file", path);
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    check_failed(w, (struct request){"d", 2, {"a"}}, QN_EIO, whole);
    free(whole);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(wanted_words_come_in_their_own_order),
        IN_WORLD(no_wanted_word_is_no_error),
        IN_WORLD(a_packed_file_stands_in),
        IN_WORLD(line_ends_may_be_of_any_kind),
        IN_WORLD(a_header_is_skipped),
        IN_WORLD(a_byte_order_mark_is_no_part_of_a_word),
        IN_WORLD(a_word_may_hold_spaces),
        IN_WORLD(any_bytes_may_be_a_word),
        IN_WORLD(the_first_line_of_a_word_holds),
        IN_WORLD(ragged_lines_are_left_out_and_counted),
        IN_WORLD(numbers_that_are_not_finite_are_left_out),
        IN_WORLD(a_later_good_line_makes_up_for_a_bad_one),
        IN_WORLD(numbers_are_decimal_only),
        IN_WORLD(numbers_are_read_to_the_nearest_float),
        IN_WORLD(the_locale_has_no_say),
        IN_WORLD(another_width_is_an_error_that_names_both),
        IN_WORLD(the_width_shows_in_the_first_lines),
        IN_WORLD(the_width_is_told_by_itself),
        IN_WORLD(a_file_without_vectors_is_an_error),
        IN_WORLD(a_binary_file_is_an_error),
        IN_WORLD(a_line_beyond_all_bounds_is_left_out),
        IN_WORLD(a_long_file_is_read_to_its_end),
        IN_WORLD(a_damaged_packed_file_is_an_error),
        IN_WORLD(a_missing_file_says_where_it_was_looked_for),
        IN_WORLD(a_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
