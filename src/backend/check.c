/* check.c - assert the shapes that backend.h states, for every backend. */
#include "backend/private.h"

void qn_check_tensor(struct qn_tensor t, size_t count)
{
    QN_ASSERT(t.buffer);
    QN_ASSERT(t.count == count);
    QN_ASSERT(t.offset <= t.buffer->count);
    QN_ASSERT(t.count <= t.buffer->count - t.offset);
}

void qn_check_seq(const struct qn_seq *s)
{
    QN_ASSERT(s->buffer);
    QN_ASSERT(s->batch >= 1 && s->steps >= 1);
    QN_ASSERT(s->width >= 1 && s->history >= 0);
    QN_ASSERT((size_t)s->width <= s->row_pitch);
    size_t before = (size_t)s->history * s->row_pitch;
    size_t after = (size_t)(s->steps - 1) * s->row_pitch + (size_t)s->width;
    QN_ASSERT(s->batch == 1 || s->seq_pitch >= before + after);
    QN_ASSERT(s->offset >= before);
    QN_ASSERT(s->offset + (size_t)(s->batch - 1) * s->seq_pitch + after <=
              s->buffer->count);
}

void qn_check_rows(struct qn_tensor rows, const struct qn_seq *seq,
                   const int *row)
{
    qn_check_seq(seq);
    qn_check_tensor(rows, (size_t)seq->batch * (size_t)seq->width);
    for (int b = 0; b < seq->batch; b++)
        QN_ASSERT(row[b] >= -1 && row[b] < seq->steps);
}

static bool same_rows(const struct qn_seq *a, const struct qn_seq *b)
{
    return a->batch == b->batch && a->steps == b->steps;
}

static void check_dropout(const struct qn_dropout *d)
{
    QN_ASSERT(d->p >= 0.0 && d->p < 1.0);
}

static void check_real(const int *n_real, const struct qn_seq *s)
{
    for (int b = 0; n_real && b < s->batch; b++)
        QN_ASSERT(n_real[b] >= 0 && n_real[b] <= s->steps);
}

/* Absent, or of the last columns of x. */
static void check_input_grad(const struct qn_seq *d_x, const struct qn_seq *x)
{
    if (!d_x->buffer)
        return;
    qn_check_seq(d_x);
    QN_ASSERT(d_x->width <= x->width && same_rows(d_x, x));
}

/* What x was looked up in, if it was. */
static void check_symbols(int n_symbols, struct qn_tensor table,
                          struct qn_tensor ids, const struct qn_seq *x)
{
    if (n_symbols == 0)
        return;
    qn_check_tensor(table, (size_t)n_symbols * (size_t)x->width);
    qn_check_tensor(ids, (size_t)x->batch * (size_t)x->steps);
}

/* Of the table of those symbols; absent: not wanted. */
static void check_table_grad(struct qn_tensor d_table, int n_symbols,
                             const struct qn_seq *d_x, const struct qn_seq *x,
                             bool add_x)
{
    if (!d_table.buffer)
        return;
    QN_ASSERT(n_symbols > 0 && d_x->buffer && !add_x);
    QN_ASSERT(d_x->width == x->width);
    qn_check_tensor(d_table, (size_t)n_symbols * (size_t)x->width);
}

/* The outputs of a layer's product, G*H. */
static size_t qrnn_outputs(const struct qn_qrnn *l)
{
    return (size_t)qn_n_gates(l->activation, l->pooling) * (size_t)l->hidden;
}

static size_t qrnn_rows(const struct qn_qrnn *l)
{
    return (size_t)l->x.batch * (size_t)l->x.steps;
}

/* One bias for all steps or some of them; none beside a norm, whose shift takes
 * its place. */
static void check_bias(const struct qn_qrnn *l)
{
    if (l->norm.on) {
        QN_ASSERT(!l->bias.buffer);
        return;
    }
    QN_ASSERT(l->bias_steps >= 1 && l->bias_first >= 0);
    qn_check_tensor(l->bias, (size_t)l->bias_steps * qrnn_outputs(l));
}

