/* layout.c - who gets which rows and columns of the screen. */
#include "tui/layout.h"

#include <string.h>

#define ROWS_FOR_HINTS 12
#define ROWS_FOR_CHARTS 10
#define ROWS_FOR_STACK 30 /* loss above cells on a narrow, tall screen */
#define COLS_FOR_CHARTS 12
#define COLS_FOR_PAIR 72 /* loss beside cells */
#define COLS_FOR_WIDE 100
#define MIN_CHART_ROWS 6
#define MIN_PROMPT_ROWS 2

static int at_least(int least, int v)
{
    return v > least ? v : least;
}

static int at_most(int most, int v)
{
    return v < most ? v : most;
}

/* Split the charts' rectangle between loss and cells. */
static void place_charts(struct qn_rect all, int rows, struct qn_layout *out)
{
    struct qn_rect loss = all, cells = all;
    if (all.cols >= COLS_FOR_PAIR) {
        int percent = all.cols >= COLS_FOR_WIDE ? 57 : 55;
        loss.cols = all.cols * percent / 100;
        cells.col += loss.cols;
        cells.cols -= loss.cols;
    } else if (rows >= ROWS_FOR_STACK) {
        loss.rows = (all.rows + 1) / 2;
        cells.row += loss.rows;
        cells.rows -= loss.rows;
    } else {
        cells = (struct qn_rect){0};
    }
    out->pane[QN_PANE_LOSS] = loss;
    out->pane[QN_PANE_CELLS] = cells;
}

/* 'room' lies between the status and the input. */
static void place_panes(struct qn_rect room, int rows, struct qn_layout *out)
{
    struct qn_rect charts = room, prompt = room;
    charts.rows = at_least(MIN_CHART_ROWS, room.rows * 2 / 3);
    charts.rows = at_most(charts.rows, room.rows - MIN_PROMPT_ROWS);
    if (rows < ROWS_FOR_CHARTS || room.cols < COLS_FOR_CHARTS ||
        charts.rows < MIN_CHART_ROWS) {
        out->pane[QN_PANE_PROMPT] = room;
        return;
    }
    place_charts(charts, rows, out);
    prompt.row += charts.rows;
    prompt.rows -= charts.rows;
    out->pane[QN_PANE_PROMPT] = prompt;
}

void qn_layout(int rows, int cols, enum qn_pane maximised, int input_rows,
               struct qn_layout *out)
{
    memset(out, 0, sizeof *out);
    if (rows < 1 || cols < 1) {
        out->too_small = true;
        return;
    }
    out->status = (struct qn_rect){0, 0, 1, cols};
    out->too_small = rows < 2 || cols < 4;
    if (out->too_small) {
        return;
    }
    int bottom = rows;
    if (rows >= ROWS_FOR_HINTS) {
        bottom--;
        out->hints = (struct qn_rect){bottom, 0, 1, cols};
    }
    int most = at_least(1, (bottom - 1) / 2);
    int input = at_most(most, at_least(1, input_rows));
    bottom -= input;
    out->input = (struct qn_rect){bottom, 0, input, cols};
    struct qn_rect room = {1, 0, bottom - 1, cols};
    if (room.rows < 1) {
        return;
    }
    if (maximised < QN_N_PANES) {
        out->pane[maximised] = room;
    } else {
        place_panes(room, rows, out);
    }
}

void qn_layout_focus(struct qn_layout *layout, enum qn_pane focus)
{
    if (focus == QN_PANE_CELLS && layout->pane[QN_PANE_CELLS].rows == 0) {
        layout->pane[QN_PANE_CELLS] = layout->pane[QN_PANE_LOSS];
        layout->pane[QN_PANE_LOSS] = (struct qn_rect){0};
    }
}
