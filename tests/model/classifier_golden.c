/* classifier_golden.c - a padded batch of documents gives what PyTorch gives
 * each document by itself: logits, loss, right answers and every gradient
 * (tests/golden/classifier_*, made by scripts/make_classifier_cases.py). */
#include "base/mem.h"
#include "model/support.h"
#include "support/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct classifier {
    struct qn_golden *g;
    struct qn_backend *be;
    struct qn_model *m;
    struct qn_param_list params;
    struct qn_segment segment;
    int batch;
};

static enum qn_golden_layout layout_of(const struct qn_param *p)
{
    return p->n_dims == 3 ? QN_TAPS_FIRST : QN_AS_STORED;
}

static struct qn_spec spec_of(struct qn_golden *g)
{
    bool lstm = strcmp(qn_golden_meta(g, "cell"), "lstm") == 0;
    char activation[64];
    char layers[64];
    (void)snprintf(activation, sizeof activation, "model.activation=%s",
                   lstm ? "tanh" : qn_golden_meta(g, "activation"));
    (void)snprintf(layers, sizeof layers, "model.layers=%d",
                   qn_golden_int(g, "layers"));
    struct qn_spec spec = QN_SPEC("task=classify", "data.vectors=there",
                                  activation, layers, "model.window=2");
    spec.model.cell = lstm ? QN_CELL_LSTM : QN_CELL_QRNN;
    spec.model.dense = qn_golden_bool(g, "dense");
    spec.model.hidden = qn_golden_int(g, "hidden");
    spec.model.embed = qn_golden_dim(g, "vectors", 1);
    return spec;
}

static void write_weights(struct classifier *c)
{
    struct qn_tensor weights = qn_model_weights(c->m);
    for (int i = 0; i < c->params.n; i++) {
        const struct qn_param *p = &c->params.items[i];
        assert_int_equal(qn_golden_count(c->g, p->name), p->count);
        c->be->ops->write(c->be, qn_tensor_part(weights, p->offset, p->count),
                          qn_golden_floats(c->g, p->name, layout_of(p)));
    }
    qn_model_set_vectors(c->m, qn_golden_floats(c->g, "vectors", QN_AS_STORED));
}

static void open_case(struct classifier *c, const char *name,
                      const char *backend)
{
    struct qn_err err;
    c->g = qn_golden_open(name);
    c->be = qn_test_backend(backend);
    struct qn_spec spec = spec_of(c->g);
    int vocab = qn_golden_dim(c->g, "vectors", 0);
    assert_int_equal(qn_model_new(c->be, &spec, vocab, &c->m, &err), QN_OK);
    qn_param_list_init(&c->params, &spec, vocab);
    write_weights(c);
    c->batch = qn_golden_dim(c->g, "ids", 0);
    c->segment = (struct qn_segment){
        .ids = qn_golden_ids(c->g, "ids", QN_AS_STORED),
        .targets = qn_golden_ids(c->g, "labels", QN_AS_STORED),
        .n_real = qn_golden_ids(c->g, "lengths", QN_AS_STORED),
        .steps = qn_golden_dim(c->g, "ids", 1),
    };
}

static void close_case(struct classifier *c)
{
    qn_param_list_fini(&c->params);
    qn_model_free(c->m);
    qn_backend_free(c->be);
    qn_golden_close(c->g);
}

static struct qn_step_result forward(struct classifier *c, struct qn_pass *p)
{
    struct qn_step_result result;
    struct qn_err err;
    c->be->ops->step_begin(c->be);
    qn_pass_forward(p, &c->segment);
    assert_int_equal(c->be->ops->step_end(c->be, &result, &err), QN_OK);
    return result;
}

static void check_figures(struct classifier *c, struct qn_step_result r)
{
    double loss = qn_golden_double(c->g, "loss");
    assert_int_equal((int)r.count, c->batch);
    assert_int_equal((int)r.correct, qn_golden_int(c->g, "correct"));
    assert_true(fabs(r.loss_sum / r.count - loss) < QN_GOLDEN_BOUND * loss);
}

static void check_logits(struct classifier *c)
{
    struct qn_err err;
    struct qn_pass *p = qn_test_pass(c->m, c->batch, c->segment.steps, false);
    float *logits = qn_xcalloc((size_t)c->batch, sizeof *logits);
    check_figures(c, forward(c, p));
    assert_int_equal(qn_pass_logits(p, logits, &err), QN_OK);
    qn_golden_check(c->g, "logits", QN_AS_STORED, logits);
    free(logits);
    qn_pass_free(p);
}

static void check_gradients(struct classifier *c)
{
    struct qn_err err;
    struct qn_pass *p = qn_test_pass(c->m, c->batch, c->segment.steps, true);
    struct qn_tensor grads = qn_model_grads(c->m);
    float *flat = qn_xcalloc(grads.count, sizeof *flat);
    check_figures(c, forward(c, p));
    qn_pass_backward(p);
    assert_int_equal(c->be->ops->read(c->be, grads, flat, &err), QN_OK);
    for (int i = 0; i < c->params.n; i++) {
        const struct qn_param *param = &c->params.items[i];
        char name[80];
        (void)snprintf(name, sizeof name, "grad.%s", param->name);
        qn_golden_check(c->g, name, layout_of(param), flat + param->offset);
    }
    free(flat);
    qn_pass_free(p);
}

static const char *const cases[] = {"classifier_drelu", "classifier_dense_tanh",
                                    "classifier_lstm", "classifier_dense_lstm"};

static void a_padded_batch_is_what_torch_gives_each_document(void **state)
{
    static const char *const backends[] = {"ref", "cpu"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < sizeof backends / sizeof backends[0]; j++) {
            struct classifier c;
            open_case(&c, cases[i], backends[j]);
            check_logits(&c);
            check_gradients(&c);
            close_case(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padded_batch_is_what_torch_gives_each_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
