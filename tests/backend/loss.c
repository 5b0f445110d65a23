/* loss.c - cross-entropies on both backends: against ref, by their masks, at
 * their extremes. */
#include "place.h"
#include "base/mem.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

/* The golden bound. A sum of e^x in float parts of 256 rounds by at most 16
 * 2^-24 = 1e-6 relative, which is the error of its logarithm too. */
#define BOUND 2e-6

static const char *const backends[] = {"ref", "cpu"};

struct loss_run {
    float *logits; /* after */
    struct qn_step_result result;
};

static struct loss_run run(struct qn_backend *be, const float *logits,
                           const int32_t *target, int rows, int vocab,
                           float scale)
{
    struct loss_run r;
    size_t count = (size_t)rows * (size_t)vocab;
    struct qn_tensor x = place_tensor(be, logits, count);
    struct qn_tensor targets = place_tensor(be, target, (size_t)rows);
    be->ops->step_begin(be);
    be->ops->softmax_xent(be, x, targets, vocab, scale, 0.0);
    assert_int_equal(be->ops->step_end(be, &r.result, NULL), QN_OK);
    r.logits = place_read(be, x);
    place_free(be, x.buffer);
    place_free(be, targets.buffer);
    return r;
}

static void check_size(int rows, int vocab)
{
    size_t count = (size_t)rows * (size_t)vocab;
    float *logits = qn_xcalloc(count, sizeof *logits);
    int32_t *target = qn_xcalloc((size_t)rows, sizeof *target);
    qn_fill_normal(logits, count, 4.0, 7);
    for (int i = 0; i < rows; i++)
        target[i] = i % 4 == 3 ? -1 : i * 5 % vocab;
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    struct loss_run want = run(ref, logits, target, rows, vocab, 0.5f);
    qn_backend_free(ref);
    struct qn_pool *pool = qn_pool_new(3);
    for (int slices = 1; slices <= 3; slices++) {
        struct qn_backend *be = place_backend("cpu", pool, slices);
        struct loss_run got = run(be, logits, target, rows, vocab, 0.5f);
        assert_true(qn_max_error_f(got.logits, want.logits, count) <= BOUND);
        assert_true(fabs(got.result.loss_sum - want.result.loss_sum) <=
                    BOUND * (1.0 + want.result.loss_sum));
        assert_true(got.result.count == want.result.count);
        free(got.logits);
        qn_backend_free(be);
    }
    qn_pool_free(pool);
    free(want.logits);
    free(logits);
    free(target);
}

static void losses_and_gradients_agree_with_ref(void **state)
{
    (void)state;
    check_size(1, 1);
    check_size(1, 50);
    check_size(5, 17);
    check_size(10, 10000);
}

static void rows_without_a_target_count_for_nothing(void **state)
{
    (void)state;
    static const float logits[] = {1.0f, 2.0f, 3.0f, NAN, 5.0f, 6.0f};
    static const int32_t target[] = {1, -1};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 2);
        struct loss_run r = run(be, logits, target, 2, 3, 1.0f);
        assert_true(r.result.count == 1.0 && r.result.finite);
        for (int v = 3; v < 6; v++)
            assert_true(r.logits[v] == 0.0f);
        free(r.logits);
        qn_backend_free(be);
    }
}

static void without_scale_logits_stay(void **state)
{
    (void)state;
    static const float logits[] = {1.0f, 2.0f, 3.0f, -4.0f, 5.0f, 6.0f};
    static const int32_t target[] = {0, -1};
    double want = log(1.0 + exp(1.0) + exp(2.0));
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 2);
        struct loss_run r = run(be, logits, target, 2, 3, 0.0f);
        assert_memory_equal(r.logits, logits, sizeof logits);
        assert_true(fabs(r.result.loss_sum - want) <= BOUND);
        free(r.logits);
        qn_backend_free(be);
    }
}

static void large_logits_do_not_overflow(void **state)
{
    (void)state;
    static const float logits[] = {1e4f, -1e4f, 0.0f, -3e38f, 3e38f, 0.0f};
    static const int32_t target[] = {1, 1};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        struct loss_run r = run(be, logits, target, 2, 3, 1.0f);
        assert_true(r.result.finite);
        assert_true(r.result.loss_sum == 2e4);
        static const float want[] = {1.0f, -1.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int v = 0; v < 6; v++)
            assert_true(r.logits[v] == want[v]);
        free(r.logits);
        qn_backend_free(be);
    }
}

