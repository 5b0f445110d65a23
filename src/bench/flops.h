/* flops.h - the products that a network cannot do without. */
#ifndef QN_BENCH_FLOPS_H
#define QN_BENCH_FLOPS_H

#include "nn/spec.h"

/* Operations of one token in training: 6 for each parameter, 2 forward and 4
 * backward. The embedding is looked up, not multiplied; of the biases of all
 * steps a token meets one. Weights above word vectors that are not trained make
 * 4: nobody wants the gradient of their inputs. */
double qn_flops_per_token(const struct qn_spec *spec, int vocab);

#endif
