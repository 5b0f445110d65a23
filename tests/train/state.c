/* state.c - state.safetensors gives back what it was given. */
#include "train/state.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A model's worth of state, apart from any trainer. */
struct parts {
    struct qn_backend *be;
    struct qn_model *model;
    struct qn_pass *pass;
    struct qn_optim optim;
    size_t n_moment, n_carried;
};

static void parts_init(struct parts *p, const struct qn_spec *spec)
{
    struct qn_err err;
    assert_int_equal(qn_backend_new("ref", NULL, 1, &p->be, &err), QN_OK);
    assert_int_equal(qn_model_new(p->be, spec, 9, &p->model, &err), QN_OK);
    assert_int_equal(
        qn_pass_new(p->model, spec->batch, spec->seq, true, &p->pass, &err),
        QN_OK);
    p->n_moment = qn_model_grads(p->model).count;
    assert_int_equal(qn_optim_init(&p->optim, p->be, spec, p->n_moment, &err),
                     QN_OK);
    p->n_carried = qn_pass_state_len(p->pass);
}

static void parts_fini(struct parts *p)
{
    qn_optim_fini(&p->optim);
    qn_pass_free(p->pass);
    qn_model_free(p->model);
    qn_backend_free(p->be);
}

static float *ramp(size_t n, float from)
{
    float *x = qn_xcalloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = from + (float)i * 0.25f;
    }
    return x;
}

static const struct qn_progress progress = {
    .step = 12,
    .updates = 11,
    .epoch = 1,
    .segment = 5,
    .evals = 3,
    .eval_step = 10,
    .eval_loss = 1.0 / 3,
    .eval_accuracy = 0.7,
    .best_step = 7,
    .best_loss = 0.1,
    .best_accuracy = 0.9,
};

static void what_is_saved_is_loaded(void **state)
{
    struct fixture *f = *state;
    struct qn_spec spec = fixture_spec(f, NULL);
    struct parts a, b;
    struct qn_err err;
    parts_init(&a, &spec);
    parts_init(&b, &spec);
    float *m = ramp(a.n_moment, 1), *v = ramp(a.n_moment, 2);
    float *carried = ramp(a.n_carried, 3);
    qn_optim_write(&a.optim, m, v);
    qn_pass_write_state(a.pass, carried);
    char *path = qn_path_join(f->folder, "state.safetensors");
    assert_int_equal(qn_state_save(path, &progress, &a.optim, a.pass, &err),
                     QN_OK);
    struct qn_progress at;
    assert_int_equal(qn_state_load(path, &at, &b.optim, b.pass, &err), QN_OK);
    assert_memory_equal(&at, &progress, sizeof at);
    float *m2 = ramp(a.n_moment, 0), *v2 = ramp(a.n_moment, 0);
    float *carried2 = ramp(a.n_carried, 0);
    assert_int_equal(qn_optim_read(&b.optim, m2, v2, &err), QN_OK);
    assert_int_equal(qn_pass_read_state(b.pass, carried2, &err), QN_OK);
    assert_memory_equal(m, m2, a.n_moment * sizeof *m);
    assert_memory_equal(v, v2, a.n_moment * sizeof *v);
    assert_memory_equal(carried, carried2, a.n_carried * sizeof *carried);
    float *const arrays[] = {m, v, carried, m2, v2, carried2};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        free(arrays[i]);
    }
    free(path);
    parts_fini(&a);
    parts_fini(&b);
}

/* Language models have no accuracy, and their files no place for one: they are
 * those that older programs wrote. */
static void without_accuracy_there_is_no_tensor_of_it(void **state)
{
    static const char *const names[] = {"eval.accuracy", "best.accuracy"};
    struct fixture *f = *state;
    struct qn_spec spec = fixture_spec(f, NULL);
    struct parts a;
    struct qn_err err;
    struct qn_progress without = progress, at = progress;
    without.eval_accuracy = without.best_accuracy = (double)NAN;
    parts_init(&a, &spec);
    char *path = qn_path_join(f->folder, "state.safetensors");
    assert_int_equal(qn_state_save(path, &without, &a.optim, a.pass, &err),
                     QN_OK);
    struct qn_st_file *file;
    assert_int_equal(qn_st_open(path, &file, &err), QN_OK);
    for (int i = 0; i < 2; i++) {
        assert_null(qn_st_find(file, names[i]));
    }
    qn_st_close(file);
    assert_int_equal(qn_state_load(path, &at, &a.optim, a.pass, &err), QN_OK);
    assert_true(isnan(at.eval_accuracy));
    assert_true(isnan(at.best_accuracy));
    assert_true(at.best_loss == progress.best_loss);
    free(path);
    parts_fini(&a);
}

