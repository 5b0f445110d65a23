/* lines.h - a file's lines one after the other, in little memory.
 *
 * For files too large to hold (base/file.h reads whole ones); gzip is unpacked
 * on the way. */
#ifndef QN_BASE_LINES_H
#define QN_BASE_LINES_H

#include "base/status.h"

#include <stddef.h>

struct qn_lines;

/* Lines of more than 'longest' bytes are told but not given. */
enum qn_status qn_lines_open(const char *path, size_t longest,
                             struct qn_lines **out, struct qn_err *err);
void qn_lines_close(struct qn_lines *l); /* NULL is fine */

/* A line without its newline, not ended by NUL, valid until the next call.
 * text is NULL for one that is too long. */
struct qn_line {
    const char *text;
    size_t len;
    size_t number; /* from 1 on; 0 at the end of the file */
};
/* A stream that is damaged or cut short is QN_EFORMAT. */
enum qn_status qn_lines_next(struct qn_lines *l, struct qn_line *line,
                             struct qn_err *err);

#endif
