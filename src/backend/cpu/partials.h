/* partials.h - gradients of weight and bias, slice by slice, then added in
 * order. */
#ifndef QN_BACKEND_CPU_PARTIALS_H
#define QN_BACKEND_CPU_PARTIALS_H

#include "backend/cpu/blocks.h"
#include "backend/cpu/cpu.h"

struct qn_partials {
    float *d_weight, *d_bias; /* the sums: added to */
    size_t n_weight, n_bias;  /* n_bias 0: no bias */
    int slices;
    float *weights; /* [slices - 1, n_weight]: slice 0 adds to the sum */
    float *biases;  /* [slices, n_bias] */
};

/* Floats of work for them, by their shapes. */
size_t qn_partials_work(const struct qn_partials *p);
/* Set weights and biases into the work and clear the biases. */
void qn_partials_open(struct qn_partials *p, float *work);

/* Where block i of a slice accumulates dW, and the beta to do it with. */
float *qn_partials_weight(const struct qn_partials *p, int slice, int i,
                          float *beta);
float *qn_partials_bias(const struct qn_partials *p, int part);

/* Add all to the sums: slices without a block have no weights. */
void qn_partials_add(struct qn_cpu *cpu, const struct qn_partials *p,
                     const struct qn_batch *batch);

#endif
