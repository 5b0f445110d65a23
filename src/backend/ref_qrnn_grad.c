/* ref_qrnn_grad.c - the QRNN layer of the reference backend backward.
 *
 * Gradients of the pre-activations take the place of the activated blocks in
 * 'saved'; that of c is carried in double. Batch norm wants the pre-activations
 * themselves: they are computed again, and norm.raw stays as it is. */
#include "backend/ref_qrnn.h"

#include "base/mem.h"

#include <stdlib.h>

/* The derivative, told from the activation's value y; at exactly 0 it is 0 for
 * relu and alpha for elu. */
static double activate_slope(enum qn_activation kind, double alpha, double y)
{
    switch (kind) {
    case QN_TANH:
        return 1.0 - y * y;
    case QN_RELU:
    case QN_DRELU:
        return y > 0.0 ? 1.0 : 0.0;
    case QN_ELU:
    case QN_DELU:
        return y > 0.0 ? 1.0 : y + alpha;
    }
    return 0.0;
}

/* Turn the row's activated blocks into gradients of their pre-activations. dc
 * is the gradient of c[t] from later steps, and becomes that of c[t-1]. */
static void backward_row(const struct qn_ref_layer *r,
                         const struct qn_seq *d_out, double *dc, int b, int t)
{
    size_t hidden = r->hidden;
    bool dual = r->candidates == 2;
    bool ifo = r->l->pooling == QN_POOL_IFO;
    double alpha = (double)r->l->alpha;
    float *z = qn_ref_saved_row(r, b, t);
    float *f = z + (size_t)r->candidates * hidden;
    const float *c = qn_ref_cells_row(r, b, t);
    const float *prev =
        t > 0 ? qn_ref_cells_row(r, b, t - 1) : r->c0 + (size_t)b * hidden;
    const float *dy = qn_row(d_out, b, t);
    uint32_t row = qn_mask_row(&r->mask, b, t);

    for (size_t h = 0; h < hidden; h++) {
        double dh = qn_ref_dropped(&r->mask, row, h, (double)dy[h]);
        double fv = (double)f[h];
        double zv = (double)z[h] - (dual ? (double)z[hidden + h] : 0.0);
        if (r->l->pooling == QN_POOL_F) {
            dc[h] += dh;
        } else {
            float *o = f + hidden + h;
            double ov = (double)*o;
            dc[h] += dh * ov;
            *o = (float)qn_ref_settled(dh * (double)c[h] * ov * (1.0 - ov));
        }
        dc[h] = qn_ref_settled(dc[h]);
        double dz = dc[h] * (1.0 - fv);
        double df = dc[h] * ((double)prev[h] - zv);
        if (ifo) {
            float *i = f + 2 * hidden + h;
            double iv = (double)*i;
            dz = dc[h] * iv;
            df = dc[h] * (double)prev[h];
            *i = (float)qn_ref_settled(dc[h] * zv * iv * (1.0 - iv));
        }
        f[h] = (float)qn_ref_settled(df * fv * (1.0 - fv));
        dc[h] *= fv;
        double slope = activate_slope(r->l->activation, alpha, (double)z[h]);
        z[h] = (float)qn_ref_settled(dz * slope);
        if (dual) {
            float *minus = z + hidden;
            slope = activate_slope(r->l->activation, alpha, (double)minus[h]);
            minus[h] = (float)qn_ref_settled(-dz * slope);
        }
    }
}

static void backward_cells(const struct qn_ref_layer *r,
                           const struct qn_qrnn_grad *grad)
{
    double *dc = qn_xcalloc(r->hidden, sizeof *dc);
    for (int b = 0; b < r->l->x.batch; b++) {
        size_t at = (size_t)b * r->hidden;
        for (size_t h = 0; h < r->hidden; h++)
            dc[h] = grad->d_last_c.buffer
                        ? (double)qn_floats(grad->d_last_c)[at + h]
                        : 0.0;
        for (int t = qn_ref_real(r, b) - 1; t >= 0; t--)
            backward_row(r, &grad->d_out, dc, b, t);
        if (grad->d_c0.buffer)
            for (size_t h = 0; h < r->hidden; h++)
                qn_floats(grad->d_c0)[at + h] = (float)dc[h];
    }
    free(dc);
}

/* Column g of 'saved' at all real rows, one after the other. */
static void take_column(const struct qn_ref_layer *r, double *column, size_t g)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < qn_ref_real(r, b); t++)
            *column++ = (double)qn_ref_saved_row(r, b, t)[g];
}

