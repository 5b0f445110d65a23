/* complete_line.h - where in a half-typed line of Lua the cursor stands. Pure
 * text; knows no Lua state. */
#ifndef QN_SCRIPT_COMPLETE_LINE_H
#define QN_SCRIPT_COMPLETE_LINE_H

#include <stdbool.h>

#define QN_CALLEE_LEN 128
#define QN_MAX_FRAMES 16

/* An open bracket. */
struct qn_frame {
    char bracket;               /* '(' or '{' or '[' */
    char callee[QN_CALLEE_LEN]; /* whose argument it is: "qn.train", "r:set" */
    char key[QN_CALLEE_LEN];    /* "model" for model = { ... } */
};

struct qn_cursor {
    struct qn_frame frame[QN_MAX_FRAMES]; /* innermost last */
    int n_frames;
    bool in_string;
    bool is_lost; /* in a comment, or nested too deeply */
    int start;    /* byte where the word begins */
    char before;  /* what stands before it, spaces aside; 0: nothing */
    struct qn_frame string; /* in_string: whose argument or which key it is */
};

void qn_cursor_find(const char *line, int point, struct qn_cursor *out);

#endif
