/* backend.c - find a backend by name, and count the blocks of a layer. */
#include "backend/private.h"

#include "base/str.h"

int qn_n_candidates(enum qn_activation activation)
{
    return activation == QN_DRELU || activation == QN_DELU ? 2 : 1;
}

int qn_n_gates(enum qn_activation activation, enum qn_pooling pooling)
{
    int gates = pooling == QN_POOL_F ? 1 : pooling == QN_POOL_FO ? 2 : 3;
    return qn_n_candidates(activation) + gates;
}

struct qn_mask qn_mask_of(const struct qn_dropout *dropout)
{
    struct qn_mask mask = {0};
    if (!dropout || dropout->p == 0.0)
        return mask;
    mask.on = true;
    mask.threshold = qn_rng_threshold(dropout->p);
    mask.scale = (float)(1.0 / (1.0 - dropout->p));
    mask.key = dropout->key;
    mask.first_sample = dropout->first_sample;
    return mask;
}

enum qn_status qn_backend_new(const char *name, struct qn_pool *pool,
                              int slices, struct qn_backend **out,
                              struct qn_err *err)
{
    if (slices < 1)
        return qn_fail(err, QN_EUSAGE, "threads is %d, must be at least 1",
                       slices);
    if (qn_str_eq(name, "cpu")) {
        *out = qn_cpu_new(pool, slices);
        return QN_OK;
    }
    if (qn_str_eq(name, "ref")) {
        *out = qn_ref_new();
        return QN_OK;
    }
    return qn_fail(err, QN_EUSAGE, "backend is \"%s\", must be cpu or ref",
                   name);
}

void qn_backend_free(struct qn_backend *be)
{
    if (be)
        be->ops->free(be);
}
