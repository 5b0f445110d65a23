/* gemm.c - products on the calling thread: both orders of either factor, what C
 * held before, and rows further apart than the BLAS can say. */
#include "backend/cpu/gemm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 5, K = 3, PITCH = 7 };

/* Element (i, j) of a matrix of small whole numbers, whose sums are exact. */
static float element(const float *x, bool trans, int i, int j)
{
    return trans ? x[j * PITCH + i] : x[i * PITCH + j];
}

static void check_product(int m, int terms, bool trans_a, bool trans_b,
                          float beta)
{
    float a[PITCH * PITCH];
    float b[PITCH * PITCH];
    float c[PITCH * PITCH];
    for (int i = 0; i < PITCH * PITCH; i++) {
        a[i] = (float)(i % 5 - 2);
        b[i] = (float)(i % 11 - 4);
        c[i] = beta == 0.0f ? NAN : (float)(i % 3);
    }
    struct qn_gemm product = {.c = c,
                              .a = a,
                              .b = b,
                              .m = m,
                              .n = N,
                              .k = terms,
                              .lda = PITCH,
                              .ldb = PITCH,
                              .ldc = PITCH,
                              .trans_a = trans_a,
                              .trans_b = trans_b,
                              .beta = beta};
    qn_gemm(&product);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < N; j++) {
            int at = i * PITCH + j;
            float sum = beta == 0.0f ? 0.0f : beta * (float)(at % 3);
            for (int k = 0; k < terms; k++)
                sum += element(a, trans_a, i, k) * element(b, trans_b, k, j);
            assert_true(c[at] == sum);
        }
}

static void one_row_and_several_are_exact_in_any_order(void **state)
{
    (void)state;
    for (int m = 1; m <= 4; m += 3)
        for (int bits = 0; bits < 8; bits++)
            for (int terms = 0; terms <= K; terms += K)
                check_product(m, terms, bits & 1, bits & 2,
                              bits & 4 ? 1.0f : 0.0f);
}

/* Floats of a file of holes, NULL where it cannot be had. */
static float *sparse(size_t count)
{
    void *p = MAP_FAILED;
    FILE *f = tmpfile();
    if (!f)
        return NULL;
    if (ftruncate(fileno(f), (off_t)(count * sizeof(float))) == 0)
        p = mmap(NULL, count * sizeof(float), PROT_READ | PROT_WRITE,
                 MAP_SHARED, fileno(f), 0);
    (void)fclose(f); /* the mapping stays */
    return p == MAP_FAILED ? NULL : p;
}

/* The states of one step of a long recurrence are. */
static void rows_may_lie_further_apart_than_an_int(void **state)
{
    (void)state;
    size_t pitch = (size_t)1 << 31;
    size_t count = pitch + K;
    float *a = sparse(count);
    float *c = sparse(count);
    const float b[2 * K] = {1, 2, 3, 4, 5, 6};
    if (!a || !c)
        skip();
    for (size_t k = 0; k < K; k++) {
        a[k] = (float)k + 1.0f;
        a[pitch + k] = (float)k + 4.0f;
    }
    c[0] = 1.0f;
    struct qn_gemm product = {.c = c,
                              .a = a,
                              .b = b,
                              .m = 2,
                              .n = 2,
                              .k = K,
                              .lda = pitch,
                              .ldb = K,
                              .ldc = pitch,
                              .trans_b = true,
                              .beta = 1.0f};
    qn_gemm(&product);
    assert_true(c[0] == 15.0f && c[1] == 32.0f);
    assert_true(c[pitch] == 32.0f && c[pitch + 1] == 77.0f);
    munmap(a, count * sizeof *a);
    munmap(c, count * sizeof *c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_and_several_are_exact_in_any_order),
        cmocka_unit_test(rows_may_lie_further_apart_than_an_int),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
