/* measure.c - figures hang together, whatever the clock says. */
#include "bench/measure.h"

#include "bench/flops.h"
#include "bench/ops.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small.h"

static bool same(double a, double b)
{
    return fabs(a / b - 1) < 1e-9;
}

static void check_figures(const struct qn_shape *s, int vocab)
{
    double flops = qn_flops_per_token(&s->spec, vocab);
    assert_true(s->tokens_per_s > 0);
    assert_true(same(s->model_gflops, flops * s->tokens_per_s / 1e9));
    assert_true(s->ratio > 0);
    assert_true(s->step_spread >= 1);
    assert_true(s->product_spread >= 1);
}

static void measure(struct qn_shape *shapes, int n, struct qn_turns turns)
{
    struct qn_pool *pool = qn_pool_new(2);
    struct qn_bench_env env = {.pool = pool, .backend = "cpu"};
    struct qn_err err;
    if (qn_measure_shapes(&env, shapes, n, &turns, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_pool_free(pool);
}

static void speeds_are_those_of_the_best_times(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("ptb-char/drelu-2x250", NULL);
    struct qn_times step = {0}, product = {0};
    const double steps[] = {0.3, 0.25, 0.5};
    for (int i = 0; i < 3; i++) {
        qn_times_add(&step, steps[i]);
        qn_times_add(&product, 2 * steps[i]);
    }
    qn_shape_conclude(&s, &step, &product, 4e9);
    assert_true(s.tokens_per_s == 15 / 0.25);
    assert_true(same(s.sgemm_gflops, 4e9 / 0.5 / 1e9));
    assert_true(same(s.step_spread, 1.2) && same(s.product_spread, 1.2));
    assert_true(same(s.ratio, s.model_gflops / s.sgemm_gflops));
    check_figures(&s, 49);
    qn_times_free(&step);
    qn_times_free(&product);
}

/* A machine that is twice as fast for a turn, and a product that was disturbed.
 */
static void the_ratio_is_of_what_happened_at_the_same_time(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("ptb-char/drelu-2x250", NULL);
    struct qn_times step = {0}, product = {0};
    const double steps[] = {0.4, 0.2, 0.4, 0.4, 0.2};
    const double products[] = {0.1, 0.05, 0.3, 0.1, 0.05};
    for (int i = 0; i < 5; i++) {
        qn_times_add(&step, steps[i]);
        qn_times_add(&product, products[i]);
    }
    qn_shape_conclude(&s, &step, &product, 4e9);
    double flops = 15 * qn_flops_per_token(&s.spec, 49);
    assert_true(same(s.ratio, flops / 0.4 / (4e9 / 0.1)));
    qn_times_free(&step);
    qn_times_free(&product);
}

static void shapes_that_take_turns_share_a_product(void **state)
{
    (void)state;
    const char *const larger[] = {"model.hidden=16", NULL};
    struct qn_shape shapes[] = {small_shape("demo", NULL),
                                small_shape("demo", larger)};
    measure(shapes, 2, (struct qn_turns){2, 1, true});
    check_figures(&shapes[0], 50);
    check_figures(&shapes[1], 50);
    assert_true(shapes[0].sgemm_gflops == shapes[1].sgemm_gflops);
}

static void shapes_may_have_workers_of_their_own(void **state)
{
    (void)state;
    struct qn_shape shapes[] = {small_shape("demo", NULL),
                                small_shape("sentiment/lstm-256", NULL)};
    shapes[0].workers = 1;
    shapes[1].workers = 3;
    measure(shapes, 2, (struct qn_turns){3, 2, false});
    check_figures(&shapes[0], 50);
    check_figures(&shapes[1], 50);
}

static void the_range_is_of_the_fastest(void **state)
{
    (void)state;
    struct qn_shape shapes[] = {{.tokens_per_s = 8, .ratio = 0.9},
                                {.tokens_per_s = 10, .ratio = 0.81},
                                {.tokens_per_s = 9, .ratio = 0.85}};
    assert_true(same(qn_shapes_range(shapes, 3).speed, 0.2));
    assert_true(same(qn_shapes_range(shapes, 3).ratio, 0.1));
    assert_true(qn_shapes_range(shapes, 1).speed == 0);
}

/* Asked before a shape is set up and before each of its stretches. */
struct patience {
    int left;
};

static bool go_on_while_patient(void *arg, int64_t done, int64_t all)
{
    struct patience *p = arg;
    assert_true(done >= 0 && done < all);
    return p->left-- > 0;
}

static void measure_until(struct qn_shape *shapes, int n, bool together,
                          int questions)
{
    struct patience patience = {questions};
    struct qn_bench_env env = {
        .backend = "cpu", .go_on = go_on_while_patient, .go_on_arg = &patience};
    struct qn_turns turns = {2, 1, together};
    struct qn_err err;
    assert_int_equal(qn_measure_shapes(&env, shapes, n, &turns, &err),
                     QN_ESTOPPED);
    assert_string_equal(err.text, "stopped on request");
    assert_int_equal(patience.left, -1);
}

static void what_had_a_turn_before_a_stop_has_figures(void **state)
{
    (void)state;
    /* Questions answered yes, and the shapes that had a turn by then: one after
     * the other, and together. */
    static const int apart[][2] = {{0, 0}, {1, 0}, {2, 1}, {4, 1}, {5, 2}};
    static const int turns[][2] = {{1, 0}, {2, 0}, {3, 1}, {4, 2}, {5, 2}};
    for (int i = 0; i < 10; i++) {
        const int *line = i < 5 ? apart[i] : turns[i - 5];
        struct qn_shape shapes[] = {small_shape("demo", NULL),
                                    small_shape("demo", NULL)};
        measure_until(shapes, 2, i >= 5, line[0]);
        assert_int_equal(qn_shapes_measured(shapes, 2), line[1]);
        for (int k = 0; k < line[1]; k++) {
            assert_true(shapes[k].tokens_per_s > 0 && shapes[k].ratio > 0);
        }
    }
}

static void operations_before_a_stop_have_figures(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("demo", NULL);
    /* Asked before the set-up and two steps that do not count, too. */
    for (int questions = 0; questions < 6; questions++) {
        struct patience patience = {questions};
        struct qn_bench_env env = {.backend = "cpu",
                                   .go_on = go_on_while_patient,
                                   .go_on_arg = &patience};
        struct qn_ops ops;
        struct qn_err err;
        assert_int_equal(qn_measure_ops(&env, &s, 9, &ops, &err), QN_ESTOPPED);
        assert_string_equal(err.text, "stopped on request");
        assert_int_equal(ops.n_rows > 0, questions > 3);
        assert_int_equal(ops.shape.tokens_per_s > 0, questions > 3);
        qn_ops_free(&ops);
    }
}

/* Before anything of it is there, of the product neither. */
static void a_shape_without_room_is_named(void **state)
{
    (void)state;
    const char *const large[] = {"batch=100000", "model.hidden=8192", NULL};
    struct qn_shape shapes[] = {small_shape("demo", NULL),
                                small_shape("demo", large)};
    struct qn_bench_env env = {.pool = NULL, .backend = "cpu"};
    struct qn_turns turns = {2, 1, true};
    struct qn_ops ops;
    struct qn_err err;
    const char *const sentence = "demo, 100000 x 5: the run needs ";
    assert_int_equal(qn_measure_shapes(&env, shapes, 2, &turns, &err),
                     QN_ENOMEM);
    assert_ptr_equal(strstr(err.text, sentence), err.text);
    assert_int_equal(qn_measure_ops(&env, &shapes[1], 1, &ops, &err),
                     QN_ENOMEM);
    assert_ptr_equal(strstr(err.text, sentence), err.text);
    qn_ops_free(&ops);
}

static void room_is_asked_for_all_that_is_measured_with(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("demo", NULL);
    struct qn_bench_env env = {.pool = NULL, .backend = "cpu"};
    struct qn_err err;
    assert_int_equal(qn_shape_check(&env, &s, &s, 0, &err), QN_OK);
    assert_int_equal(qn_shape_check(&env, &s, &s, SIZE_MAX / 2, &err),
                     QN_ENOMEM);
    const char *const large[] = {"batch=100000", "model.hidden=8192", NULL};
    struct qn_shape product = small_shape("demo", large);
    assert_int_equal(qn_shape_check(&env, &s, &product, 0, &err), QN_ENOMEM);
}

static void a_shape_that_diverges_is_named(void **state)
{
    (void)state;
    const char *const wild[] = {"optim.kind=sgd", "optim.lr=1000",
                                "optim.clip_norm=none", NULL};
    struct qn_shape s = small_shape("demo", wild);
    struct qn_bench_env env = {.pool = NULL, .backend = "cpu"};
    struct qn_turns turns = {1000, 1, false};
    struct qn_ops ops;
    struct qn_err err;
    assert_int_equal(qn_measure_shapes(&env, &s, 1, &turns, &err), QN_ESTATE);
    assert_ptr_equal(strstr(err.text, "demo, 3 x 5: step "), err.text);
    assert_int_equal(qn_measure_ops(&env, &s, 1000, &ops, &err), QN_ESTATE);
    assert_ptr_equal(strstr(err.text, "demo, 3 x 5: step "), err.text);
    qn_ops_free(&ops);
}

static const struct qn_op_row *row_of(const struct qn_ops *ops, const char *op,
                                      const char *of)
{
    for (int i = 0; i < ops->n_rows; i++) {
        if (strcmp(ops->rows[i].op, op) == 0 &&
            strcmp(ops->rows[i].work.of, of) == 0) {
            return &ops->rows[i];
        }
    }
    fail_msg("no row of %s, %s", op, of);
    return NULL;
}

static void operations_and_the_rest_are_the_step(void **state)
{
    (void)state;
    const char *const deeper[] = {"model.layers=4", NULL};
    struct qn_shape s = small_shape("ptb-char/drelu-2x250", deeper);
    struct qn_bench_env env = {.pool = NULL, .backend = "cpu"};
    struct qn_ops ops;
    struct qn_err err;
    assert_int_equal(qn_measure_ops(&env, &s, 3, &ops, &err), QN_OK);
    check_figures(&ops.shape, 49);
    double sum = ops.rest;
    for (int i = 0; i < ops.n_rows; i++) {
        const struct qn_op_row *row = &ops.rows[i];
        sum += row->seconds;
        assert_true(row->best <= row->seconds);
        assert_true(row->calls >= 1);
    }
    assert_true(ops.rest >= 0);
    assert_true(same(sum, ops.step));
    assert_true(same(ops.step, 15 / ops.shape.tokens_per_s));
    assert_true(ops.triad_gb > 0 && ops.triad_spread >= 1);
    /* Layers of equal shape stand in one row. */
    assert_int_equal(row_of(&ops, "qrnn", "6 x 4 to 4 x 8")->calls, 1);
    const struct qn_op_row *later = row_of(&ops, "qrnn", "2 x 8 to 4 x 8");
    assert_int_equal(later->calls, 3);
    assert_true(later->work.flops == 3 * 2 * 15 * 32 * 16);
    assert_true(
        same(qn_op_gflops(later), later->work.flops / later->best / 1e9));
    assert_true(same(qn_op_gb(later), later->work.bytes / later->best / 1e9));
    assert_true(qn_op_gflops(row_of(&ops, "step_begin", "")) == 0);
    qn_ops_free(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_are_those_of_the_best_times),
        cmocka_unit_test(the_ratio_is_of_what_happened_at_the_same_time),
        cmocka_unit_test(shapes_that_take_turns_share_a_product),
        cmocka_unit_test(shapes_may_have_workers_of_their_own),
        cmocka_unit_test(the_range_is_of_the_fastest),
        cmocka_unit_test(what_had_a_turn_before_a_stop_has_figures),
        cmocka_unit_test(operations_before_a_stop_have_figures),
        cmocka_unit_test(a_shape_without_room_is_named),
        cmocka_unit_test(room_is_asked_for_all_that_is_measured_with),
        cmocka_unit_test(a_shape_that_diverges_is_named),
        cmocka_unit_test(operations_and_the_rest_are_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
