/* screen.c - focus, panes and pop-ups: what each key does, and the frame. */
#include "tui/screen.h"

#include "base/mem.h"
#include "tui/keys.h"
#include "tui/layout.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCROLLBACK_LINES 10000
#define PAGE 10

enum popup_kind {
    POPUP_NONE,
    POPUP_HELP,
    POPUP_STOP,
    POPUP_QUIT,
    POPUP_CANDIDATES
};

struct qn_screen {
    struct qn_lab *lab;
    struct qn_line *line;
    struct qn_scrollback *output;
    struct qn_view_state view;
    enum qn_pane maximised; /* QN_N_PANES = none */
    bool ascii_only;        /* what the locale can show */
    bool busy;
    int n_seen; /* runs of the lab already looked at */
    enum popup_kind popup;
    const char *popup_title;
    char **popup_lines; /* NULL at the end; owned */
    int popup_top;
    qn_run_id popup_run; /* whom the question is about */
    struct qn_line_look look;
    struct qn_canvas shape; /* rows and columns last drawn on; no cells */
};

struct qn_screen *qn_screen_new(struct qn_lab *lab, struct qn_line *line,
                                enum qn_glyphs glyphs)
{
    struct qn_screen *s = qn_xcalloc(1, sizeof *s);
    s->lab = lab;
    s->line = line;
    s->output = qn_scrollback_new(SCROLLBACK_LINES);
    s->view.glyphs = glyphs;
    s->ascii_only = glyphs == QN_GLYPHS_ASCII;
    s->view.smooth = 0.9;
    s->view.focus = QN_PANE_PROMPT;
    s->maximised = QN_N_PANES;
    return s;
}

static void close_popup(struct qn_screen *s)
{
    for (size_t i = 0; s->popup_lines && s->popup_lines[i]; i++)
        free(s->popup_lines[i]);
    free(s->popup_lines);
    s->popup_lines = NULL;
    s->popup = POPUP_NONE;
    s->popup_top = 0;
}

void qn_screen_free(struct qn_screen *s)
{
    if (!s)
        return;
    close_popup(s);
    qn_scrollback_free(s->output);
    qn_str_free(&s->look.text);
    free(s);
}

void qn_screen_print(struct qn_screen *s, const char *text, enum qn_role role)
{
    qn_scrollback_add(s->output, text, role);
}

void qn_screen_busy(struct qn_screen *s, bool busy)
{
    s->busy = busy;
}

void qn_screen_select(struct qn_screen *s, qn_run_id run)
{
    s->view.run = run;
    s->view.layer = 0;
}

/* --- pop-ups */

/* Room for n lines; the caller fills them with qn_xasprintf or the like. */
static void open_popup(struct qn_screen *s, enum popup_kind kind,
                       const char *title, int n)
{
    close_popup(s);
    s->popup = kind;
    s->popup_title = title;
    s->popup_lines = qn_xcalloc((size_t)n + 1, sizeof *s->popup_lines);
}

static void open_help(struct qn_screen *s)
{
    int n = qn_keys_n();
    open_popup(s, POPUP_HELP, "keys", n + 3);
    for (int i = 0; i < n; i++) {
        struct qn_str keys = {0};
        const char *help;
        qn_keys_help(i, &keys, &help);
        s->popup_lines[i] = qn_xasprintf("%-16s %s", keys.text, help);
        qn_str_free(&keys);
    }
    s->popup_lines[n] = qn_xstrdup("");
    s->popup_lines[n + 1] =
        qn_xstrdup("At the prompt, qn.help() lists what Lua can do.");
    s->popup_lines[n + 2] = qn_xstrdup("Up and Down scroll; Esc closes this.");
}

static bool selected_run(const struct qn_screen *s, struct qn_lab_run *run)
{
    return qn_lab_run(s->lab, s->view.run, run);
}

static void open_stop(struct qn_screen *s)
{
    struct qn_lab_run run;
    if (!selected_run(s, &run) || !qn_lab_state_active(run.state)) {
        qn_screen_print(s, "no run is training", QN_ROLE_DIM);
        return;
    }
    open_popup(s, POPUP_STOP, "stop this run?", 4);
    s->popup_run = run.id;
    s->popup_lines[0] = qn_xstrdup(run.name);
    s->popup_lines[1] = qn_xstrdup("s  save and stop");
    s->popup_lines[2] = qn_xstrdup("d  stop, save nothing more");
    s->popup_lines[3] = qn_xstrdup("c  cancel");
}

