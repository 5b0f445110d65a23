/* support.c - small networks for the tests of model/. */
#include "model/support.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/settings.h"
#include "support/numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const qn_test_backends[2] = {"ref", "cpu"};

struct qn_spec qn_test_spec(const char *const *assignments)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_assign(s, "data.train=text", QN_FROM_USER);
    for (; *assignments != NULL; assignments++) {
        qn_settings_assign(s, *assignments, QN_FROM_USER);
    }
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_settings_free(s);
    return spec;
}

/* What each kind has of its own; each is there plain and dense. */
static const char *const kinds[][3] = {
    {"model.pooling=f", "model.activation=tanh"},
    {"model.pooling=fo", "model.activation=drelu"},
    {"model.pooling=ifo", "model.activation=delu"},
    {"model.pooling=f", "model.activation=drelu", "model.batch_norm=true"},
    {"model.pooling=fo", "model.activation=tanh", "model.batch_norm=true"},
    {"model.pooling=ifo", "model.activation=relu", "model.batch_norm=true"},
    {"model.pooling=fo", "model.activation=elu", "model.bias=step"},
    {"model.pooling=ifo", "model.activation=drelu", "model.bias=step"},
    {"model.cell=lstm"},
};

int qn_test_n_kinds(void)
{
    return 2 * (int)(sizeof kinds / sizeof kinds[0]);
}

struct qn_spec qn_test_kind(int i)
{
    const char *const *own = kinds[i / 2];
    bool lstm = strcmp(own[0], "model.cell=lstm") == 0;
    const char *assignments[16] = {
        "model.hidden=10", "model.embed=7", "model.layers=3", "seq=4",
        "batch=5",         "eval.batch=4",  "optim.kind=adam"};
    int n = 7;
    assignments[n++] = i % 2 == 0 ? "model.dense=false" : "model.dense=true";
    if (!lstm) {
        assignments[n++] = "model.window=4,3,1";
    }
    for (int j = 0; j < 3 && own[j] != NULL; j++) {
        assignments[n++] = own[j];
    }
    return qn_test_spec(assignments);
}

struct qn_backend *qn_test_backend(const char *name)
{
    struct qn_backend *be = NULL;
    struct qn_err err;
    if (qn_backend_new(name, NULL, 2, &be, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return be;
}

/* Away from where it begins; a variance stays above 0. */
static void move_param(struct qn_model *m, const struct qn_param *p,
                       uint64_t seed)
{
    struct qn_tensor t =
        qn_tensor_part(qn_model_weights(m), p->offset, p->count);
    float *values = qn_test_read(m, t);
    float *by = qn_xcalloc(p->count, sizeof *by);
    qn_fill_normal(by, p->count, 0.3, seed);
    for (size_t i = 0; i < p->count; i++) {
        values[i] += p->fixed ? fabsf(by[i]) : by[i];
    }
    qn_model_backend(m)->ops->write(qn_model_backend(m), t, values);
    free(by);
    free(values);
}

/* Word vectors of size 1, to a model that wants some. */
static void set_vectors(struct qn_model *m)
{
    size_t n = qn_model_vectors(m).count;
    if (n == 0) {
        return;
    }
    float *table = qn_xcalloc(n, sizeof *table);
    qn_fill_normal(table, n, 1.0, 77);
    qn_model_set_vectors(m, table);
    free(table);
}

struct qn_model *qn_test_model(struct qn_backend *be,
                               const struct qn_spec *spec, int vocab)
{
    struct qn_model *m = NULL;
    struct qn_param_list list;
    struct qn_err err;
    if (qn_model_new(be, spec, vocab, &m, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_model_init(m, 1);
    qn_param_list_init(&list, spec, vocab);
    for (int i = 0; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        if (!p->drawn) {
            move_param(m, p, (uint64_t)i + 1);
        }
    }
    qn_param_list_fini(&list);
    set_vectors(m);
    return m;
}

struct qn_pass *qn_test_pass(struct qn_model *m, int batch, int steps,
                             bool training)
{
    struct qn_pass *p = NULL;
    struct qn_err err;
    if (qn_pass_new(m, batch, steps, training, &p, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return p;
}

int32_t *qn_test_ids(size_t n, int vocab, uint64_t seed)
{
    int32_t *ids = qn_xcalloc(n, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(qn_rng_uniform(seed, i) * vocab);
    }
    return ids;
}

float *qn_test_read(struct qn_model *m, struct qn_tensor t)
{
    struct qn_backend *be = qn_model_backend(m);
    struct qn_err err;
    float *out = qn_xcalloc(t.count, sizeof *out);
    if (be->ops->read(be, t, out, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

struct qn_step_result qn_test_forward(struct qn_model *m, struct qn_pass *p,
                                      const struct qn_segment *seg)
{
    struct qn_backend *be = qn_model_backend(m);
    struct qn_step_result result;
    struct qn_err err;
    be->ops->step_begin(be);
    qn_pass_forward(p, seg);
    if (be->ops->step_end(be, &result, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

double qn_test_loss(struct qn_step_result r)
{
    return r.loss_sum / r.count;
}

double qn_test_distance(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}
