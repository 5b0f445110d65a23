/* optim.c - norms and updates on both backends. */
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

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One update is a handful of float operations: a few 2^-24 of the result. */
#define BOUND 1e-6

static const char *const backends[] = {"ref", "cpu"};

enum { W, G, M, V, N_ARRAYS };

struct state {
    struct qn_backend *be;
    size_t n;
    struct qn_tensor t[N_ARRAYS];
};

static struct state start(struct qn_backend *be, size_t n)
{
    struct state s = {.be = be, .n = n};
    float *x = qn_xcalloc(n, sizeof *x);
    for (int i = 0; i < N_ARRAYS; i++) {
        if (i < M)
            qn_fill_normal(x, n, 1.0, (uint64_t)i);
        else
            for (size_t j = 0; j < n; j++)
                x[j] = 0.0f;
        s.t[i] = place_tensor(be, x, n);
    }
    free(x);
    return s;
}

static void stop(struct state *s)
{
    for (int i = 0; i < N_ARRAYS; i++)
        place_free(s->be, s->t[i].buffer);
}

static struct qn_step_result step(struct state *s, const struct qn_update *u)
{
    struct qn_step_result r;
    s->be->ops->step_begin(s->be);
    s->be->ops->grad_norm(s->be, s->t[G]);
    s->be->ops->update(s->be, u, s->t[W], s->t[G], s->t[M], s->t[V]);
    assert_int_equal(s->be->ops->step_end(s->be, &r, NULL), QN_OK);
    return r;
}

static struct qn_update adam(int64_t t)
{
    struct qn_update u = {.kind = QN_ADAM,
                          .lr = 0.01,
                          .clip_norm = 1.0,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .t = t};
    return u;
}

static struct qn_update sgd(void)
{
    struct qn_update u = {.kind = QN_SGD, .lr = 0.5};
    return u;
}

static struct qn_update momentum(void)
{
    struct qn_update u = sgd();
    u.momentum = 0.9;
    u.clip_norm = 2.0;
    return u;
}

static struct qn_update rmsprop(bool inside)
{
    struct qn_update u = {.kind = QN_RMSPROP,
                          .lr = 0.01,
                          .clip_norm = 1.5,
                          .rho = 0.95,
                          .eps = 1e-4,
                          .eps_inside = inside};
    return u;
}

#define N_UPDATES 5

/* One of each kind, as the t-th of a run. */
static struct qn_update update_of(int kind, int64_t t)
{
    switch (kind) {
    case 0:
        return adam(t);
    case 1:
        return sgd();
    case 2:
        return momentum();
    case 3:
        return rmsprop(false);
    default:
        return rmsprop(true);
    }
}

/* Three updates; the moments, too, must agree. */
static void agree_with_ref(struct qn_pool *pool, int kind, size_t n)
{
    struct state a = start(place_backend("ref", NULL, 1), n);
    struct state b = start(place_backend("cpu", pool, 2), n);
    for (int t = 1; t <= 3; t++) {
        struct qn_update u = update_of(kind, t);
        double want = step(&a, &u).norm;
        double got = step(&b, &u).norm;
        assert_true(fabs(got - want) <= 1e-12 * want);
    }
    for (int i = 0; i < N_ARRAYS; i++) {
        float *want = place_read(a.be, a.t[i]);
        float *got = place_read(b.be, b.t[i]);
        assert_true(qn_max_error_f(got, want, n) <= BOUND);
        free(want);
        free(got);
    }
    stop(&a);
    stop(&b);
    qn_backend_free(a.be);
    qn_backend_free(b.be);
}

/* Below and above what a kernel takes at once; several chunks, the last a short
 * one. */
static void updates_of_any_size_agree_with_ref(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, 37, 150001};
    struct qn_pool *pool = qn_pool_new(3);
    for (int kind = 0; kind < N_UPDATES; kind++)
        for (int i = 0; i < 4; i++)
            agree_with_ref(pool, kind, sizes[i]);
    qn_pool_free(pool);
}

