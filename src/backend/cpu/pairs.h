/* pairs.h - the product of a window of two, by pairs of steps, with three
 * products of half the rows in place of four.
 *
 *     y[0] = x[-1] B + x[0] A = (x[-1] - x[0]) B + x[0] (A + B)
 *     y[1] = x[0] B + x[1] A  = (x[1] - x[0]) A  + x[0] (A + B)
 *
 * with A = W_1^T and B = W_0^T, the taps of the weight. It is the minimal
 * filtering F(2, 2) of Winograd (Arithmetic Complexity of Computations, 1980),
 * used for layers of networks by Lavin & Gray (2016, arXiv:1509.09308). Back,
 * with dy for the gradient of y,
 *
 *     dB += (x[-1] - x[0])^T dy[0] + S,   dA += (x[1] - x[0])^T dy[1] + S,
 *     S = x[0]^T (dy[0] + dy[1]),
 *     dx[0]  = (dy[0] + dy[1]) (A + B)^T - dy[0] B^T - dy[1] A^T,
 *     dx[1]  = dy[1] A^T + dy[0] B^T of the next pair.
 *
 * All factors are 1 or -1: the rounding is about that of the plain product.
 * Steps pair up from the start of a block, which is even; the last of an odd
 * number has a partner of zeros. */
#ifndef QN_BACKEND_CPU_PAIRS_H
#define QN_BACKEND_CPU_PAIRS_H

#include "backend/cpu/product.h"

struct qn_pairs {
    const struct qn_product *product; /* borrowed once the work is open */
    size_t outputs, width;            /* of the product and its x */
    int slices;
    float *both;   /* A + B [outputs, width] */
    float *shared; /* S of each slice, as wide */
};

/* Whether a quarter of the products is more than the passes that it costs. */
bool qn_pairs_pay(const struct qn_product *p, const struct qn_batch *batch);
/* Shapes only. */
struct qn_pairs qn_pairs_of(const struct qn_product *p, int slices);
/* Floats of work of the job, and of a task's for its blocks, both ways. */
size_t qn_pairs_work(const struct qn_pairs *pairs);
size_t qn_pairs_block_work(const struct qn_product *p,
                           const struct qn_batch *batch);
/* The product, where it stays, and the work. */
void qn_pairs_open(struct qn_pairs *pairs, const struct qn_product *p,
                   float *work);

/* Before the blocks of either way: A + B. */
void qn_pairs_prepare(struct qn_cpu *cpu, const struct qn_pairs *pairs);

/* As qn_product_forward. */
void qn_pairs_forward(const struct qn_pairs *pairs,
                      const struct qn_block *block, float *work);

/* As qn_product_weight_grad and, with d_x, qn_product_input_grad. 'first' and
 * 'last' of the slice's blocks in the order they come: S is begun with the one
 * and added to dw with the other. */
struct qn_pairs_grad {
    int slice;
    bool first, last;
    float *dw;
    float beta;
    const struct qn_seq *d_x; /* NULL: not wanted */
    bool add;
};
void qn_pairs_grad(const struct qn_pairs *pairs, const struct qn_block *block,
                   const struct qn_pairs_grad *grad, float *work);

#endif
