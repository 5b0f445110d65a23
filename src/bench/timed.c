/* timed.c - a backend that hands every operation to another one and notes how
 * long it took and what it had to do. */
#include "bench/timed.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

struct timed {
    struct qn_backend base;
    struct qn_backend *inner;
    struct qn_call *calls;
    int n, room;
    double start; /* of the operation that runs */
};

static struct timed *of(struct qn_backend *be)
{
    return (struct timed *)be;
}

/* The other backend, and its clock starts. */
static struct qn_backend *begin(struct qn_backend *be)
{
    struct timed *t = of(be);
    t->start = qn_clock_now();
    return t->inner;
}

static void note(struct qn_backend *be, const char *op, struct qn_work work)
{
    struct timed *t = of(be);
    double seconds = qn_clock_now() - t->start;
    if (t->n == t->room) {
        t->room = t->room > 0 ? 2 * t->room : 64;
        t->calls = qn_xrealloc(t->calls, (size_t)t->room, sizeof *t->calls);
    }
    t->calls[t->n++] = (struct qn_call){op, work, seconds};
}

/* --- memory and questions ----------------------------------------------- */

static void timed_free(struct qn_backend *be)
{
    qn_backend_free(of(be)->inner);
    free(of(be)->calls);
    free(be);
}

static struct qn_buffer *timed_alloc(struct qn_backend *be, size_t count)
{
    struct qn_backend *inner = of(be)->inner;
    return inner->ops->alloc(inner, count);
}

static void timed_release(struct qn_backend *be, struct qn_buffer *buffer)
{
    struct qn_backend *inner = of(be)->inner;
    inner->ops->release(inner, buffer);
}

static bool timed_reserve(struct qn_backend *be, size_t bytes)
{
    struct qn_backend *inner = of(be)->inner;
    return inner->ops->reserve(inner, bytes);
}

static size_t timed_qrnn_workspace(struct qn_backend *be,
                                   const struct qn_qrnn *l)
{
    struct qn_backend *inner = of(be)->inner;
    return inner->ops->qrnn_workspace(inner, l);
}

static size_t timed_lstm_workspace(struct qn_backend *be,
                                   const struct qn_lstm *l)
{
    struct qn_backend *inner = of(be)->inner;
    return inner->ops->lstm_workspace(inner, l);
}

static size_t timed_linear_workspace(struct qn_backend *be,
                                     const struct qn_seq *x, size_t vocab)
{
    struct qn_backend *inner = of(be)->inner;
    return inner->ops->linear_workspace(inner, x, vocab);
}

/* --- tensors and rows --------------------------------------------------- */

static void timed_write(struct qn_backend *be, struct qn_tensor dst,
                        const void *src)
{
    struct qn_backend *inner = begin(be);
    inner->ops->write(inner, dst, src);
    note(be, "write", qn_work_elements(dst.count, 2));
}

static enum qn_status timed_read(struct qn_backend *be, struct qn_tensor src,
                                 void *dst, struct qn_err *err)
{
    struct qn_backend *inner = begin(be);
    enum qn_status status = inner->ops->read(inner, src, dst, err);
    note(be, "read", qn_work_elements(src.count, 2));
    return status;
}

static void timed_fill(struct qn_backend *be, struct qn_tensor dst, float value)
{
    struct qn_backend *inner = begin(be);
    inner->ops->fill(inner, dst, value);
    note(be, "fill", qn_work_elements(dst.count, 1));
}

static void timed_copy(struct qn_backend *be, struct qn_tensor dst,
                       struct qn_tensor src)
{
    struct qn_backend *inner = begin(be);
    inner->ops->copy(inner, dst, src);
    note(be, "copy", qn_work_elements(dst.count, 2));
}

static void timed_combine(struct qn_backend *be, struct qn_tensor dst,
                          struct qn_tensor src, double a, double b)
{
    struct qn_backend *inner = begin(be);
    inner->ops->combine(inner, dst, src, a, b);
    int passes = 1 + (a != 0) + (b != 0);
    note(be, "combine", qn_work_elements(dst.count, passes));
}

static void timed_fill_seq(struct qn_backend *be, struct qn_seq dst,
                           float value)
{
    struct qn_backend *inner = begin(be);
    inner->ops->fill_seq(inner, dst, value);
    note(be, "fill_seq", qn_work_rows(&dst, dst.steps, 1));
}

static void timed_copy_seq(struct qn_backend *be, struct qn_seq dst,
                           struct qn_seq src)
{
    struct qn_backend *inner = begin(be);
    inner->ops->copy_seq(inner, dst, src);
    note(be, "copy_seq", qn_work_rows(&dst, dst.steps, 2));
}

