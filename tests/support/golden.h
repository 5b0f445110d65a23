/* golden.h - the cases of tests/golden: their tensors in our layouts, and the
 * error measure that goes with them.
 *
 * A missing file, tensor or key fails the running test. Arrays belong to the
 * case and are freed with it. tests/golden/README.md says what the cases hold
 * and states the bound, QN_GOLDEN_BOUND. */
#ifndef QN_SUPPORT_GOLDEN_H
#define QN_SUPPORT_GOLDEN_H

#include "base/safetensors.h"

#include <stdbool.h>
#include <stdint.h>

/* What a right float32 program stays within (golden/README.md). */
#define QN_GOLDEN_BOUND 2e-6

/* How the stored order becomes ours. */
enum qn_golden_layout {
    QN_AS_STORED,
    QN_BATCH_MAJOR, /* [T, B, ...] -> [B, T, ...] */
    QN_TAPS_FIRST   /* conv.weight [G*H, D, n] -> [G*H, n, D] */
};

struct qn_golden;

/* "qrnn_fo_drelu" is tests/golden/qrnn_fo_drelu.safetensors. */
struct qn_golden *qn_golden_open(const char *name);
void qn_golden_close(struct qn_golden *g);

const char *qn_golden_meta(const struct qn_golden *g, const char *key);
int qn_golden_int(const struct qn_golden *g, const char *key);
double qn_golden_double(const struct qn_golden *g, const char *key);
bool qn_golden_bool(const struct qn_golden *g, const char *key);

bool qn_golden_has(const struct qn_golden *g, const char *tensor);
/* Elements, and the size of one dimension. */
size_t qn_golden_count(const struct qn_golden *g, const char *tensor);
int qn_golden_dim(const struct qn_golden *g, const char *tensor, int dim);

const double *qn_golden_values(struct qn_golden *g, const char *tensor,
                               enum qn_golden_layout layout);
const float *qn_golden_floats(struct qn_golden *g, const char *tensor,
                              enum qn_golden_layout layout);
const int32_t *qn_golden_ids(struct qn_golden *g, const char *tensor,
                             enum qn_golden_layout layout);

/* max |ours - stored| / max |stored| over the tensor; ours has its count. A
 * stored tensor of zeros: max |ours|. NaN when ours has one. */
double qn_golden_error(struct qn_golden *g, const char *tensor,
                       enum qn_golden_layout layout, const float *ours);
/* Fail, saying case, tensor and error, unless the error is within the bound. */
void qn_golden_check(struct qn_golden *g, const char *tensor,
                     enum qn_golden_layout layout, const float *ours);

#endif
