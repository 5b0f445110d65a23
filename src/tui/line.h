/* line.h - the line being edited: the only file pair that knows Readline.
 *
 * Readline works on global state, so there is one line in a process. It never
 * reads or writes the terminal: bytes are fed in, and what is to be shown is
 * asked for. Nothing is called back from inside Readline but completion.
 */
#ifndef QN_TUI_LINE_H
#define QN_TUI_LINE_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct qn_line;

struct qn_line_host {
    void *user;
    /* A line was finished with Enter; it is the callee's during the call. The
     * line may be fed, cleared and prompted from here. */
    void (*accept)(void *user, const char *text);
    /* Ctrl-D on an empty line. */
    void (*eof)(void *user);
    /* As qn_script_complete. */
    char **(*complete)(void *user, const char *text, int point, int *start);
    /* More than one way to complete: shown until the next key. */
    void (*candidates)(void *user, char *const *words, int n);
};

/* history: the file that keeps it, or NULL. A history that cannot be read or
 * written is no reason to fail. */
struct qn_line *qn_line_start(const struct qn_line_host *host,
                              const char *history);
void qn_line_stop(struct qn_line *line); /* saves the history; NULL is fine */

void qn_line_feed(struct qn_line *line, const char *bytes, size_t len);
/* A lone ESC: leaves insert mode in vi's editing, ends a search; otherwise
 * nothing, so that the next key is not taken for a Meta key. */
void qn_line_escape(struct qn_line *line);
/* Text put in as it is, newlines included: never run by itself. */
void qn_line_insert(struct qn_line *line, const char *text, size_t len);
/* Ctrl-C: leave search and numbers, drop the text. true if there was any. */
bool qn_line_interrupt(struct qn_line *line);
void qn_line_prompt(struct qn_line *line, const char *prompt);
/* Remember an entry; one of several lines stays one. */
void qn_line_remember(struct qn_line *line, const char *text);
void qn_line_size(struct qn_line *line, int rows, int cols);

/* What to draw: the prompt and the text as they look (control characters as ^X,
 * a newline as a glyph), and the cursor's column in it. */
struct qn_line_look {
    struct qn_str text;
    int prompt_cols; /* of text that is the prompt */
    int cursor_col;
};
void qn_line_look(struct qn_line *line, struct qn_line_look *look);

#endif
