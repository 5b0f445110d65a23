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

struct qn_backend *qn_test_backend(const char *name)
{
    struct qn_backend *be = NULL;
    struct qn_err err;
    if (qn_backend_new(name, NULL, 2, &be, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return be;
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
        if (!p->drawn && !p->fixed) {
            float *bias = qn_xcalloc(p->count, sizeof *bias);
            qn_fill_normal(bias, p->count, 0.3, (uint64_t)i + 1);
            be->ops->write(
                be, qn_tensor_part(qn_model_weights(m), p->offset, p->count),
                bias);
            free(bias);
        }
    }
    qn_param_list_fini(&list);
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
