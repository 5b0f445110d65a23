/* ref_qrnn.c - the QRNN layer of the reference backend, equation by equation.
 *
 * Notation of backend.h. Within a segment c is carried in double. */
#include "backend/ref_qrnn.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const float *floats_or_null(struct qn_tensor t)
{
    return t.buffer ? qn_floats(t) : NULL;
}

struct qn_ref_layer qn_ref_open(const struct qn_qrnn *l)
{
    size_t gates = (size_t)qn_n_gates(l->activation, l->pooling);
    struct qn_ref_layer r = {
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

/* The window's product for output g. */
static double product(const struct qn_ref_layer *r, int b, int t, size_t g)
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

/* a[t] for output g, or a' with norm. */
static double preactivation(const struct qn_ref_layer *r, int b, int t,
                            size_t g)
{
    double a = product(r, b, t, g);
    if (r->channels)
        return qn_ref_normalised(&r->channels[g], a);
    return a + (double)r->bias[(size_t)qn_ref_bias_row(r, t) * r->outputs + g];
}

void qn_ref_product_column(const struct qn_ref_layer *r, double *column,
                           size_t g)
{
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < qn_ref_real(r, b); t++)
            *column++ = product(r, b, t, g);
}

size_t qn_ref_n_rows(const struct qn_ref_layer *r)
{
    size_t n = 0;
    for (int b = 0; b < r->l->x.batch; b++)
        n += (size_t)qn_ref_real(r, b);
    return n;
}

/* Take the statistics of all channels, and in training write them. */
static void open_channels(struct qn_ref_layer *r)
{
    const struct qn_norm *norm = &r->l->norm;
    double *column = qn_xcalloc(qn_ref_n_rows(r), sizeof *column);
    r->channels = qn_xcalloc(r->outputs, sizeof *r->channels);
    for (size_t g = 0; g < r->outputs; g++) {
        if (norm->batch)
            qn_ref_product_column(r, column, g);
        r->channels[g] = qn_ref_channel_of(norm, g, column, qn_ref_n_rows(r));
        if (norm->batch) {
            qn_floats(norm->mean)[g] = (float)r->channels[g].mean;
            qn_floats(norm->var)[g] = (float)r->channels[g].var;
        }
    }
    free(column);
}

/* Does zoneout keep the cell of unit h as it was? 'row' is that of its mask. */
static bool stays(const struct qn_ref_layer *r, int b, int t, uint32_t row,
                  size_t h)
{
    if (r->keep)
        return r->keep[qn_ref_row_index(r, b, t) * r->hidden + h] == 0.0f;
    return r->zoneout.on &&
           qn_rng_bits(row, (uint32_t)h) < r->zoneout.threshold;
}

/* One row of activated blocks, in double. */
static void gates_row(const struct qn_ref_layer *r, double *gates, int b, int t)
{
    size_t n_candidates = (size_t)r->candidates * r->hidden;
    for (size_t g = 0; g < r->outputs; g++) {
        double a = preactivation(r, b, t, g);
        gates[g] = g < n_candidates
                       ? activate(r->l->activation, (double)r->l->alpha, a)
                       : qn_ref_sigmoid(a);
    }
    double *f = gates + n_candidates;
    uint32_t row = qn_mask_row(&r->zoneout, b, t);
    for (size_t h = 0; h < r->hidden; h++)
        if (stays(r, b, t, row, h))
            f[h] = 1.0;
}

static void forward_row(const struct qn_ref_layer *r, double *gates, double *c,
                        int b, int t)
{
    size_t hidden = r->hidden;
    const double *f = gates + (size_t)r->candidates * hidden;
    float *saved = qn_ref_saved_row(r, b, t);
    float *cells = qn_ref_cells_row(r, b, t);
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
        c[h] = fabs(c[h]) < (double)QN_CELL_LEAST ? 0.0 : c[h];
        cells[h] = (float)c[h];
        double y = r->l->pooling == QN_POOL_F ? c[h] : f[hidden + h] * c[h];
        out[h] = (float)qn_ref_dropped(&r->mask, row, h, y);
    }
}

/* Behind the end of a sequence: c stays as it is. */
static void masked_row(const struct qn_ref_layer *r, const double *c, int b,
                       int t)
{
    float *cells = qn_ref_cells_row(r, b, t);
    float *out = qn_row(&r->l->out, b, t);
    for (size_t h = 0; h < r->hidden; h++) {
        cells[h] = (float)c[h];
        out[h] = 0.0f;
    }
}

void qn_ref_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    (void)be;
    qn_check_qrnn(layer);
    struct qn_ref_layer r = qn_ref_open(layer);
    if (layer->norm.on)
        open_channels(&r);
    double *gates = qn_xcalloc(r.outputs, sizeof *gates);
    double *c = qn_xcalloc(r.hidden, sizeof *c);
    for (int b = 0; b < layer->x.batch; b++) {
        for (size_t h = 0; h < r.hidden; h++)
            c[h] = (double)r.c0[(size_t)b * r.hidden + h];
        for (int t = 0; t < layer->x.steps; t++)
            if (t < qn_ref_real(&r, b))
                forward_row(&r, gates, c, b, t);
            else
                masked_row(&r, c, b, t);
    }
    free(r.channels);
    free(gates);
    free(c);
}
