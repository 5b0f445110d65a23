/* canvas.c - cells in memory: what a screen would show. */
#include "tui/canvas.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

static struct qn_canvas_cell blank_cell(void)
{
    return (struct qn_canvas_cell){.glyph = ' ', .role = QN_ROLE_TEXT};
}

static bool inside(const struct qn_canvas *c, int row, int col)
{
    return row >= 0 && row < c->rows && col >= 0 && col < c->cols;
}

static struct qn_canvas_cell *cell_at(const struct qn_canvas *c, int row,
                                      int col)
{
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

void qn_canvas_init(struct qn_canvas *c, int rows, int cols)
{
    *c = (struct qn_canvas){0};
    qn_canvas_resize(c, rows, cols);
}

void qn_canvas_resize(struct qn_canvas *c, int rows, int cols)
{
    QN_ASSERT(rows >= 0 && cols >= 0);
    size_t n = (size_t)rows * (size_t)cols;
    c->cells = qn_xrealloc(c->cells, n, sizeof *c->cells);
    c->rows = rows;
    c->cols = cols;
    for (size_t i = 0; i < n; i++) {
        c->cells[i] = blank_cell();
    }
}

void qn_canvas_fini(struct qn_canvas *c)
{
    free(c->cells);
    *c = (struct qn_canvas){0};
}

/* A cell is about to change: the other half of a wide character in it goes. */
static void break_wide(struct qn_canvas *c, int row, int col)
{
    struct qn_canvas_cell *here = cell_at(c, row, col);
    if (here->glyph == 0 && col > 0) {
        here[-1].glyph = ' ';
    }
    if (col + 1 < c->cols && here[1].glyph == 0) {
        here[1].glyph = ' ';
    }
}

static void set_cell(struct qn_canvas *c, int row, int col, uint32_t glyph,
                     enum qn_role role)
{
    break_wide(c, row, col);
    *cell_at(c, row, col) =
        (struct qn_canvas_cell){.glyph = glyph, .role = (uint8_t)role};
}

void qn_canvas_clear(struct qn_canvas *c, struct qn_rect where)
{
    for (int row = where.row; row < where.row + where.rows; row++) {
        for (int col = where.col; col < where.col + where.cols; col++) {
            if (inside(c, row, col)) {
                set_cell(c, row, col, ' ', QN_ROLE_TEXT);
            }
        }
    }
}

void qn_canvas_put(struct qn_canvas *c, int row, int col, uint32_t glyph,
                   enum qn_role role)
{
    if (qn_is_control(glyph)) {
        glyph = REPLACEMENT;
    }
    int width = qn_glyph_width(glyph);
    if (width == 0 || !inside(c, row, col)) {
        return;
    }
    if (width == 2 && col + 1 >= c->cols) {
        glyph = ' ';
        width = 1;
    }
    set_cell(c, row, col, glyph, role);
    if (width == 2) {
        set_cell(c, row, col + 1, ' ', role);
        cell_at(c, row, col)->glyph = glyph;
        cell_at(c, row, col + 1)->glyph = 0;
    }
}

int qn_canvas_text(struct qn_canvas *c, int row, int col, int max_cols,
                   const char *text, enum qn_role role)
{
    int room = c->cols - col;
    if (max_cols >= 0 && max_cols < room) {
        room = max_cols;
    }
    int used = 0;
    size_t len = strlen(text);
    while (len > 0) {
        uint32_t code = REPLACEMENT;
        int bytes = qn_utf8_decode(text, len, &code);
        bytes = bytes > 0 ? bytes : 1;
        int width = qn_glyph_width(code);
        if (used + width > room) {
            break;
        }
        qn_canvas_put(c, row, col + used, code, role);
        used += width;
        text += bytes;
        len -= (size_t)bytes;
    }
    return used;
}

int qn_canvas_textf(struct qn_canvas *c, int row, int col, int max_cols,
                    enum qn_role role, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return qn_canvas_text(c, row, col, max_cols, text, role);
}

void qn_canvas_style(struct qn_canvas *c, struct qn_rect where, bool bold,
                     bool reverse)
{
    for (int row = where.row; row < where.row + where.rows; row++) {
        for (int col = where.col; col < where.col + where.cols; col++) {
            if (inside(c, row, col)) {
                cell_at(c, row, col)->bold = bold;
                cell_at(c, row, col)->reverse = reverse;
            }
        }
    }
}

struct border {
    uint32_t top_left, top_right, bottom_left, bottom_right, across, down;
};

static struct border border_for(enum qn_glyphs glyphs)
{
    switch (glyphs) {
    case QN_GLYPHS_BRAILLE:
        return (struct border){0x256d, 0x256e, 0x2570, 0x256f, 0x2500, 0x2502};
    case QN_GLYPHS_BLOCK:
        return (struct border){0x250c, 0x2510, 0x2514, 0x2518, 0x2500, 0x2502};
    case QN_GLYPHS_ASCII:
        break;
    }
    return (struct border){'+', '+', '+', '+', '-', '|'};
}

static void draw_border(struct qn_canvas *c, struct qn_rect w,
                        enum qn_role role, struct border b)
{
    int bottom = w.row + w.rows - 1, right = w.col + w.cols - 1;
    for (int col = w.col + 1; col < right; col++) {
        qn_canvas_put(c, w.row, col, b.across, role);
        qn_canvas_put(c, bottom, col, b.across, role);
    }
    for (int row = w.row + 1; row < bottom; row++) {
        qn_canvas_put(c, row, w.col, b.down, role);
        qn_canvas_put(c, row, right, b.down, role);
    }
    qn_canvas_put(c, w.row, w.col, b.top_left, role);
    qn_canvas_put(c, w.row, right, b.top_right, role);
    qn_canvas_put(c, bottom, w.col, b.bottom_left, role);
    qn_canvas_put(c, bottom, right, b.bottom_right, role);
}

void qn_canvas_box(struct qn_canvas *c, struct qn_rect where, const char *title,
                   bool focused, enum qn_glyphs glyphs)
{
    if (where.rows < 2 || where.cols < 2) {
        return;
    }
    draw_border(c, where, focused ? QN_ROLE_FOCUS : QN_ROLE_DIM,
                border_for(glyphs));
    int room = where.cols - 6;
    if (title == NULL || title[0] == '\0' || room < 1) {
        return;
    }
    enum qn_role role = focused ? QN_ROLE_FOCUS : QN_ROLE_TITLE;
    qn_canvas_put(c, where.row, where.col + 2, ' ', role);
    int used = qn_canvas_text(c, where.row, where.col + 3, room, title, role);
    qn_canvas_put(c, where.row, where.col + 3 + used, ' ', role);
}

static char role_letter(uint8_t role)
{
    static const char letters[QN_N_ROLES] = {
        [QN_ROLE_TEXT] = 't',     [QN_ROLE_DIM] = '.',
        [QN_ROLE_TITLE] = 'T',    [QN_ROLE_FOCUS] = 'F',
        [QN_ROLE_STATUS] = 's',   [QN_ROLE_GOOD] = 'g',
        [QN_ROLE_WARN] = 'w',     [QN_ROLE_ERROR] = 'e',
        [QN_ROLE_TRAIN] = 'a',    [QN_ROLE_VALID] = 'v',
        [QN_ROLE_NEGATIVE] = '-', [QN_ROLE_NEAR] = '0',
        [QN_ROLE_POSITIVE] = '+', [QN_ROLE_PROMPT] = 'p',
        [QN_ROLE_KEY] = 'k',      [QN_ROLE_SELECT] = 'S',
    };
    return role < QN_N_ROLES ? letters[role] : '?';
}

/* One past the last cell of a row that is not a plain blank. */
static int row_end(const struct qn_canvas *c, int row)
{
    int end = c->cols;
    while (end > 0 && cell_at(c, row, end - 1)->glyph == ' ') {
        end--;
    }
    return end;
}

static void dump_row(const struct qn_canvas *c, int row, bool roles,
                     struct qn_str *out)
{
    int end = row_end(c, row);
    for (int col = 0; col < end; col++) {
        const struct qn_canvas_cell *cell = cell_at(c, row, col);
        char bytes[4];
        if (roles) {
            char letter = cell->glyph == ' ' ? ' ' : role_letter(cell->role);
            qn_str_add_bytes(out, &letter, 1);
        } else if (cell->glyph != 0) {
            int n = qn_utf8_encode(cell->glyph, bytes);
            qn_str_add_bytes(out, bytes, (size_t)n);
        }
    }
    qn_str_add(out, "\n");
}

void qn_canvas_dump(const struct qn_canvas *c, bool with_roles,
                    struct qn_str *out)
{
    for (int row = 0; row < c->rows; row++) {
        dump_row(c, row, false, out);
    }
    for (int row = 0; with_roles && row < c->rows; row++) {
        dump_row(c, row, true, out);
    }
}
