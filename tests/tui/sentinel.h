/* sentinel.h - a canvas that tells where something was drawn. */
#ifndef QN_TESTS_TUI_SENTINEL_H
#define QN_TESTS_TUI_SENTINEL_H

#include "tui/canvas.h"

#define SENTINEL 0x2603u /* drawn by nothing of ours */

/* A canvas full of sentinels. */
static inline void sentinel_init(struct qn_canvas *c, int rows, int cols)
{
    qn_canvas_init(c, rows, cols);
    for (int i = 0; i < rows * cols; i++) {
        c->cells[i].glyph = SENTINEL;
    }
}

static inline bool sentinel_in_rect(struct qn_rect r, int row, int col)
{
    return row >= r.row && row < r.row + r.rows && col >= r.col &&
           col < r.col + r.cols;
}

/* Whether every cell outside 'where' is as it was. */
static inline bool sentinel_kept(const struct qn_canvas *c,
                                 struct qn_rect where)
{
    for (int row = 0; row < c->rows; row++) {
        for (int col = 0; col < c->cols; col++) {
            const struct qn_canvas_cell *cell = &c->cells[row * c->cols + col];
            if (!sentinel_in_rect(where, row, col) && cell->glyph != SENTINEL) {
                return false;
            }
        }
    }
    return true;
}

#endif
