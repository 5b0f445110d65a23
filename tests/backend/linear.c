/* linear.c - the decoder of the cpu backend against ref. */
#include "place.h"
#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

/* Sums of up to 2250 products round by about sqrt(2250) 2^-24 = 2.8e-6 of the
 * largest. */
#define BOUND 3e-6

struct linear_case {
    int batch, steps, width, vocab, history, extra;
};

enum { Y, D_X, D_WEIGHT, D_BIAS, N_RESULTS };

struct linear_result {
    float *array[N_RESULTS];
    size_t count[N_RESULTS];
};

static struct qn_tensor normal(struct qn_backend *be, size_t n, uint64_t seed)
{
    float *x = qn_xcalloc(n, sizeof *x);
    qn_fill_normal(x, n, 1.0, seed);
    struct qn_tensor t = place_tensor(be, x, n);
    free(x);
    return t;
}

static struct qn_seq input(struct qn_backend *be, const struct linear_case *c)
{
    struct place_shape shape = {c->batch, c->steps, c->width, c->history,
                                c->extra};
    size_t n =
        (size_t)c->batch * (size_t)(c->steps + c->history) * (size_t)c->width;
    float *x = qn_xcalloc(n, sizeof *x);
    qn_fill_normal(x, n, 1.0, 1);
    struct qn_seq seq = place_seq(be, shape, x);
    free(x);
    return seq;
}

static struct linear_result run(struct qn_backend *be,
                                const struct linear_case *c)
{
    size_t rows = (size_t)c->batch * (size_t)c->steps;
    size_t vocab = (size_t)c->vocab;
    size_t width = (size_t)c->width;
    struct place_shape shape = {c->batch, c->steps, c->width, c->history,
                                c->extra};
    struct qn_seq x = input(be, c);
    struct qn_seq d_x = place_seq(be, shape, NULL);
    struct qn_tensor weight = normal(be, vocab * width, 2);
    struct qn_tensor bias = normal(be, vocab, 3);
    struct qn_tensor d_weight = normal(be, vocab * width, 4);
    struct qn_tensor d_bias = normal(be, vocab, 5);
    struct qn_tensor d_y = normal(be, rows * vocab, 6);
    struct qn_tensor y = place_tensor(be, NULL, rows * vocab);
    be->ops->linear(be, y, x, weight, bias);
    be->ops->linear_grad(be, d_x, d_weight, d_bias, d_y, x, weight);
    struct linear_result r = {
        {place_read(be, y), place_read_rows(be, &d_x), place_read(be, d_weight),
         place_read(be, d_bias)},
        {rows * vocab, rows * width, vocab * width, vocab}};
    struct qn_buffer *all[] = {x.buffer,        d_x.buffer,   weight.buffer,
                               bias.buffer,     d_y.buffer,   y.buffer,
                               d_weight.buffer, d_bias.buffer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        place_free(be, all[i]);
    return r;
}

static void free_result(struct linear_result *r)
{
    for (int i = 0; i < N_RESULTS; i++)
        free(r->array[i]);
}

static void check_case(struct linear_case c)
{
    static const char *const names[] = {"y", "d_x", "d_weight", "d_bias"};
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    struct linear_result want = run(ref, &c);
    qn_backend_free(ref);
    struct qn_pool *pool = qn_pool_new(3);
    for (int slices = 1; slices <= 3; slices++) {
        struct qn_backend *be = place_backend("cpu", pool, slices);
        struct linear_result got = run(be, &c);
        for (int i = 0; i < N_RESULTS; i++) {
            double error =
                qn_max_error_f(got.array[i], want.array[i], want.count[i]);
            if (!(error <= BOUND))
                fail_msg("%s is off by %g: B %d, T %d, D %d, V %d", names[i],
                         error, c.batch, c.steps, c.width, c.vocab);
        }
        free_result(&got);
        qn_backend_free(be);
    }
    qn_pool_free(pool);
    free_result(&want);
}

static void products_and_gradients_agree_with_ref(void **state)
{
    (void)state;
    check_case((struct linear_case){1, 1, 1, 1, 0, 0});
    check_case((struct linear_case){1, 1, 33, 17, 0, 0});
    check_case((struct linear_case){2, 5, 17, 33, 0, 0});
    check_case((struct linear_case){5, 3, 9, 50, 2, 4});
    check_case((struct linear_case){1, 1700, 5, 7, 1, 0});
    check_case((struct linear_case){150, 15, 6, 40, 0, 0});
    check_case((struct linear_case){150, 15, 6, 40, 1, 0});
    /* Outputs enough that workers share them. */
    check_case((struct linear_case){3, 5, 9, 773, 0, 0});
    check_case((struct linear_case){1, 1, 3, 2000, 1, 0});
    check_case((struct linear_case){40, 45, 6, 801, 1, 4});
    /* Of nine sequences a block of the whole has three, of a half four. */
    check_case((struct linear_case){9, 400, 9, 600, 1, 0});
}

static size_t workspace_of(struct qn_backend *be, const struct linear_case *c)
{
    struct qn_seq x = {.batch = c->batch, .steps = c->steps, .width = c->width};
    return be->ops->linear_workspace(be, &x, (size_t)c->vocab);
}

/* Windows are copied where sequences have a history in between. */
static void the_workspace_is_counted(void **state)
{
    (void)state;
    const struct linear_case cases[] = {
        {1, 1, 33, 17, 0, 0}, {5, 3, 9, 50, 2, 4}, {3, 4, 6, 10000, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int slices = 1; slices <= 3; slices++) {
            struct qn_backend *be = place_backend("cpu", NULL, slices);
            struct qn_cpu *cpu = (struct qn_cpu *)be;
            struct linear_result r = run(be, &cases[i]);
            assert_int_equal(workspace_of(be, &cases[i]),
                             cpu->work_count * sizeof(float));
            free_result(&r);
            qn_backend_free(be);
        }
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    assert_int_equal(workspace_of(ref, &cases[0]), 0);
    qn_backend_free(ref);
}

/* Split by outputs, 64 tasks take all rows, and 64 a 64th of them each. */
static void tasks_of_some_rows_have_work_for_these(void **state)
{
    (void)state;
    enum { SLICES = 64, STEPS = 25, WIDTH = 64, ROWS = SLICES * STEPS };
    struct linear_case c = {SLICES, STEPS, WIDTH, SLICES * 256, 0, 0};
    struct qn_backend *be = place_backend("cpu", NULL, SLICES);
    size_t shares = (size_t)SLICES * (ROWS * WIDTH + 256);
    size_t slices = (size_t)SLICES * STEPS * WIDTH;
    assert_int_equal(workspace_of(be, &c), (shares + slices) * sizeof(float));
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_gradients_agree_with_ref),
        cmocka_unit_test(the_workspace_is_counted),
        cmocka_unit_test(tasks_of_some_rows_have_work_for_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
