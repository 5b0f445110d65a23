/* optim.c - the optimiser's moments, and an update as the spec wants it. */
#include "train/optim.h"

#include "base/mem.h"

enum qn_status qn_optim_init(struct qn_optim *o, struct qn_backend *be,
                             enum qn_optim_kind kind, size_t count,
                             struct qn_err *err)
{
    struct qn_optim made = {.be = be};
    *o = made;
    if (kind == QN_SGD) {
        return QN_OK;
    }
    o->count = count;
    o->m = (struct qn_tensor){be->ops->alloc(be, count), 0, count};
    o->v = (struct qn_tensor){be->ops->alloc(be, count), 0, count};
    if (o->m.buffer != NULL && o->v.buffer != NULL) {
        return QN_OK;
    }
    qn_optim_fini(o);
    char size[32];
    qn_format_bytes(size, sizeof size, 2.0 * (double)count * sizeof(float));
    return qn_fail(err, QN_ENOMEM, "no memory for the optimiser's moments: %s",
                   size);
}

void qn_optim_fini(struct qn_optim *o)
{
    if (o->m.buffer != NULL) {
        o->be->ops->release(o->be, o->m.buffer);
    }
    if (o->v.buffer != NULL) {
        o->be->ops->release(o->be, o->v.buffer);
    }
    o->m = (struct qn_tensor){0};
    o->v = (struct qn_tensor){0};
    o->count = 0;
}

struct qn_update qn_optim_update(const struct qn_spec *spec, int64_t t)
{
    return (struct qn_update){
        .kind = spec->optim.kind,
        .lr = spec->optim.lr,
        .clip_norm = spec->optim.clip_norm,
        .beta1 = spec->optim.beta1,
        .beta2 = spec->optim.beta2,
        .eps = spec->optim.eps,
        .t = t,
    };
}

enum qn_status qn_optim_read(const struct qn_optim *o, float *m, float *v,
                             struct qn_err *err)
{
    enum qn_status status = o->be->ops->read(o->be, o->m, m, err);
    if (status != QN_OK) {
        return status;
    }
    return o->be->ops->read(o->be, o->v, v, err);
}

void qn_optim_write(struct qn_optim *o, const float *m, const float *v)
{
    o->be->ops->write(o->be, o->m, m);
    o->be->ops->write(o->be, o->v, v);
}
