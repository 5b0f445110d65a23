/* optim.c - each rule keeps its moments, and an update follows the spec. */
#include "train/optim.h"

#include "fixture.h"

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

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_rule_keeps_its_moments),
        CASE(an_update_follows_the_spec),
        CASE(the_rate_decays_after_its_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
