/* lapack.c - orthogonal matrices by LAPACK's QR, called as Fortran has it. */
#include "backend/cpu/gemm.h"
#include "backend/private.h"
#include "base/mem.h"

#include <stdlib.h>

/* OpenBLAS carries LAPACK, but not every distribution its C header. */
extern void sgeqrf_(const int *m, const int *n, float *a, const int *lda,
                    float *tau, float *work, const int *lwork, int *info);
extern void sorgqr_(const int *m, const int *n, const int *k, float *a,
                    const int *lda, const float *tau, float *work,
                    const int *lwork, int *info);

/* a [m, n], m >= n, column-major and full of normal numbers, becomes Q with
 * column j's sign changed by that of R[j,j]. */
static void orthonormal_columns(float *a, int m, int n)
{
    int info = 0;
    int lwork = n * 64; /* LAPACK's block size is at most 64 */
    float *work = qn_xmalloc((size_t)lwork * sizeof *work);
    float *tau = qn_xmalloc((size_t)n * sizeof *tau);
    float *sign = qn_xmalloc((size_t)n * sizeof *sign);

    sgeqrf_(&m, &n, a, &m, tau, work, &lwork, &info);
    QN_ASSERT(info == 0);
    for (int j = 0; j < n; j++)
        sign[j] = a[(size_t)j * (size_t)m + (size_t)j] < 0.0f ? -1.0f : 1.0f;
    sorgqr_(&m, &n, &n, a, &m, tau, work, &lwork, &info);
    QN_ASSERT(info == 0);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            a[(size_t)j * (size_t)m + (size_t)i] *= sign[j];
    free(work);
    free(tau);
    free(sign);
}

void qn_backend_orthogonal(float *w, int rows, int cols, double gain,
                           uint64_t key)
{
    QN_ASSERT(rows >= 1 && cols >= 1);
    qn_gemm_one_thread();
    int longer = rows > cols ? rows : cols;
    int shorter = rows > cols ? cols : rows;
    size_t count = (size_t)rows * (size_t)cols;
    float *q = qn_xmalloc(count * sizeof *q);
    for (size_t i = 0; i < count; i++)
        q[i] = (float)qn_rng_normal(key, i);
    orthonormal_columns(q, longer, shorter);

    /* A column of q is a row of w, or a column when w is the tall one. */
    size_t along = rows > cols ? (size_t)cols : 1;
    size_t across = rows > cols ? 1 : (size_t)cols;
    for (size_t j = 0; j < (size_t)shorter; j++)
        for (size_t i = 0; i < (size_t)longer; i++)
            w[j * across + i * along] =
                (float)(gain * (double)q[j * (size_t)longer + i]);
    free(q);
}
