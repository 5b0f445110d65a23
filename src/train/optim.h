/* optim.h - the optimiser's moments, and an update as the spec wants it. */
#ifndef QN_TRAIN_OPTIM_H
#define QN_TRAIN_OPTIM_H

#include "nn/spec.h"

/* Two flat buffers as long as the parameters for Adam, none for SGD. */
struct qn_optim {
    struct qn_backend *be; /* borrowed */
    struct qn_tensor m, v; /* [count]; absent for SGD */
    size_t count;          /* floats of one moment; 0 for SGD */
};

/* Zero moments for 'count' parameters. */
enum qn_status qn_optim_init(struct qn_optim *o, struct qn_backend *be,
                             enum qn_optim_kind kind, size_t count,
                             struct qn_err *err);
void qn_optim_fini(struct qn_optim *o); /* a zeroed one is fine */

/* Update number t (1, 2, ...) with the spec's settings as they are now. */
struct qn_update qn_optim_update(const struct qn_spec *spec, int64_t t);

/* Both moments, [count] each, from and to the host. */
enum qn_status qn_optim_read(const struct qn_optim *o, float *m, float *v,
                             struct qn_err *err);
void qn_optim_write(struct qn_optim *o, const float *m, const float *v);

#endif
