/* scrollback.c - what the prompt has printed, wrapped at the pane's width. */
#include "tui/view.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAB 8
#define ESC '\033'

struct entry {
    char *text; /* printable UTF-8 */
    enum qn_role role;
};

struct qn_scrollback {
    struct entry *ring;
    int max_lines, first, len;
    int back; /* rows between the newest and the lowest row shown */
    int cols; /* as last drawn, 0 before that */
};

struct qn_scrollback *qn_scrollback_new(int max_lines)
{
    QN_ASSERT(max_lines > 0);
    struct qn_scrollback *b = qn_xcalloc(1, sizeof *b);
    b->ring = qn_xcalloc((size_t)max_lines, sizeof *b->ring);
    b->max_lines = max_lines;
    return b;
}

static struct entry *entry_at(const struct qn_scrollback *b, int i)
{
    return &b->ring[(b->first + i) % b->max_lines];
}

void qn_scrollback_free(struct qn_scrollback *b)
{
    if (b == NULL) {
        return;
    }
    for (int i = 0; i < b->len; i++) {
        free(entry_at(b, i)->text);
    }
    free(b->ring);
    free(b);
}

/* The bytes of the row that starts at 'text': what fits, but up to the last
 * blank when that lies in its second half. A character wider than the row takes
 * a row of its own. */
static size_t row_bytes(const char *text, size_t len, int cols)
{
    size_t used = 0, after_blank = 0;
    int width = 0;
    while (used < len) {
        uint32_t code = 0xfffd;
        int bytes = qn_utf8_decode(text + used, len - used, &code);
        width += qn_glyph_width(code);
        if (width > cols && used > 0) {
            return after_blank * 2 > used ? after_blank : used;
        }
        used += (size_t)(bytes > 0 ? bytes : 1);
        after_blank = code == ' ' ? used : after_blank;
    }
    return used;
}

static int count_rows(const struct entry *e, int cols)
{
    const char *at = e->text;
    size_t left = strlen(at);
    int rows = 1;
    for (;;) {
        size_t used = row_bytes(at, left, cols);
        at += used;
        left -= used;
        if (left == 0) {
            return rows;
        }
        rows++;
    }
}

/* The first byte from i on that is not in [lo, hi]. */
static size_t skip(const char *text, size_t len, size_t i, char lo, char hi)
{
    while (i < len && text[i] >= lo && text[i] <= hi) {
        i++;
    }
    return i;
}

/* The bytes of an escape sequence at text[0] == ESC (ECMA-48): a control
 * sequence has parameters and a final byte, a string ends in BEL or ESC \,
 * others have intermediates and a final byte. */
static size_t escape_bytes(const char *text, size_t len)
{
    size_t i = 2;
    if (len < 2) {
        return len;
    }
    if (text[1] == '[') {
        i = skip(text, len, i, 0x20, 0x3f);
        return i < len ? i + 1 : len;
    }
    if (strchr("]PX^_", text[1]) == NULL) {
        i = skip(text, len, 1, 0x20, 0x2f);
        return i < len ? i + 1 : len;
    }
    while (i < len && text[i] != '\a') {
        if (text[i] == ESC) {
            return i + 1 < len ? i + 2 : len;
        }
        i++;
    }
    return i < len ? i + 1 : len;
}

/* Add one code point; tabs become blanks, other control characters nothing. */
static void add_code(struct qn_str *out, uint32_t code, int *width)
{
    char bytes[4];
    if (code == '\t') {
        do {
            qn_str_add(out, " ");
        } while (++*width % TAB != 0);
        return;
    }
    if (qn_is_control(code)) {
        return;
    }
    qn_str_add_bytes(out, bytes, (size_t)qn_utf8_encode(code, bytes));
    *width += qn_glyph_width(code);
}

static char *clean(const char *text, size_t len)
{
    struct qn_str out = {0};
    int width = 0;
    for (size_t i = 0; i < len;) {
        if (text[i] == ESC) {
            i += escape_bytes(text + i, len - i);
            continue;
        }
        uint32_t code = 0xfffd;
        int bytes = qn_utf8_decode(text + i, len - i, &code);
        add_code(&out, code, &width);
        i += (size_t)(bytes > 0 ? bytes : 1);
    }
    return qn_str_take(&out);
}

