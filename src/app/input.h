/* input.h - a file or standard input, a line at a time, in bounded memory.
 *
 * base/lines.h, which reads on until it has a piece of a file, cannot do what
 * is wanted here: give a line as soon as it is there, since a person may be
 * typing, and end at a signal. */
#ifndef QN_APP_INPUT_H
#define QN_APP_INPUT_H

#include "base/str.h"

#define QN_INPUT_MAX ((size_t)16 << 20) /* bytes of a line that are kept */

struct qn_input {
    const char *path; /* borrowed; "standard input" for "-" */
    int fd;
    struct qn_str line; /* the newest, without its end ("\n" or "\r\n") */
    bool cut;           /* it was longer than QN_INPUT_MAX */
    int64_t number;     /* counted from 1 */
    bool ended;         /* a terminal has an end each time it is asked */
    size_t at, n;       /* read so far of the n bytes that are in buf */
    char buf[1 << 16];
};

/* "-" is standard input. To be closed once it is open. */
enum qn_status qn_input_open(struct qn_input *l, const char *path,
                             struct qn_err *err);
/* The next line; *more is false at the end. QN_ESTOPPED after a signal. */
enum qn_status qn_input_next(struct qn_input *l, bool *more,
                             struct qn_err *err);
void qn_input_close(struct qn_input *l);

#endif
