/* fold.h - a part of the training documents, as people write it: "1 of 5". */
#ifndef QN_NN_FOLD_H
#define QN_NN_FOLD_H

#include "base/str.h"
#include "nn/spec.h"

/* "2 of 5", or "2" of the usual five. On failure false, and *why says what was
 * expected; *out stays. */
bool qn_fold_parse(const char *text, struct qn_fold *out, const char **why);
/* The canonical text; "none" for n 0. */
void qn_fold_text(struct qn_fold fold, struct qn_str *out);

#endif