/* SGD: both without momentum, else v; RMSprop: m. */
static void moments_that_are_not_used_may_be_absent(void **state)
{
    (void)state;
    static const struct qn_tensor none = {0};
    for (int k = 0; k < 2; k++)
        for (int kind = 1; kind < N_UPDATES; kind++) {
            struct qn_update u = update_of(kind, 1);
            struct state with = start(place_backend(backends[k], NULL, 1), 20);
            struct state less = start(place_backend(backends[k], NULL, 1), 20);
            (void)step(&with, &u);
            int unused = u.kind == QN_RMSPROP ? M : V;
            place_free(less.be, less.t[unused].buffer);
            less.t[unused] = none;
            if (kind == 1) {
                place_free(less.be, less.t[M].buffer);
                less.t[M] = none;
            }
            (void)step(&less, &u);
            float *want = place_read(with.be, with.t[W]);
            float *got = place_read(less.be, less.t[W]);
            assert_memory_equal(got, want, 20 * sizeof *got);
            free(want);
            free(got);
            stop(&with);
            stop(&less);
            qn_backend_free(with.be);
            qn_backend_free(less.be);
        }
}

static void check_skipped(const char *backend, float bad,
                          const struct qn_update *u)
{
    struct state s = start(place_backend(backend, NULL, 1), 20);
    float *before[N_ARRAYS];
    (void)step(&s, u); /* moments that a wrong update would change */
    s.be->ops->write(s.be, qn_tensor_part(s.t[G], 13, 1), &bad);
    for (int i = 0; i < N_ARRAYS; i++)
        before[i] = place_read(s.be, s.t[i]);
    assert_false(step(&s, u).finite);
    for (int i = 0; i < N_ARRAYS; i++) {
        float *after = place_read(s.be, s.t[i]);
        assert_memory_equal(after, before[i], 20 * sizeof *after);
        free(after);
        free(before[i]);
    }
    stop(&s);
    qn_backend_free(s.be);
}

static void gradients_that_are_not_finite_change_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int kind = 0; kind < N_UPDATES; kind++) {
            struct qn_update u = update_of(kind, 1);
            check_skipped(backends[k], NAN, &u);
            check_skipped(backends[k], INFINITY, &u);
            check_skipped(backends[k], -INFINITY, &u);
        }
}

/* The loss alone is bad: the update must not happen either. */
static void a_loss_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const float logits[2] = {NAN, 0.0f};
    static const int32_t target[1] = {0};
    for (int k = 0; k < 2; k++) {
        struct state s = start(place_backend(backends[k], NULL, 1), 9);
        const struct qn_backend_ops *ops = s.be->ops;
        struct qn_tensor x = place_tensor(s.be, logits, 2);
        struct qn_tensor targets = place_tensor(s.be, target, 1);
        struct qn_update u = sgd();
        struct qn_step_result r;
        float *before = place_read(s.be, s.t[W]);
        ops->step_begin(s.be);
        ops->softmax_xent(s.be, x, targets, 2, 0.0f, 0.0);
        ops->grad_norm(s.be, s.t[G]);
        ops->update(s.be, &u, s.t[W], s.t[G], s.t[M], s.t[V]);
        assert_int_equal(ops->step_end(s.be, &r, NULL), QN_OK);
        float *after = place_read(s.be, s.t[W]);
        assert_false(r.finite);
        assert_true(isfinite(r.norm));
        assert_memory_equal(after, before, 9 * sizeof *after);
        (void)step(&s, &u); /* the next step starts afresh */
        float *next = place_read(s.be, s.t[W]);
        assert_memory_not_equal(next, before, 9 * sizeof *next);
        free(before);
        free(after);
        free(next);
        place_free(s.be, x.buffer);
        place_free(s.be, targets.buffer);
        stop(&s);
        qn_backend_free(s.be);
    }
}