static void check_norm(const struct qn_qrnn *l)
{
    const struct qn_norm *norm = &l->norm;
    size_t outputs = qrnn_outputs(l);
    if (!norm->on)
        return;
    qn_check_tensor(norm->gain, outputs);
    qn_check_tensor(norm->shift, outputs);
    qn_check_tensor(norm->mean, outputs);
    qn_check_tensor(norm->var, outputs);
    if (norm->batch || norm->raw.buffer)
        qn_check_tensor(norm->raw, qrnn_rows(l) * outputs);
}

void qn_check_qrnn(const struct qn_qrnn *l)
{
    qn_check_seq(&l->x);
    qn_check_seq(&l->out);
    QN_ASSERT(l->hidden >= 1 && l->window >= 1);
    QN_ASSERT(l->x.history >= l->window - 1);
    QN_ASSERT(l->out.width == l->hidden && same_rows(&l->x, &l->out));
    check_real(l->n_real, &l->x);
    check_dropout(&l->dropout);
    check_dropout(&l->zoneout);

    size_t hidden = (size_t)l->hidden;
    size_t batch = (size_t)l->x.batch;
    size_t rows = qrnn_rows(l);
    size_t outputs = qrnn_outputs(l);
    size_t inputs = (size_t)l->window * (size_t)l->x.width;
    if (l->zoneout_keep.buffer)
        qn_check_tensor(l->zoneout_keep, rows * hidden);
    qn_check_tensor(l->weight, outputs * inputs);
    check_bias(l);
    check_norm(l);
    qn_check_tensor(l->c0, batch * hidden);
    qn_check_tensor(l->cells, rows * hidden);
    qn_check_tensor(l->saved, rows * outputs);
    check_symbols(l->n_symbols, l->table, l->ids, &l->x);
}

/* What stands in for the bias, and what the way back needs of the norm. */
static void check_bias_grad(const struct qn_qrnn *l,
                            const struct qn_qrnn_grad *g)
{
    if (!l->norm.on) {
        qn_check_tensor(g->d_bias, l->bias.count);
        return;
    }
    qn_check_tensor(g->d_gain, qrnn_outputs(l));
    qn_check_tensor(g->d_shift, qrnn_outputs(l));
    qn_check_tensor(l->norm.raw, qrnn_rows(l) * qrnn_outputs(l));
}

void qn_check_qrnn_grad(const struct qn_qrnn *l, const struct qn_qrnn_grad *g)
{
    qn_check_qrnn(l);
    qn_check_seq(&g->d_out);
    QN_ASSERT(g->d_out.width == l->hidden && same_rows(&g->d_out, &l->x));
    qn_check_tensor(g->d_weight, l->weight.count);
    check_bias_grad(l, g);
    if (g->d_last_c.buffer)
        qn_check_tensor(g->d_last_c, l->c0.count);
    if (g->d_c0.buffer)
        qn_check_tensor(g->d_c0, l->c0.count);
    check_input_grad(&g->d_x, &l->x);
    check_table_grad(g->d_table, l->n_symbols, &g->d_x, &l->x, g->add_x);
}

void qn_check_lstm(const struct qn_lstm *l)
{
    qn_check_seq(&l->x);
    qn_check_seq(&l->out);
    QN_ASSERT(l->hidden >= 1);
    QN_ASSERT(l->out.width == l->hidden && same_rows(&l->x, &l->out));
    check_real(l->n_real, &l->x);
    check_dropout(&l->dropout);

    size_t hidden = (size_t)l->hidden;
    size_t batch = (size_t)l->x.batch;
    size_t rows = batch * (size_t)l->x.steps;
    qn_check_tensor(l->weight_ih, 4 * hidden * (size_t)l->x.width);
    qn_check_tensor(l->weight_hh, 4 * hidden * hidden);
    qn_check_tensor(l->bias, 4 * hidden);
    qn_check_tensor(l->h0, batch * hidden);
    qn_check_tensor(l->c0, batch * hidden);
    qn_check_tensor(l->cells, rows * hidden);
    qn_check_tensor(l->hiddens, rows * hidden);
    qn_check_tensor(l->saved, rows * 4 * hidden);
    check_symbols(l->n_symbols, l->table, l->ids, &l->x);
}

