/* term.h - the terminal: the only file pair that knows ncurses.
 *
 * Owns the screen, the terminal's modes and their restoration: after
 * qn_term_stop, an assertion or a crash the terminal is as it was. While it is
 * started, what libraries write to file descriptors 1 and 2 comes out of a pipe
 * instead of tearing the screen.
 */
#ifndef QN_TUI_TERM_H
#define QN_TUI_TERM_H

#include "tui/canvas.h"

#include <stddef.h>

struct qn_term;

/* QN_EUSAGE says what is missing: no terminal on stdin and stdout, TERM unset,
 * unknown, or too plain to place a cursor. Changes nothing. */
enum qn_status qn_term_check(struct qn_err *err);
enum qn_status qn_term_start(struct qn_term **out, struct qn_err *err);
void qn_term_stop(struct qn_term *t); /* NULL is fine */

int qn_term_fd(const struct qn_term *t); /* for poll: keys */
/* Up to size bytes of what was typed; 0 = nothing now, -1 = the terminal has
 * gone away. */
int qn_term_read(struct qn_term *t, char *buf, size_t size);

int qn_term_output_fd(const struct qn_term *t); /* for poll: strays */
int qn_term_read_output(struct qn_term *t, char *buf, size_t size);

void qn_term_size(const struct qn_term *t, int *rows, int *cols);
/* The window has changed: ask for its size again. */
void qn_term_resized(struct qn_term *t);
/* Put the canvas on the screen; the cursor shows at (row, col), none if row is
 * negative. Only what changed is sent. */
void qn_term_draw(struct qn_term *t, const struct qn_canvas *c, int row,
                  int col);
void qn_term_repaint(struct qn_term *t); /* the next draw sends everything */
void qn_term_beep(struct qn_term *t);
/* Give the terminal back, stop this process as Ctrl-Z does, and take the
 * terminal again once continued. */
void qn_term_suspend(struct qn_term *t);

/* Braille where the locale is UTF-8, else ASCII. */
enum qn_glyphs qn_term_glyphs(const struct qn_term *t);

#endif
