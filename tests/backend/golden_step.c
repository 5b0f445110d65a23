/* golden_step.c - losses, optimisers and clipping of both backends against the
 * cases of tests/golden.
 *
 * The bound, QN_GOLDEN_BOUND, is stated with the cases: max |ours - stored| /
 * max |stored| over a tensor. */
#include "place.h"
#include "base/mem.h"
#include "support/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

/* Two slices, so that the cpu backend adds up partial sums. */
static const char *const backends[] = {"ref", "cpu"};
#define N_BACKENDS 2
#define SLICES 2

static void check_softmax(const char *backend)
{
    struct qn_golden *g = qn_golden_open("softmax_cross_entropy");
    int rows = qn_golden_dim(g, "logits", 0);
    int vocab = qn_golden_dim(g, "logits", 1);
    size_t count = qn_golden_count(g, "logits");
    const int32_t *labels = qn_golden_ids(g, "labels", QN_AS_STORED);
    const int32_t *mask = qn_golden_ids(g, "mask", QN_AS_STORED);
    int32_t *wanted = qn_xcalloc((size_t)rows, sizeof *wanted);
    int n = 0;
    for (int i = 0; i < rows; i++) {
        wanted[i] = mask[i] ? labels[i] : -1;
        n += mask[i];
    }
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor logits =
        place_tensor(be, qn_golden_floats(g, "logits", QN_AS_STORED), count);
    struct qn_tensor targets = place_tensor(be, wanted, (size_t)rows);
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->softmax_xent(be, logits, targets, vocab, (float)(1.0 / n), 0.0);
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    assert_true(r.count == (double)n);
    float loss = (float)(r.loss_sum / n);
    qn_golden_check(g, "loss", QN_AS_STORED, &loss);
    float *grad = place_read(be, logits);
    qn_golden_check(g, "grad.logits", QN_AS_STORED, grad);
    free(grad);
    free(wanted);
    place_free(be, logits.buffer);
    place_free(be, targets.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

/* Logits of the case above 0 where the label is 1, and at most 0 where it is 0.
 */
static double n_right(struct qn_golden *g)
{
    const float *logits = qn_golden_floats(g, "logits", QN_AS_STORED);
    const int32_t *labels = qn_golden_ids(g, "labels", QN_AS_STORED);
    int right = 0;
    for (size_t i = 0; i < qn_golden_count(g, "logits"); i++)
        right += (logits[i] > 0.0f) == (labels[i] == 1);
    return right;
}

/* The tails are as near to 0 as exp(-60): compared with the largest. */
static void check_binary(const char *backend)
{
    struct qn_golden *g = qn_golden_open("binary_cross_entropy");
    size_t n = qn_golden_count(g, "logits");
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor logits =
        place_tensor(be, qn_golden_floats(g, "logits", QN_AS_STORED), n);
    struct qn_tensor labels =
        place_tensor(be, qn_golden_ids(g, "labels", QN_AS_STORED), n);
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->sigmoid_xent(be, logits, labels, 0.0f);
    be->ops->sigmoid_xent(be, logits, labels, (float)(1.0 / (double)n));
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    assert_true(r.count == 2.0 * (double)n);
    assert_true(r.correct == 2.0 * n_right(g));
    float loss = (float)(r.loss_sum / r.count);
    qn_golden_check(g, "loss", QN_AS_STORED, &loss);
    float *grad = place_read(be, logits);
    qn_golden_check(g, "grad.logits", QN_AS_STORED, grad);
    free(grad);
    place_free(be, logits.buffer);
    place_free(be, labels.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void binary_cross_entropy_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_binary(backends[k]);
}

static void softmax_cross_entropy_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_softmax(backends[k]);
}

/* The numbers of an update that a case gives; the others are 0. */
static void read_update(const struct qn_golden *g, struct qn_update *u)
{
    u->lr = qn_golden_double(g, "lr");
    if (u->kind == QN_RMSPROP)
        u->rho = qn_golden_double(g, "rho");
    if (u->kind == QN_ADAM) {
        u->beta1 = qn_golden_double(g, "beta1");
        u->beta2 = qn_golden_double(g, "beta2");
    }
    if (u->kind != QN_SGD)
        u->eps = qn_golden_double(g, "eps");
}

/* Five updates from the stored gradients plus l2 times the parameters, each
 * compared. */
static void check_optimiser(const char *backend, const char *name,
                            struct qn_update u, double l2)
{
    struct qn_golden *g = qn_golden_open(name);
    int steps = qn_golden_dim(g, "grads", 0);
    size_t n = qn_golden_count(g, "start");
    const float *grads = qn_golden_floats(g, "grads", QN_AS_STORED);
    float *all = qn_xcalloc((size_t)steps * n, sizeof *all);
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor w =
        place_tensor(be, qn_golden_floats(g, "start", QN_AS_STORED), n);
    struct qn_tensor grad = place_tensor(be, NULL, n);
    struct qn_tensor m = place_tensor(be, NULL, n);
    struct qn_tensor v = place_tensor(be, NULL, n);
    read_update(g, &u);
    for (int k = 0; k < steps; k++) {
        u.t = k + 1;
        be->ops->write(be, grad, grads + (size_t)k * n);
        be->ops->step_begin(be);
        be->ops->combine(be, grad, w, l2, 1.0);
        be->ops->grad_norm(be, grad);
        be->ops->update(be, &u, w, grad, m, v);
        assert_int_equal(be->ops->read(be, w, all + (size_t)k * n, NULL),
                         QN_OK);
    }
    qn_golden_check(g, "params", QN_AS_STORED, all);
    free(all);
    place_free(be, w.buffer);
    place_free(be, grad.buffer);
    place_free(be, m.buffer);
    place_free(be, v.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void optimisers_agree_step_by_step(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++) {
        struct qn_update sgd = {.kind = QN_SGD};
        struct qn_update momentum = {.kind = QN_SGD, .momentum = 0.9};
        struct qn_update adam = {.kind = QN_ADAM};
        struct qn_update rmsprop = {.kind = QN_RMSPROP};
        struct qn_update inside = {.kind = QN_RMSPROP, .eps_inside = true};
        check_optimiser(backends[k], "optim_sgd", sgd, 0.0);
        check_optimiser(backends[k], "optim_sgd_l2", sgd, 0.01);
        check_optimiser(backends[k], "optim_sgd_momentum", momentum, 0.0);
        check_optimiser(backends[k], "optim_rmsprop", rmsprop, 0.0);
        check_optimiser(backends[k], "optim_rmsprop_eps", rmsprop, 0.0);
        check_optimiser(backends[k], "optim_rmsprop_inside", inside, 0.0);
        check_optimiser(backends[k], "optim_adam", adam, 0.0);
        check_optimiser(backends[k], "optim_adam_eps", adam, 0.0);
    }
}

/* SGD with rate -1 from 0 leaves the gradient that was used. */
static void check_clipping(const char *backend)
{
    struct qn_golden *g = qn_golden_open("clip_norm");
    size_t n = qn_golden_count(g, "grads");
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor w = place_tensor(be, NULL, n);
    struct qn_tensor grad =
        place_tensor(be, qn_golden_floats(g, "grads", QN_AS_STORED), n);
    struct qn_tensor none = {0};
    struct qn_update u = {.kind = QN_SGD,
                          .lr = -1.0,
                          .clip_norm = qn_golden_double(g, "max_norm")};
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->grad_norm(be, grad);
    be->ops->update(be, &u, w, grad, none, none);
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    float norm = (float)r.norm;
    qn_golden_check(g, "norm", QN_AS_STORED, &norm);
    float *used = place_read(be, w);
    qn_golden_check(g, "clipped", QN_AS_STORED, used);
    free(used);
    place_free(be, w.buffer);
    place_free(be, grad.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void clipping_by_norm_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_clipping(backends[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_cross_entropy_agrees),
        cmocka_unit_test(softmax_cross_entropy_agrees),
        cmocka_unit_test(optimisers_agree_step_by_step),
        cmocka_unit_test(clipping_by_norm_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
