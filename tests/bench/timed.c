/* timed.c - a backend that looks on changes nothing. */
#include "bench/timed.h"

#include "bench/rig.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small.h"

static void every_operation_is_handed_on(void **state)
{
    (void)state;
    struct qn_backend *be = qn_timed_new(small_backend());
    /* The name, and then functions. */
    const char *table = (const char *)be->ops;
    size_t first = offsetof(struct qn_backend_ops, free);
    for (size_t at = first; at < sizeof *be->ops;
         at += sizeof(void (*)(void))) {
        void (*member)(void);
        memcpy(&member, table + at, sizeof member);
        if (member == NULL) {
            fail_msg("operation %zu is missing", (at - first) / sizeof member);
        }
    }
    qn_backend_free(be);
}

/* Weights after three steps; the caller frees them. */
static float *trained(struct qn_backend *be, const struct qn_shape *shape,
                      size_t *n)
{
    struct qn_rig rig;
    struct qn_err err;
    enum qn_status status =
        qn_rig_init(&rig, be, &shape->spec, shape->steps, &err);
    for (int i = 0; i < 3 && status == QN_OK; i++) {
        status = qn_rig_step(&rig, &err);
    }
    assert_int_equal(status, QN_OK);
    struct qn_tensor weights = qn_model_weights(rig.model);
    *n = weights.count;
    float *out = calloc(*n, sizeof *out);
    assert_non_null(out);
    assert_int_equal(be->ops->read(be, weights, out, &err), QN_OK);
    qn_rig_fini(&rig);
    return out;
}

static void training_through_it_is_the_same(void **state)
{
    (void)state;
    const char *const presets[] = {
        "ptb-char/drelu-2x250", "ptb-word/lstm-650", "ptb-word/tanh-200",
        "sentiment/dc-drelu-200", "sentiment/lstm-256"};
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        struct qn_shape shape = small_shape(presets[i], NULL);
        size_t n, m;
        float *plain = trained(small_backend(), &shape, &n);
        float *timed = trained(qn_timed_new(small_backend()), &shape, &m);
        assert_int_equal(n, m);
        assert_memory_equal(plain, timed, n * sizeof *plain);
        free(plain);
        free(timed);
    }
}

static int n_of(const struct qn_call *calls, int n, const char *op)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        found += strcmp(calls[i].op, op) == 0;
    }
    return found;
}

static void a_step_is_noted_in_its_order(void **state)
{
    (void)state;
    struct qn_shape shape = small_shape("ptb-char/drelu-2x250", NULL);
    struct qn_backend *be = qn_timed_new(small_backend());
    struct qn_rig rig;
    struct qn_err err;
    int n;
    assert_int_equal(qn_rig_init(&rig, be, &shape.spec, shape.steps, &err),
                     QN_OK);
    assert_int_equal(qn_rig_step(&rig, &err), QN_OK);
    qn_timed_clear(be);
    assert_int_equal(qn_rig_step(&rig, &err), QN_OK);
    const struct qn_call *calls = qn_timed_calls(be, &n);
    assert_string_equal(calls[0].op, "step_begin");
    assert_string_equal(calls[n - 1].op, "step_end");
    assert_int_equal(n_of(calls, n, "qrnn"), 2);
    assert_int_equal(n_of(calls, n, "qrnn_grad"), 2);
    assert_int_equal(n_of(calls, n, "softmax_xent"), 1);
    assert_int_equal(n_of(calls, n, "alloc"), 0);
    for (int i = 0; i < n; i++) {
        assert_true(calls[i].seconds >= 0);
        if (strcmp(calls[i].op, "linear") == 0) {
            assert_string_equal(calls[i].work.of, "8 to 49");
            assert_true(calls[i].work.flops == 2 * 15 * 8 * 49);
        }
    }
    qn_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_handed_on),
        cmocka_unit_test(training_through_it_is_the_same),
        cmocka_unit_test(a_step_is_noted_in_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
