/* embed.c - embeddings of the cpu backend against ref, and dropout's shares. */
#include "place.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

/* Sums of up to 60 rows a table entry round by about sqrt(60) 2^-24. */
#define BOUND 2e-6

struct embed_case {
    int batch, steps, width, vocab;
    double drop;
};

struct embed_result {
    float *out, *d_table;
};

static struct embed_result run(struct qn_backend *be,
                               const struct embed_case *c)
{
    size_t rows = (size_t)c->batch * (size_t)c->steps;
    size_t entries = (size_t)c->vocab * (size_t)c->width;
    size_t floats = rows * (size_t)c->width;
    int32_t *id = qn_xcalloc(rows, sizeof *id);
    for (size_t i = 0; i < rows; i++)
        id[i] = (int32_t)(i * 7 % (size_t)c->vocab);
    float *numbers = qn_xcalloc(entries + floats, sizeof *numbers);
    qn_fill_normal(numbers, entries + floats, 1.0, 4);
    struct place_shape shape = {c->batch, c->steps, c->width, 2, 3};
    struct place_shape bare = {c->batch, c->steps, c->width, 0, 1};
    struct qn_dropout drop = {.p = c->drop, .key = 11, .first_sample = 5};

    struct qn_tensor ids = place_tensor(be, id, rows);
    struct qn_tensor table = place_tensor(be, numbers, entries);
    struct qn_tensor d_table = place_tensor(be, numbers, entries);
    struct qn_seq out = place_seq(be, shape, NULL);
    struct qn_seq d_out = place_seq(be, bare, numbers + entries);
    const struct qn_dropout *dropout = c->drop > 0.0 ? &drop : NULL;
    be->ops->embed(be, out, table, ids, dropout);
    be->ops->embed_grad(be, d_table, d_out, ids, dropout);
    struct embed_result r = {place_read_rows(be, &out),
                             place_read(be, d_table)};
    place_free(be, ids.buffer);
    place_free(be, table.buffer);
    place_free(be, d_table.buffer);
    place_free(be, out.buffer);
    place_free(be, d_out.buffer);
    free(id);
    free(numbers);
    return r;
}

static void check_case(struct embed_case c)
{
    size_t floats = (size_t)c.batch * (size_t)c.steps * (size_t)c.width;
    size_t entries = (size_t)c.vocab * (size_t)c.width;
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    struct embed_result want = run(ref, &c);
    qn_backend_free(ref);
    struct qn_pool *pool = qn_pool_new(3);
    for (int slices = 1; slices <= 3; slices++) {
        struct qn_backend *be = place_backend("cpu", pool, slices);
        struct embed_result got = run(be, &c);
        assert_memory_equal(got.out, want.out, floats * sizeof(float));
        double error = qn_max_error_f(got.d_table, want.d_table, entries);
        if (!(error <= BOUND))
            fail_msg("d_table is off by %g", error);
        free(got.out);
        free(got.d_table);
        qn_backend_free(be);
    }
    qn_pool_free(pool);
    free(want.out);
    free(want.d_table);
}

static void rows_and_gradients_agree_with_ref(void **state)
{
    (void)state;
    check_case((struct embed_case){1, 1, 1, 1, 0.0});
    check_case((struct embed_case){1, 2, 33, 5, 0.5});
    check_case((struct embed_case){4, 15, 16, 1, 0.0});
    check_case((struct embed_case){5, 12, 50, 11, 0.3});
    check_case((struct embed_case){3, 7, 17, 1000, 0.1});
}

/* Of 64000 elements kept with chance 0.75, the share is within 4 standard
 * deviations (0.0017 each); kept ones are 4/3 of what they were. */
static void dropout_keeps_its_share_and_scales_it(void **state)
{
    (void)state;
    enum { ROWS = 640, WIDTH = 100 };
    static const int32_t id[ROWS];
    float ones[WIDTH];
    for (int j = 0; j < WIDTH; j++)
        ones[j] = 1.0f;
    struct qn_dropout drop = {.p = 0.25, .key = 3};
    struct place_shape shape = {ROWS / 10, 10, WIDTH, 0, 0};
    struct qn_backend *be = place_backend("cpu", NULL, 1);
    struct qn_tensor ids = place_tensor(be, id, ROWS);
    struct qn_tensor table = place_tensor(be, ones, WIDTH);
    struct qn_seq out = place_seq(be, shape, NULL);
    be->ops->embed(be, out, table, ids, &drop);
    float *got = place_read_rows(be, &out);
    int kept = 0;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        assert_true(got[i] == 0.0f || got[i] == (float)(1.0 / 0.75));
        kept += got[i] > 0.0f;
    }
    double share = (double)kept / (ROWS * WIDTH);
    assert_true(fabs(share - 0.75) < 4 * 0.0017);
    free(got);
    place_free(be, ids.buffer);
    place_free(be, table.buffer);
    place_free(be, out.buffer);
    qn_backend_free(be);
}

