/* product.h - one product of matrices by the machine's own BLAS, over and over:
 * what training is measured against. */
#ifndef QN_BENCH_PRODUCT_H
#define QN_BENCH_PRODUCT_H

#include "base/pool.h"
#include "nn/spec.h"

#include <stddef.h>

struct qn_product {
    int m, n, k; /* [m, k] by [k, n] */
    float *a, *b, *c;
};

/* The size of a network's own: all rows of a step by 4 H x 2 H. QN_ENOMEM with
 * what it takes when there is not as much; fini in any case. */
enum qn_status qn_product_init(struct qn_product *p, const struct qn_spec *spec,
                               int steps, struct qn_err *err);
void qn_product_fini(struct qn_product *p);
/* The bytes of one, SIZE_MAX when no machine has so many. */
size_t qn_product_size(const struct qn_spec *spec, int steps);

/* Make it once over all threads of the pool; the seconds it took. */
double qn_product_run(struct qn_product *p, struct qn_pool *pool);
double qn_product_flops(const struct qn_product *p);

#endif
