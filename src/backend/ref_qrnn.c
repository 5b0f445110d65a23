/* ref_qrnn.c - the QRNN layer of the reference backend, equation by equation.
 *
 * Notation of backend.h. Blocks of a row of 'saved' [G*H] are found by number:
 * candidates first, then f, o, i. Within a segment c and its gradient are
 * carried in double. Pre-activations are not kept for batch norm's way back:
 * they are computed again, so norm.raw stays as it is. */
#include "backend/ref.h"
#include "backend/ref_norm.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The layer with its pointers taken out. */
struct ref_layer {
    const struct qn_qrnn *l;
    size_t hidden, in, window, outputs; /* H, D, n, G*H */
    int candidates;
    const float *weight, *c0;
    const float *bias;               /* NULL with norm */
    struct qn_ref_channel *channels; /* [G*H], owned; NULL without norm */
    const float *keep;               /* zoneout_keep or NULL */
    float *cells, *saved;
    struct qn_mask mask, zoneout;
};

static const float *floats_or_null(struct qn_tensor t)
{
    return t.buffer ? qn_floats(t) : NULL;
}

static struct ref_layer open_layer(const struct qn_qrnn *l)
{
    size_t gates = (size_t)qn_n_gates(l->activation, l->pooling);
    struct ref_layer r = {
        .l = l,
        .hidden = (size_t)l->hidden,
        .in = (size_t)l->x.width,
        .window = (size_t)l->window,
        .outputs = gates * (size_t)l->hidden,
        .candidates = qn_n_candidates(l->activation),
        .weight = qn_floats(l->weight),
        .c0 = qn_floats(l->c0),
        .bias = floats_or_null(l->bias),
        .keep = floats_or_null(l->zoneout_keep),
        .cells = qn_floats(l->cells),
        .saved = qn_floats(l->saved),
        .mask = qn_mask_of(&l->dropout),
        .zoneout = qn_mask_of(&l->zoneout),
    };
    return r;
}

/* Row (b, t) of the B*T. */
static size_t row_index(const struct ref_layer *r, int b, int t)
{
    return (size_t)b * (size_t)r->l->x.steps + (size_t)t;
}

static size_t n_rows(const struct ref_layer *r)
{
    return (size_t)r->l->x.batch * (size_t)r->l->x.steps;
}

static float *saved_row(const struct ref_layer *r, int b, int t)
{
    return r->saved + row_index(r, b, t) * r->outputs;
}

static float *cells_row(const struct ref_layer *r, int b, int t)
{
    return r->cells + row_index(r, b, t) * r->hidden;
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

/* The window's product for output g. */
static double product(const struct ref_layer *r, int b, int t, size_t g)
{
    const float *w = r->weight + g * r->window * r->in;
    double sum = 0.0;
    for (int tap = 0; tap < r->l->window; tap++) {
        const float *x = qn_row(&r->l->x, b, t - r->l->window + 1 + tap);
        for (size_t d = 0; d < r->in; d++)
            sum += (double)w[(size_t)tap * r->in + d] * (double)x[d];
    }
    return sum;
}

/* The row of the bias for step t. */
static int bias_row(const struct ref_layer *r, int t)
{
    return (r->l->bias_first + t) % r->l->bias_steps;
}

/* a[t] for output g, or a' with norm. */
static double preactivation(const struct ref_layer *r, int b, int t, size_t g)
{
    double a = product(r, b, t, g);
    if (r->channels)
        return qn_ref_normalised(&r->channels[g], a);
    return a + (double)r->bias[(size_t)bias_row(r, t) * r->outputs + g];
}

/* The products of output g at all rows, [B*T]. */
static void product_column(const struct ref_layer *r, double *column, size_t g)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++)
            column[row_index(r, b, t)] = product(r, b, t, g);
}

