/* init.c - initial weights, a function of the key alone. */
#include "nn/init.h"

#include "base/assert.h"
#include "base/rng.h"

#include <math.h>

static void fill_uniform(float *w, size_t n, double range, uint64_t key)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = (float)(range * (2 * qn_rng_uniform(key, i) - 1));
    }
}

static void fill_normal(float *w, size_t n, double std, uint64_t key)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = (float)(std * qn_rng_normal(key, i));
    }
}

void qn_init_fill(const struct qn_init *init, float *w, int rows, int cols,
                  uint64_t key)
{
    QN_ASSERT(rows > 0 && cols > 0);
    size_t n = (size_t)rows * (size_t)cols;
    switch (init->kind) {
    case QN_INIT_UNIFORM:
        fill_uniform(w, n, init->range, key);
        break;
    case QN_INIT_NORMAL:
        fill_normal(w, n, init->std, key);
        break;
    case QN_INIT_GLOROT:
        fill_normal(w, n, sqrt(2.0 / ((double)rows + cols)), key);
        break;
    case QN_INIT_ORTHOGONAL:
        qn_backend_orthogonal(w, rows, cols, init->gain, key);
        break;
    }
}
