/* lines.h - a file or standard input, a line at a time, in bounded memory. */
#ifndef QN_APP_LINES_H
#define QN_APP_LINES_H

#include "base/str.h"

#define QN_LINE_MAX ((size_t)16 << 20) /* bytes of a line that are kept */

struct qn_lines {
    const char *path; /* borrowed; "standard input" for "-" */
    int fd;
    struct qn_str line; /* the newest, without its end ("\n" or "\r\n") */
    bool cut;           /* it was longer than QN_LINE_MAX */
    int64_t number;     /* counted from 1 */
    size_t at, n;       /* read so far of the n bytes that are in buf */
    char buf[1 << 16];
};

/* "-" is standard input. To be closed once it is open. */
enum qn_status qn_lines_open(struct qn_lines *l, const char *path,
                             struct qn_err *err);
/* The next line; *more is false at the end. QN_ESTOPPED after a signal. */
enum qn_status qn_lines_next(struct qn_lines *l, bool *more,
                             struct qn_err *err);
void qn_lines_close(struct qn_lines *l);

#endif