static void a_state_of_another_size_is_refused_untouched(void **state)
{
    struct fixture *f = *state;
    static const char *const larger[] = {"model.hidden=13", NULL};
    struct qn_spec spec = fixture_spec(f, NULL);
    struct qn_spec other = fixture_spec(f, larger);
    struct parts a, b;
    struct qn_err err;
    parts_init(&a, &spec);
    parts_init(&b, &other);
    char *path = qn_path_join(f->folder, "state.safetensors");
    assert_int_equal(qn_state_save(path, &progress, &a.optim, a.pass, &err),
                     QN_OK);
    struct qn_progress at = qn_progress_zero();
    assert_int_equal(qn_state_load(path, &at, &b.optim, b.pass, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "optim.m"));
    assert_int_equal(at.step, 0);
    free(path);
    parts_fini(&a);
    parts_fini(&b);
}

static void counters_that_cannot_be_are_refused(void **state)
{
    struct fixture *f = *state;
    static const double wrong[] = {1e300, -5, (double)NAN};
    struct qn_spec spec = fixture_spec(f, NULL);
    struct parts a;
    struct qn_err err;
    parts_init(&a, &spec);
    char *path = qn_path_join(f->folder, "state.safetensors");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct qn_st_tensor step = {.name = "step",
                                    .dtype = QN_F64,
                                    .n_dims = 1,
                                    .dim = {1},
                                    .data = &wrong[i]};
        struct qn_progress at = qn_progress_zero();
        assert_int_equal(qn_st_write(path, &step, 1, NULL, 0, &err), QN_OK);
        assert_int_equal(qn_state_load(path, &at, &a.optim, a.pass, &err),
                         QN_EFORMAT);
        assert_non_null(strstr(err.text, "no count"));
    }
    free(path);
    parts_fini(&a);
}

static void sgd_has_no_moments(void **state)
{
    struct fixture *f = *state;
    static const char *const sgd[] = {"optim.kind=sgd", NULL};
    struct qn_spec spec = fixture_spec(f, sgd);
    struct parts a;
    struct qn_err err;
    parts_init(&a, &spec);
    assert_null(a.optim.m.buffer);
    assert_null(a.optim.v.buffer);
    char *path = qn_path_join(f->folder, "state.safetensors");
    struct qn_progress none = qn_progress_zero();
    struct qn_progress at;
    assert_int_equal(qn_state_save(path, &none, &a.optim, a.pass, &err), QN_OK);
    assert_int_equal(qn_state_load(path, &at, &a.optim, a.pass, &err), QN_OK);
    assert_int_equal(at.best_step, -1);
    assert_true(isnan(at.best_loss));
    free(path);
    parts_fini(&a);
}

/* A state of one rule for a run of another, both ways. */
static void moments_of_another_rule_are_named(void **state)
{
    struct fixture *f = *state;
    static const char *const kinds[][3] = {
        {"optim.kind=adam", NULL},
        {"optim.kind=rmsprop", NULL},
        {"optim.kind=sgd", "optim.momentum=0.9", NULL},
        {"optim.kind=sgd", NULL}};
    static const struct {
        int saved, loaded;
        const char *named;
    } cases[] = {{0, 1, "optim.m is there"},   {1, 0, "optim.m is missing"},
                 {1, 2, "optim.m is missing"}, {2, 3, "optim.m is there"},
                 {1, 3, "optim.v is there"},   {3, 1, "optim.v is missing"}};
    char *path = qn_path_join(f->folder, "state.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct qn_spec from = fixture_spec(f, kinds[cases[i].saved]);
        struct qn_spec to = fixture_spec(f, kinds[cases[i].loaded]);
        struct parts a, b;
        struct qn_err err;
        struct qn_progress at = qn_progress_zero();
        parts_init(&a, &from);
        parts_init(&b, &to);
        assert_int_equal(qn_state_save(path, &progress, &a.optim, a.pass, &err),
                         QN_OK);
        assert_int_equal(qn_state_load(path, &at, &b.optim, b.pass, &err),
                         QN_EFORMAT);
        assert_non_null(strstr(err.text, cases[i].named));
        assert_int_equal(at.step, 0);
        parts_fini(&a);
        parts_fini(&b);
    }
    free(path);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_saved_is_loaded),
        CASE(without_accuracy_there_is_no_tensor_of_it),
        CASE(a_state_of_another_size_is_refused_untouched),
        CASE(counters_that_cannot_be_are_refused),
        CASE(sgd_has_no_moments),
        CASE(moments_of_another_rule_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
