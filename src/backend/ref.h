/* ref.h - the operations of the reference backend. */
#ifndef QN_BACKEND_REF_H
#define QN_BACKEND_REF_H

#include "backend/private.h"

#include <math.h>

/* Element j of a row after dropout; x is of no account where it is dropped. */
static inline double qn_ref_dropped(const struct qn_mask *mask, uint32_t row,
                                    size_t j, double x)
{
    if (!mask->on)
        return x;
    bool keep = qn_rng_bits(row, (uint32_t)j) >= mask->threshold;
    return keep ? x * (double)mask->scale : 0.0;
}

/* A gradient, or 0 where it is too small to be kept. */
static inline double qn_ref_settled(double gradient)
{
    return fabs(gradient) < (double)QN_GRAD_LEAST ? 0.0 : gradient;
}

static inline double qn_ref_sigmoid(double a)
{
    return 1.0 / (1.0 + exp(-a));
}

void qn_ref_qrnn(struct qn_backend *be, const struct qn_qrnn *layer);
void qn_ref_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad);

void qn_ref_lstm(struct qn_backend *be, const struct qn_lstm *layer);
void qn_ref_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad);

void qn_ref_embed(struct qn_backend *be, struct qn_seq out,
                  struct qn_tensor table, struct qn_tensor ids,
                  const struct qn_dropout *dropout);
void qn_ref_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                       struct qn_seq d_out, struct qn_tensor ids,
                       const struct qn_dropout *dropout);
/* Of the embedding that a layer's x is, from d_x; absent: not wanted. */
void qn_ref_table_grad(struct qn_backend *be, struct qn_tensor d_table,
                       const struct qn_seq *d_x, struct qn_tensor ids);
void qn_ref_linear(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias);
void qn_ref_linear_grad(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight);

void qn_ref_softmax_xent(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale,
                         double floor);
void qn_ref_grad_norm(struct qn_backend *be, struct qn_tensor g);
void qn_ref_update(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v);

#endif
