/* compare.h - did a run come out as another one did, and if not, why.
 *
 * Two runs are the same when the losses of every step that both made are equal
 * and their weights at the last step that both saved are equal, bit for bit.
 */
#ifndef QN_TRAIN_COMPARE_H
#define QN_TRAIN_COMPARE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something that may be why: a setting, the version, a data file's SHA-256. */
struct qn_difference {
    char what[64]; /* "optim.lr", "commit", "data.train", "blas_kernel" */
    char *then, *now;
};

struct qn_comparison {
    int64_t then_last, now_last; /* steps recorded; 0: none */
    int64_t steps;               /* that both made */
    int64_t first_step;          /* the first whose loss differs; -1: none */
    double then, now;            /* its losses */
    int64_t weights_step;        /* the last one that both saved; -1: none */
    bool weights_same;
    struct qn_difference *difference; /* [n] */
    size_t n;
};
bool qn_comparison_same(const struct qn_comparison *c);
void qn_comparison_fini(struct qn_comparison *c);

/* then: the run that was there first. Both are only read. */
enum qn_status qn_compare_runs(const char *then_path, const char *now_path,
                               struct qn_comparison *out, struct qn_err *err);

#endif
