/* cpu.h - the cpu backend's own struct, workspace and operations.
 *
 * Work is split by the shapes alone, and the number of slices, into tasks that
 * each have their own scratch; partial sums are added in slice order. The
 * result depends on the number of slices, never on the threads that ran the
 * tasks. */
#ifndef QN_BACKEND_CPU_CPU_H
#define QN_BACKEND_CPU_CPU_H

#include "backend/cpu/kernels.h"
#include "backend/private.h"

struct qn_cpu {
    struct qn_host host;
    const struct qn_kernels *kernels;
    float *work; /* kept from call to call; grows to the largest request */
    size_t work_count;
};

/* Scratch of that many floats, contents undefined, valid until the next call;
 * NULL, and the failure remembered, when memory is out. */
float *qn_cpu_work(struct qn_cpu *cpu, size_t count);

/* Round up to whole cache lines, so that tasks do not share one. */
static inline size_t qn_lines(size_t floats)
{
    return (floats + 15) & ~(size_t)15;
}

void qn_cpu_qrnn(struct qn_backend *be, const struct qn_qrnn *layer);
void qn_cpu_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad);
size_t qn_cpu_qrnn_workspace(struct qn_backend *be, const struct qn_qrnn *l);

void qn_cpu_lstm(struct qn_backend *be, const struct qn_lstm *layer);
void qn_cpu_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad);
size_t qn_cpu_lstm_workspace(struct qn_backend *be, const struct qn_lstm *l);

void qn_cpu_linear(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias);
void qn_cpu_linear_grad(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight);
size_t qn_cpu_linear_workspace(struct qn_backend *be, const struct qn_seq *x,
                               size_t vocab);

void qn_cpu_embed(struct qn_backend *be, struct qn_seq out,
                  struct qn_tensor table, struct qn_tensor ids,
                  const struct qn_dropout *dropout);
void qn_cpu_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                       struct qn_seq d_out, struct qn_tensor ids,
                       const struct qn_dropout *dropout);
/* Of the embedding that a layer's x is, from d_x; absent: not wanted. */
void qn_cpu_table_grad(struct qn_backend *be, struct qn_tensor d_table,
                       const struct qn_seq *d_x, struct qn_tensor ids);

void qn_cpu_softmax_xent(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale,
                         double floor);

void qn_cpu_grad_norm(struct qn_backend *be, struct qn_tensor g);
void qn_cpu_update(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v);

#endif
