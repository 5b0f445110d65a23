/* ref_optim.c - the gradient's norm and the updates of the reference backend.
 */
#include "backend/ref.h"

#include <math.h>

void qn_ref_grad_norm(struct qn_backend *be, struct qn_tensor g)
{
    struct qn_host *host = (struct qn_host *)be;
    qn_check_tensor(g, g.count);
    const float *x = qn_floats(g);
    for (size_t i = 0; i < g.count; i++)
        host->square_sum += (double)x[i] * (double)x[i];
}

/* What an update works on; gradients are taken times scale. */
struct arrays {
    float *w, *m, *v; /* m and v: NULL when not used */
    const float *g;
    double scale;
    size_t n;
};

static void sgd(const struct qn_update *u, const struct arrays *x)
{
    for (size_t i = 0; i < x->n; i++) {
        double step = x->scale * (double)x->g[i];
        if (u->momentum != 0.0) {
            step += u->momentum * (double)x->m[i];
            x->m[i] = (float)step;
        }
        x->w[i] = (float)((double)x->w[i] - u->lr * step);
    }
}

static void rmsprop(const struct qn_update *u, const struct arrays *x)
{
    for (size_t i = 0; i < x->n; i++) {
        double grad = x->scale * (double)x->g[i];
        double v = u->rho * (double)x->v[i] + (1.0 - u->rho) * grad * grad;
        double root = u->eps_inside ? sqrt(v + u->eps) : sqrt(v) + u->eps;
        x->v[i] = (float)v;
        x->w[i] = (float)((double)x->w[i] - u->lr * grad / root);
    }
}

static void adam(const struct qn_update *u, const struct arrays *x)
{
    double correct1 = 1.0 - pow(u->beta1, (double)u->t);
    double correct2 = 1.0 - pow(u->beta2, (double)u->t);
    for (size_t i = 0; i < x->n; i++) {
        double grad = x->scale * (double)x->g[i];
        double m = u->beta1 * (double)x->m[i] + (1.0 - u->beta1) * grad;
        double v = u->beta2 * (double)x->v[i] + (1.0 - u->beta2) * grad * grad;
        double step = m / correct1 / (sqrt(v / correct2) + u->eps);
        x->m[i] = (float)m;
        x->v[i] = (float)v;
        x->w[i] = (float)((double)x->w[i] - u->lr * step);
    }
}

void qn_ref_update(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v)
{
    struct qn_host *host = (struct qn_host *)be;
    qn_check_update(u, w, g, m, v);
    if (!qn_host_lets_update(host, u))
        return;
    struct arrays x = {
        .w = qn_floats(w),
        .m = m.buffer ? qn_floats(m) : NULL,
        .v = v.buffer ? qn_floats(v) : NULL,
        .g = qn_floats(g),
        .scale = qn_host_clip_scale(host, u->clip_norm),
        .n = w.count,
    };
    switch (u->kind) {
    case QN_SGD:
        sgd(u, &x);
        return;
    case QN_RMSPROP:
        rmsprop(u, &x);
        return;
    case QN_ADAM:
        adam(u, &x);
        return;
    }
}