static void a_row_that_is_not_finite_shows_in_the_step(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY};
    static const int32_t target[] = {1};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            float logits[3] = {1.0f, 2.0f, bad[i]};
            struct qn_backend *be = place_backend(backends[k], NULL, 1);
            struct loss_run r = run(be, logits, target, 1, 3, 1.0f);
            assert_false(r.result.finite);
            free(r.logits);
            qn_backend_free(be);
        }
}

/* -log(p + floor), with p from logits whose softmax is 0.25 and 0.75; the
 * gradient is that without a floor. */
static void a_floor_is_added_to_the_probability(void **state)
{
    (void)state;
    const float logits[4] = {0.0f, logf(3.0f), 0.0f, logf(3.0f)};
    const int32_t target[2] = {0, -1};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        struct qn_tensor x = place_tensor(be, logits, 4);
        struct qn_tensor to = place_tensor(be, target, 2);
        struct qn_step_result r;
        be->ops->step_begin(be);
        be->ops->softmax_xent(be, x, to, 2, 1.0f, 0.25);
        assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
        assert_true(r.count == 1.0);
        assert_true(fabs(r.loss_sum - log(2.0)) <= BOUND);
        float *grad = place_read(be, x);
        assert_true(fabs((double)grad[0] + 0.75) <= BOUND);
        assert_true(fabs((double)grad[1] - 0.75) <= BOUND);
        assert_true(grad[2] == 0.0f && grad[3] == 0.0f);
        free(grad);
        place_free(be, x.buffer);
        place_free(be, to.buffer);
        qn_backend_free(be);
    }
}

static void a_negative_label_counts_for_nothing(void **state)
{
    (void)state;
    const float logits[3] = {0.0f, 5.0f, 0.0f};
    const int32_t label[3] = {1, -1, 0};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        struct qn_tensor x = place_tensor(be, logits, 3);
        struct qn_tensor to = place_tensor(be, label, 3);
        struct qn_step_result r;
        be->ops->step_begin(be);
        be->ops->sigmoid_xent(be, x, to, 1.0f);
        assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
        assert_true(r.count == 2.0);
        assert_true(fabs(r.loss_sum - 2.0 * log(2.0)) <= BOUND);
        float *grad = place_read(be, x);
        assert_true(grad[0] == -0.5f && grad[1] == 0.0f && grad[2] == 0.5f);
        free(grad);
        place_free(be, x.buffer);
        place_free(be, to.buffer);
        qn_backend_free(be);
    }
}

/* Logits of 0 predict 0; NaN predicts nothing and is never right; what carries
 * no label is neither right nor wrong. A new step begins with none. */
static void predictions_on_their_labels_side_are_correct(void **state)
{
    (void)state;
    const float logits[8] = {2.0f,  0.0f,   1e-30f, -3.0f,
                             -1.0f, 100.0f, 0.0f,   NAN};
    const int32_t label[8] = {1, 0, 1, 1, 0, -1, 0, 0};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        struct qn_tensor x = place_tensor(be, logits, 8);
        struct qn_tensor to = place_tensor(be, label, 8);
        struct qn_step_result r;
        be->ops->step_begin(be);
        be->ops->sigmoid_xent(be, x, to, 0.0f);
        be->ops->step_begin(be);
        be->ops->sigmoid_xent(be, qn_tensor_part(x, 0, 4),
                              qn_tensor_part(to, 0, 4), 0.0f);
        be->ops->sigmoid_xent(be, qn_tensor_part(x, 4, 4),
                              qn_tensor_part(to, 4, 4), 0.0f);
        assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
        assert_true(r.count == 7.0);
        assert_true(r.correct == 5.0);
        place_free(be, x.buffer);
        place_free(be, to.buffer);
        qn_backend_free(be);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_agree_with_ref),
        cmocka_unit_test(rows_without_a_target_count_for_nothing),
        cmocka_unit_test(without_scale_logits_stay),
        cmocka_unit_test(large_logits_do_not_overflow),
        cmocka_unit_test(a_row_that_is_not_finite_shows_in_the_step),
        cmocka_unit_test(a_floor_is_added_to_the_probability),
        cmocka_unit_test(a_negative_label_counts_for_nothing),
        cmocka_unit_test(predictions_on_their_labels_side_are_correct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
