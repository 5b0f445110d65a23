/* work.c - what a backend's operation has to do, from the shapes it is given.
 */
#include "bench/work.h"

#include "base/assert.h"

#include <stdio.h>

/* --- counting ----------------------------------------------------------- */

/* Real rows of all sequences. */
static double real_rows(const struct qn_seq *seq, const int *n_real)
{
    if (n_real == NULL) {
        return (double)seq->batch * seq->steps;
    }
    double rows = 0;
    for (int b = 0; b < seq->batch; b++) {
        rows += n_real[b] < seq->steps ? n_real[b] : seq->steps;
    }
    return rows;
}

/* Elements of the tensor, 0 when it is absent. */
static double elements(struct qn_tensor t)
{
    return t.buffer != NULL ? (double)t.count : 0;
}

static double bytes_of(double n_elements)
{
    return n_elements * sizeof(float);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* A product of [m, k] by [k, n]. */
static double product(double m, double n, double k)
{
    return 2 * m * n * k;
}

/* --- layers ------------------------------------------------------------- */

/* What both ways of a layer meet. */
struct layer {
    double rows; /* real ones, of all sequences */
    int gates, hidden, width;
    int n_symbols; /* of the embedding that x is; 0: it is none */
};

static struct layer of_qrnn(const struct qn_qrnn *l)
{
    return (struct layer){.rows = real_rows(&l->x, l->n_real),
                          .gates = qn_n_gates(l->activation, l->pooling),
                          .hidden = l->hidden,
                          .width = l->x.width,
                          .n_symbols = l->n_symbols};
}

static struct layer of_lstm(const struct qn_lstm *l)
{
    return (struct layer){.rows = real_rows(&l->x, l->n_real),
                          .gates = 4,
                          .hidden = l->hidden,
                          .width = l->x.width,
                          .n_symbols = l->n_symbols};
}

/* Pairs of a step and a tap of its window that lie before the segment. */
static double pairs_before(const struct qn_qrnn *l)
{
    double before = l->window - 1;
    double steps = least(l->x.steps, before);
    return l->x.batch * (steps * before - steps * (steps - 1) / 2);
}

/* Vectors that the weight of a single tap is multiplied by, over all taps:
 * those of the real rows or, of an embedding, each entry of its table once, and
 * what lies before the segment, which may be of an older table. */
static double vectors_of(const struct layer *y, int window, double before)
{
    double all = y->rows * window;
    double looked_up = (double)y->n_symbols * window + before;
    return y->n_symbols > 0 ? least(all, looked_up) : all;
}

static double vectors_of_qrnn(const struct qn_qrnn *l, const struct layer *y)
{
    return vectors_of(y, l->window, pairs_before(l));
}

/* x or, where they are smaller, the ids and the table that it is made of. */
static double input_of(const struct layer *y)
{
    double all = y->rows * y->width;
    double looked_up = y->rows + (double)y->n_symbols * y->width;
    return y->n_symbols > 0 ? least(all, looked_up) : all;
}

/* And the context before it. */
static double input_of_qrnn(const struct qn_qrnn *l, const struct layer *y)
{
    return (double)l->x.batch * (l->window - 1) * y->width + input_of(y);
}

/* The input, c, what is saved, and what is kept for the norm: written on the
 * way forward, read on the way back. */
static double tape_of_qrnn(const struct qn_qrnn *l, const struct layer *y)
{
    double gates = (double)y->gates * y->hidden;
    double raw = l->norm.on && l->norm.raw.buffer != NULL ? gates : 0;
    return input_of_qrnn(l, y) + y->rows * (y->hidden + gates + raw);
}

/* The weight, and what norm needs on both ways. */
static double params_of_qrnn(const struct qn_qrnn *l)
{
    const struct qn_norm *n = &l->norm;
    return elements(l->weight) +
           (n->on ? elements(n->gain) + elements(n->mean) + elements(n->var)
                  : 0);
}

/* What is added to the products, on the way forward alone. */
static double added_in_qrnn(const struct qn_qrnn *l)
{
    return elements(l->norm.on ? l->norm.shift : l->bias);
}

static void name_qrnn(const struct qn_qrnn *l, const struct layer *y,
                      struct qn_work *w)
{
    (void)snprintf(w->of, sizeof w->of, "%d x %d to %d x %d", l->window,
                   y->width, y->gates, y->hidden);
}

struct qn_work qn_work_qrnn(const struct qn_qrnn *l)
{
    struct layer y = of_qrnn(l);
    double out = y.rows * y.hidden;
    struct qn_work w = {
        .flops = product(vectors_of_qrnn(l, &y), (double)y.gates * y.hidden,
                         y.width),
        .bytes = bytes_of(tape_of_qrnn(l, &y) + params_of_qrnn(l) +
                          added_in_qrnn(l) + out + elements(l->c0) +
                          elements(l->zoneout_keep)),
    };
    name_qrnn(l, &y, &w);
    return w;
}

/* What the gradient of the input takes: products and floats. With d_table, d_x
 * is scratch, and its rows are added up for each entry before they meet the
 * weight. */
struct input_grad {
    double flops, floats;
};

static struct input_grad input_grad_of(const struct layer *y, int window,
                                       const struct qn_seq *d_x,
                                       struct qn_tensor d_table, bool add_x)
{
    double gates = (double)y->gates * y->hidden;
    bool of_table = d_table.buffer != NULL;
    double rows = of_table ? vectors_of(y, 1, 0) : y->rows;
    double width = d_x->buffer != NULL ? d_x->width : 0;
    int passes = of_table || add_x ? 2 : 1;
    return (struct input_grad){.flops = product(rows, gates, window * width),
                               .floats = passes * rows * width};
}

struct qn_work qn_work_qrnn_grad(const struct qn_qrnn *l,
                                 const struct qn_qrnn_grad *g)
{
    struct layer y = of_qrnn(l);
    double gates = (double)y.gates * y.hidden;
    double changed = elements(g->d_weight) + elements(g->d_bias) +
                     elements(g->d_gain) + elements(g->d_shift);
    struct input_grad in =
        input_grad_of(&y, l->window, &g->d_x, g->d_table, g->add_x);
    double d_out = y.rows * y.hidden;
    struct qn_work w = {
        .flops = product(vectors_of_qrnn(l, &y), gates, y.width) + in.flops,
        .bytes =
            bytes_of(tape_of_qrnn(l, &y) + params_of_qrnn(l) + elements(l->c0) +
                     elements(l->zoneout_keep) + d_out + elements(g->d_last_c) +
                     elements(g->d_c0) + 2 * changed + in.floats),
    };
    name_qrnn(l, &y, &w);
    return w;
}

/* x, c, h and the gates. */
static double tape_of_lstm(const struct layer *y)
{
    return input_of(y) + y->rows * (2.0 + y->gates) * y->hidden;
}

static double params_of_lstm(const struct qn_lstm *l)
{
    return elements(l->weight_ih) + elements(l->weight_hh);
}

/* Of W_ih with what x holds, and of W_hh with h. */
static double products_of_lstm(const struct layer *y)
{
    double gates = (double)y->gates * y->hidden;
    return product(vectors_of(y, 1, 0), gates, y->width) +
           product(y->rows, gates, y->hidden);
}

static void name_lstm(const struct layer *y, struct qn_work *w)
{
    (void)snprintf(w->of, sizeof w->of, "%d to %d x %d", y->width, y->gates,
                   y->hidden);
}

struct qn_work qn_work_lstm(const struct qn_lstm *l)
{
    struct layer y = of_lstm(l);
    double out = y.rows * y.hidden;
    struct qn_work w = {
        .flops = products_of_lstm(&y),
        .bytes =
            bytes_of(tape_of_lstm(&y) + params_of_lstm(l) + elements(l->bias) +
                     out + elements(l->h0) + elements(l->c0)),
    };
    name_lstm(&y, &w);
    return w;
}

struct qn_work qn_work_lstm_grad(const struct qn_lstm *l,
                                 const struct qn_lstm_grad *g)
{
    struct layer y = of_lstm(l);
    double gates = (double)y.gates * y.hidden;
    struct input_grad in = input_grad_of(&y, 1, &g->d_x, g->d_table, g->add_x);
    double changed = elements(g->d_weight_ih) + elements(g->d_weight_hh) +
                     elements(g->d_bias);
    double states = elements(l->h0) + elements(l->c0) + elements(g->d_last_h) +
                    elements(g->d_last_c) + elements(g->d_h0) +
                    elements(g->d_c0);
    double d_out = y.rows * y.hidden;
    struct qn_work w = {
        .flops =
            products_of_lstm(&y) + product(y.rows, gates, y.hidden) + in.flops,
        .bytes = bytes_of(tape_of_lstm(&y) + params_of_lstm(l) + d_out +
                          states + 2 * changed + in.floats),
    };
    name_lstm(&y, &w);
    return w;
}

/* --- the ends ----------------------------------------------------------- */

static int outputs(const struct qn_seq *x, struct qn_tensor weight)
{
    QN_ASSERT(x->width > 0);
    return (int)(weight.count / (size_t)x->width);
}

struct qn_work qn_work_linear(const struct qn_seq *x, struct qn_tensor y,
                              struct qn_tensor weight, struct qn_tensor bias)
{
    double rows = real_rows(x, NULL);
    int n = outputs(x, weight);
    struct qn_work w = {
        .flops = product(rows, n, x->width),
        .bytes = bytes_of(rows * x->width + elements(y) + elements(weight) +
                          elements(bias)),
    };
    (void)snprintf(w.of, sizeof w.of, "%d to %d", x->width, n);
    return w;
}

struct qn_work qn_work_linear_grad(const struct qn_seq *x, struct qn_tensor d_y,
                                   struct qn_tensor weight,
                                   struct qn_tensor d_bias)
{
    double rows = real_rows(x, NULL);
    int n = outputs(x, weight);
    struct qn_work w = {
        .flops = 2 * product(rows, n, x->width),
        /* x and d_x; the weight is read, its gradient added to. */
        .bytes = bytes_of(2 * rows * x->width + elements(d_y) +
                          3 * elements(weight) + 2 * elements(d_bias)),
    };
    (void)snprintf(w.of, sizeof w.of, "%d to %d", x->width, n);
    return w;
}

/* Elements of a table's rows that so many symbols meet at most. */
static double met_rows(const struct qn_seq *seq, struct qn_tensor table)
{
    double all = elements(table);
    return least(real_rows(seq, NULL) * seq->width, all);
}

static void name_table(const struct qn_seq *seq, struct qn_tensor table,
                       struct qn_work *w)
{
    (void)snprintf(w->of, sizeof w->of, "%zu x %d",
                   table.count / (size_t)seq->width, seq->width);
}

struct qn_work qn_work_embed(const struct qn_seq *out, struct qn_tensor table)
{
    double symbols = real_rows(out, NULL);
    struct qn_work w = {.bytes = bytes_of(symbols + symbols * out->width +
                                          met_rows(out, table))};
    name_table(out, table, &w);
    return w;
}

struct qn_work qn_work_embed_grad(const struct qn_seq *d_out,
                                  struct qn_tensor d_table)
{
    double symbols = real_rows(d_out, NULL);
    struct qn_work w = {.bytes = bytes_of(symbols + symbols * d_out->width +
                                          2 * met_rows(d_out, d_table))};
    name_table(d_out, d_table, &w);
    return w;
}

struct qn_work qn_work_xent(struct qn_tensor logits, struct qn_tensor targets,
                            float scale)
{
    int passes = scale != 0.0f ? 2 : 1;
    struct qn_work w = {
        .bytes = bytes_of(passes * elements(logits) + elements(targets))};
    (void)snprintf(w.of, sizeof w.of, "%zu x %zu", targets.count,
                   targets.count > 0 ? logits.count / targets.count : 0);
    return w;
}

struct qn_work qn_work_update(struct qn_tensor w, struct qn_tensor m,
                              struct qn_tensor v)
{
    double changed = elements(w) + elements(m) + elements(v);
    struct qn_work work = {.bytes = bytes_of(2 * changed + elements(w))};
    (void)snprintf(work.of, sizeof work.of, "%zu", w.count);
    return work;
}

struct qn_work qn_work_elements(size_t count, int passes)
{
    struct qn_work w = {.bytes = bytes_of((double)count * passes)};
    (void)snprintf(w.of, sizeof w.of, "%zu", count);
    return w;
}

struct qn_work qn_work_rows(const struct qn_seq *seq, int rows, int passes)
{
    double n = (double)seq->batch * rows * seq->width;
    struct qn_work w = {.bytes = bytes_of(n * passes)};
    (void)snprintf(w.of, sizeof w.of, "%d x %d x %d", seq->batch, rows,
                   seq->width);
    return w;
}
