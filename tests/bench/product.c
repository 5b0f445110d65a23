/* product.c - what the machine is measured by does its whole work. */
#include "bench/product.h"

#include "bench/bandwidth.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small.h"

static double entry(const struct qn_product *p, int row, int col)
{
    double sum = 0;
    for (int i = 0; i < p->k; i++) {
        sum += (double)p->a[row * p->k + i] * (double)p->b[i * p->n + col];
    }
    return sum;
}

static void the_product_is_of_the_size_of_the_network(void **state)
{
    (void)state;
    struct qn_shape shape = small_shape("demo", NULL);
    struct qn_product p;
    struct qn_err err;
    assert_int_equal(qn_product_init(&p, &shape.spec, shape.steps, &err),
                     QN_OK);
    assert_int_equal(p.m, 15);
    assert_int_equal(p.n, 32);
    assert_int_equal(p.k, 16);
    assert_true(qn_product_flops(&p) == 2 * 15 * 32 * 16);
    assert_int_equal(qn_product_size(&shape.spec, shape.steps),
                     4 * (15 * 16 + 16 * 32 + 15 * 32));
    assert_true(qn_product_run(&p, NULL) >= 0);
    for (int row = 0; row < p.m; row++) {
        for (int col = 0; col < p.n; col++) {
            float made = p.c[row * p.n + col];
            assert_true(fabs(entry(&p, row, col) - (double)made) < 1e-3);
        }
    }
    qn_product_fini(&p);
}

/* 100,000 streams of 1,000 symbols are what no machine has room for; those of
 * 100,000 are more than BLAS counts. */
static void a_product_without_room_says_its_size(void **state)
{
    (void)state;
    const char *const settings[] = {"batch=100000", "model.hidden=8192", NULL};
    struct qn_shape shape = small_shape("demo", settings);
    for (int steps = 1000; steps <= 100000; steps *= 100) {
        struct qn_product p;
        struct qn_err err;
        assert_int_equal(qn_product_init(&p, &shape.spec, steps, &err),
                         QN_ENOMEM);
        assert_non_null(
            strstr(err.text, steps == 1000 ? "the product of 100000000 x 16384"
                                           : "of 10000000000 x 16384"));
        assert_non_null(strstr(err.text, steps == 1000 ? " 20 TB" : " 2.0 PB"));
        qn_product_fini(&p);
    }
}

static void the_triad_reaches_every_element(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct qn_pool *pool = qn_pool_new(threads);
        struct qn_triad t;
        assert_true(qn_triad_init(&t, 1001));
        assert_true(qn_triad_bytes(&t) == 12 * 1001);
        assert_true(qn_triad_run(&t, pool) >= 0);
        for (size_t i = 0; i < t.n; i++) {
            assert_true(t.a[i] == t.b[i] + 3 * t.c[i]);
        }
        assert_true(t.a[6] == 6 + 3 * 1);
        qn_triad_fini(&t);
        qn_pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_product_is_of_the_size_of_the_network),
        cmocka_unit_test(a_product_without_room_says_its_size),
        cmocka_unit_test(the_triad_reaches_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