enum qn_screen_wish qn_screen_ask_quit(struct qn_screen *s)
{
    int n = qn_lab_n_active(s->lab);
    if (n == 0)
        return QN_WISH_QUIT;
    open_popup(s, POPUP_QUIT, "quit?", 3);
    s->popup_lines[0] = n == 1 ? qn_xstrdup("A run has not ended.")
                               : qn_xasprintf("%d runs have not ended.", n);
    s->popup_lines[1] = qn_xstrdup("y  save and quit");
    s->popup_lines[2] = qn_xstrdup("n  stay");
    return QN_WISH_NONE;
}

void qn_screen_candidates(struct qn_screen *s, char *const *words, int n)
{
    open_popup(s, POPUP_CANDIDATES, "completions", n);
    for (int i = 0; i < n; i++)
        s->popup_lines[i] = qn_xstrdup(words[i]);
}

static void complain(struct qn_screen *s, enum qn_status st,
                     const struct qn_err *err)
{
    if (st != QN_OK)
        qn_screen_print(s, err->text, QN_ROLE_ERROR);
}

static void stop_asked(struct qn_screen *s, bool save)
{
    struct qn_err err;
    complain(s, qn_lab_stop(s->lab, s->popup_run, save, &err), &err);
}

static struct qn_popup popup_of(const struct qn_screen *s)
{
    return (struct qn_popup){.title = s->popup_title,
                             .lines = (const char *const *)s->popup_lines,
                             .top = s->popup_top,
                             .by_prompt = s->popup == POPUP_CANDIDATES};
}

static void scroll_popup(struct qn_screen *s, int by)
{
    struct qn_popup popup = popup_of(s);
    int last = qn_view_popup_last_top(&s->shape, &popup);
    int top = s->popup_top + by;
    s->popup_top = top < 0 ? 0 : top > last ? last : top;
}

/* Keys that scroll any pop-up; 0 = another key. */
static int scroll_of(const struct qn_key *key)
{
    switch (key->code) {
    case QN_KEY_UP:
        return -1;
    case QN_KEY_DOWN:
        return 1;
    case QN_KEY_PAGE_UP:
        return -PAGE;
    case QN_KEY_PAGE_DOWN:
        return PAGE;
    default:
        return 0;
    }
}

static bool is_char(const struct qn_key *key, char c)
{
    return key->code == QN_KEY_CHAR && !key->alt && key->ch == (uint32_t)c;
}

/* A question is answered by its letters; Esc is its harmless answer. */
static enum qn_screen_wish popup_key(struct qn_screen *s,
                                     const struct qn_key *key)
{
    int by = scroll_of(key);
    if (by != 0) {
        scroll_popup(s, by);
        return QN_WISH_NONE;
    }
    bool leave = key->code == QN_KEY_ESC;
    enum popup_kind kind = s->popup;
    if (kind == POPUP_STOP) {
        bool save = is_char(key, 's'), discard = is_char(key, 'd');
        if (save || discard)
            stop_asked(s, save);
        if (save || discard || leave || is_char(key, 'c'))
            close_popup(s);
        return QN_WISH_NONE;
    }
    if (kind == POPUP_QUIT) {
        bool yes = is_char(key, 'y');
        if (yes || leave || is_char(key, 'n'))
            close_popup(s);
        return yes ? QN_WISH_QUIT : QN_WISH_NONE;
    }
    close_popup(s);
    return QN_WISH_NONE;
}

/* Completions are gone with the next key, which does what it always does; every
 * other pop-up takes the key. */
static bool types_on(const struct qn_screen *s, const struct qn_key *key)
{
    return s->popup == POPUP_CANDIDATES && scroll_of(key) == 0 &&
           key->code != QN_KEY_ESC;
}

/* --- actions */

static void next_glyphs(struct qn_screen *s)
{
    int n = QN_GLYPHS_ASCII + 1;
    if (!s->ascii_only) {
        s->view.glyphs = (enum qn_glyphs)(((int)s->view.glyphs + 1) % n);
    }
}

static void toggle_pause(struct qn_screen *s)
{
    struct qn_lab_run run;
    struct qn_err err;
    if (!selected_run(s, &run)) {
        qn_screen_print(s, "no run to pause", QN_ROLE_DIM);
        return;
    }
    if (run.state == QN_LAB_PAUSED)
        complain(s, qn_lab_unpause(s->lab, run.id, &err), &err);
    else
        complain(s, qn_lab_pause(s->lab, run.id, &err), &err);
}

