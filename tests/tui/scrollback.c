/* scrollback.c - tests of the prompt's memory. */
#include "tui/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sentinel.h"

/* What a pane of this size shows, as text. */
static char *shown(struct qn_scrollback *b, int rows, int cols)
{
    struct qn_canvas c;
    struct qn_str out = {0};
    const struct qn_view_state s = {.glyphs = QN_GLYPHS_BRAILLE};
    qn_canvas_init(&c, rows, cols);
    qn_view_scrollback(&c, (struct qn_rect){0, 0, rows, cols}, b, &s);
    qn_canvas_dump(&c, false, &out);
    qn_canvas_fini(&c);
    return qn_str_take(&out);
}

static void assert_shown(struct qn_scrollback *b, int rows, int cols,
                         const char *expected)
{
    char *text = shown(b, rows, cols);
    assert_string_equal(text, expected);
    free(text);
}

static void the_newest_line_is_at_the_bottom(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(10);
    qn_scrollback_add(b, "one\ntwo\n", QN_ROLE_TEXT);
    qn_scrollback_add(b, "three", QN_ROLE_TEXT);
    assert_shown(b, 4, 10, "\none\ntwo\nthree\n");
    assert_shown(b, 2, 10, "two\nthree\n");
    qn_scrollback_free(b);
}

static void long_lines_wrap_by_display_width(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(10);
    qn_scrollback_add(b, "abcdefg", QN_ROLE_TEXT);
    assert_shown(b, 3, 4, "\nabcd\nefg\n");
    qn_scrollback_add(b, "a\u65e5\u672c\u8a9e", QN_ROLE_TEXT);
    assert_shown(b, 2, 4, "a\u65e5\n\u672c\u8a9e\n");
    qn_scrollback_add(b, "some words", QN_ROLE_TEXT);
    assert_shown(b, 2, 7, "some\nwords\n");
    qn_scrollback_add(b, "a longword", QN_ROLE_TEXT);
    assert_shown(b, 2, 7, "a longw\nord\n");
    qn_scrollback_free(b);
}

static void a_character_wider_than_the_pane_does_not_hang(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(10);
    qn_scrollback_add(b, "\u65e5\u672c", QN_ROLE_TEXT);
    assert_shown(b, 2, 1, "\n\n");
    qn_scrollback_free(b);
}

static void the_oldest_lines_go_first(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(3);
    qn_scrollback_add(b, "1\n2\n3\n4\n5", QN_ROLE_TEXT);
    assert_shown(b, 4, 5, "\n3\n4\n5\n");
    qn_scrollback_free(b);
}

static void escapes_and_control_characters_are_taken_out(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(10);
    qn_scrollback_add(b, "\033[1;31mred\033[0m \033]0;title\a\033(Bend\r",
                      QN_ROLE_TEXT);
    qn_scrollback_add(b,
                      "a\tb\x01"
                      "c\xff",
                      QN_ROLE_TEXT);
    qn_scrollback_add(b, "cut\033[", QN_ROLE_TEXT);
    qn_scrollback_add(b, "cut\033", QN_ROLE_TEXT);
    qn_scrollback_add(b, "\033]8;;x\033\\link", QN_ROLE_TEXT);
    assert_shown(b, 5, 20, "red end\na       bc\ufffd\ncut\ncut\nlink\n");
    qn_scrollback_free(b);
}

static void empty_lines_are_kept(void **state)
{
    (void)state;
    struct qn_scrollback *b = qn_scrollback_new(10);
    qn_scrollback_add(b, "a\n\nb\n", QN_ROLE_TEXT);
    qn_scrollback_add(b, "\n", QN_ROLE_TEXT);
    qn_scrollback_add(b, "", QN_ROLE_TEXT);
    assert_shown(b, 5, 10, "\na\n\nb\n\n");
    qn_scrollback_free(b);
}

static struct qn_scrollback *hundred(void)
{
    struct qn_scrollback *b = qn_scrollback_new(1000);
    for (int i = 0; i < 100; i++) {
        char line[16];
        (void)snprintf(line, sizeof line, "%d", i);
        qn_scrollback_add(b, line, QN_ROLE_TEXT);
    }
    return b;
}

static void moving_back_says_how_much_is_below(void **state)
{
    (void)state;
    struct qn_scrollback *b = hundred();
    qn_scrollback_move(b, -37);
    assert_shown(b, 2, 24, "61\n62      \u2193 37 more, PgDn\n");
    qn_scrollback_move(b, 36);
    assert_shown(b, 1, 24, "98       \u2193 1 more, PgDn\n");
    qn_scrollback_move(b, 99);
    assert_shown(b, 1, 24, "99\n");
    qn_scrollback_free(b);
}

static void moving_stops_at_the_oldest_row(void **state)
{
    (void)state;
    struct qn_scrollback *b = hundred();
    qn_scrollback_move(b, -100000);
    assert_shown(b, 2, 5, "0\n1\n");
    qn_scrollback_move(b, 1);
    assert_shown(b, 2, 5, "1\n2\n");
    qn_scrollback_end(b);
    assert_shown(b, 2, 5, "98\n99\n");
    qn_scrollback_free(b);
}

static void new_lines_do_not_move_who_looks_back(void **state)
{
    (void)state;
    struct qn_scrollback *b = hundred();
    qn_scrollback_move(b, -10);
    assert_shown(b, 1, 5, "89\n");
    qn_scrollback_add(b, "a line of three rows\nand one", QN_ROLE_TEXT);
    assert_shown(b, 1, 5, "89\n");
    qn_scrollback_free(b);
}

static void it_stays_inside_for_all_sizes(void **state)
{
    (void)state;
    struct qn_scrollback *b = hundred();
    qn_scrollback_add(b, "w\u00ef\u65e5de", QN_ROLE_TEXT);
    const struct qn_view_state s = {.glyphs = QN_GLYPHS_ASCII};
    for (int rows = 0; rows < 12; rows++) {
        for (int cols = 0; cols < 40; cols++) {
            struct qn_canvas c;
            struct qn_rect where = {1, 2, rows, cols};
            sentinel_init(&c, rows + 2, cols + 4);
            qn_scrollback_move(b, cols % 2 == 0 ? -3 : 2);
            qn_view_scrollback(&c, where, b, &s);
            assert_true(sentinel_kept(&c, where));
            qn_canvas_fini(&c);
        }
    }
    qn_scrollback_free(b);
    qn_scrollback_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_line_is_at_the_bottom),
        cmocka_unit_test(long_lines_wrap_by_display_width),
        cmocka_unit_test(a_character_wider_than_the_pane_does_not_hang),
        cmocka_unit_test(the_oldest_lines_go_first),
        cmocka_unit_test(escapes_and_control_characters_are_taken_out),
        cmocka_unit_test(empty_lines_are_kept),
        cmocka_unit_test(moving_back_says_how_much_is_below),
        cmocka_unit_test(moving_stops_at_the_oldest_row),
        cmocka_unit_test(new_lines_do_not_move_who_looks_back),
        cmocka_unit_test(it_stays_inside_for_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
