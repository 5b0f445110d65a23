/* canvas.c - tests of cells, text and widths. */
#include "tui/canvas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sentinel.h"

static void assert_dump(const struct qn_canvas *c, const char *expected)
{
    struct qn_str out = {0};
    qn_canvas_dump(c, false, &out);
    assert_string_equal(out.text, expected);
    qn_str_free(&out);
}

static void text_is_clipped_at_every_edge(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 2, 4);
    assert_int_equal(qn_canvas_text(&c, 0, 2, -1, "abcd", QN_ROLE_TEXT), 2);
    assert_int_equal(qn_canvas_text(&c, 1, -2, -1, "abcdefghi", QN_ROLE_TEXT),
                     6);
    qn_canvas_text(&c, -1, 0, -1, "above", QN_ROLE_TEXT);
    qn_canvas_text(&c, 2, 0, -1, "below", QN_ROLE_TEXT);
    qn_canvas_text(&c, 0, 9, -1, "right", QN_ROLE_TEXT);
    assert_dump(&c, "  ab\ncdef\n");
    qn_canvas_fini(&c);
}

static void max_cols_bounds_the_text(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 1, 8);
    assert_int_equal(qn_canvas_text(&c, 0, 0, 3, "abcdef", QN_ROLE_TEXT), 3);
    assert_int_equal(qn_canvas_text(&c, 0, 4, 0, "abcdef", QN_ROLE_TEXT), 0);
    assert_dump(&c, "abc\n");
    qn_canvas_fini(&c);
}

static void wide_characters_take_two_cells_or_none(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 1, 5);
    assert_int_equal(
        qn_canvas_text(&c, 0, 0, -1, "\u65e5\u672c\u8a9e", QN_ROLE_TEXT), 4);
    assert_int_equal(c.cells[1].glyph, 0);
    assert_dump(&c, "\u65e5\u672c\n");
    qn_canvas_fini(&c);
}

static void half_of_a_wide_character_never_stays(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 1, 4);
    qn_canvas_put(&c, 0, 0, 0x65e5, QN_ROLE_TEXT);
    qn_canvas_put(&c, 0, 1, 'x', QN_ROLE_TEXT);
    assert_dump(&c, " x\n");
    qn_canvas_put(&c, 0, 2, 0x65e5, QN_ROLE_TEXT);
    qn_canvas_put(&c, 0, 2, 'y', QN_ROLE_TEXT);
    assert_dump(&c, " xy\n");
    qn_canvas_put(&c, 0, 1, 0x65e5, QN_ROLE_TEXT);
    qn_canvas_put(&c, 0, 2, 0x672c, QN_ROLE_TEXT);
    assert_dump(&c, "  \u672c\n");
    qn_canvas_put(&c, 0, 3, 0x65e5, QN_ROLE_TEXT);
    assert_int_equal(c.cells[3].glyph, ' ');
    qn_canvas_fini(&c);
}

static void control_and_broken_bytes_become_replacements(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 1, 12);
    qn_canvas_text(&c, 0, 0, -1,
                   "a\033b\xff\xc3"
                   "c",
                   QN_ROLE_TEXT);
    assert_dump(&c, "a\ufffd"
                    "b\ufffd\ufffd"
                    "c\n");
    qn_canvas_fini(&c);
}

static void combining_marks_are_dropped(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 1, 4);
    assert_int_equal(qn_canvas_text(&c, 0, 0, -1, "e\u0301x", QN_ROLE_TEXT), 2);
    assert_dump(&c, "ex\n");
    qn_canvas_fini(&c);
}

static void widths_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    assert_int_equal(qn_glyph_width('a'), 1);
    assert_int_equal(qn_glyph_width(0xe9), 1);
    assert_int_equal(qn_glyph_width(0x301), 0);
    assert_int_equal(qn_glyph_width(0x200b), 0);
    assert_int_equal(qn_glyph_width(0x1100), 2);
    assert_int_equal(qn_glyph_width(0x115f), 2);
    assert_int_equal(qn_glyph_width(0x4e00), 2);
    assert_int_equal(qn_glyph_width(0x20000), 2);
    assert_int_equal(qn_glyph_width(0x1f600), 2);
    assert_int_equal(qn_glyph_width(0xff21), 2);
    assert_int_equal(qn_glyph_width(0xff71), 1);
    assert_int_equal(qn_glyph_width(0x10ffff), 1);
    assert_int_equal(qn_text_width(""), 0);
    assert_int_equal(qn_text_width("a\u65e5\u0301\xff"), 4);
}

