/* screen_self.h - what the files of the screen share. */
#ifndef QN_TUI_SCREEN_SELF_H
#define QN_TUI_SCREEN_SELF_H

#include "tui/screen.h"
#include "tui/view.h"

enum qn_popup_kind {
    QN_POPUP_NONE,
    QN_POPUP_HELP,
    QN_POPUP_STOP,
    QN_POPUP_QUIT,
    QN_POPUP_CANDIDATES
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
    enum qn_popup_kind popup;
    const char *popup_title;
    char **popup_lines; /* NULL at the end; owned */
    int popup_top;
    bool popup_seen;     /* drawn since it was opened */
    qn_run_id popup_run; /* whom the question is about */
    struct qn_line_look look;
    struct qn_canvas shape; /* rows and columns last drawn on; no cells */
};

/* The open pop-up as it is drawn. */
struct qn_popup qn_screen_popup(const struct qn_screen *s);

#endif
