/* product.c - one product of matrices by the machine's own BLAS. */
#include "bench/product.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/size.h"

#include <limits.h>
#include <stdlib.h>

static size_t rows_of(const struct qn_spec *spec, int steps)
{
    return (size_t)spec->batch * (size_t)steps;
}

size_t qn_product_size(const struct qn_spec *spec, int steps)
{
    size_t h = (size_t)spec->model.hidden;
    size_t of_rows = qn_size_mul(rows_of(spec, steps), 6 * h);
    return qn_size_mul(qn_size_add(of_rows, 8 * h * h), sizeof(float));
}

/* Small whole numbers around 0; NULL: no memory. */
static float *make_matrix(int rows, int cols, size_t period)
{
    size_t n = (size_t)rows * (size_t)cols;
    float *x = qn_try_big(n, sizeof *x);
    for (size_t i = 0; x != NULL && i < n; i++) {
        x[i] = (float)(i % period) - (float)(period / 2);
    }
    return x;
}

/* BLAS counts rows in an int. */
static bool make_matrices(struct qn_product *p, const struct qn_spec *spec,
                          int steps)
{
    if (rows_of(spec, steps) > INT_MAX ||
        qn_product_size(spec, steps) > qn_mem_available()) {
        return false;
    }
    p->m = spec->batch * steps;
    p->n = 4 * spec->model.hidden;
    p->k = 2 * spec->model.hidden;
    p->a = make_matrix(p->m, p->k, 7);
    p->b = make_matrix(p->k, p->n, 5);
    p->c = make_matrix(p->m, p->n, 1);
    return p->a != NULL && p->b != NULL && p->c != NULL;
}

enum qn_status qn_product_init(struct qn_product *p, const struct qn_spec *spec,
                               int steps, struct qn_err *err)
{
    char size[32];
    *p = (struct qn_product){0};
    if (make_matrices(p, spec, steps)) {
        return QN_OK;
    }
    return qn_fail(err, QN_ENOMEM,
                   "no memory for the product of %zu x %d by %d x %d, which "
                   "takes %s",
                   rows_of(spec, steps), 2 * spec->model.hidden,
                   2 * spec->model.hidden, 4 * spec->model.hidden,
                   qn_format_bytes(size, sizeof size,
                                   (double)qn_product_size(spec, steps)));
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
