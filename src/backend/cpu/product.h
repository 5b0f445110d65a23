/* product.h - the product of a causal window with a weight, block by block.
 *
 *     y[b, t] = W x[b, t-n+1 .. t] + bias[(bias_first + t) mod bias_steps]
 *
 * with W [outputs, n, D] and bias [bias_steps, outputs], or none.
 *
 * The windows of a block are copied into a matrix [rows, n*D] first: the copy
 * stays in the cache and costs a hundredth of the product, and what follows is
 * one full-size call of the BLAS, which packs W once. (Without the copy, rows n
 * apart give n calls, each packing W.) With n = 1 and rows at one distance x is
 * that matrix as it is.
 *
 * Where sequences end before their last step (n_real), rows of y behind the end
 * are unspecified forward, must be 0 backward when a block has several
 * sequences, and are not read else; those of x are never read.
 *
 * A decoder is the same with n = 1. */
#ifndef QN_BACKEND_CPU_PRODUCT_H
#define QN_BACKEND_CPU_PRODUCT_H

#include "backend/cpu/blocks.h"
#include "backend/cpu/cpu.h"

struct qn_product {
    const struct qn_kernels *kernels;
    struct qn_seq x;
    const int *n_real; /* real steps of each sequence; NULL: all */
    int window;
    size_t outputs;
    const float *weight;
    const float *bias;          /* NULL: none */
    int bias_steps, bias_first; /* bias_steps 0 or 1: one for all steps */
    float *y;       /* [B, T, outputs]; on the way back its gradient */
    size_t y_pitch; /* floats from row to row of y; 0: outputs */
};

/* Floats in a window: n * D. */
static inline size_t qn_product_window(const struct qn_product *p)
{
    return (size_t)p->window * (size_t)p->x.width;
}

/* Floats of work that a block of this many rows takes. */
size_t qn_product_work(const struct qn_product *p, int rows);

/* Where the bias of step t begins, in elements. */
size_t qn_product_bias_at(const struct qn_product *p, int t);

/* y = the bias, or 0: what a product is added to. */
void qn_product_begin(const struct qn_product *p, const struct qn_block *block);
/* y = the product and the bias, in the rows of the block. */
void qn_product_forward(const struct qn_product *p,
                        const struct qn_block *block, float *work);
/* dw = beta dw + the block's share of the weight's gradient. */
void qn_product_weight_grad(const struct qn_product *p,
                            const struct qn_block *block, float *dw, float beta,
                            float *work);
/* d_x of the block's rows = the gradient, or += when add; 0, or as it was, in
 * rows that are not real. Narrower than x it is of the last columns. It reads y
 * of the block and of the n - 1 steps after it. */
void qn_product_input_grad(const struct qn_product *p,
                           const struct qn_block *block,
                           const struct qn_seq *d_x, bool add, float *work);
/* d_x = 0 in rows of the block behind the end of their sequence. */
void qn_product_clear_masked(const struct qn_product *p,
                             const struct qn_block *block,
                             const struct qn_seq *d_x);

#endif
