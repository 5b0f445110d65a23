/* pane.c - what all panes share: the border and a sentence in the middle. */
#include "tui/panes.h"

#include <stdio.h>
#include <string.h>

#define ROWS_FOR_FRAME 5
#define COLS_FOR_FRAME 12
#define COLS_FOR_AIR 40 /* a blank column inside the border */

struct qn_rect qn_pane_frame(struct qn_canvas *c, struct qn_rect where,
                             const char *title, bool focused,
                             enum qn_glyphs glyphs)
{
    if (where.rows < ROWS_FOR_FRAME || where.cols < COLS_FOR_FRAME) {
        return where;
    }
    qn_canvas_box(c, where, title, focused, glyphs);
    int air = where.cols >= COLS_FOR_AIR ? 2 : 1;
    return (struct qn_rect){where.row + 1, where.col + air, where.rows - 2,
                            where.cols - 2 * air};
}

/* The next line of at most 'cols' columns: its bytes, and in *skip those to the
 * start of the line after it. */
static int line_bytes(const char *text, int cols, int *skip)
{
    int len = (int)strlen(text), used = 0, blank = -1, width = 0;
    while (used < len) {
        uint32_t code = 0xfffd;
        int bytes = qn_utf8_decode(text + used, (size_t)(len - used), &code);
        width += qn_glyph_width(code);
        if (width > cols) {
            break;
        }
        blank = text[used] == ' ' ? used : blank;
        used += bytes > 0 ? bytes : 1;
    }
    if (used < len && text[used] != ' ' && blank > 0) {
        used = blank;
    }
    *skip = used + (text[used] == ' ' ? 1 : 0);
    return used;
}

void qn_pane_message(struct qn_canvas *c, struct qn_rect where,
                     const char *text)
{
    int lines = 0, skip = 0;
    for (const char *at = text; *at != '\0'; at += skip) {
        (void)line_bytes(at, where.cols, &skip);
        if (skip == 0) {
            return; /* narrower than a character */
        }
        lines++;
    }
    int row = where.row + (where.rows > lines ? (where.rows - lines) / 2 : 0);
    for (int i = 0; i < lines && row < where.row + where.rows; i++, row++) {
        char line[256];
        int bytes = line_bytes(text, where.cols, &skip);
        (void)snprintf(line, sizeof line, "%.*s", bytes, text);
        int shift = (where.cols - qn_text_width(line)) / 2;
        qn_canvas_text(c, row, where.col + shift, where.cols - shift, line,
                       QN_ROLE_DIM);
        text += skip;
    }
}