/* A step over 'count' predictions of loss ln 2 each. */
static struct qn_step_result step_of_loss(struct state *s, int count,
                                          const struct qn_update *u)
{
    static const float logits[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    int32_t target[2] = {count > 0 ? 0 : -1, count > 1 ? 1 : -1};
    const struct qn_backend_ops *ops = s->be->ops;
    struct qn_tensor x = place_tensor(s->be, logits, 4);
    struct qn_tensor targets = place_tensor(s->be, target, 2);
    struct qn_step_result r;
    ops->step_begin(s->be);
    ops->softmax_xent(s->be, x, targets, 2, 0.0f, 0.0);
    ops->grad_norm(s->be, s->t[G]);
    ops->update(s->be, u, s->t[W], s->t[G], s->t[M], s->t[V]);
    assert_int_equal(ops->step_end(s->be, &r, NULL), QN_OK);
    assert_true(r.count == count && r.finite);
    place_free(s->be, x.buffer);
    place_free(s->be, targets.buffer);
    return r;
}

/* Whether a step of this limit was taken for a spike; weights and moments must
 * have stayed then, and only then. */
static bool is_spike(const char *backend, int kind, int count, double most)
{
    struct state s = start(place_backend(backend, NULL, 1), 20);
    struct qn_update u = update_of(kind, 1);
    float *before[N_ARRAYS];
    (void)step(&s, &u); /* moments that a wrong update would change */
    for (int i = 0; i < N_ARRAYS; i++)
        before[i] = place_read(s.be, s.t[i]);
    u.most_loss = most;
    bool spike = step_of_loss(&s, count, &u).spike;
    for (int i = 0; i < N_ARRAYS; i++) {
        float *after = place_read(s.be, s.t[i]);
        bool same = memcmp(after, before[i], 20 * sizeof *after) == 0;
        assert_true(same || !spike);
        assert_true(!same || spike || i != W);
        free(after);
        free(before[i]);
    }
    u.most_loss = 0.0;
    assert_false(step(&s, &u).spike); /* the next step starts afresh */
    stop(&s);
    qn_backend_free(s.be);
    return spike;
}

/* The loss of a step of ln 2, as this backend sums it. */
static double mean_loss(const char *backend, int count)
{
    struct state s = start(place_backend(backend, NULL, 1), 1);
    struct qn_update u = sgd();
    struct qn_step_result r = step_of_loss(&s, count, &u);
    stop(&s);
    qn_backend_free(s.be);
    assert_true(fabs(r.loss_sum / r.count - log(2.0)) < 1e-6);
    return r.loss_sum / r.count;
}

static void a_spike_changes_no_weight_and_no_moment(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int kind = 0; kind < N_UPDATES; kind++) {
            assert_true(is_spike(backends[k], kind, 1, 0.69));
            assert_true(is_spike(backends[k], kind, 2, 0.69)); /* a mean */
            assert_false(is_spike(backends[k], kind, 2, 0.7));
            assert_false(is_spike(backends[k], kind, 1, 0.0)); /* no limit */
        }
}

static void a_loss_of_just_the_limit_is_applied(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int count = 1; count <= 2; count++) {
            double loss = mean_loss(backends[k], count);
            assert_false(is_spike(backends[k], 0, count, loss));
            assert_true(is_spike(backends[k], 0, count, nextafter(loss, 0.0)));
        }
}

static void a_step_without_predictions_is_no_spike(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        assert_false(is_spike(backends[k], 0, 0, 1e-300));
}

/* A number that is not finite is none, however small the limit. */
static void what_is_not_finite_is_no_spike(void **state)
{
    (void)state;
    static const float bad = INFINITY;
    for (int k = 0; k < 2; k++) {
        struct state s = start(place_backend(backends[k], NULL, 1), 20);
        struct qn_update u = sgd();
        u.most_loss = 1e-300;
        s.be->ops->write(s.be, qn_tensor_part(s.t[G], 13, 1), &bad);
        struct qn_step_result r = step(&s, &u);
        assert_false(r.finite);
        assert_false(r.spike);
        stop(&s);
        qn_backend_free(s.be);
    }
}

