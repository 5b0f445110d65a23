/* ref_norm.h - batch normalisation of one channel, in double. */
#ifndef QN_BACKEND_REF_NORM_H
#define QN_BACKEND_REF_NORM_H

#include "backend/private.h"

struct qn_ref_channel {
    double mean, var;
    double deviation; /* sqrt(var + eps) */
    double gain, shift;
    bool batch; /* mean and var are those of the column */
};

struct qn_ref_channel_grad {
    double gain, shift;
};

/* Channel g, whose column is a [n]; a is read in training only. Without rows
 * mean and var are those that norm has. */
struct qn_ref_channel qn_ref_channel_of(const struct qn_norm *norm, size_t g,
                                        const double *a, size_t n);

static inline double qn_ref_normalised(const struct qn_ref_channel *c, double a)
{
    return c->gain * (a - c->mean) / c->deviation + c->shift;
}

/* da [n] is the gradient of the normalised column and becomes that of a. */
struct qn_ref_channel_grad qn_ref_channel_back(const struct qn_ref_channel *c,
                                               double *da, const double *a,
                                               size_t n);

#endif
