/* lookup.h - the product of a causal window whose rows are entries of a small
 * table, looked up instead of multiplied.
 *
 *     W x[t-n+1 .. t] = sum over taps j of P_j[id[t-n+1+j]],  P_j = E W_j^T
 *
 * where E [V, D] is the table. A model of characters multiplies a few dozen
 * vectors in its first layer, the same ones for thousands of rows. Back,
 *
 *     S_j[v] = sum of dy[t] over the rows whose tap j is v,
 *     dW_j += S_j^T E,   dE += sum over j of S_j W_j.
 *
 * Rows before the segment, which the window of its first n - 1 steps reads, are
 * of the table as it was: they are multiplied as they are, and get no gradient.
 */
#ifndef QN_BACKEND_CPU_LOOKUP_H
#define QN_BACKEND_CPU_LOOKUP_H

#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

struct qn_lookup {
    const struct qn_product *product; /* of all sequences from start to end;
                                       * borrowed once the work is open */
    int window;                       /* n, as the product's */
    int n_symbols;                    /* V; 0: nothing is looked up */
    const float *table;               /* [V, D] */
    const int32_t *ids;               /* [B, T]; negative: the zero vector */
    size_t pitch;                     /* floats of a row of P or S */
    float *products;                  /* P [n, V, pitch], forward */
    struct qn_partials sums;          /* S [n, V, pitch] of each slice, back */
};

/* Whether that is less work than the product of all rows, with no more memory
 * than a few times the weight. */
bool qn_lookup_pays(const struct qn_product *p, const struct qn_batch *batch,
                    int n_symbols);
/* Shapes only. The product's rows are whole (y_pitch 0) and all real. */
struct qn_lookup qn_lookup_of(const struct qn_product *p, int n_symbols,
                              int slices);
/* Floats of work for both ways, and of a task's for its blocks. */
size_t qn_lookup_work(const struct qn_lookup *l);
size_t qn_lookup_block_work(const struct qn_product *p,
                            const struct qn_batch *batch);
/* The product, where it stays, and the work. */
void qn_lookup_open(struct qn_lookup *l, const struct qn_product *p,
                    float *work);

/* Forward: make P, then y of each block with the block's work. */
void qn_lookup_prepare(struct qn_cpu *cpu, const struct qn_lookup *l);
void qn_lookup_forward(const struct qn_lookup *l, const struct qn_block *block,
                       float *work);

/* Back: clear a slice's sums, then take the rows of its blocks of y into them;
 * those of the history go to dw, as in qn_product_weight_grad. With a window of
 * 1 there is none, and dw may be NULL. */
void qn_lookup_clear(const struct qn_lookup *l, int slice);
void qn_lookup_take(const struct qn_lookup *l, int slice,
                    const struct qn_block *block, float *dw, float beta,
                    float *work);
/* After all blocks: add to the gradients of weight and table (absent: not
 * wanted). */
void qn_lookup_finish(struct qn_cpu *cpu, struct qn_lookup *l,
                      const struct qn_batch *batch, float *d_weight,
                      struct qn_tensor d_table);

#endif
