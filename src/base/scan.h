/* scan.h - read known text and numbers from bytes that no NUL ends.
 *
 * For lines that a program of ours wrote, by the million: what is unusual is
 * refused, and the caller reads it the slow way. */
#ifndef QN_BASE_SCAN_H
#define QN_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct qn_scan {
    const char *at, *end; /* borrowed; at <= end */
};

/* Step over these bytes; false, and no step, when others stand there. */
bool qn_scan_text(struct qn_scan *s, const char *text, size_t len);

/* Step over a number as JSON has them, to the double nearest to it, which is
 * what strtod makes of it; -0 without a fraction or exponent is 0. false, and
 * no step, when there is none, and for the few that take longer: more than 19
 * digits, very large or small, or about halfway between two doubles. */
bool qn_scan_number(struct qn_scan *s, double *out);

#endif
