/* view.h - the panes: data in, canvas out; no lab calls but reading ones. */
#ifndef QN_TUI_VIEW_H
#define QN_TUI_VIEW_H

#include "lab/lab.h"
#include "tui/canvas.h"
#include "tui/layout.h"

/* What the person chose; owned by the screen. */
struct qn_view_state {
    qn_run_id run;       /* the selected run, 0 = none yet */
    int layer;           /* selected, from 0 */
    enum qn_quantity of; /* wanted in the cells pane */
    bool log_y;
    bool accuracy; /* wanted in the loss pane, of runs that have it */
    double smooth; /* decay of the training curve's average */
    enum qn_glyphs glyphs;
    enum qn_pane focus;
};

void qn_view_status(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_lab *lab, const struct qn_view_state *s);
/* Whether this is a run that can have an accuracy. */
bool qn_view_has_accuracy(const struct qn_lab *lab, qn_run_id run);
void qn_view_loss(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_lab *lab, const struct qn_view_state *s);
/* What the cells pane shows: what is wanted when it was counted, else c, else
 * the first that was. */
enum qn_quantity qn_view_quantity(const struct qn_stats_record *stats,
                                  enum qn_quantity wanted);
void qn_view_cells(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_lab *lab, const struct qn_view_state *s);

/* The prompt's scroll-back: lines wrap at the pane's width. */
struct qn_scrollback;
struct qn_scrollback *qn_scrollback_new(int max_lines);
void qn_scrollback_free(struct qn_scrollback *b);
/* Text may hold several lines and need not end in one; escapes and control
 * characters are taken out. */
void qn_scrollback_add(struct qn_scrollback *b, const char *text,
                       enum qn_role role);
/* Move by rows (negative = back in time); qn_scrollback_end returns to live. */
void qn_scrollback_move(struct qn_scrollback *b, int rows);
void qn_scrollback_end(struct qn_scrollback *b);
void qn_view_scrollback(struct qn_canvas *c, struct qn_rect where,
                        struct qn_scrollback *b, const struct qn_view_state *s);

/* A centred box over everything: a title, lines, and choices ("s save"). The
 * lines are scrolled from 'top'. */
struct qn_popup {
    const char *title;
    const char *const *lines; /* NULL at the end */
    int top;
    bool by_prompt; /* low, just above the prompt and its hints */
};
void qn_view_popup(struct qn_canvas *c, const struct qn_popup *popup,
                   enum qn_glyphs glyphs);
/* The largest 'top' that still fills the box. */
int qn_view_popup_last_top(const struct qn_canvas *c,
                           const struct qn_popup *popup);

#endif
