/* optim.c - each rule keeps its moments, and an update follows the spec. */
#include "train/optim.h"

#include "fixture.h"

#include "base/mem.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void each_rule_keeps_its_moments(void **state)
{
    static const char *const kinds[][3] = {
        {"optim.kind=sgd", NULL},
        {"optim.kind=sgd", "optim.momentum=0.9", NULL},
        {"optim.kind=rmsprop", NULL},
        {"optim.kind=adam", NULL}};
    static const size_t m[] = {0, 5, 0, 5};
    static const size_t v[] = {0, 0, 5, 5};
    struct fixture *f = *state;
    struct qn_backend *be;
    struct qn_err err;
    assert_int_equal(qn_backend_new("ref", NULL, 1, &be, &err), QN_OK);
    for (int i = 0; i < 4; i++) {
        struct qn_spec spec = fixture_spec(f, kinds[i]);
        struct qn_optim o;
        assert_int_equal(qn_optim_init(&o, be, &spec, 5, &err), QN_OK);
        assert_int_equal(o.m.count, m[i]);
        assert_int_equal(o.v.count, v[i]);
        qn_optim_fini(&o);
    }
    qn_backend_free(be);
}

static void an_update_follows_the_spec(void **state)
{
    struct fixture *f = *state;
    static const char *const adam[] = {"optim.lr=0.25", "optim.beta1=0.5",
                                       NULL};
    struct qn_spec spec = fixture_spec(f, adam);
    struct qn_update u = qn_optim_update(&spec, 1, 7);
    assert_int_equal(u.kind, QN_ADAM);
    assert_true(u.lr == 0.25 && u.beta1 == 0.5 && u.beta2 == 0.999);
    assert_true(u.clip_norm == 1 && u.eps == 1e-8);
    assert_int_equal(u.t, 7);

    static const char *const rms[] = {"optim.kind=rmsprop", "optim.rho=0.95",
                                      "optim.eps=1e-4", "optim.eps_inside=true",
                                      NULL};
    spec = fixture_spec(f, rms);
    u = qn_optim_update(&spec, 1, 1);
    assert_int_equal(u.kind, QN_RMSPROP);
    assert_true(u.rho == 0.95 && u.eps == 1e-4 && u.eps_inside);

    static const char *const sgd[] = {"optim.kind=sgd", "optim.momentum=0.5",
                                      NULL};
    spec = fixture_spec(f, sgd);
    u = qn_optim_update(&spec, 1, 1);
    assert_int_equal(u.kind, QN_SGD);
    assert_true(u.momentum == 0.5);
}

/* Powers of 1/2 are exact. */
static void the_rate_decays_after_its_epoch(void **state)
{
    struct fixture *f = *state;
    static const char *const after[] = {"optim.lr=8", "optim.decay=0.5",
                                        "optim.decay_after=3", NULL};
    static const double late[] = {8, 8, 8, 4, 2};
    static const double soon[] = {8, 4, 2, 1, 0.5};
    struct qn_spec spec = fixture_spec(f, after);
    for (int e = 1; e <= 5; e++) {
        assert_true(qn_optim_rate(&spec, e) == late[e - 1]);
    }
    spec.optim.decay_after = 0; /* unset: the first epoch is at the full rate */
    for (int e = 1; e <= 5; e++) {
        assert_true(qn_optim_rate(&spec, e) == soon[e - 1]);
    }
}

/* The trained weights after so many steps; the caller frees them. */
static float *weights_after(struct fixture *f, const char *const *settings,
                            int64_t steps, size_t *n, double *norm)
{
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_tensor w = qn_model_trained(t->model);
    struct qn_err err;
    f->told.n_steps = 0;
    fixture_run(t, steps);
    float *out = qn_xcalloc(w.count, sizeof *out);
    assert_int_equal(t->be->ops->read(t->be, w, out, &err), QN_OK);
    *n = w.count;
    *norm = steps > 0 ? f->told.step[0].grad_norm : 0;
    qn_trainer_free(t);
    return out;
}

#define SGD                                                                    \
    "optim.kind=sgd", "optim.lr=0.5", "model.dropout=0", "model.init.range=1", \
        "model.init.kind=uniform"

static void l2_adds_its_part_to_the_gradient(void **state)
{
    struct fixture *f = *state;
    static const char *const plain[] = {SGD, "optim.clip_norm=none", NULL};
    static const char *const l2[] = {SGD, "optim.clip_norm=none",
                                     "optim.l2=0.25", NULL};
    size_t n;
    double norm_0, norm_plain, norm_l2;
    float *w_0 = weights_after(f, plain, 0, &n, &norm_0);
    float *w_plain = weights_after(f, plain, 1, &n, &norm_plain);
    float *w_l2 = weights_after(f, l2, 1, &n, &norm_l2);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double g = ((double)w_0[i] - (double)w_plain[i]) / 0.5;
        double with = g + 0.25 * (double)w_0[i];
        /* Some roundings of floats near 1. */
        assert_true(fabs((double)w_0[i] - 0.5 * with - (double)w_l2[i]) < 1e-6);
        sum += with * with;
    }
    /* The norm is that of the sum, and clipping goes by it. */
    assert_true(fabs(sqrt(sum) / norm_l2 - 1) < 1e-5);
    assert_true(fabs(norm_plain / norm_l2 - 1) > 1e-2);
    free(w_0);
    free(w_plain);
    free(w_l2);
}

static void l2_is_clipped_with_the_gradient(void **state)
{
    struct fixture *f = *state;
    static const char *const clipped[] = {SGD, "optim.clip_norm=0.125",
                                          "optim.l2=0.25", NULL};
    size_t n;
    double norm_0, norm;
    float *w_0 = weights_after(f, clipped, 0, &n, &norm_0);
    float *w_1 = weights_after(f, clipped, 1, &n, &norm);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)w_0[i] - (double)w_1[i];
        sum += d * d;
    }
    assert_true(norm > 0.125);
    /* lr times the clipped norm; weights near 1 round by 6e-8 each. */
    assert_true(fabs(sqrt(sum) / (0.5 * 0.125) - 1) < 1e-4);
    free(w_0);
    free(w_1);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_rule_keeps_its_moments),
        CASE(an_update_follows_the_spec),
        CASE(the_rate_decays_after_its_epoch),
        CASE(l2_adds_its_part_to_the_gradient),
        CASE(l2_is_clipped_with_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
