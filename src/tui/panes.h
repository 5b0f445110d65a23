/* panes.h - the panes as functions of plain data, for view.c and the tests. */
#ifndef QN_TUI_PANES_H
#define QN_TUI_PANES_H

#include "base/hist.h"
#include "base/series.h"
#include "lab/lab.h"
#include "tui/canvas.h"

struct qn_status_view {
    const struct qn_lab_run *run; /* NULL = none yet */
    double accuracy; /* a mean of the newest steps; NaN without one */
    int n_active;
    enum qn_glyphs glyphs;
};

struct qn_loss_view {
    const struct qn_series *train, *valid; /* NULL = none yet */
    bool accuracy; /* they are shares from 0 to 1; log_y does not matter then */
    double smooth;
    bool log_y, focused;
    enum qn_glyphs glyphs;
    const char *empty; /* said instead of a chart while there are no points */
};

struct qn_cells_view {
    const struct qn_hist (*layer)[QN_N_QUANTITIES]; /* layer 1 first */
    enum qn_quantity of;
    int n_layers;
    int selected; /* from 0 */
    int64_t step;
    bool focused;
    enum qn_glyphs glyphs;
    const char *empty; /* said while n_layers is 0 */
};

/* A border with a title where there is room for one; returns the inside. */
struct qn_rect qn_pane_frame(struct qn_canvas *c, struct qn_rect where,
                             const char *title, bool focused,
                             enum qn_glyphs glyphs);
/* The run line; 'where' is its row. */
void qn_pane_status(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_status_view *view);
void qn_pane_loss(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_loss_view *view);
void qn_pane_cells(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_cells_view *view);
/* One sentence in the middle, wrapped at blanks. */
void qn_pane_message(struct qn_canvas *c, struct qn_rect where,
                     const char *text);

#endif
