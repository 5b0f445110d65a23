/* ref_lstm.c - the LSTM layer of the reference backend, equation by equation.
 *
 * Notation of backend.h; blocks of a row of 'saved' [4H] are i, f, g, o. Within
 * a segment h and c, and their gradients, are carried in double. */
#include "backend/ref.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { IN, FORGET, CANDIDATE, OUT, N_BLOCKS };

/* The layer with its pointers taken out, and what it carries from step to step.
 */
struct ref_lstm {
    const struct qn_lstm *l;
    size_t hidden, in, outputs; /* H, D, 4H */
    const float *weight_ih, *weight_hh, *bias;
    float *cells, *hiddens, *saved;
    struct qn_mask mask;
    double *h, *c; /* [H] of the step before; backward their gradients */
    double *a;     /* [4H] pre-activations of a step, or their gradients */
};

static struct ref_lstm open_layer(const struct qn_lstm *l)
{
    size_t hidden = (size_t)l->hidden;
    struct ref_lstm r = {
        .l = l,
        .hidden = hidden,
        .in = (size_t)l->x.width,
        .outputs = N_BLOCKS * hidden,
        .weight_ih = qn_floats(l->weight_ih),
        .weight_hh = qn_floats(l->weight_hh),
        .bias = qn_floats(l->bias),
        .cells = qn_floats(l->cells),
        .hiddens = qn_floats(l->hiddens),
        .saved = qn_floats(l->saved),
        .mask = qn_mask_of(&l->dropout),
        .h = qn_xcalloc(hidden, sizeof(double)),
        .c = qn_xcalloc(hidden, sizeof(double)),
        .a = qn_xcalloc(N_BLOCKS * hidden, sizeof(double)),
    };
    return r;
}

static void close_layer(struct ref_lstm *r)
{
    free(r->h);
    free(r->c);
    free(r->a);
}

/* Row (b, t) of the B*T. */
static size_t row_index(const struct ref_lstm *r, int b, int t)
{
    return (size_t)b * (size_t)r->l->x.steps + (size_t)t;
}

/* Rows of sequence b before its end. */
static int real_steps(const struct ref_lstm *r, int b)
{
    return qn_real_steps(r->l->n_real, b, r->l->x.steps);
}

static float *saved_row(const struct ref_lstm *r, int b, int t)
{
    return r->saved + row_index(r, b, t) * r->outputs;
}

/* h[t-1] or c[t-1] of sequence b, from all h or c and those before them. */
static const float *row_before(const struct ref_lstm *r, const float *rows,
                               struct qn_tensor first, int b, int t)
{
    if (t == 0)
        return qn_floats(first) + (size_t)b * r->hidden;
    return rows + row_index(r, b, t - 1) * r->hidden;
}

/* Take the state [H] of sequence b; zeros when it is absent. */
static void load_state(double *to, struct qn_tensor from, int b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] = from.buffer ? (double)qn_floats(from)[(size_t)b * n + j] : 0.0;
}

static void store_state(struct qn_tensor to, const double *from, int b,
                        size_t n)
{
    for (size_t j = 0; to.buffer && j < n; j++)
        qn_floats(to)[(size_t)b * n + j] = (float)from[j];
}

/* a = W_ih x[t] + W_hh h[t-1] + b */
static void preactivations(const struct ref_lstm *r, int b, int t)
{
    const float *x = qn_row(&r->l->x, b, t);
    for (size_t k = 0; k < r->outputs; k++) {
        double sum = (double)r->bias[k];
        for (size_t d = 0; d < r->in; d++)
            sum += (double)r->weight_ih[k * r->in + d] * (double)x[d];
        for (size_t j = 0; j < r->hidden; j++)
            sum += (double)r->weight_hh[k * r->hidden + j] * r->h[j];
        r->a[k] = sum;
    }
}

