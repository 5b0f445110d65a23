/* gemm.c - all that we ask of the BLAS; the one file that knows cblas.h. */
#include "backend/cpu/gemm.h"

#include "backend/private.h"

#include <cblas.h>
#include <limits.h>

void qn_gemm_one_thread(void)
{
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
}

const char *qn_backend_blas_kernel(void)
{
    return openblas_get_corename();
}

/* Row i times a matrix: without the packing of a full product, which would read
 * and write the matrix once more. */
static void one_row(const struct qn_gemm *g, size_t i)
{
    int rows = g->trans_b ? g->n : g->k;
    int cols = g->trans_b ? g->k : g->n;
    cblas_sgemv(CblasRowMajor, g->trans_b ? CblasNoTrans : CblasTrans, rows,
                cols, 1.0f, g->b, (int)g->ldb, g->a + i * g->lda, 1, g->beta,
                g->c + i * g->ldc, 1);
}

/* The BLAS takes distances as int. Rows of one step of a recurrence lie a whole
 * sequence apart, which may be more. */
static bool too_far_apart(const struct qn_gemm *g)
{
    return g->lda > INT_MAX || g->ldc > INT_MAX;
}

/* Not every BLAS looks at beta then. */
static void without_terms(const struct qn_gemm *g)
{
    for (size_t i = 0; i < (size_t)g->m; i++)
        for (size_t j = 0; j < (size_t)g->n; j++) {
            float *c = g->c + i * g->ldc + j;
            *c = g->beta == 0.0f ? 0.0f : g->beta * *c;
        }
}

void qn_gemm(const struct qn_gemm *g)
{
    if (g->k == 0) {
        without_terms(g);
        return;
    }
    if (!g->trans_a && (g->m == 1 || too_far_apart(g))) {
        for (int i = 0; i < g->m; i++)
            one_row(g, (size_t)i);
        return;
    }
    QN_ASSERT(!too_far_apart(g) && g->ldb <= INT_MAX);
    cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
                g->trans_b ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1.0f,
                g->a, (int)g->lda, g->b, (int)g->ldb, g->beta, g->c,
                (int)g->ldc);
}

struct sgemm_job {
    float *c;
    const float *a, *b;
    int m, n, k, parts;
};

static void sgemm_task(void *arg, int task)
{
    const struct sgemm_job *j = arg;
    int from = qn_split(j->m, j->parts, task);
    int rows = qn_split(j->m, j->parts, task + 1) - from;
    if (rows == 0)
        return;
    struct qn_gemm product = {
        .c = j->c + (size_t)from * (size_t)j->n,
        .a = j->a + (size_t)from * (size_t)j->k,
        .b = j->b,
        .m = rows,
        .n = j->n,
        .k = j->k,
        .lda = (size_t)j->k,
        .ldb = (size_t)j->n,
        .ldc = (size_t)j->n,
    };
    qn_gemm(&product);
}

void qn_backend_sgemm(struct qn_pool *pool, float *c, const float *a,
                      const float *b, int m, int n, int k)
{
    QN_ASSERT(m >= 1 && n >= 1 && k >= 1);
    qn_gemm_one_thread();
    int parts = pool ? qn_pool_size(pool) : 1;
    struct sgemm_job job = {c, a, b, m, n, k, parts};
    qn_pool_run(pool, parts, sgemm_task, &job);
}
