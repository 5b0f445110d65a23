/* view_popup.c - a box over everything: help, choices, completions. */
#include "tui/view.h"

#include <stdio.h>
#include <string.h>

#define AIR 2 /* columns between the border and the text */

static int count_lines(const struct qn_popup *p)
{
    int n = 0;
    while (p->lines[n] != NULL) {
        n++;
    }
    return n;
}

static int at_most(int most, int v)
{
    return v < most ? v : most;
}

/* Rows below a box that stands by the prompt: the prompt's and the hints'. */
#define PROMPT_ROWS 2
#define BY_PROMPT_ROWS 12 /* at most, so that the rest stays in sight */

static struct qn_rect place_by_prompt(const struct qn_canvas *c,
                                      const struct qn_popup *p, int cols)
{
    int room = c->rows > PROMPT_ROWS + 2 ? c->rows - PROMPT_ROWS : c->rows;
    int rows = at_most(at_most(room, BY_PROMPT_ROWS), count_lines(p) + 2);
    return (struct qn_rect){room - rows, 0, rows, cols};
}

/* The box; small screens are filled. */
static struct qn_rect place(const struct qn_canvas *c, const struct qn_popup *p)
{
    int cols = qn_text_width(p->title) + 6;
    for (int i = 0; p->lines[i] != NULL; i++) {
        int width = qn_text_width(p->lines[i]) + 2 * (AIR + 1);
        cols = width > cols ? width : cols;
    }
    int rows = at_most(c->rows, count_lines(p) + 2);
    cols = at_most(c->cols, cols);
    if (p->by_prompt) {
        return place_by_prompt(c, p, cols);
    }
    return (struct qn_rect){(c->rows - rows) / 2, (c->cols - cols) / 2, rows,
                            cols};
}

static struct qn_rect inside(struct qn_rect box)
{
    if (box.rows < 3 || box.cols < 8) {
        return box; /* no room for a border */
    }
    return (struct qn_rect){box.row + 1, box.col + 1 + AIR, box.rows - 2,
                            box.cols - 2 * (1 + AIR)};
}

int qn_view_popup_last_top(const struct qn_canvas *c, const struct qn_popup *p)
{
    int hidden = count_lines(p) - inside(place(c, p)).rows;
    return hidden > 0 ? hidden : 0;
}

/* "F1  help": a word and two blanks begin a line about a key. */
static int key_bytes(const char *line)
{
    const char *blank = strstr(line, "  ");
    return blank != NULL ? (int)(blank - line) : 0;
}

static void draw_text(struct qn_canvas *c, int row, struct qn_rect in,
                      const char *line)
{
    char key[64];
    int bytes = at_most((int)sizeof key - 1, key_bytes(line));
    (void)snprintf(key, sizeof key, "%.*s", bytes, line);
    qn_canvas_text(c, row, in.col, in.cols, line, QN_ROLE_TEXT);
    qn_canvas_text(c, row, in.col, in.cols, key, QN_ROLE_KEY);
}

static void draw_more(struct qn_canvas *c, struct qn_rect box, int above,
                      int below, enum qn_glyphs glyphs)
{
    bool ascii = glyphs == QN_GLYPHS_ASCII;
    char text[64] = "";
    int row = box.row + box.rows - 1;
    if (below > 0) {
        (void)snprintf(text, sizeof text, " %s %d more, PgDn ",
                       ascii ? "v" : "\u2193", below);
    } else if (above > 0) {
        (void)snprintf(text, sizeof text, " %s %d more, PgUp ",
                       ascii ? "^" : "\u2191", above);
    }
    int width = qn_text_width(text);
    if (width > 0 && width + 4 <= box.cols && box.rows >= 3) {
        qn_canvas_text(c, row, box.col + box.cols - 2 - width, width, text,
                       QN_ROLE_DIM);
    }
}

void qn_view_popup(struct qn_canvas *c, const struct qn_popup *popup,
                   enum qn_glyphs glyphs)
{
    struct qn_rect box = place(c, popup), in = inside(box);
    int n = count_lines(popup), last = qn_view_popup_last_top(c, popup);
    int top = popup->top < 0 ? 0 : at_most(last, popup->top);
    qn_canvas_clear(c, box);
    if (in.row > box.row) {
        qn_canvas_box(c, box, popup->title, true, glyphs);
    }
    for (int i = 0; i < in.rows && top + i < n; i++) {
        draw_text(c, in.row + i, in, popup->lines[top + i]);
    }
    draw_more(c, box, top, n - top - in.rows, glyphs);
}
