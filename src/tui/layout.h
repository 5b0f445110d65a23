/* layout.h - (rows, cols, wishes) -> rectangles: pure. */
#ifndef QN_TUI_LAYOUT_H
#define QN_TUI_LAYOUT_H

#include "tui/canvas.h"

enum qn_pane { QN_PANE_LOSS, QN_PANE_CELLS, QN_PANE_PROMPT, QN_N_PANES };

struct qn_layout {
    struct qn_rect status;           /* the run line, top row */
    struct qn_rect pane[QN_N_PANES]; /* rows 0 = not shown */
    struct qn_rect input;            /* the prompt's line(s), below its pane */
    struct qn_rect hints;            /* bottom row */
    bool too_small;                  /* nothing but the status fits */
};

/* Inside the screen, without overlap, for any size from 1 x 1 up. maximised:
 * a pane that takes the others' room, or QN_N_PANES for none. input_rows: what
 * the line being edited wants. */
void qn_layout(int rows, int cols, enum qn_pane maximised, int input_rows,
               struct qn_layout *out);
/* A chart that has the focus but no room takes the other chart's. */
void qn_layout_focus(struct qn_layout *layout, enum qn_pane focus);

#endif
