/* line.c - tests of the prompt's line, which needs no terminal. */
#include "tui/line.h"

#include "base/mem.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the line told its host. */
struct host {
    struct qn_line *line;
    struct qn_str accepted; /* each line, a '|' behind it */
    int n_eof, n_candidates;
};

static void on_accept(void *user, const char *text)
{
    struct host *h = user;
    qn_str_addf(&h->accepted, "%s|", text);
    qn_line_remember(h->line, text);
    qn_line_prompt(h->line, "> ");
}

static void on_eof(void *user)
{
    struct host *h = user;
    h->n_eof++;
}

/* Words that begin as the line does. */
static char **on_complete(void *user, const char *text, int point, int *start)
{
    (void)user;
    static const char *const all[] = {"print", "preset", "quit"};
    char **words = qn_xcalloc(4, sizeof *words);
    int n = 0;
    *start = 0;
    for (int i = 0; i < 3; i++) {
        if (strncmp(all[i], text, (size_t)point) == 0)
            words[n++] = qn_xstrdup(all[i]);
    }
    return words;
}

static void on_candidates(void *user, char *const *words, int n)
{
    struct host *h = user;
    (void)words;
    h->n_candidates = n;
}

static int setup(void **state)
{
    /* The person's own bindings are no part of this. */
    (void)setenv("INPUTRC", "/dev/null", 1);
    struct host *h = qn_xcalloc(1, sizeof *h);
    const struct qn_line_host host = {.user = h,
                                      .accept = on_accept,
                                      .eof = on_eof,
                                      .complete = on_complete,
                                      .candidates = on_candidates};
    h->line = qn_line_start(&host, NULL);
    qn_line_prompt(h->line, "> ");
    *state = h;
    return 0;
}

static int teardown(void **state)
{
    struct host *h = *state;
    qn_line_stop(h->line);
    qn_str_free(&h->accepted);
    free(h);
    return 0;
}

static void type(struct host *h, const char *bytes)
{
    qn_line_feed(h->line, bytes, strlen(bytes));
}

static void assert_shows(struct host *h, const char *text, int cursor)
{
    struct qn_line_look look = {0};
    qn_line_look(h->line, &look);
    assert_string_equal(look.text.text, text);
    assert_int_equal(look.cursor_col, cursor);
    qn_str_free(&look.text);
}

static void enter_hands_on_every_line_that_was_fed(void **state)
{
    struct host *h = *state;
    type(h, "one\rtwo\rthr");
    assert_string_equal(h->accepted.text, "one|two|");
    assert_shows(h, "> thr", 5);
}

static void up_recalls_the_newest_line_first(void **state)
{
    struct host *h = *state;
    type(h, "one\rtwo\r\033[A");
    assert_shows(h, "> two", 5);
    type(h, "\033[A");
    assert_shows(h, "> one", 5);
    type(h, "\033[B\033[B");
    assert_shows(h, "> ", 2);
}

static void a_line_begun_comes_back_after_the_history(void **state)
{
    struct host *h = *state;
    type(h, "one\rtw\033[A");
    assert_shows(h, "> one", 5);
    type(h, "\033[B");
    assert_shows(h, "> tw", 4);
}

static void an_interrupt_drops_the_text_and_leaves_the_search(void **state)
{
    struct host *h = *state;
    type(h, "one\rtwo\r\022on");
    assert_true(qn_line_interrupt(h->line));
    assert_shows(h, "> ", 2);
    assert_false(qn_line_interrupt(h->line));
    type(h, "x\033");
    assert_true(qn_line_interrupt(h->line));
    type(h, "y\033[A");
    assert_shows(h, "> two", 5);
}

static void an_interrupt_forgets_where_in_the_history_it_was(void **state)
{
    struct host *h = *state;
    type(h, "one\rtwo\rdrop\033[A\033[A");
    assert_true(qn_line_interrupt(h->line));
    type(h, "new\033[A");
    assert_shows(h, "> two", 5);
    type(h, "\033[B");
    assert_shows(h, "> new", 5);
}

static void inserted_text_is_not_run(void **state)
{
    struct host *h = *state;
    qn_line_insert(h->line, "a\r\033b\n", 5);
    assert_null(h->accepted.text);
    assert_shows(h, "> a⏎b", 5);
}

static void text_put_in_while_searching_is_searched_for(void **state)
{
    struct host *h = *state;
    type(h, "one\rtwo\r\022");
    qn_line_insert(h->line, "one\n", 4);
    type(h, "\005");
    assert_shows(h, "> one", 5);
    assert_string_equal(h->accepted.text, "one|two|");
}

static void the_cursor_counts_columns(void **state)
{
    struct host *h = *state;
    type(h, "é日\026\001x\002\002");
    assert_shows(h, "> é日^Ax", 5);
}

static void one_completion_is_put_in_and_several_are_shown(void **state)
{
    struct host *h = *state;
    type(h, "q\t");
    assert_shows(h, "> quit", 6);
    assert_true(qn_line_interrupt(h->line));
    type(h, "p\t");
    assert_shows(h, "> pr", 4);
    type(h, "\t\t");
    assert_int_equal(h->n_candidates, 2);
}

static void end_of_file_is_told_on_an_empty_line_only(void **state)
{
    struct host *h = *state;
    type(h, "ab\001\004");
    assert_int_equal(h->n_eof, 0);
    assert_shows(h, "> b", 2);
    type(h, "\004\004");
    assert_int_equal(h->n_eof, 1);
    type(h, "c");
    assert_shows(h, "> c", 3);
}

#define LINE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    /* Readline counts characters by the locale; these tests type UTF-8. */
    (void)setenv("LC_ALL", "C.UTF-8", 1);
    (void)setlocale(LC_ALL, "");
    const struct CMUnitTest tests[] = {
        LINE_TEST(enter_hands_on_every_line_that_was_fed),
        LINE_TEST(up_recalls_the_newest_line_first),
        LINE_TEST(a_line_begun_comes_back_after_the_history),
        LINE_TEST(an_interrupt_drops_the_text_and_leaves_the_search),
        LINE_TEST(an_interrupt_forgets_where_in_the_history_it_was),
        LINE_TEST(inserted_text_is_not_run),
        LINE_TEST(text_put_in_while_searching_is_searched_for),
        LINE_TEST(the_cursor_counts_columns),
        LINE_TEST(one_completion_is_put_in_and_several_are_shown),
        LINE_TEST(end_of_file_is_told_on_an_empty_line_only),
    };
    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
