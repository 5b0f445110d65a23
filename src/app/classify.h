/* classify.h - what a run's weights say of the texts of a file. */
#ifndef QN_APP_CLASSIFY_H
#define QN_APP_CLASSIFY_H

#include "app/measured.h"
#include "app/out.h"

/* A line of output for each line of --text, in their order. A line that cannot
 * be judged has its sentence on standard error; the exit status tells of it. */
int qn_classify_lines(const struct qn_measured *m, const struct qn_args *args,
                      struct qn_out *out);

#endif
