/* out.h - standard output that is checked, standard error that is one sentence.
 *
 * A pipe that closed or a disk that is full must never look like success. The
 * first failure is remembered and later writes are dropped; qn_out_close says
 * it and turns the exit status into a failure.
 */
#ifndef QN_APP_OUT_H
#define QN_APP_OUT_H

#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>

/* Exit statuses of the program. */
enum { QN_EXIT_OK, QN_EXIT_FAILURE, QN_EXIT_MISUSE };

struct qn_out {
    bool failed;
    struct qn_err err;
};

/* One line, its newline added, in one write(2). false once writing failed. */
bool qn_out_line(struct qn_out *out, const char *text);
bool qn_out_linef(struct qn_out *out, const char *fmt, ...) QN_PRINTF(2, 3);
/* Text as it is, of any length. */
bool qn_out_text(struct qn_out *out, const char *text, size_t len);
/* The JSON as a line; j is cleared. */
bool qn_out_json(struct qn_out *out, struct qn_json *j);
/* status, or QN_EXIT_FAILURE and the sentence when a write failed. */
int qn_out_close(const struct qn_out *out, int status);

/* "quern: sentence" on standard error, each line of text so. */
void qn_complain(const char *text);
/* The sentence, and the exit status that goes with the code. */
int qn_give_up(enum qn_status status, const struct qn_err *err);

#endif
