/* init.h - initial weights: the four initialisers, on the host. */
#ifndef QN_NN_INIT_H
#define QN_NN_INIT_H

#include "nn/spec.h"

#include <stddef.h>

struct qn_init {
    enum qn_init_kind kind;
    double std, range, gain;
};

/* Fill a weight [rows, cols], cols = fan-in, from the key:
 *   uniform     U(-range, range)
 *   normal      N(0, std^2)
 *   glorot      N(0, 2 / (rows + cols)) (Glorot & Bengio 2010), as gain 1
 *   orthogonal  orthonormal rows or columns times gain (Saxe et al. 2014)
 * A stacked weight of several gates is filled gate by gate. */
void qn_init_fill(const struct qn_init *init, float *w, int rows, int cols,
                  uint64_t key);

#endif
