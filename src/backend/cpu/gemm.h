/* gemm.h - matrix products on the calling thread. */
#ifndef QN_BACKEND_CPU_GEMM_H
#define QN_BACKEND_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* C[m,n] = op(A)[m,k] op(B)[k,n] + beta C, row-major. A stands in memory as
 * [m, k], or as [k, m] when trans_a; B as [k, n], or as [n, k] when trans_b;
 * rows lda, ldb, ldc floats apart. With beta 0 C may hold anything; with k 0
 * the product is 0. */
struct qn_gemm {
    float *c;
    const float *a, *b;
    int m, n, k;
    size_t lda, ldb, ldc;
    bool trans_a, trans_b;
    float beta;
};

void qn_gemm(const struct qn_gemm *g);

/* Make the BLAS (and the LAPACK over it) run on its caller: threads are ours.
 */
void qn_gemm_one_thread(void);

#endif
