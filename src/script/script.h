/* script.h - Lua on top of the lab: the prompt's language and the scripts'.
 *
 * Everything here belongs to the UI thread. The state never crosses to another
 * thread; a count hook lets the screen go on and Ctrl-C in while Lua works.
 */
#ifndef QN_SCRIPT_SCRIPT_H
#define QN_SCRIPT_SCRIPT_H

#include "lab/lab.h"

struct qn_script;

/* What the script needs from whoever runs it. */
struct qn_script_host {
    void *user;
    /* print and results (is_error false), errors and warnings (true); whole
     * lines or parts of them, UTF-8. */
    void (*print)(void *user, const char *text, bool is_error);
    /* Called from long Lua and from waits: draw, take in what is new, at most
     * block for timeout seconds until something is. Never runs Lua. */
    void (*pump)(void *user, double timeout);
    bool has_screen;
};

/* preset_settings: "KEY=VALUE" of --set, applied to every qn.train. */
struct qn_script_options {
    const char *const *set;
    int n_set;
    bool check; /* --check: validate specs, create nothing */
};

enum qn_status qn_script_new(struct qn_lab *lab,
                             const struct qn_script_host *host,
                             const struct qn_script_options *options,
                             struct qn_script **out, struct qn_err *err);
void qn_script_free(struct qn_script *s); /* NULL is fine */

enum qn_script_result {
    QN_SCRIPT_OK,
    QN_SCRIPT_INCOMPLETE, /* the chunk ends too early: ask for more lines */
    QN_SCRIPT_ERROR,      /* printed */
    QN_SCRIPT_CHECKED,    /* --check came to a call that needs a result */
    QN_SCRIPT_QUIT        /* the chunk called os.exit or qn.quit */
};

/* A chunk typed at the prompt: an expression's values are printed. */
enum qn_script_result qn_script_eval(struct qn_script *s, const char *text);
/* A script file with its arguments (global 'arg'). */
enum qn_script_result qn_script_file(struct qn_script *s, const char *path,
                                     const char *const *args, int n_args);
int qn_script_exit_code(const struct qn_script *s); /* after QN_SCRIPT_QUIT */

/* Ask running Lua to stop: it raises "interrupted" soon. Safe to call from pump
 * and from a signal handler. */
void qn_script_interrupt(struct qn_script *s);

/* Completions of the word that ends at byte 'point' of line: *words is an array
 * of strings ended by NULL, each to be freed, and the array too; *start is
 * where the word begins. NULL when there is none. */
char **qn_script_complete(struct qn_script *s, const char *line, int point,
                          int *start);

#endif
