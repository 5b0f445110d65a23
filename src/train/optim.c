/* optim.c - the optimiser's moments, and an update as the spec wants it. */
#include "train/optim.h"

#include "base/mem.h"

#include <math.h>

/* Which moments the rule keeps: m is a sum or mean of gradients, v a mean of
 * their squares. */
static bool keeps_m(const struct qn_spec *spec)
{
    return spec->optim.kind == QN_ADAM ||
           (spec->optim.kind == QN_SGD && spec->optim.momentum > 0);
}

static bool keeps_v(const struct qn_spec *spec)
{
    return spec->optim.kind == QN_ADAM || spec->optim.kind == QN_RMSPROP;
}

/* Zeros; false when they cannot be had. */
static bool make_moment(struct qn_backend *be, size_t count,
                        struct qn_tensor *out)
{
    struct qn_buffer *buffer = be->ops->alloc(be, count);
    if (buffer == NULL) {
        return false;
    }
    *out = (struct qn_tensor){buffer, 0, count};
    return true;
}

enum qn_status qn_optim_init(struct qn_optim *o, struct qn_backend *be,
                             const struct qn_spec *spec, size_t count,
                             struct qn_err *err)
{
    bool m = keeps_m(spec);
    bool v = keeps_v(spec);
    *o = (struct qn_optim){.be = be};
    if ((!m || make_moment(be, count, &o->m)) &&
        (!v || make_moment(be, count, &o->v))) {
        return QN_OK;
    }
    qn_optim_fini(o);
    char size[32];
    double floats = (m && v ? 2.0 : 1.0) * (double)count;
    qn_format_bytes(size, sizeof size, floats * sizeof(float));
    return qn_fail(err, QN_ENOMEM, "no memory for the optimiser's moments: %s",
                   size);
}

static void release(struct qn_backend *be, struct qn_tensor *moment)
{
    if (moment->buffer != NULL) {
        be->ops->release(be, moment->buffer);
    }
    *moment = (struct qn_tensor){0};
}

void qn_optim_fini(struct qn_optim *o)
{
    release(o->be, &o->m);
    release(o->be, &o->v);
}

static void clear(struct qn_backend *be, struct qn_tensor moment)
{
    if (moment.buffer != NULL) {
        be->ops->fill(be, moment, 0.0f);
    }
}

void qn_optim_clear(struct qn_optim *o)
{
    clear(o->be, o->m);
    clear(o->be, o->v);
}

double qn_optim_rate(const struct qn_spec *spec, int64_t epoch)
{
    int64_t full = spec->optim.decay_after > 0 ? spec->optim.decay_after : 1;
    double decays = epoch > full ? (double)(epoch - full) : 0;
    return spec->optim.lr * pow(spec->optim.decay, decays);
}

struct qn_update qn_optim_update(const struct qn_spec *spec, int64_t epoch,
                                 int64_t t)
{
    return (struct qn_update){
        .kind = spec->optim.kind,
        .lr = qn_optim_rate(spec, epoch),
        .clip_norm = spec->optim.clip_norm,
        .momentum = spec->optim.momentum,
        .rho = spec->optim.rho,
        .beta1 = spec->optim.beta1,
        .beta2 = spec->optim.beta2,
        .eps = spec->optim.eps,
        .eps_inside = spec->optim.eps_inside,
        .t = t,
    };
}

static enum qn_status read_moment(struct qn_backend *be, struct qn_tensor from,
                                  float *to, struct qn_err *err)
{
    return from.buffer != NULL ? be->ops->read(be, from, to, err) : QN_OK;
}

enum qn_status qn_optim_read(const struct qn_optim *o, float *m, float *v,
                             struct qn_err *err)
{
    enum qn_status status = read_moment(o->be, o->m, m, err);
    return status == QN_OK ? read_moment(o->be, o->v, v, err) : status;
}

void qn_optim_write(struct qn_optim *o, const float *m, const float *v)
{
    if (o->m.buffer != NULL) {
        o->be->ops->write(o->be, o->m, m);
    }
    if (o->v.buffer != NULL) {
        o->be->ops->write(o->be, o->v, v);
    }
}
