/* choice.c - backends by name, what a layer's blocks count, and the machine's
 * own product. */
#include "place.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void a_name_gives_its_backend(void **state)
{
    (void)state;
    static const char *const names[] = {"ref", "cpu"};
    for (int i = 0; i < 2; i++) {
        struct qn_backend *be = place_backend(names[i], NULL, 1);
        assert_string_equal(be->ops->name, names[i]);
        qn_backend_free(be);
    }
    qn_backend_free(NULL);
}

static void an_unknown_name_is_an_error_that_says_it(void **state)
{
    (void)state;
    struct qn_backend *be = NULL;
    struct qn_err err;
    assert_int_equal(qn_backend_new("abacus", NULL, 1, &be, &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "abacus"));
    assert_int_equal(qn_backend_new("cpu", NULL, 0, &be, &err), QN_EUSAGE);
    assert_null(be);
}

static void gate_blocks_follow_the_layer(void **state)
{
    (void)state;
    assert_int_equal(qn_n_candidates(QN_TANH), 1);
    assert_int_equal(qn_n_candidates(QN_DRELU), 2);
    assert_int_equal(qn_n_candidates(QN_DELU), 2);
    assert_int_equal(qn_n_gates(QN_RELU, QN_POOL_F), 2);
    assert_int_equal(qn_n_gates(QN_ELU, QN_POOL_FO), 3);
    assert_int_equal(qn_n_gates(QN_DELU, QN_POOL_IFO), 5);
}

/* Small whole numbers: every order of the sums is exact. */
static void the_product_is_right_on_any_pool(void **state)
{
    (void)state;
    enum { M = 5, N = 4, K = 3 };
    float a[M * K];
    float b[K * N];
    float c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    for (int threads = 0; threads <= 8; threads += 4) {
        struct qn_pool *pool = threads ? qn_pool_new(threads) : NULL;
        memset(c, 0, sizeof c);
        qn_backend_sgemm(pool, c, a, b, M, N, K);
        for (int i = 0; i < M * N; i++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++)
                sum += a[i / N * K + k] * b[k * N + i % N];
            assert_true(c[i] == sum);
        }
        qn_pool_free(pool);
    }
}

static void the_blas_names_its_kernel(void **state)
{
    (void)state;
    assert_true(strlen(qn_backend_blas_kernel()) > 0);
}

/* Honest bytes: at least the copy of one block's windows and one partial
 * gradient, and more slices take more. */
static void workspace_grows_with_slices(void **state)
{
    (void)state;
    struct qn_qrnn l = {.hidden = 20,
                        .window = 2,
                        .pooling = QN_POOL_FO,
                        .activation = QN_DRELU,
                        .x = {.batch = 8, .steps = 10, .width = 30}};
    size_t bytes[3];
    for (int slices = 1; slices <= 2; slices++) {
        struct qn_backend *be = place_backend("cpu", NULL, slices);
        bytes[slices] = be->ops->qrnn_workspace(be, &l);
        qn_backend_free(be);
    }
    assert_true(bytes[1] >= 8 * 10 * 60 * sizeof(float));
    assert_true(bytes[2] >= (8 * 10 * 60 + 80 * 60) * sizeof(float));
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    assert_int_equal(ref->ops->qrnn_workspace(ref, &l), 0);
    qn_backend_free(ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_gives_its_backend),
        cmocka_unit_test(an_unknown_name_is_an_error_that_says_it),
        cmocka_unit_test(gate_blocks_follow_the_layer),
        cmocka_unit_test(the_product_is_right_on_any_pool),
        cmocka_unit_test(the_blas_names_its_kernel),
        cmocka_unit_test(workspace_grows_with_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