/* The batch as a whole and its second half alone drop the same elements. */
static void masks_follow_the_global_sample(void **state)
{
    (void)state;
    enum { WIDTH = 20, STEPS = 3 };
    static const int32_t id[2 * STEPS];
    float ones[WIDTH];
    for (int j = 0; j < WIDTH; j++)
        ones[j] = 1.0f;
    struct qn_backend *be = place_backend("cpu", NULL, 1);
    struct qn_tensor table = place_tensor(be, ones, WIDTH);
    struct qn_tensor ids = place_tensor(be, id, 2 * STEPS);
    struct qn_seq both =
        place_seq(be, (struct place_shape){2, STEPS, WIDTH, 0, 0}, NULL);
    struct qn_seq second =
        place_seq(be, (struct place_shape){1, STEPS, WIDTH, 0, 0}, NULL);
    struct qn_dropout drop = {.p = 0.5, .key = 8, .first_sample = 40};
    be->ops->embed(be, both, table, ids, &drop);
    drop.first_sample = 41;
    be->ops->embed(be, second, table, qn_tensor_part(ids, STEPS, STEPS), &drop);
    float *a = place_read_rows(be, &both);
    float *b = place_read_rows(be, &second);
    assert_memory_equal(a + STEPS * WIDTH, b, STEPS * WIDTH * sizeof *b);
    assert_memory_not_equal(a, b, STEPS * WIDTH * sizeof *b);
    free(a);
    free(b);
    place_free(be, table.buffer);
    place_free(be, ids.buffer);
    place_free(be, both.buffer);
    place_free(be, second.buffer);
    qn_backend_free(be);
}

/* Whatever dropout does and the gradient is there; the table is left as it was
 * but for the entry that is named. */
static void a_negative_id_is_zero_and_learns_nothing(void **state)
{
    (void)state;
    enum { WIDTH = 20, STEPS = 3, VOCAB = 2 };
    static const char *const backends[] = {"ref", "cpu"};
    const int32_t id[STEPS] = {-1, 1, -7};
    float ones[STEPS * WIDTH];
    for (int j = 0; j < STEPS * WIDTH; j++)
        ones[j] = j / WIDTH == 1 ? 1.0f : NAN;
    for (int k = 0; k < 4; k++) {
        struct qn_backend *be = place_backend(backends[k % 2], NULL, 2);
        struct qn_dropout drop = {.p = 0.5, .key = 8};
        struct place_shape shape = {1, STEPS, WIDTH, 0, 1};
        struct qn_tensor ids = place_tensor(be, id, STEPS);
        struct qn_tensor table = place_tensor(be, ones, VOCAB * WIDTH);
        struct qn_tensor d_table = place_tensor(be, NULL, VOCAB * WIDTH);
        struct qn_seq out = place_seq(be, shape, NULL);
        struct qn_seq d_out = place_seq(be, shape, ones);
        be->ops->embed(be, out, table, ids, k < 2 ? NULL : &drop);
        be->ops->embed_grad(be, d_table, d_out, ids, k < 2 ? NULL : &drop);
        float *y = place_read_rows(be, &out);
        float *d = place_read(be, d_table);
        for (int j = 0; j < WIDTH; j++) {
            assert_true(y[j] == 0.0f && y[2 * WIDTH + j] == 0.0f);
            assert_true(d[j] == 0.0f && d[WIDTH + j] == y[WIDTH + j]);
        }
        free(y);
        free(d);
        place_free(be, ids.buffer);
        place_free(be, table.buffer);
        place_free(be, d_table.buffer);
        place_free(be, out.buffer);
        place_free(be, d_out.buffer);
        qn_backend_free(be);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_gradients_agree_with_ref),
        cmocka_unit_test(dropout_keeps_its_share_and_scales_it),
        cmocka_unit_test(masks_follow_the_global_sample),
        cmocka_unit_test(a_negative_id_is_zero_and_learns_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