static void check_if_there(struct qn_tensor t, size_t count)
{
    if (t.buffer)
        qn_check_tensor(t, count);
}

void qn_check_lstm_grad(const struct qn_lstm *l, const struct qn_lstm_grad *g)
{
    qn_check_lstm(l);
    qn_check_seq(&g->d_out);
    QN_ASSERT(g->d_out.width == l->hidden && same_rows(&g->d_out, &l->x));
    qn_check_tensor(g->d_weight_ih, l->weight_ih.count);
    qn_check_tensor(g->d_weight_hh, l->weight_hh.count);
    qn_check_tensor(g->d_bias, l->bias.count);
    check_if_there(g->d_last_h, l->h0.count);
    check_if_there(g->d_last_c, l->c0.count);
    check_if_there(g->d_h0, l->h0.count);
    check_if_there(g->d_c0, l->c0.count);
    check_input_grad(&g->d_x, &l->x);
    check_table_grad(g->d_table, l->n_symbols, &g->d_x, &l->x, g->add_x);
}

void qn_check_embed(const struct qn_seq *rows, struct qn_tensor table,
                    struct qn_tensor ids)
{
    qn_check_seq(rows);
    QN_ASSERT(table.count % (size_t)rows->width == 0);
    qn_check_tensor(table, table.count);
    qn_check_tensor(ids, (size_t)rows->batch * (size_t)rows->steps);
    int32_t vocab = (int32_t)(table.count / (size_t)rows->width);
    const int32_t *id = qn_ids(ids);
    for (size_t i = 0; i < ids.count; i++)
        QN_ASSERT(id[i] < vocab);
}

void qn_check_linear(struct qn_tensor y, const struct qn_seq *x,
                     struct qn_tensor weight, struct qn_tensor bias)
{
    qn_check_seq(x);
    qn_check_tensor(bias, bias.count);
    qn_check_tensor(weight, bias.count * (size_t)x->width);
    qn_check_tensor(y, (size_t)x->batch * (size_t)x->steps * bias.count);
}

void qn_check_sigmoid(struct qn_tensor logits, struct qn_tensor labels)
{
    qn_check_tensor(labels, labels.count);
    qn_check_tensor(logits, labels.count);
    const int32_t *label = qn_ids(labels);
    for (size_t i = 0; i < labels.count; i++)
        QN_ASSERT(label[i] <= 1);
}

void qn_check_softmax(struct qn_tensor logits, struct qn_tensor targets,
                      int vocab)
{
    QN_ASSERT(vocab >= 1);
    qn_check_tensor(targets, targets.count);
    qn_check_tensor(logits, targets.count * (size_t)vocab);
    const int32_t *target = qn_ids(targets);
    for (size_t i = 0; i < targets.count; i++)
        QN_ASSERT(target[i] < vocab);
}

void qn_check_update(const struct qn_update *u, struct qn_tensor w,
                     struct qn_tensor g, struct qn_tensor m, struct qn_tensor v)
{
    qn_check_tensor(w, w.count);
    qn_check_tensor(g, w.count);
    if (u->kind == QN_ADAM || (u->kind == QN_SGD && u->momentum != 0.0))
        qn_check_tensor(m, w.count);
    if (u->kind != QN_SGD)
        qn_check_tensor(v, w.count);
    if (u->kind == QN_ADAM)
        QN_ASSERT(u->t >= 1);
}