/* The glyphs that we draw must be narrow, or every plot would break. */
static void glyphs_of_plots_are_narrow(void **state)
{
    (void)state;
    for (uint32_t code = 0x2500; code <= 0x25a0; code++) {
        assert_int_equal(qn_glyph_width(code), 1);
    }
    for (uint32_t code = 0x2800; code <= 0x28ff; code++) {
        assert_int_equal(qn_glyph_width(code), 1);
    }
}

static void a_box_carries_its_title_and_clips_it(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 3, 12);
    qn_canvas_box(&c, (struct qn_rect){0, 0, 3, 12}, "a long title", false,
                  QN_GLYPHS_ASCII);
    assert_dump(&c, "+- a long -+\n|          |\n+----------+\n");
    qn_canvas_fini(&c);
}

static void a_box_of_any_size_stays_inside(void **state)
{
    (void)state;
    for (int rows = 0; rows < 8; rows++) {
        for (int cols = 0; cols < 16; cols++) {
            struct qn_canvas c;
            struct qn_rect where = {2, 3, rows, cols};
            sentinel_init(&c, 12, 24);
            qn_canvas_box(&c, where, "title", true, QN_GLYPHS_BRAILLE);
            assert_true(sentinel_kept(&c, where));
            qn_canvas_fini(&c);
        }
    }
}

static void an_empty_canvas_takes_everything_in_silence(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 0, 0);
    qn_canvas_put(&c, 0, 0, 'x', QN_ROLE_TEXT);
    qn_canvas_text(&c, 0, 0, -1, "text", QN_ROLE_TEXT);
    qn_canvas_clear(&c, (struct qn_rect){0, 0, 9, 9});
    qn_canvas_style(&c, (struct qn_rect){-1, -1, 9, 9}, true, true);
    qn_canvas_resize(&c, 1, 1);
    qn_canvas_put(&c, 0, 0, 'x', QN_ROLE_TEXT);
    assert_dump(&c, "x\n");
    qn_canvas_fini(&c);
}

static void style_reaches_its_rectangle_only(void **state)
{
    (void)state;
    struct qn_canvas c;
    qn_canvas_init(&c, 2, 3);
    qn_canvas_style(&c, (struct qn_rect){0, 1, 1, 5}, true, false);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(c.cells[i].bold, i == 1 || i == 2);
        assert_false(c.cells[i].reverse);
    }
    qn_canvas_fini(&c);
}

static void a_dump_with_roles_has_a_letter_for_every_cell(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_str out = {0};
    qn_canvas_init(&c, 1, 4);
    qn_canvas_put(&c, 0, 0, 'x', QN_ROLE_TRAIN);
    qn_canvas_put(&c, 0, 2, 'y', QN_ROLE_POSITIVE);
    qn_canvas_dump(&c, true, &out);
    assert_string_equal(out.text, "x y\na +\n");
    qn_str_free(&out);
    qn_canvas_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clipped_at_every_edge),
        cmocka_unit_test(max_cols_bounds_the_text),
        cmocka_unit_test(wide_characters_take_two_cells_or_none),
        cmocka_unit_test(half_of_a_wide_character_never_stays),
        cmocka_unit_test(control_and_broken_bytes_become_replacements),
        cmocka_unit_test(combining_marks_are_dropped),
        cmocka_unit_test(widths_do_not_depend_on_the_locale),
        cmocka_unit_test(glyphs_of_plots_are_narrow),
        cmocka_unit_test(a_box_carries_its_title_and_clips_it),
        cmocka_unit_test(a_box_of_any_size_stays_inside),
        cmocka_unit_test(an_empty_canvas_takes_everything_in_silence),
        cmocka_unit_test(style_reaches_its_rectangle_only),
        cmocka_unit_test(a_dump_with_roles_has_a_letter_for_every_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
