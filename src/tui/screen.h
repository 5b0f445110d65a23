/* screen.h - the workbench's screen as an object: keys in, canvas out.
 *
 * Knows panes, pop-ups, focus and the lab; knows neither a terminal nor Lua.
 */
#ifndef QN_TUI_SCREEN_H
#define QN_TUI_SCREEN_H

#include "lab/lab.h"
#include "tui/canvas.h"
#include "tui/input.h"
#include "tui/line.h"

struct qn_screen;

/* Both are borrowed. */
struct qn_screen *qn_screen_new(struct qn_lab *lab, struct qn_line *line,
                                enum qn_glyphs glyphs);
void qn_screen_free(struct qn_screen *s); /* NULL is fine */

/* What a key asks of whoever owns the screen. */
enum qn_screen_wish {
    QN_WISH_NONE,
    QN_WISH_LINE,    /* the key is the prompt's: feed its bytes to the line */
    QN_WISH_PASTE,   /* likewise, as text */
    QN_WISH_REPAINT, /* everything anew */
    QN_WISH_QUIT     /* decided: active runs are to be saved */
};
enum qn_screen_wish qn_screen_key(struct qn_screen *s,
                                  const struct qn_key *key);

/* The person wants to leave (Ctrl-D): asks when a run is active. */
enum qn_screen_wish qn_screen_ask_quit(struct qn_screen *s);
/* Ctrl-C outside Lua: closes a pop-up, leaves a pane, clears the line or says
 * what it does not do. */
void qn_screen_interrupt(struct qn_screen *s);

/* Into the prompt's scroll-back. */
void qn_screen_print(struct qn_screen *s, const char *text, enum qn_role role);
/* Several completions: shown until the next key. */
void qn_screen_candidates(struct qn_screen *s, char *const *words, int n);
/* Lua is at work: the prompt says so. */
void qn_screen_busy(struct qn_screen *s, bool busy);
/* Look at this run. */
void qn_screen_select(struct qn_screen *s, qn_run_id run);
/* After qn_lab_poll: log lines into the scroll-back, a new run selected. */
void qn_screen_update(struct qn_screen *s);

/* Everything onto the canvas; where the cursor belongs (*row < 0: nowhere). */
void qn_screen_draw(struct qn_screen *s, struct qn_canvas *c, int *row,
                    int *col);

#endif