static void timed_shift_history(struct qn_backend *be, struct qn_seq seq)
{
    struct qn_backend *inner = begin(be);
    inner->ops->shift_history(inner, seq);
    note(be, "shift_history", qn_work_rows(&seq, seq.history, 2));
}

static void timed_zero_history(struct qn_backend *be, struct qn_seq seq)
{
    struct qn_backend *inner = begin(be);
    inner->ops->zero_history(inner, seq);
    note(be, "zero_history", qn_work_rows(&seq, seq.history, 1));
}

static void timed_take_rows(struct qn_backend *be, struct qn_tensor dst,
                            struct qn_seq src, const int *row)
{
    struct qn_backend *inner = begin(be);
    inner->ops->take_rows(inner, dst, src, row);
    note(be, "take_rows", qn_work_rows(&src, 1, 2));
}

/* One row is read, all are written. */
static void timed_put_rows(struct qn_backend *be, struct qn_seq dst,
                           struct qn_tensor src, const int *row)
{
    struct qn_backend *inner = begin(be);
    inner->ops->put_rows(inner, dst, src, row);
    struct qn_work work = qn_work_rows(&dst, dst.steps, 1);
    work.bytes += qn_work_rows(&dst, 1, 1).bytes;
    note(be, "put_rows", work);
}

/* --- the network -------------------------------------------------------- */

static void timed_embed(struct qn_backend *be, struct qn_seq out,
                        struct qn_tensor table, struct qn_tensor ids,
                        const struct qn_dropout *dropout)
{
    struct qn_backend *inner = begin(be);
    inner->ops->embed(inner, out, table, ids, dropout);
    note(be, "embed", qn_work_embed(&out, table));
}

static void timed_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                             struct qn_seq d_out, struct qn_tensor ids,
                             const struct qn_dropout *dropout)
{
    struct qn_backend *inner = begin(be);
    inner->ops->embed_grad(inner, d_table, d_out, ids, dropout);
    note(be, "embed_grad", qn_work_embed_grad(&d_out, d_table));
}

static void timed_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    struct qn_backend *inner = begin(be);
    inner->ops->qrnn(inner, layer);
    note(be, "qrnn", qn_work_qrnn(layer));
}

static void timed_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                            const struct qn_qrnn_grad *grad)
{
    struct qn_backend *inner = begin(be);
    inner->ops->qrnn_grad(inner, layer, grad);
    note(be, "qrnn_grad", qn_work_qrnn_grad(layer, grad));
}

static void timed_lstm(struct qn_backend *be, const struct qn_lstm *layer)
{
    struct qn_backend *inner = begin(be);
    inner->ops->lstm(inner, layer);
    note(be, "lstm", qn_work_lstm(layer));
}

static void timed_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                            const struct qn_lstm_grad *grad)
{
    struct qn_backend *inner = begin(be);
    inner->ops->lstm_grad(inner, layer, grad);
    note(be, "lstm_grad", qn_work_lstm_grad(layer, grad));
}

static void timed_linear(struct qn_backend *be, struct qn_tensor y,
                         struct qn_seq x, struct qn_tensor weight,
                         struct qn_tensor bias)
{
    struct qn_backend *inner = begin(be);
    inner->ops->linear(inner, y, x, weight, bias);
    note(be, "linear", qn_work_linear(&x, y, weight, bias));
}

static void timed_linear_grad(struct qn_backend *be, struct qn_seq d_x,
                              struct qn_tensor d_weight,
                              struct qn_tensor d_bias, struct qn_tensor d_y,
                              struct qn_seq x, struct qn_tensor weight)
{
    struct qn_backend *inner = begin(be);
    inner->ops->linear_grad(inner, d_x, d_weight, d_bias, d_y, x, weight);
    note(be, "linear_grad", qn_work_linear_grad(&x, d_y, weight, d_bias));
}

static void timed_softmax_xent(struct qn_backend *be, struct qn_tensor logits,
                               struct qn_tensor targets, int vocab, float scale,
                               double floor)
{
    struct qn_backend *inner = begin(be);
    inner->ops->softmax_xent(inner, logits, targets, vocab, scale, floor);
    note(be, "softmax_xent", qn_work_xent(logits, targets, scale));
}

static void timed_sigmoid_xent(struct qn_backend *be, struct qn_tensor logits,
                               struct qn_tensor labels, float scale)
{
    struct qn_backend *inner = begin(be);
    inner->ops->sigmoid_xent(inner, logits, labels, scale);
    note(be, "sigmoid_xent", qn_work_xent(logits, labels, scale));
}