static void next_run(struct qn_screen *s)
{
    int n = qn_lab_n_runs(s->lab);
    for (int i = 0; i < n; i++) {
        if (qn_lab_run_at(s->lab, i) == s->view.run) {
            qn_screen_select(s, qn_lab_run_at(s->lab, (i + 1) % n));
            return;
        }
    }
    if (n > 0)
        qn_screen_select(s, qn_lab_run_at(s->lab, 0));
}

static void move_layer(struct qn_screen *s, int by)
{
    struct qn_lab_run run;
    if (!selected_run(s, &run))
        return;
    int n = run.spec->model.layers;
    s->view.layer = (s->view.layer + by + n) % n;
}

static void next_quantity(struct qn_screen *s)
{
    const struct qn_stats_record *stats = qn_lab_stats(s->lab, s->view.run);
    if (!stats || stats->of == 0) {
        qn_screen_print(s, "nothing is counted yet", QN_ROLE_DIM);
        return;
    }
    enum qn_quantity shown = qn_view_quantity(stats, s->view.of);
    int of = (int)shown;
    do {
        of = (of + 1) % QN_N_QUANTITIES;
    } while (!(stats->of & 1u << of));
    s->view.of = (enum qn_quantity)of;
    if (s->view.of == shown)
        qn_screen_print(s, "only one quantity is counted; see stats.of",
                        QN_ROLE_DIM);
}

static void move_smooth(struct qn_screen *s, int by)
{
    static const double steps[] = {0, 0.6, 0.9, 0.98, 0.995};
    const int n = (int)(sizeof steps / sizeof *steps);
    int i = 0;
    while (i < n - 1 && steps[i] < s->view.smooth)
        i++;
    i += by;
    s->view.smooth = steps[i < 0 ? 0 : i >= n ? n - 1 : i];
}

static void focus(struct qn_screen *s, enum qn_pane pane)
{
    s->view.focus = pane;
    if (s->maximised != QN_N_PANES)
        s->maximised = pane;
}

static enum qn_screen_wish act(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_HELP:
        open_help(s);
        break;
    case QN_ACT_FOCUS_NEXT:
        focus(s, (enum qn_pane)((s->view.focus + 1) % QN_N_PANES));
        break;
    case QN_ACT_FOCUS_PROMPT:
        focus(s, QN_PANE_PROMPT);
        break;
    case QN_ACT_FOCUS_LOSS:
        focus(s, QN_PANE_LOSS);
        break;
    case QN_ACT_FOCUS_CELLS:
        focus(s, QN_PANE_CELLS);
        break;
    case QN_ACT_MAXIMISE:
        s->maximised = s->maximised == QN_N_PANES ? s->view.focus : QN_N_PANES;
        break;
    case QN_ACT_LOG_Y:
        s->view.log_y = !s->view.log_y;
        break;
    case QN_ACT_GLYPHS:
        next_glyphs(s);
        break;
    case QN_ACT_PAUSE:
        toggle_pause(s);
        break;
    case QN_ACT_STOP:
        open_stop(s);
        break;
    case QN_ACT_NEXT_RUN:
        next_run(s);
        break;
    case QN_ACT_LAYER_UP:
        move_layer(s, -1);
        break;
    case QN_ACT_LAYER_DOWN:
        move_layer(s, 1);
        break;
    case QN_ACT_QUANTITY:
        next_quantity(s);
        break;
    case QN_ACT_SMOOTH_MORE:
        move_smooth(s, 1);
        break;
    case QN_ACT_SMOOTH_LESS:
        move_smooth(s, -1);
        break;
    case QN_ACT_PAGE_UP:
        qn_scrollback_move(s->output, -PAGE);
        break;
    case QN_ACT_PAGE_DOWN:
        qn_scrollback_move(s->output, PAGE);
        break;
    case QN_ACT_LIVE:
        qn_scrollback_end(s->output);
        break;
    case QN_ACT_REPAINT:
        return QN_WISH_REPAINT;
    case QN_ACT_QUIT:
        return qn_screen_ask_quit(s);
    case QN_ACT_NONE:
        break;
    }
    return QN_WISH_NONE;
}