/* SGD from 0 with lr -1 leaves the gradient that was used. */
static float used(const char *backend, float g, double clip_norm)
{
    struct qn_backend *be = place_backend(backend, NULL, 1);
    struct state s = start(be, 1);
    struct qn_update u = {.kind = QN_SGD, .lr = -1.0, .clip_norm = clip_norm};
    be->ops->fill(be, s.t[W], 0.0f);
    be->ops->fill(be, s.t[G], g);
    assert_true(step(&s, &u).norm == fabs((double)g)); /* before clipping */
    float w = 0.0f;
    assert_int_equal(be->ops->read(be, s.t[W], &w, NULL), QN_OK);
    stop(&s);
    qn_backend_free(be);
    return w;
}

static void clipping_acts_above_its_norm_only(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_true(used(backends[k], -4.0f, 0.0) == -4.0f);
        assert_true(used(backends[k], -4.0f, 4.0) == -4.0f);
        assert_true(used(backends[k], -4.0f, 2.0) == -2.0f);
    }
}

/* Norms of several tensors are one norm: 3, 4 -> 5. */
static void norms_add_up_over_calls(void **state)
{
    (void)state;
    static const float g[2] = {3.0f, -4.0f};
    for (int k = 0; k < 2; k++) {
        struct qn_backend *be = place_backend(backends[k], NULL, 1);
        struct qn_tensor t = place_tensor(be, g, 2);
        struct qn_step_result r;
        be->ops->step_begin(be);
        be->ops->grad_norm(be, qn_tensor_part(t, 0, 1));
        be->ops->grad_norm(be, qn_tensor_part(t, 1, 1));
        assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
        assert_true(r.norm == 5.0 && r.finite);
        assert_true(r.loss_sum == 0.0 && r.count == 0.0);
        place_free(be, t.buffer);
        qn_backend_free(be);
    }
}

/* Something before it had no memory: its gradients are not those of the step.
 */
static void an_operation_that_failed_lets_no_update_through(void **state)
{
    (void)state;
    struct state s = start(place_backend("cpu", NULL, 1), 9);
    struct qn_update u = momentum();
    struct qn_step_result r;
    struct qn_err err;
    float *before = place_read(s.be, s.t[W]);
    s.be->ops->step_begin(s.be);
    assert_null(qn_cpu_work((struct qn_cpu *)s.be, SIZE_MAX / 2));
    s.be->ops->grad_norm(s.be, s.t[G]);
    s.be->ops->update(s.be, &u, s.t[W], s.t[G], s.t[M], s.t[V]);
    assert_int_equal(s.be->ops->step_end(s.be, &r, &err), QN_ENOMEM);
    float *after = place_read(s.be, s.t[W]);
    assert_memory_equal(after, before, 9 * sizeof *after);
    (void)step(&s, &u); /* the next step starts afresh */
    float *later = place_read(s.be, s.t[W]);
    assert_memory_not_equal(later, before, 9 * sizeof *later);
    free(before);
    free(after);
    free(later);
    stop(&s);
    qn_backend_free(s.be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_of_any_size_agree_with_ref),
        cmocka_unit_test(moments_that_are_not_used_may_be_absent),
        cmocka_unit_test(gradients_that_are_not_finite_change_nothing),
        cmocka_unit_test(a_loss_that_is_not_finite_changes_nothing),
        cmocka_unit_test(a_spike_changes_no_weight_and_no_moment),
        cmocka_unit_test(a_loss_of_just_the_limit_is_applied),
        cmocka_unit_test(a_step_without_predictions_is_no_spike),
        cmocka_unit_test(what_is_not_finite_is_no_spike),
        cmocka_unit_test(an_operation_that_failed_lets_no_update_through),
        cmocka_unit_test(clipping_acts_above_its_norm_only),
        cmocka_unit_test(norms_add_up_over_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
