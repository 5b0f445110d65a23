/* screen_draw.c - the frame: panes, prompt, hints and a pop-up. */
#include "tui/screen_self.h"

#include "tui/keys.h"
#include "tui/layout.h"

#include <string.h>

static void draw_hints(const struct qn_screen *s, struct qn_canvas *c,
                       struct qn_rect where)
{
    if (where.rows < 1)
        return;
    const struct qn_hint *h = qn_keys_hints(s->view.focus == QN_PANE_PROMPT);
    int col = where.col + 1, end = where.col + where.cols;
    bool classifies = qn_view_has_accuracy(s->lab, s->view.run);
    struct qn_lab_run run;
    bool paused =
        qn_lab_run(s->lab, s->view.run, &run) && run.state == QN_LAB_PAUSED;
    for (; h->key; h++) {
        if (h->of_classifiers && !classifies)
            continue;
        const char *label = paused && h->if_paused ? h->if_paused : h->label;
        int need = qn_text_width(h->key) + 1 + qn_text_width(label);
        if (col + need > end)
            break;
        col += qn_canvas_text(c, where.row, col, -1, h->key, QN_ROLE_KEY) + 1;
        col += qn_canvas_text(c, where.row, col, -1, label, QN_ROLE_DIM) + 2;
    }
}

/* The text without its first *n columns; where that would halve a wide
 * character, without all of it and *n one more. */
static const char *skip_columns(const char *text, int *n)
{
    size_t i = 0, len = strlen(text);
    int cols = 0;
    while (i < len && cols < *n) {
        uint32_t code;
        int used = qn_utf8_decode(text + i, len - i, &code);
        cols += used ? qn_glyph_width(code) : 1;
        i += used ? (size_t)used : 1;
    }
    *n = cols;
    return text + i;
}

/* One row that scrolls sideways to keep the cursor in sight. */
static void draw_input(struct qn_screen *s, struct qn_canvas *c,
                       struct qn_rect where, int *row, int *col)
{
    if (where.rows < 1)
        return;
    if (s->busy) {
        qn_canvas_text(c, where.row, where.col, where.cols,
                       "running ... Ctrl-C interrupts", QN_ROLE_DIM);
        return;
    }
    qn_line_look(s->line, &s->look);
    int room = where.cols - 1; /* the cursor may stand behind the end */
    int skip = s->look.cursor_col > room ? s->look.cursor_col - room : 0;
    const char *text = s->look.text.text ? s->look.text.text : "";
    const char *shown = skip_columns(text, &skip);
    qn_canvas_text(c, where.row, where.col, where.cols, shown, QN_ROLE_TEXT);
    int n_prompt = s->look.prompt_cols - skip;
    for (int i = 0; i < n_prompt && i < where.cols; i++) {
        int at = where.row * c->cols + where.col + i;
        if (where.row < c->rows && where.col + i < c->cols)
            c->cells[at].role = QN_ROLE_PROMPT;
    }
    if (s->view.focus == QN_PANE_PROMPT && s->popup == QN_POPUP_NONE) {
        *row = where.row;
        *col = where.col + s->look.cursor_col - skip;
    }
}

void qn_screen_draw(struct qn_screen *s, struct qn_canvas *c, int *row,
                    int *col)
{
    struct qn_layout l;
    *row = *col = -1;
    s->shape = (struct qn_canvas){.rows = c->rows, .cols = c->cols};
    qn_canvas_clear(c, (struct qn_rect){0, 0, c->rows, c->cols});
    qn_layout(c->rows, c->cols, s->maximised, 1, &l);
    qn_layout_focus(&l, s->view.focus);
    qn_view_status(c, l.status, s->lab, &s->view);
    if (l.pane[QN_PANE_LOSS].rows > 0)
        qn_view_loss(c, l.pane[QN_PANE_LOSS], s->lab, &s->view);
    if (l.pane[QN_PANE_CELLS].rows > 0)
        qn_view_cells(c, l.pane[QN_PANE_CELLS], s->lab, &s->view);
    if (l.pane[QN_PANE_PROMPT].rows > 0)
        qn_view_scrollback(c, l.pane[QN_PANE_PROMPT], s->output, &s->view);
    draw_input(s, c, l.input, row, col);
    draw_hints(s, c, l.hints);
    if (s->popup != QN_POPUP_NONE) {
        struct qn_popup popup = qn_screen_popup(s);
        qn_view_popup(c, &popup, s->view.glyphs);
        s->popup_seen = true;
    }
}
