/* product.c - one product of matrices by the machine's own BLAS. */
#include "bench/product.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

/* Small whole numbers around 0. */
static float *make_matrix(int rows, int cols, size_t period)
{
    size_t n = (size_t)rows * (size_t)cols;
    float *x = qn_xcalloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(i % period) - (float)(period / 2);
    }
    return x;
}

void qn_product_init(struct qn_product *p, const struct qn_spec *spec,
                     int steps)
{
    p->m = spec->batch * steps;
    p->n = 4 * spec->model.hidden;
    p->k = 2 * spec->model.hidden;
    p->a = make_matrix(p->m, p->k, 7);
    p->b = make_matrix(p->k, p->n, 5);
    p->c = make_matrix(p->m, p->n, 1);
}

void qn_product_fini(struct qn_product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    *p = (struct qn_product){0};
}

double qn_product_run(struct qn_product *p, struct qn_pool *pool)
{
    double start = qn_clock_now();
    qn_backend_sgemm(pool, p->c, p->a, p->b, p->m, p->n, p->k);
    return qn_clock_now() - start;
}

double qn_product_flops(const struct qn_product *p)
{
    return 2.0 * p->m * p->n * p->k;
}
