/* optim.h - the optimiser's moments, and an update as the spec wants it. */
#ifndef QN_TRAIN_OPTIM_H
#define QN_TRAIN_OPTIM_H

#include "nn/spec.h"

/* One flat buffer per moment that the rule has, as long as the trained
 * parameters: SGD none, or m with momentum; RMSprop v; Adam both. */
struct qn_optim {
    struct qn_backend *be; /* borrowed */
    struct qn_tensor m, v; /* [count]; absent where the rule has none */
};

/* Zero moments for 'count' parameters. */
enum qn_status qn_optim_init(struct qn_optim *o, struct qn_backend *be,
                             const struct qn_spec *spec, size_t count,
                             struct qn_err *err);
void qn_optim_fini(struct qn_optim *o); /* a zeroed one is fine */

void qn_optim_clear(struct qn_optim *o); /* zero moments again */

/* The learning rate in an epoch, the first being 1: optim.lr times optim.decay
 * for every epoch after number optim.decay_after, which unset is the first. */
double qn_optim_rate(const struct qn_spec *spec, int64_t epoch);

/* Update number t (1, 2, ...), made in this epoch, with the spec's settings as
 * they are now. */
struct qn_update qn_optim_update(const struct qn_spec *spec, int64_t epoch,
                                 int64_t t);

/* The moments that there are, from and to the host; of the others m or v is
 * not touched and may be NULL. */
enum qn_status qn_optim_read(const struct qn_optim *o, float *m, float *v,
                             struct qn_err *err);
void qn_optim_write(struct qn_optim *o, const float *m, const float *v);

#endif
