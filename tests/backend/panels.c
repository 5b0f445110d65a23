/* panels.c - packed matrices: whatever the shape, the instruction set and the
 * share of the packing, the product is that of the matrix. */
#include "backend/cpu/panels.h"
#include "backend/private.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

/* Small whole numbers, whose sums are exact in any order. */
static float element(size_t i)
{
    return (float)(i * 7 % 11) - 5.0f;
}

static float *numbers(size_t count)
{
    float *x = qn_xcalloc(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = element(i);
    return x;
}

struct shape {
    int m, n, k;
    bool trans, add, bias; /* 'add' or 'bias' or neither */
    int parts;             /* the packing is shared by */
};

/* Distances that are not the widths. */
static size_t pitch_of(int width)
{
    return (size_t)width + 3;
}

static float *spoilt(size_t count)
{
    float *x = qn_xcalloc(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = NAN;
    return x;
}

/* Both factors come in two pieces, of which this is the first one's size. */
static int first_of(const struct shape *s)
{
    return s->k * 2 / 3;
}

static struct qn_panels packed(const struct qn_kernels *kernels,
                               const struct shape *s, const float *b)
{
    struct qn_panels p = {.kernels = kernels, .n = s->n, .k = s->k};
    size_t size = qn_panels_size(&p);
    p.data = spoilt(size); /* padding must be written, too */
    size_t ldb = pitch_of(s->trans ? s->k : s->n);
    int at = first_of(s);
    const float *second = b + (size_t)at * (s->trans ? 1 : ldb);
    for (int part = 0; part < s->parts; part++) {
        qn_panels_fill(&p, 0, at, b, ldb, s->trans, part, s->parts);
        qn_panels_fill(&p, at, s->k - at, second, ldb, s->trans, part,
                       s->parts);
    }
    return p;
}

static void take_rows(const struct qn_panels *p, float *rows, const float *a,
                      const struct shape *s)
{
    int at = first_of(s);
    size_t lda = pitch_of(s->k);
    qn_panels_take_rows(p, rows, 0, at, a, lda, s->m);
    qn_panels_take_rows(p, rows, at, s->k - at, a + at, lda, s->m);
}

static float expected(const struct shape *s, const float *a, const float *b,
                      int i, int j)
{
    size_t ldb = pitch_of(s->trans ? s->k : s->n);
    float sum = s->add ? 1.0f : 0.0f;
    sum += s->bias ? element((size_t)j) : 0.0f;
    for (int l = 0; l < s->k; l++) {
        size_t row = (size_t)(s->trans ? j : l);
        size_t column = (size_t)(s->trans ? l : j);
        sum +=
            a[(size_t)i * pitch_of(s->k) + (size_t)l] * b[row * ldb + column];
    }
    return sum;
}

/* Of the last panel of each stretch, beyond n. */
static void check_padding(const struct qn_panels *p)
{
    size_t width = p->kernels->panel;
    size_t n = (size_t)p->n;
    size_t columns = (n + width - 1) / width * width;
    size_t kept = n % width ? n % width : width;
    int stretches = (p->k + QN_PANELS_STRETCH - 1) / QN_PANELS_STRETCH;
    size_t end = 0;
    for (int s = 0; s < stretches; s++) {
        size_t rows = (size_t)(qn_split(p->k, stretches, s + 1) -
                               qn_split(p->k, stretches, s));
        end += rows * columns;
        for (size_t i = 1; i <= rows; i++)
            for (size_t j = kept; j < width; j++)
                assert_true(p->data[end - i * width + j] == 0.0f);
    }
}

static void check(const struct qn_kernels *kernels, const struct shape *s)
{
    size_t ldc = pitch_of(s->n);
    size_t count = (size_t)s->m * ldc;
    float *a = numbers((size_t)s->m * pitch_of(s->k));
    float *b = numbers(s->trans ? (size_t)s->n * pitch_of(s->k)
                                : (size_t)s->k * pitch_of(s->n));
    float *c = qn_xcalloc(count, sizeof *c);
    for (size_t i = 0; i < count; i++)
        c[i] = s->add || i % ldc >= (size_t)s->n ? 1.0f : NAN;
    struct qn_panels p = packed(kernels, s, b);
    check_padding(&p);
    float *rows = spoilt((size_t)s->m * (size_t)s->k);
    take_rows(&p, rows, a, s);
    float *bias = numbers((size_t)s->n);
    qn_panels_product(&p, c, ldc, rows, s->m, s->bias ? bias : NULL, s->add);
    free(bias);
    free(rows);
    for (int i = 0; i < s->m; i++) {
        for (int j = 0; j < s->n; j++)
            assert_true(c[(size_t)i * ldc + (size_t)j] ==
                        expected(s, a, b, i, j));
        for (size_t j = (size_t)s->n; j < ldc; j++)
            assert_true(c[(size_t)i * ldc + j] == 1.0f);
    }
    free(p.data);
    free(a);
    free(b);
    free(c);
}

static void with_all(void (*fn)(const struct qn_kernels *k))
{
    for (int i = 0; qn_kernels_at(i); i++)
        fn(qn_kernels_at(i));
}

static void all_heights(const struct qn_kernels *kernels)
{
    for (int m = 1; m <= 29; m++) {
        struct shape shape = {m, 40, 9, .trans = m % 2, .parts = 1};
        check(kernels, &shape);
        shape.add = true;
        check(kernels, &shape);
        shape.add = false;
        shape.bias = true;
        check(kernels, &shape);
    }
}

static void a_product_has_any_number_of_rows(void **state)
{
    (void)state;
    with_all(all_heights);
}

static void very_many_rows(const struct qn_kernels *kernels)
{
    struct shape shape = {200000, 2, 1, .parts = 1};
    check(kernels, &shape);
}

/* So many that rows times tiles are more than an int holds. */
static void a_product_has_very_many_rows(void **state)
{
    (void)state;
    with_all(very_many_rows);
}

static void all_widths(const struct qn_kernels *kernels)
{
    for (int n = 1; n <= 70; n++) {
        struct shape shape = {5,
                              n,
                              3,
                              .trans = n % 2,
                              .add = n % 3 == 0,
                              .bias = n % 3 == 1,
                              .parts = 1 + n % 4};
        check(kernels, &shape);
    }
}

static void the_last_panel_may_be_narrow(void **state)
{
    (void)state;
    with_all(all_widths);
}

static void long_sums(const struct qn_kernels *kernels)
{
    static const int k[] = {1,
                            600,
                            QN_PANELS_STRETCH - 1,
                            QN_PANELS_STRETCH,
                            QN_PANELS_STRETCH + 1,
                            2 * QN_PANELS_STRETCH + 52};
    for (size_t i = 0; i < sizeof k / sizeof k[0]; i++)
        for (int bits = 0; bits < 4; bits++) {
            struct shape shape = {
                7, 37, k[i], .trans = bits & 1, .add = bits & 2, .parts = 3};
            shape.bias = !shape.add;
            check(kernels, &shape);
        }
}

static void long_sums_go_in_stretches(void **state)
{
    (void)state;
    with_all(long_sums);
}

/* Bits, not nearly: a run must not depend on how sequences are dealt out. */
static void rows_alone(const struct qn_kernels *kernels)
{
    enum { M = 13, N = 50, K = QN_PANELS_STRETCH + 76 };
    struct shape shape = {M, N, K, .parts = 1};
    float *b = numbers((size_t)K * pitch_of(N));
    float *a = numbers((size_t)M * K);
    for (size_t i = 0; i < (size_t)M * K; i++)
        a[i] = sinf((float)i);
    struct qn_panels p = packed(kernels, &shape, b);
    float together[M * N];
    float alone[N];
    float *rows = spoilt((size_t)M * K);
    qn_panels_take_rows(&p, rows, 0, K, a, K, M);
    qn_panels_product(&p, together, N, rows, M, NULL, false);
    for (size_t i = 0; i < M; i++) {
        qn_panels_take_rows(&p, rows, 0, K, a + i * K, K, 1);
        qn_panels_product(&p, alone, N, rows, 1, NULL, false);
        assert_memory_equal(alone, together + i * N, sizeof alone);
    }
    free(rows);
    free(p.data);
    free(a);
    free(b);
}

static void a_row_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    with_all(rows_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_has_any_number_of_rows),
        cmocka_unit_test(a_product_has_very_many_rows),
        cmocka_unit_test(the_last_panel_may_be_narrow),
        cmocka_unit_test(long_sums_go_in_stretches),
        cmocka_unit_test(a_row_does_not_depend_on_its_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
