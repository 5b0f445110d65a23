/* period.h - how often and how long, as people write it: "1 epoch", "30 s". */
#ifndef QN_NN_PERIOD_H
#define QN_NN_PERIOD_H

#include "base/str.h"
#include "nn/spec.h"

/* "50 steps", "2.5 epochs", "30 s", "5 minutes", "5 evals", "50" (steps),
 * "none". On failure false, and *why says what was expected; *out stays. */
bool qn_period_parse(const char *text, struct qn_period *out, const char **why);
/* The canonical text, which reads back as the same period. */
void qn_period_text(struct qn_period period, struct qn_str *out);

/* "100 minutes", "2 hours", "30 s" as seconds; "none" is 0. */
bool qn_duration_parse(const char *text, double *seconds, const char **why);
void qn_duration_text(double seconds, struct qn_str *out);

#endif