static void forward_unit(const struct ref_lstm *r, int b, int t, size_t j)
{
    double gate[N_BLOCKS];
    float *saved = saved_row(r, b, t);
    for (size_t k = 0; k < N_BLOCKS; k++) {
        double a = r->a[k * r->hidden + j];
        gate[k] = k == CANDIDATE ? tanh(a) : qn_ref_sigmoid(a);
        saved[k * r->hidden + j] = (float)gate[k];
    }
    r->c[j] = gate[FORGET] * r->c[j] + gate[IN] * gate[CANDIDATE];
    r->h[j] = gate[OUT] * tanh(r->c[j]);
    size_t at = row_index(r, b, t) * r->hidden + j;
    r->cells[at] = (float)r->c[j];
    r->hiddens[at] = (float)r->h[j];
}

/* Behind the end of a sequence: h and c stay as they are. */
static void masked_step(const struct ref_lstm *r, int b, int t)
{
    float *out = qn_row(&r->l->out, b, t);
    for (size_t j = 0; j < r->hidden; j++) {
        size_t at = row_index(r, b, t) * r->hidden + j;
        r->cells[at] = (float)r->c[j];
        r->hiddens[at] = (float)r->h[j];
        out[j] = 0.0f;
    }
}

static void forward_step(const struct ref_lstm *r, int b, int t)
{
    preactivations(r, b, t);
    for (size_t j = 0; j < r->hidden; j++)
        forward_unit(r, b, t, j);
    float *out = qn_row(&r->l->out, b, t);
    uint32_t row = qn_mask_row(&r->mask, b, t);
    for (size_t j = 0; j < r->hidden; j++)
        out[j] = (float)qn_ref_dropped(&r->mask, row, j, r->h[j]);
}

void qn_ref_lstm(struct qn_backend *be, const struct qn_lstm *layer)
{
    (void)be;
    qn_check_lstm(layer);
    struct ref_lstm r = open_layer(layer);
    for (int b = 0; b < layer->x.batch; b++) {
        load_state(r.h, layer->h0, b, r.hidden);
        load_state(r.c, layer->c0, b, r.hidden);
        for (int t = 0; t < layer->x.steps; t++)
            if (t < real_steps(&r, b))
                forward_step(&r, b, t);
            else
                masked_step(&r, b, t);
    }
    close_layer(&r);
}

/* With h the gradient of h[t], complete, and c that of c[t] from later steps:
 * a becomes the gradient of the pre-activations, c that of c[t-1]. */
static void backward_unit(const struct ref_lstm *r, int b, int t, size_t j)
{
    const float *saved = saved_row(r, b, t) + j;
    double i = (double)saved[IN * r->hidden];
    double f = (double)saved[FORGET * r->hidden];
    double g = (double)saved[CANDIDATE * r->hidden];
    double o = (double)saved[OUT * r->hidden];
    double y = tanh((double)r->cells[row_index(r, b, t) * r->hidden + j]);
    double before = (double)row_before(r, r->cells, r->l->c0, b, t)[j];
    double dh = r->h[j];
    double dc = qn_ref_settled(r->c[j] + dh * o * (1.0 - y * y));

    double *a = r->a + j;
    a[IN * r->hidden] = qn_ref_settled(dc * g * i * (1.0 - i));
    a[FORGET * r->hidden] = qn_ref_settled(dc * before * f * (1.0 - f));
    a[CANDIDATE * r->hidden] = qn_ref_settled(dc * i * (1.0 - g * g));
    a[OUT * r->hidden] = qn_ref_settled(dh * y * o * (1.0 - o));
    r->c[j] = dc * f;
}

