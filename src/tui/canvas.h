/* canvas.h - a grid of cells to draw on: pure, without a terminal.
 *
 * Drawing outside the canvas is clipped, never an error; a canvas of 0 x 0 is
 * fine. A cell holds one code point and a role; the theme turns roles into
 * colours and only term.c puts them on a terminal.
 */
#ifndef QN_TUI_CANVAS_H
#define QN_TUI_CANVAS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What a cell means. Colour is never the only cue. */
enum qn_role {
    QN_ROLE_TEXT,
    QN_ROLE_DIM,      /* axes, borders, hints */
    QN_ROLE_TITLE,    /* names of panes */
    QN_ROLE_FOCUS,    /* border and title of the focused pane */
    QN_ROLE_STATUS,   /* the run line */
    QN_ROLE_GOOD,     /* running, saved */
    QN_ROLE_WARN,     /* paused */
    QN_ROLE_ERROR,    /* failed, NaN, Lua errors */
    QN_ROLE_TRAIN,    /* the training curve */
    QN_ROLE_VALID,    /* the validation curve */
    QN_ROLE_NEGATIVE, /* shares of cell states */
    QN_ROLE_NEAR,
    QN_ROLE_POSITIVE,
    QN_ROLE_PROMPT,
    QN_ROLE_KEY,    /* a key's name in hints and help */
    QN_ROLE_SELECT, /* the selected row, a pop-up's choice: reversed */
    QN_N_ROLES
};

struct qn_canvas_cell {
    uint32_t glyph; /* 0 = the right half of a wide character */
    uint8_t role;
    bool bold, reverse;
};

struct qn_canvas {
    int rows, cols;
    struct qn_canvas_cell *cells;
};

struct qn_rect {
    int row, col, rows, cols;
};

/* What the terminal can show. */
enum qn_glyphs { QN_GLYPHS_BRAILLE, QN_GLYPHS_BLOCK, QN_GLYPHS_ASCII };

void qn_canvas_init(struct qn_canvas *c, int rows, int cols);   /* blank */
void qn_canvas_resize(struct qn_canvas *c, int rows, int cols); /* blanked */
void qn_canvas_fini(struct qn_canvas *c);
void qn_canvas_clear(struct qn_canvas *c, struct qn_rect where);

void qn_canvas_put(struct qn_canvas *c, int row, int col, uint32_t glyph,
                   enum qn_role role);
/* UTF-8 from (row, col), at most max_cols columns (< 0: to the edge); wide
 * characters take two, control characters become U+FFFD, combining marks are
 * dropped. Returns the columns used. */
int qn_canvas_text(struct qn_canvas *c, int row, int col, int max_cols,
                   const char *text, enum qn_role role);
int qn_canvas_textf(struct qn_canvas *c, int row, int col, int max_cols,
                    enum qn_role role, const char *fmt, ...) QN_PRINTF(6, 7);
void qn_canvas_style(struct qn_canvas *c, struct qn_rect where, bool bold,
                     bool reverse);
/* A border with a title in it. */
void qn_canvas_box(struct qn_canvas *c, struct qn_rect where, const char *title,
                   bool focused, enum qn_glyphs glyphs);

/* Columns that UTF-8 takes on a terminal. */
int qn_text_width(const char *text);
int qn_glyph_width(uint32_t code); /* 0, 1 or 2; locale-free */

/* The whole canvas as UTF-8 lines, trailing blanks cut: for tests and for
 * pictures. with_roles adds a second block, a letter a cell. */
void qn_canvas_dump(const struct qn_canvas *c, bool with_roles,
                    struct qn_str *out);

#endif