static void add_line(struct qn_scrollback *b, const char *text, size_t len,
                     enum qn_role role)
{
    if (b->len == b->max_lines) {
        free(entry_at(b, 0)->text);
        b->first = (b->first + 1) % b->max_lines;
        b->len--;
    }
    struct entry *e = entry_at(b, b->len++);
    *e = (struct entry){clean(text, len), role};
    if (b->back > 0 && b->cols > 0) {
        /* Who looks back keeps seeing the same rows. */
        b->back += count_rows(e, b->cols);
    }
}

void qn_scrollback_add(struct qn_scrollback *b, const char *text,
                       enum qn_role role)
{
    while (text[0] != '\0') {
        size_t len = strcspn(text, "\n");
        add_line(b, text, len, role);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

void qn_scrollback_move(struct qn_scrollback *b, int rows)
{
    /* Too far back is put right when it is drawn and the width is known. */
    const int most = 1 << 30; /* far from overflow; drawing clamps it */
    int back = b->back - rows;
    b->back = back < 0 ? 0 : back > most ? most : back;
}

void qn_scrollback_end(struct qn_scrollback *b)
{
    b->back = 0;
}

/* All rows, but no more than 'enough'. */
static int total_rows(const struct qn_scrollback *b, int cols, int enough)
{
    int rows = 0;
    for (int i = b->len - 1; i >= 0 && rows < enough; i--) {
        rows += count_rows(entry_at(b, i), cols);
    }
    return rows;
}

/* Row i of an entry at a canvas row. */
static void draw_row(struct qn_canvas *c, struct qn_rect at,
                     const struct entry *e, int i)
{
    const char *text = e->text;
    size_t left = strlen(text), used = row_bytes(text, left, at.cols);
    for (; i > 0; i--) {
        text += used;
        left -= used;
        used = row_bytes(text, left, at.cols);
    }
    char *row = qn_xstrndup(text, used);
    qn_canvas_text(c, at.row, at.col, at.cols, row, e->role);
    free(row);
}

/* From the bottom row up. */
static void draw_rows(struct qn_canvas *c, struct qn_rect where,
                      const struct qn_scrollback *b)
{
    int below = b->back, row = where.row + where.rows - 1;
    for (int i = b->len - 1; i >= 0 && row >= where.row; i--) {
        const struct entry *e = entry_at(b, i);
        int rows = count_rows(e, where.cols);
        for (int k = rows - 1; k >= 0 && row >= where.row; k--) {
            if (below > 0) {
                below--;
                continue;
            }
            draw_row(c, (struct qn_rect){row, where.col, 1, where.cols}, e, k);
            row--;
        }
    }
}

static void draw_mark(struct qn_canvas *c, struct qn_rect where,
                      const struct qn_scrollback *b, enum qn_glyphs glyphs)
{
    char text[64];
    (void)snprintf(text, sizeof text, " %s %d more, PgDn ",
                   glyphs == QN_GLYPHS_ASCII ? "v" : "\u2193", b->back);
    int width = qn_text_width(text);
    if (width <= where.cols) {
        qn_canvas_text(c, where.row + where.rows - 1,
                       where.col + where.cols - width, width, text,
                       QN_ROLE_SELECT);
    }
}

void qn_view_scrollback(struct qn_canvas *c, struct qn_rect where,
                        struct qn_scrollback *b, const struct qn_view_state *s)
{
    if (where.rows < 1 || where.cols < 1) {
        return;
    }
    b->cols = where.cols;
    if (b->back > 0) {
        int rows = total_rows(b, where.cols, b->back + where.rows);
        int most = rows > where.rows ? rows - where.rows : 0;
        b->back = b->back < most ? b->back : most;
    }
    draw_rows(c, where, b);
    if (b->back > 0) {
        draw_mark(c, where, b, s->glyphs);
    }
}