/* Take the statistics of all channels, and in training write them. */
static void open_channels(struct ref_layer *r)
{
    const struct qn_norm *norm = &r->l->norm;
    double *column = qn_xcalloc(n_rows(r), sizeof *column);
    r->channels = qn_xcalloc(r->outputs, sizeof *r->channels);
    for (size_t g = 0; g < r->outputs; g++) {
        if (norm->batch)
            product_column(r, column, g);
        r->channels[g] = qn_ref_channel_of(norm, g, column, n_rows(r));
        if (norm->batch) {
            qn_floats(norm->mean)[g] = (float)r->channels[g].mean;
            qn_floats(norm->var)[g] = (float)r->channels[g].var;
        }
    }
    free(column);
}

/* Does zoneout keep the cell of unit h as it was? 'row' is that of its mask. */
static bool stays(const struct ref_layer *r, int b, int t, uint32_t row,
                  size_t h)
{
    if (r->keep)
        return r->keep[row_index(r, b, t) * r->hidden + h] == 0.0f;
    return r->zoneout.on &&
           qn_rng_bits(row, (uint32_t)h) < r->zoneout.threshold;
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
    double *f = gates + n_candidates;
    uint32_t row = qn_mask_row(&r->zoneout, b, t);
    for (size_t h = 0; h < r->hidden; h++)
        if (stays(r, b, t, row, h))
            f[h] = 1.0;
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
    if (layer->norm.on)
        open_channels(&r);
    double *gates = qn_xcalloc(r.outputs, sizeof *gates);
    double *c = qn_xcalloc(r.hidden, sizeof *c);
    for (int b = 0; b < layer->x.batch; b++) {
        for (size_t h = 0; h < r.hidden; h++)
            c[h] = (double)r.c0[(size_t)b * r.hidden + h];
        for (int t = 0; t < layer->x.steps; t++)
            forward_row(&r, gates, c, b, t);
    }
    free(r.channels);
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

/* From the gradients of the normalised pre-activations to those of the plain
 * ones, in place, with those of gain and shift on the way. */
static void backward_norm(const struct ref_layer *r,
                          const struct qn_qrnn_grad *grad)
{
    size_t n = n_rows(r);
    float *d_gain = qn_floats(grad->d_gain);
    float *d_shift = qn_floats(grad->d_shift);
    double *a = qn_xcalloc(n, sizeof *a);
    double *da = qn_xcalloc(n, sizeof *da);
    for (size_t g = 0; g < r->outputs; g++) {
        product_column(r, a, g);
        struct qn_ref_channel c = qn_ref_channel_of(&r->l->norm, g, a, n);
        for (size_t i = 0; i < n; i++)
            da[i] = (double)r->saved[i * r->outputs + g];
        struct qn_ref_channel_grad sum = qn_ref_channel_back(&c, da, a, n);
        for (size_t i = 0; i < n; i++)
            r->saved[i * r->outputs + g] = (float)da[i];
        d_gain[g] = (float)((double)d_gain[g] + sum.gain);
        d_shift[g] = (float)((double)d_shift[g] + sum.shift);
    }
    free(a);
    free(da);
}

/* Row s of the bias is that of every bias_steps-th step. */
static void backward_bias(const struct ref_layer *r,
                          const struct qn_qrnn_grad *grad, int s, size_t g)
{
    float *db = qn_floats(grad->d_bias) + (size_t)s * r->outputs + g;
    double sum = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++)
            if (bias_row(r, t) == s)
                sum += (double)saved_row(r, b, t)[g];
    *db = (float)((double)*db + sum);
}

/* Add output g's gradient of weight, all taps. 'sum' is scratch [n*D]. */
static void backward_weight(const struct ref_layer *r,
                            const struct qn_qrnn_grad *grad, double *sum,
                            size_t g)
{
    size_t inputs = r->window * r->in;
    for (size_t k = 0; k < inputs; k++)
        sum[k] = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < r->l->x.steps; t++) {
            double da = (double)saved_row(r, b, t)[g];
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
    if (layer->norm.on)
        backward_norm(&r, grad);
    for (size_t g = 0; g < r.outputs; g++) {
        for (int s = 0; !layer->norm.on && s < layer->bias_steps; s++)
            backward_bias(&r, grad, s, g);
        backward_weight(&r, grad, sum, g);
    }
    if (grad->d_x.buffer)
        backward_inputs(&r, grad);
    free(sum);
}