/* Leaves the gradient of the pre-activations in 'saved'. */
static void backward_step(const struct ref_lstm *r,
                          const struct qn_lstm_grad *g, int b, int t)
{
    const float *d_out = qn_row(&g->d_out, b, t);
    uint32_t row = qn_mask_row(&r->mask, b, t);
    for (size_t j = 0; j < r->hidden; j++) {
        r->h[j] += qn_ref_dropped(&r->mask, row, j, (double)d_out[j]);
        backward_unit(r, b, t, j);
    }
    for (size_t j = 0; j < r->hidden; j++) {
        r->h[j] = 0.0;
        for (size_t k = 0; k < r->outputs; k++)
            r->h[j] += r->a[k] * (double)r->weight_hh[k * r->hidden + j];
    }
    float *saved = saved_row(r, b, t);
    for (size_t k = 0; k < r->outputs; k++)
        saved[k] = (float)r->a[k];
}

static void add_sums(struct qn_tensor to, size_t from, double *sums, size_t n)
{
    float *d = qn_floats(to) + from;
    for (size_t i = 0; i < n; i++) {
        d[i] = (float)((double)d[i] + sums[i]);
        sums[i] = 0.0;
    }
}

/* Add the gradients of output k: its rows of both weights, and its bias. The
 * sums [D] and [H] are zeros before and after. */
static void weight_grad(const struct ref_lstm *r, const struct qn_lstm_grad *g,
                        size_t k, double *sum_ih, double *sum_hh)
{
    double bias = 0.0;
    for (int b = 0; b < r->l->x.batch; b++)
        for (int t = 0; t < real_steps(r, b); t++) {
            double da = (double)saved_row(r, b, t)[k];
            const float *x = qn_row(&r->l->x, b, t);
            const float *h = row_before(r, r->hiddens, r->l->h0, b, t);
            bias += da;
            for (size_t d = 0; d < r->in; d++)
                sum_ih[d] += da * (double)x[d];
            for (size_t j = 0; j < r->hidden; j++)
                sum_hh[j] += da * (double)h[j];
        }
    add_sums(g->d_weight_ih, k * r->in, sum_ih, r->in);
    add_sums(g->d_weight_hh, k * r->hidden, sum_hh, r->hidden);
    add_sums(g->d_bias, k, &bias, 1);
}

static void weight_grads(const struct ref_lstm *r, const struct qn_lstm_grad *g)
{
    double *sum_ih = qn_xcalloc(r->in, sizeof *sum_ih);
    double *sum_hh = qn_xcalloc(r->hidden, sizeof *sum_hh);
    for (size_t k = 0; k < r->outputs; k++)
        weight_grad(r, g, k, sum_ih, sum_hh);
    free(sum_ih);
    free(sum_hh);
}

static void input_grad(const struct ref_lstm *r, const struct qn_lstm_grad *g,
                       int b, int t)
{
    const float *da = saved_row(r, b, t);
    float *d_x = qn_row(&g->d_x, b, t);
    bool real = t < real_steps(r, b);
    for (size_t d = r->in - (size_t)g->d_x.width; d < r->in; d++) {
        double sum = g->add_x ? (double)*d_x : 0.0;
        for (size_t k = 0; real && k < r->outputs; k++)
            sum += (double)da[k] * (double)r->weight_ih[k * r->in + d];
        *d_x++ = (float)sum;
    }
}

void qn_ref_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad)
{
    qn_check_lstm_grad(layer, grad);
    struct ref_lstm r = open_layer(layer);
    for (int b = 0; b < layer->x.batch; b++) {
        load_state(r.h, grad->d_last_h, b, r.hidden);
        load_state(r.c, grad->d_last_c, b, r.hidden);
        for (int t = real_steps(&r, b) - 1; t >= 0; t--)
            backward_step(&r, grad, b, t);
        store_state(grad->d_h0, r.h, b, r.hidden);
        store_state(grad->d_c0, r.c, b, r.hidden);
        for (int t = 0; grad->d_x.buffer && t < layer->x.steps; t++)
            input_grad(&r, grad, b, t);
    }
    weight_grads(&r, grad);
    qn_ref_table_grad(be, grad->d_table, &grad->d_x, layer->ids);
    close_layer(&r);
}