static void put_column(const struct qn_ref_layer *r, const double *column,
                       size_t g)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < qn_ref_real(r, b); t++)
            qn_ref_saved_row(r, b, t)[g] = (float)*column++;
}

/* From the gradients of the normalised pre-activations to those of the plain
 * ones, in place, with those of gain and shift on the way. */
static void backward_norm(const struct qn_ref_layer *r,
                          const struct qn_qrnn_grad *grad)
{
    size_t n = qn_ref_n_rows(r);
    float *d_gain = qn_floats(grad->d_gain);
    float *d_shift = qn_floats(grad->d_shift);
    double *a = qn_xcalloc(n, sizeof *a);
    double *da = qn_xcalloc(n, sizeof *da);
    for (size_t g = 0; g < r->outputs; g++) {
        qn_ref_product_column(r, a, g);
        struct qn_ref_channel c = qn_ref_channel_of(&r->l->norm, g, a, n);
        take_column(r, da, g);
        struct qn_ref_channel_grad sum = qn_ref_channel_back(&c, da, a, n);
        put_column(r, da, g);
        d_gain[g] = (float)((double)d_gain[g] + sum.gain);
        d_shift[g] = (float)((double)d_shift[g] + sum.shift);
    }
    free(a);
    free(da);
}

/* Row s of the bias is that of every bias_steps-th step. */
static void backward_bias(const struct qn_ref_layer *r,
                          const struct qn_qrnn_grad *grad, int s, size_t g)
{
    float *db = qn_floats(grad->d_bias) + (size_t)s * r->outputs + g;
    double sum = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < qn_ref_real(r, b); t++)
            if (qn_ref_bias_row(r, t) == s)
                sum += (double)qn_ref_saved_row(r, b, t)[g];
    *db = (float)((double)*db + sum);
}

/* Add output g's gradient of weight, all taps. 'sum' is scratch [n*D]. */
static void backward_weight(const struct qn_ref_layer *r,
                            const struct qn_qrnn_grad *grad, double *sum,
                            size_t g)
{
    size_t inputs = r->window * r->in;
    for (size_t k = 0; k < inputs; k++)
        sum[k] = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < qn_ref_real(r, b); t++) {
            double da = (double)qn_ref_saved_row(r, b, t)[g];
            for (size_t k = 0; k < inputs; k++) {
                int tap = (int)(k / r->in);
                int at = t - r->l->window + 1 + tap;
                sum[k] += da * (double)qn_row(&r->l->x, b, at)[k % r->in];
            }
        }
    float *dw = qn_floats(grad->d_weight) + g * inputs;
    for (size_t k = 0; k < inputs; k++)
        dw[k] = (float)((double)dw[k] + sum[k]);
}

/* The gradient of x[b, t, d]: from each later step that has it in its window.
 */
static double backward_input(const struct qn_ref_layer *r, int b, int t,
                             size_t d)
{
    double sum = 0.0;
    for (int tap = 0; tap < r->l->window; tap++) {
        int later = t + r->l->window - 1 - tap;
        if (later >= qn_ref_real(r, b))
            continue;
        const float *da = qn_ref_saved_row(r, b, later);
        for (size_t g = 0; g < r->outputs; g++) {
            size_t at = (g * r->window + (size_t)tap) * r->in + d;
            sum += (double)da[g] * (double)r->weight[at];
        }
    }
    return sum;
}

static void backward_inputs(const struct qn_ref_layer *r,
                            const struct qn_qrnn_grad *grad)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++) {
            float *dx = qn_row(&grad->d_x, b, t);
            for (size_t d = r->in - (size_t)grad->d_x.width; d < r->in; d++) {
                double old = grad->add_x ? (double)*dx : 0.0;
                *dx++ = (float)(old + backward_input(r, b, t, d));
            }
        }
}

void qn_ref_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad)
{
    qn_check_qrnn_grad(layer, grad);
    struct qn_ref_layer r = qn_ref_open(layer);
    double *sum = qn_xcalloc(r.window * r.in, sizeof *sum);
    backward_cells(&r, grad);
    if (layer->norm.on)
        backward_norm(&r, grad);
    for (size_t g = 0; g < r.outputs; g++) {
        for (int s = 0; !layer->norm.on && s < layer->bias_steps; s++)
            backward_bias(&r, grad, s, g);
        backward_weight(&r, grad, sum, g);
    }
    if (grad->d_x.buffer)
        backward_inputs(&r, grad);
    qn_ref_table_grad(be, grad->d_table, &grad->d_x, layer->ids);
    free(sum);
}