enum qn_screen_wish qn_screen_key(struct qn_screen *s, const struct qn_key *key)
{
    if (types_on(s, key))
        close_popup(s);
    if (s->popup != POPUP_NONE)
        return popup_key(s, key);
    bool in_prompt = s->view.focus == QN_PANE_PROMPT;
    enum qn_action action = qn_keys_find(key, in_prompt);
    if (action != QN_ACT_NONE)
        return act(s, action);
    if (!in_prompt)
        return QN_WISH_NONE;
    qn_scrollback_end(s->output);
    return key->code == QN_KEY_PASTE ? QN_WISH_PASTE : QN_WISH_LINE;
}

void qn_screen_interrupt(struct qn_screen *s)
{
    if (s->popup != POPUP_NONE) {
        close_popup(s);
        return;
    }
    if (s->view.focus != QN_PANE_PROMPT) {
        focus(s, QN_PANE_PROMPT);
        return;
    }
    if (qn_line_interrupt(s->line))
        return;
    qn_screen_print(s,
                    qn_lab_n_active(s->lab) > 0
                        ? "training goes on; F9 stops it, Ctrl-D quits"
                        : "Ctrl-D quits",
                    QN_ROLE_DIM);
}

/* --- what is new */

static enum qn_role log_role(enum qn_log_level level)
{
    switch (level) {
    case QN_LOG_INFO:
        return QN_ROLE_DIM;
    case QN_LOG_WARN:
        return QN_ROLE_WARN;
    case QN_LOG_ERROR:
        return QN_ROLE_ERROR;
    }
    return QN_ROLE_TEXT;
}

void qn_screen_update(struct qn_screen *s)
{
    char line[1024];
    enum qn_log_level level;
    while (qn_lab_take_log(s->lab, line, sizeof line, &level))
        qn_screen_print(s, line, log_role(level));
    int n = qn_lab_n_runs(s->lab);
    if (n > s->n_seen) /* the newest run is what a person wants to see */
        qn_screen_select(s, qn_lab_run_at(s->lab, n - 1));
    s->n_seen = n;
}

/* --- the frame */

static void draw_hints(const struct qn_screen *s, struct qn_canvas *c,
                       struct qn_rect where)
{
    if (where.rows < 1)
        return;
    const struct qn_hint *h = qn_keys_hints(s->view.focus == QN_PANE_PROMPT);
    int col = where.col + 1, end = where.col + where.cols;
    for (; h->key; h++) {
        int need = qn_text_width(h->key) + 1 + qn_text_width(h->label);
        if (col + need > end)
            break;
        col += qn_canvas_text(c, where.row, col, -1, h->key, QN_ROLE_KEY) + 1;
        col += qn_canvas_text(c, where.row, col, -1, h->label, QN_ROLE_DIM) + 2;
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
    if (s->view.focus == QN_PANE_PROMPT && s->popup == POPUP_NONE) {
        *row = where.row;
        *col = where.col + s->look.cursor_col - skip;
    }
}

void qn_screen_draw(struct qn_screen *s, struct qn_canvas *c, int *row,
                    int *col)
{
    struct qn_layout l;
    struct qn_lab_run run;
    *row = *col = -1;
    s->shape = (struct qn_canvas){.rows = c->rows, .cols = c->cols};
    qn_canvas_clear(c, (struct qn_rect){0, 0, c->rows, c->cols});
    qn_layout(c->rows, c->cols, s->maximised, 1, &l);
    qn_layout_focus(&l, s->view.focus);
    bool any = selected_run(s, &run);
    qn_view_status(c, l.status, any ? &run : NULL, qn_lab_n_active(s->lab),
                   &s->view);
    if (l.pane[QN_PANE_LOSS].rows > 0)
        qn_view_loss(c, l.pane[QN_PANE_LOSS], s->lab, &s->view);
    if (l.pane[QN_PANE_CELLS].rows > 0)
        qn_view_cells(c, l.pane[QN_PANE_CELLS], s->lab, &s->view);
    if (l.pane[QN_PANE_PROMPT].rows > 0)
        qn_view_scrollback(c, l.pane[QN_PANE_PROMPT], s->output, &s->view);
    draw_input(s, c, l.input, row, col);
    draw_hints(s, c, l.hints);
    if (s->popup != POPUP_NONE) {
        struct qn_popup popup = popup_of(s);
        qn_view_popup(c, &popup, s->view.glyphs);
    }
}
