/* ref_qrnn.c - the QRNN layer of the reference backend, equation by equation.
 *
 * Notation of backend.h. Blocks of a row of 'saved' [G*H] are found by number:
 * candidates first, then f, o, i. Within a segment c and its gradient are
 * carried in double. */
#include "backend/ref.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The layer with its pointers taken out. */
struct ref_layer {
    const struct qn_qrnn *l;
    size_t hidden, in, window, outputs; /* H, D, n, G*H */
    int candidates;
    const float *weight, *bias, *c0;
    float *cells, *saved;
    struct qn_mask mask;
};

static struct ref_layer open_layer(const struct qn_qrnn *l)
{
    struct ref_layer r = {
        .l = l,
        .hidden = (size_t)l->hidden,
        .in = (size_t)l->x.width,
        .window = (size_t)l->window,
        .outputs = l->bias.count,
        .candidates = qn_n_candidates(l->activation),
        .weight = qn_floats(l->weight),
        .bias = qn_floats(l->bias),
        .c0 = qn_floats(l->c0),
        .cells = qn_floats(l->cells),
        .saved = qn_floats(l->saved),
        .mask = qn_mask_of(&l->dropout),
    };
    return r;
}

static float *saved_row(const struct ref_layer *r, int b, int t)
{
    return r->saved +
           ((size_t)b * (size_t)r->l->x.steps + (size_t)t) * r->outputs;
}

static float *cells_row(const struct ref_layer *r, int b, int t)
{
    return r->cells +
           ((size_t)b * (size_t)r->l->x.steps + (size_t)t) * r->hidden;
}

static double sigmoid(double a)
{
    return 1.0 / (1.0 + exp(-a));
}

/* NaN stays NaN: every comparison with it is false. */
static double activate(enum qn_activation kind, double alpha, double a)
{
    switch (kind) {
    case QN_TANH:
        return tanh(a);
    case QN_RELU:
    case QN_DRELU:
        return a <= 0.0 ? 0.0 : a;
    case QN_ELU:
    case QN_DELU:
        return a > 0.0 ? a : alpha * expm1(a);
    }
    return 0.0;
}

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

/* a[t] for output g: the bias and the window's product. */
static double preactivation(const struct ref_layer *r, int b, int t, size_t g)
{
    const float *w = r->weight + g * r->window * r->in;
    double sum = (double)r->bias[g];
    for (int tap = 0; tap < r->l->window; tap++) {
        const float *x = qn_row(&r->l->x, b, t - r->l->window + 1 + tap);
        for (size_t d = 0; d < r->in; d++)
            sum += (double)w[(size_t)tap * r->in + d] * (double)x[d];
    }
    return sum;
}

/* One row of activated blocks, in double. */
static void gates_row(const struct ref_layer *r, double *gates, int b, int t)
{
    size_t n_candidates = (size_t)r->candidates * r->hidden;
    for (size_t g = 0; g < r->outputs; g++) {
        double a = preactivation(r, b, t, g);
        gates[g] = g < n_candidates
                       ? activate(r->l->activation, (double)r->l->alpha, a)
                       : sigmoid(a);
    }
}

static void forward_row(const struct ref_layer *r, double *gates, double *c,
                        int b, int t)
{
    size_t hidden = r->hidden;
    const double *f = gates + (size_t)r->candidates * hidden;
    float *saved = saved_row(r, b, t);
    float *cells = cells_row(r, b, t);
    float *out = qn_row(&r->l->out, b, t);
    uint32_t row = qn_mask_row(&r->mask, b, t);

    gates_row(r, gates, b, t);
    for (size_t g = 0; g < r->outputs; g++)
        saved[g] = (float)gates[g];
    for (size_t h = 0; h < hidden; h++) {
        double z = gates[h] - (r->candidates == 2 ? gates[hidden + h] : 0.0);
        double enter =
            r->l->pooling == QN_POOL_IFO ? f[2 * hidden + h] : 1.0 - f[h];
        c[h] = f[h] * c[h] + enter * z;
        cells[h] = (float)c[h];
        double y = r->l->pooling == QN_POOL_F ? c[h] : f[hidden + h] * c[h];
        out[h] = (float)qn_ref_dropped(&r->mask, row, h, y);
    }
}

void qn_ref_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    (void)be;
    qn_check_qrnn(layer);
    struct ref_layer r = open_layer(layer);
    double *gates = qn_xcalloc(r.outputs, sizeof *gates);
    double *c = qn_xcalloc(r.hidden, sizeof *c);
    for (int b = 0; b < layer->x.batch; b++) {
        for (size_t h = 0; h < r.hidden; h++)
            c[h] = (double)r.c0[(size_t)b * r.hidden + h];
        for (int t = 0; t < layer->x.steps; t++)
            forward_row(&r, gates, c, b, t);
    }
    free(gates);
    free(c);
}