/* --- a step ------------------------------------------------------------- */

static void timed_step_begin(struct qn_backend *be)
{
    struct qn_backend *inner = begin(be);
    inner->ops->step_begin(inner);
    note(be, "step_begin", (struct qn_work){0});
}

static void timed_grad_norm(struct qn_backend *be, struct qn_tensor g)
{
    struct qn_backend *inner = begin(be);
    inner->ops->grad_norm(inner, g);
    note(be, "grad_norm", qn_work_elements(g.count, 1));
}

static void timed_update(struct qn_backend *be, const struct qn_update *u,
                         struct qn_tensor w, struct qn_tensor g,
                         struct qn_tensor m, struct qn_tensor v)
{
    struct qn_backend *inner = begin(be);
    inner->ops->update(inner, u, w, g, m, v);
    note(be, "update", qn_work_update(w, m, v));
}

static enum qn_status timed_step_end(struct qn_backend *be,
                                     struct qn_step_result *out,
                                     struct qn_err *err)
{
    struct qn_backend *inner = begin(be);
    enum qn_status status = inner->ops->step_end(inner, out, err);
    note(be, "step_end", (struct qn_work){0});
    return status;
}

static enum qn_status timed_count(struct qn_backend *be, struct qn_seq seq,
                                  struct qn_hist *h, struct qn_err *err)
{
    struct qn_backend *inner = begin(be);
    enum qn_status status = inner->ops->count(inner, seq, h, err);
    note(be, "count", qn_work_rows(&seq, seq.steps, 1));
    return status;
}

static enum qn_status timed_count_qrnn(struct qn_backend *be,
                                       const struct qn_qrnn *layer,
                                       enum qn_quantity what, const int *n_real,
                                       struct qn_hist *h, struct qn_err *err)
{
    struct qn_backend *inner = begin(be);
    enum qn_status status =
        inner->ops->count_qrnn(inner, layer, what, n_real, h, err);
    note(be, "count_qrnn", qn_work_rows(&layer->out, layer->out.steps, 1));
    return status;
}

static enum qn_status timed_count_lstm(struct qn_backend *be,
                                       const struct qn_lstm *layer,
                                       enum qn_quantity what, const int *n_real,
                                       struct qn_hist *h, struct qn_err *err)
{
    struct qn_backend *inner = begin(be);
    enum qn_status status =
        inner->ops->count_lstm(inner, layer, what, n_real, h, err);
    note(be, "count_lstm", qn_work_rows(&layer->out, layer->out.steps, 1));
    return status;
}

static const struct qn_backend_ops timed_ops = {
    .name = "timed",
    .free = timed_free,
    .alloc = timed_alloc,
    .release = timed_release,
    .reserve = timed_reserve,
    .write = timed_write,
    .read = timed_read,
    .fill = timed_fill,
    .copy = timed_copy,
    .combine = timed_combine,
    .fill_seq = timed_fill_seq,
    .copy_seq = timed_copy_seq,
    .shift_history = timed_shift_history,
    .zero_history = timed_zero_history,
    .take_rows = timed_take_rows,
    .put_rows = timed_put_rows,
    .embed = timed_embed,
    .embed_grad = timed_embed_grad,
    .qrnn = timed_qrnn,
    .qrnn_grad = timed_qrnn_grad,
    .qrnn_workspace = timed_qrnn_workspace,
    .lstm = timed_lstm,
    .lstm_grad = timed_lstm_grad,
    .lstm_workspace = timed_lstm_workspace,
    .linear = timed_linear,
    .linear_grad = timed_linear_grad,
    .linear_workspace = timed_linear_workspace,
    .softmax_xent = timed_softmax_xent,
    .sigmoid_xent = timed_sigmoid_xent,
    .step_begin = timed_step_begin,
    .grad_norm = timed_grad_norm,
    .update = timed_update,
    .step_end = timed_step_end,
    .count = timed_count,
    .count_qrnn = timed_count_qrnn,
    .count_lstm = timed_count_lstm,
};

/* --- what was noted ----------------------------------------------------- */

struct qn_backend *qn_timed_new(struct qn_backend *inner)
{
    struct timed *t = qn_xcalloc(1, sizeof *t);
    t->base.ops = &timed_ops;
    t->inner = inner;
    return &t->base;
}

void qn_timed_clear(struct qn_backend *timed)
{
    of(timed)->n = 0;
}

const struct qn_call *qn_timed_calls(const struct qn_backend *timed, int *n)
{
    const struct timed *t = (const struct timed *)timed;
    *n = t->n;
    return t->calls;
}
