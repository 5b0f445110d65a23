/* screen.c - focus, panes and pop-ups: what each key does. */
#include "tui/screen_self.h"

#include "base/assert.h"
#include "base/mem.h"
#include "tui/keys.h"
#include "tui/layout.h"

#include <stdlib.h>

#define SCROLLBACK_LINES 10000
#define PAGE 10

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
    s->popup = QN_POPUP_NONE;
    s->popup_top = 0;
    s->popup_seen = false;
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
static void open_popup(struct qn_screen *s, enum qn_popup_kind kind,
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
    open_popup(s, QN_POPUP_HELP, "keys", n + 3);
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
    open_popup(s, QN_POPUP_STOP, "stop this run?", 4);
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
    open_popup(s, QN_POPUP_QUIT, "quit?", 3);
    s->popup_lines[0] = n == 1 ? qn_xstrdup("A run has not ended.")
                               : qn_xasprintf("%d runs have not ended.", n);
    s->popup_lines[1] = qn_xstrdup("y  save and quit");
    s->popup_lines[2] = qn_xstrdup("n  stay");
    return QN_WISH_NONE;
}

void qn_screen_candidates(struct qn_screen *s, char *const *words, int n)
{
    open_popup(s, QN_POPUP_CANDIDATES, "completions", n);
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

struct qn_popup qn_screen_popup(const struct qn_screen *s)
{
    return (struct qn_popup){.title = s->popup_title,
                             .lines = (const char *const *)s->popup_lines,
                             .top = s->popup_top,
                             .by_prompt = s->popup == QN_POPUP_CANDIDATES};
}

static void scroll_popup(struct qn_screen *s, int by)
{
    struct qn_popup popup = qn_screen_popup(s);
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

/* What was typed before the question could be read is no answer to it: a key
 * that was waiting when it opened. */
static bool typed_ahead(const struct qn_screen *s, const struct qn_key *key)
{
    bool asks = s->popup == QN_POPUP_STOP || s->popup == QN_POPUP_QUIT;
    return asks && !s->popup_seen && key->code != QN_KEY_ESC;
}

/* A question is answered by its letters; Esc is its harmless answer. */
static enum qn_screen_wish popup_key(struct qn_screen *s,
                                     const struct qn_key *key)
{
    if (typed_ahead(s, key))
        return QN_WISH_NONE;
    int by = scroll_of(key);
    if (by != 0) {
        scroll_popup(s, by);
        return QN_WISH_NONE;
    }
    bool leave = key->code == QN_KEY_ESC;
    enum qn_popup_kind kind = s->popup;
    if (kind == QN_POPUP_STOP) {
        bool save = is_char(key, 's'), discard = is_char(key, 'd');
        if (save || discard)
            stop_asked(s, save);
        if (save || discard || leave || is_char(key, 'c'))
            close_popup(s);
        return QN_WISH_NONE;
    }
    if (kind == QN_POPUP_QUIT) {
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
    return s->popup == QN_POPUP_CANDIDATES && scroll_of(key) == 0 &&
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

static void toggle_accuracy(struct qn_screen *s)
{
    if (qn_view_has_accuracy(s->lab, s->view.run))
        s->view.accuracy = !s->view.accuracy;
    else
        qn_screen_print(s, "only classifiers have an accuracy", QN_ROLE_DIM);
}

static void toggle_log(struct qn_screen *s)
{
    if (s->view.accuracy && qn_view_has_accuracy(s->lab, s->view.run))
        qn_screen_print(s, "the accuracy's axis is always linear", QN_ROLE_DIM);
    else
        s->view.log_y = !s->view.log_y;
}

/* Each of these does the actions of its kind; false: it is of another. */

static bool act_on_focus(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_FOCUS_NEXT:
        focus(s, (enum qn_pane)((s->view.focus + 1) % QN_N_PANES));
        return true;
    case QN_ACT_FOCUS_PROMPT:
        focus(s, QN_PANE_PROMPT);
        return true;
    case QN_ACT_FOCUS_LOSS:
        focus(s, QN_PANE_LOSS);
        return true;
    case QN_ACT_FOCUS_CELLS:
        focus(s, QN_PANE_CELLS);
        return true;
    case QN_ACT_MAXIMISE:
        s->maximised = s->maximised == QN_N_PANES ? s->view.focus : QN_N_PANES;
        return true;
    default:
        return false;
    }
}

static bool act_on_curves(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_ACCURACY:
        toggle_accuracy(s);
        return true;
    case QN_ACT_LOG_Y:
        toggle_log(s);
        return true;
    case QN_ACT_SMOOTH_MORE:
        move_smooth(s, 1);
        return true;
    case QN_ACT_SMOOTH_LESS:
        move_smooth(s, -1);
        return true;
    case QN_ACT_GLYPHS:
        next_glyphs(s);
        return true;
    default:
        return false;
    }
}

static bool act_on_cells(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_LAYER_UP:
        move_layer(s, -1);
        return true;
    case QN_ACT_LAYER_DOWN:
        move_layer(s, 1);
        return true;
    case QN_ACT_QUANTITY:
        next_quantity(s);
        return true;
    default:
        return false;
    }
}

static bool act_on_run(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_PAUSE:
        toggle_pause(s);
        return true;
    case QN_ACT_STOP:
        open_stop(s);
        return true;
    case QN_ACT_NEXT_RUN:
        next_run(s);
        return true;
    default:
        return false;
    }
}

static bool act_on_output(struct qn_screen *s, enum qn_action action)
{
    switch (action) {
    case QN_ACT_PAGE_UP:
        qn_scrollback_move(s->output, -PAGE);
        return true;
    case QN_ACT_PAGE_DOWN:
        qn_scrollback_move(s->output, PAGE);
        return true;
    case QN_ACT_LIVE:
        qn_scrollback_end(s->output);
        return true;
    default:
        return false;
    }
}

static enum qn_screen_wish act(struct qn_screen *s, enum qn_action action)
{
    if (act_on_focus(s, action) || act_on_curves(s, action) ||
        act_on_cells(s, action) || act_on_run(s, action) ||
        act_on_output(s, action))
        return QN_WISH_NONE;
    if (action == QN_ACT_REPAINT)
        return QN_WISH_REPAINT;
    if (action == QN_ACT_QUIT)
        return qn_screen_ask_quit(s);
    QN_ASSERT(action == QN_ACT_HELP);
    open_help(s);
    return QN_WISH_NONE;
}

enum qn_screen_wish qn_screen_key(struct qn_screen *s, const struct qn_key *key)
{
    if (types_on(s, key))
        close_popup(s);
    if (s->popup != QN_POPUP_NONE)
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
    if (s->popup != QN_POPUP_NONE) {
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
