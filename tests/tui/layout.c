/* layout.c - tests of who gets which part of the screen. */
#include "tui/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define MAX_ROWS 45
#define MAX_COLS 130

/* Count a rectangle's cells; false when one is outside or taken. */
static bool claim(char taken[MAX_ROWS][MAX_COLS], int rows, int cols,
                  struct qn_rect r)
{
    if (r.rows < 0 || r.cols < 0 || r.row < 0 || r.col < 0 ||
        r.row + r.rows > rows || r.col + r.cols > cols) {
        return false;
    }
    for (int row = r.row; row < r.row + r.rows; row++) {
        for (int col = r.col; col < r.col + r.cols; col++) {
            if (taken[row][col]++ != 0) {
                return false;
            }
        }
    }
    return true;
}

static void check(int rows, int cols, enum qn_pane maximised, int input)
{
    static char taken[MAX_ROWS][MAX_COLS];
    struct qn_layout l;
    memset(taken, 0, sizeof taken);
    qn_layout(rows, cols, maximised, input, &l);
    assert_true(claim(taken, rows, cols, l.status));
    assert_true(claim(taken, rows, cols, l.input));
    assert_true(claim(taken, rows, cols, l.hints));
    for (int i = 0; i < QN_N_PANES; i++) {
        assert_true(claim(taken, rows, cols, l.pane[i]));
    }
    assert_int_equal(l.status.rows, 1);
    assert_int_equal(l.status.cols, cols);
    if (l.too_small) {
        assert_int_equal(l.input.rows, 0);
        return;
    }
    assert_true(l.input.rows >= 1);
    /* Nothing is left over: every row is somebody's. */
    for (int row = 0; row < rows; row++) {
        assert_int_equal(taken[row][0], 1);
        assert_int_equal(taken[row][cols - 1], 1);
    }
}

static void rectangles_are_inside_and_apart_for_all_sizes(void **state)
{
    (void)state;
    for (int rows = 1; rows <= MAX_ROWS; rows++) {
        for (int cols = 1; cols <= MAX_COLS; cols++) {
            for (int pane = 0; pane <= QN_N_PANES; pane++) {
                check(rows, cols, (enum qn_pane)pane, 1);
                check(rows, cols, (enum qn_pane)pane, 3);
                check(rows, cols, (enum qn_pane)pane, 1000);
            }
        }
    }
}

static struct qn_layout layout(int rows, int cols)
{
    struct qn_layout l;
    qn_layout(rows, cols, QN_N_PANES, 1, &l);
    return l;
}

static void wide_screens_give_the_loss_the_larger_part(void **state)
{
    (void)state;
    struct qn_layout l = layout(40, 120);
    assert_true(l.pane[QN_PANE_LOSS].cols > l.pane[QN_PANE_CELLS].cols);
    assert_int_equal(l.pane[QN_PANE_LOSS].row, l.pane[QN_PANE_CELLS].row);
    assert_int_equal(l.pane[QN_PANE_PROMPT].cols, 120);
}

static void narrow_screens_show_the_loss_alone(void **state)
{
    (void)state;
    struct qn_layout l = layout(24, 71);
    assert_int_equal(l.pane[QN_PANE_LOSS].cols, 71);
    assert_int_equal(l.pane[QN_PANE_CELLS].rows, 0);
    assert_true(l.pane[QN_PANE_PROMPT].rows >= 2);
    assert_true(layout(24, 72).pane[QN_PANE_CELLS].rows > 0);
}

static void the_focused_chart_is_shown_where_one_fits(void **state)
{
    (void)state;
    struct qn_layout l = layout(24, 60), wide = layout(24, 80);
    struct qn_layout same = wide;
    qn_layout_focus(&l, QN_PANE_LOSS);
    assert_int_equal(l.pane[QN_PANE_LOSS].cols, 60);
    qn_layout_focus(&l, QN_PANE_CELLS);
    assert_int_equal(l.pane[QN_PANE_CELLS].cols, 60);
    assert_int_equal(l.pane[QN_PANE_LOSS].rows, 0);
    qn_layout_focus(&same, QN_PANE_CELLS);
    assert_memory_equal(&same, &wide, sizeof wide);
}

static void narrow_tall_screens_stack_the_charts(void **state)
{
    (void)state;
    struct qn_layout l = layout(40, 60);
    assert_int_equal(l.pane[QN_PANE_CELLS].cols, 60);
    assert_true(l.pane[QN_PANE_CELLS].row > l.pane[QN_PANE_LOSS].row);
}

static void low_screens_keep_status_and_prompt(void **state)
{
    (void)state;
    struct qn_layout l = layout(9, 120);
    assert_int_equal(l.pane[QN_PANE_LOSS].rows, 0);
    assert_int_equal(l.pane[QN_PANE_PROMPT].rows, 7);
    assert_true(layout(10, 120).pane[QN_PANE_LOSS].rows > 0);
    assert_int_equal(layout(11, 80).hints.rows, 0);
    assert_int_equal(layout(12, 80).hints.rows, 1);
}

static void a_maximised_pane_has_the_others_room(void **state)
{
    (void)state;
    struct qn_layout l;
    qn_layout(40, 120, QN_PANE_CELLS, 1, &l);
    assert_int_equal(l.pane[QN_PANE_CELLS].rows, 37);
    assert_int_equal(l.pane[QN_PANE_CELLS].cols, 120);
    assert_int_equal(l.pane[QN_PANE_LOSS].rows, 0);
    assert_int_equal(l.pane[QN_PANE_PROMPT].rows, 0);
    assert_int_equal(l.input.rows, 1);
}

static void nothing_but_the_status_fits_one_cell(void **state)
{
    (void)state;
    assert_true(layout(1, 1).too_small);
    assert_true(layout(1, 80).too_small);
    assert_false(layout(2, 80).too_small);
    assert_int_equal(layout(0, 0).status.rows, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rectangles_are_inside_and_apart_for_all_sizes),
        cmocka_unit_test(wide_screens_give_the_loss_the_larger_part),
        cmocka_unit_test(narrow_screens_show_the_loss_alone),
        cmocka_unit_test(the_focused_chart_is_shown_where_one_fits),
        cmocka_unit_test(narrow_tall_screens_stack_the_charts),
        cmocka_unit_test(low_screens_keep_status_and_prompt),
        cmocka_unit_test(a_maximised_pane_has_the_others_room),
        cmocka_unit_test(nothing_but_the_status_fits_one_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