/* Turn the row's activated blocks into gradients of their pre-activations. dc
 * is the gradient of c[t] from later steps, and becomes that of c[t-1]. */
static void backward_row(const struct ref_layer *r, const struct qn_seq *d_out,
                         double *dc, int b, int t)
{
    size_t hidden = r->hidden;
    bool dual = r->candidates == 2;
    bool ifo = r->l->pooling == QN_POOL_IFO;
    double alpha = (double)r->l->alpha;
    float *z = saved_row(r, b, t);
    float *f = z + (size_t)r->candidates * hidden;
    const float *c = cells_row(r, b, t);
    const float *prev =
        t > 0 ? cells_row(r, b, t - 1) : r->c0 + (size_t)b * hidden;
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
            *o = (float)(dh * (double)c[h] * ov * (1.0 - ov));
        }
        double dz = dc[h] * (1.0 - fv);
        double df = dc[h] * ((double)prev[h] - zv);
        if (ifo) {
            float *i = f + 2 * hidden + h;
            double iv = (double)*i;
            dz = dc[h] * iv;
            df = dc[h] * (double)prev[h];
            *i = (float)(dc[h] * zv * iv * (1.0 - iv));
        }
        f[h] = (float)(df * fv * (1.0 - fv));
        dc[h] *= fv;
        double slope = activate_slope(r->l->activation, alpha, (double)z[h]);
        z[h] = (float)(dz * slope);
        if (dual) {
            float *minus = z + hidden;
            slope = activate_slope(r->l->activation, alpha, (double)minus[h]);
            minus[h] = (float)(-dz * slope);
        }
    }
}

static void backward_cells(const struct ref_layer *r,
                           const struct qn_qrnn_grad *grad)
{
    double *dc = qn_xcalloc(r->hidden, sizeof *dc);
    for (int b = 0; b < r->l->x.batch; b++) {
        size_t at = (size_t)b * r->hidden;
        for (size_t h = 0; h < r->hidden; h++)
            dc[h] = grad->d_last_c.buffer
                        ? (double)qn_floats(grad->d_last_c)[at + h]
                        : 0.0;
        for (int t = r->l->x.steps - 1; t >= 0; t--)
            backward_row(r, &grad->d_out, dc, b, t);
        if (grad->d_c0.buffer)
            for (size_t h = 0; h < r->hidden; h++)
                qn_floats(grad->d_c0)[at + h] = (float)dc[h];
    }
    free(dc);
}

/* Add output g's gradient of weight (all taps) and bias. 'sum' is scratch
 * [n*D]. */
static void backward_output(const struct ref_layer *r,
                            const struct qn_qrnn_grad *grad, double *sum,
                            size_t g)
{
    size_t inputs = r->window * r->in;
    double bias = 0.0;
    for (size_t k = 0; k < inputs; k++)
        sum[k] = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++) {
            double da = (double)saved_row(r, b, t)[g];
            bias += da;
            for (size_t k = 0; k < inputs; k++) {
                int tap = (int)(k / r->in);
                int at = t - r->l->window + 1 + tap;
                sum[k] += da * (double)qn_row(&r->l->x, b, at)[k % r->in];
            }
        }
    float *dw = qn_floats(grad->d_weight) + g * inputs;
    for (size_t k = 0; k < inputs; k++)
        dw[k] = (float)((double)dw[k] + sum[k]);
    float *db = qn_floats(grad->d_bias);
    db[g] = (float)((double)db[g] + bias);
}

/* The gradient of x[b, t, d]: from each later step that has it in its window.
 */
static double backward_input(const struct ref_layer *r, int b, int t, size_t d)
{
    double sum = 0.0;
    for (int tap = 0; tap < r->l->window; tap++) {
        int later = t + r->l->window - 1 - tap;
        if (later >= r->l->x.steps)
            continue;
        const float *da = saved_row(r, b, later);
        for (size_t g = 0; g < r->outputs; g++) {
            size_t at = (g * r->window + (size_t)tap) * r->in + d;
            sum += (double)da[g] * (double)r->weight[at];
        }
    }
    return sum;
}

static void backward_inputs(const struct ref_layer *r,
                            const struct qn_qrnn_grad *grad)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++) {
            float *dx = qn_row(&grad->d_x, b, t);
            for (size_t d = 0; d < r->in; d++) {
                double old = grad->add_x ? (double)dx[d] : 0.0;
                dx[d] = (float)(old + backward_input(r, b, t, d));
            }
        }
}

void qn_ref_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad)
{
    (void)be;
    qn_check_qrnn_grad(layer, grad);
    struct ref_layer r = open_layer(layer);
    double *sum = qn_xcalloc(r.window * r.in, sizeof *sum);
    backward_cells(&r, grad);
    for (size_t g = 0; g < r.outputs; g++)
        backward_output(&r, grad, sum, g);
    if (grad->d_x.buffer)
        backward_inputs(&r, grad);
    free(sum);
}
