/* golden.c - whole language models against float64 autograd: loss, logits,
 * cell states and every gradient, over two segments with carried state. */
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

struct lm {
    struct qn_golden *g;
    struct qn_backend *be;
    struct qn_model *m;
    struct qn_param_list params;
    int batch, steps;
};

static enum qn_golden_layout layout_of(const struct qn_param *p)
{
    return p->n_dims == 3 ? QN_TAPS_FIRST : QN_AS_STORED;
}

/* "[6, 2]" as the setting "model.window=6,2". */
static void window_setting(const char *json, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "model.window=");
    for (; *json != '\0'; json++) {
        if (strchr("[] ", *json) == NULL) {
            assert_true(n + 1 < size);
            out[n++] = *json;
        }
    }
    out[n] = '\0';
}

static struct qn_spec spec_of(const struct qn_golden *g)
{
    char activation[64];
    char window[64];
    (void)snprintf(activation, sizeof activation, "model.activation=%s",
                   qn_golden_meta(g, "activation"));
    window_setting(qn_golden_meta(g, "windows"), window, sizeof window);
    char layers[64];
    (void)snprintf(layers, sizeof layers, "model.layers=%d",
                   qn_golden_int(g, "layers"));
    struct qn_spec spec = QN_SPEC(activation, layers, window);
    spec.model.dense = qn_golden_bool(g, "dense");
    spec.model.batch_norm = qn_golden_bool(g, "batch_norm");
    spec.model.hidden = qn_golden_int(g, "hidden");
    spec.model.embed = qn_golden_int(g, "embed");
    return spec;
}

static void open_case(struct lm *lm, const char *name, const char *backend)
{
    struct qn_err err;
    lm->g = qn_golden_open(name);
    lm->be = qn_test_backend(backend);
    lm->batch = qn_golden_int(lm->g, "B");
    lm->steps = qn_golden_int(lm->g, "T");
    struct qn_spec spec = spec_of(lm->g);
    int vocab = qn_golden_int(lm->g, "vocab");
    assert_int_equal(qn_model_new(lm->be, &spec, vocab, &lm->m, &err), QN_OK);
    qn_model_init(lm->m, 1);
    qn_param_list_init(&lm->params, &spec, vocab);
    for (int i = 0; i < lm->params.n; i++) {
        const struct qn_param *p = &lm->params.items[i];
        if (p->fixed) {
            continue;
        }
        assert_int_equal(qn_golden_count(lm->g, p->name), p->count);
        lm->be->ops->write(
            lm->be,
            qn_tensor_part(qn_model_weights(lm->m), p->offset, p->count),
            qn_golden_floats(lm->g, p->name, layout_of(p)));
    }
}

static void close_case(struct lm *lm)
{
    qn_param_list_fini(&lm->params);
    qn_model_free(lm->m);
    qn_backend_free(lm->be);
    qn_golden_close(lm->g);
}

/* Symbols s T + shift .. of every stream, [B, T]. */
static void cut(const struct lm *lm, int s, int shift, int32_t *out)
{
    const int32_t *ids = qn_golden_ids(lm->g, "ids", QN_BATCH_MAJOR);
    int len = qn_golden_dim(lm->g, "ids", 0);
    for (int b = 0; b < lm->batch; b++) {
        memcpy(out + b * lm->steps, ids + b * len + s * lm->steps + shift,
               (size_t)lm->steps * sizeof *out);
    }
}

static void check_cells(struct lm *lm, struct qn_pass *p, int s)
{
    struct qn_err err;
    const struct qn_spec *spec = qn_model_spec(lm->m);
    float *c = qn_xcalloc((size_t)(lm->batch * lm->steps * spec->model.hidden),
                          sizeof *c);
    for (int k = 0; k < spec->model.layers; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "segment%d.layers.%d.c", s, k);
        assert_int_equal(qn_pass_cells(p, k, c, &err), QN_OK);
        qn_golden_check(lm->g, name, QN_BATCH_MAJOR, c);
    }
    free(c);
}

static void check_loss(struct lm *lm, struct qn_step_result result, int s)
{
    char name[64];
    (void)snprintf(name, sizeof name, "segment%d.loss", s);
    float loss = (float)qn_test_loss(result);
    assert_true(result.count == lm->batch * lm->steps);
    qn_golden_check(lm->g, name, QN_AS_STORED, &loss);
}

static void check_gradients(struct lm *lm, int s)
{
    float *grads = qn_test_read(lm->m, qn_model_grads(lm->m));
    for (int i = 0; i < lm->params.n; i++) {
        const struct qn_param *p = &lm->params.items[i];
        char name[128];
        if (p->fixed) {
            continue;
        }
        (void)snprintf(name, sizeof name, "segment%d.grad.%s", s, p->name);
        qn_golden_check(lm->g, name, layout_of(p), grads + p->offset);
    }
    free(grads);
}

static void check_logits(struct lm *lm, struct qn_pass *p, int s)
{
    char name[64];
    struct qn_err err;
    (void)snprintf(name, sizeof name, "segment%d.logits", s);
    float *logits = qn_xcalloc(qn_golden_count(lm->g, name), sizeof *logits);
    assert_int_equal(qn_pass_logits(p, logits, &err), QN_OK);
    qn_golden_check(lm->g, name, QN_BATCH_MAJOR, logits);
    free(logits);
}

/* Two segments in a pass whose longest segment is 'room' steps. */
static void run_case(const char *name, const char *backend, bool training,
                     int room)
{
    struct lm lm;
    open_case(&lm, name, backend);
    size_t n = (size_t)(lm.batch * lm.steps);
    int32_t *ids = qn_xcalloc(n, sizeof *ids);
    int32_t *targets = qn_xcalloc(n, sizeof *targets);
    struct qn_pass *p = qn_test_pass(lm.m, lm.batch, lm.steps + room, training);
    for (int s = 0; s < 2; s++) {
        struct qn_segment seg = {ids, targets,     lm.steps, NULL,
                                 1,   (uint64_t)s, 0};
        cut(&lm, s, 0, ids);
        cut(&lm, s, 1, targets);
        check_loss(&lm, qn_test_forward(lm.m, p, &seg), s);
        check_cells(&lm, p, s);
        if (training) {
            qn_pass_backward(p);
            check_gradients(&lm, s);
        } else {
            check_logits(&lm, p, s);
        }
        qn_pass_carry(p);
    }
    qn_pass_free(p);
    free(ids);
    free(targets);
    close_case(&lm);
}

static void run_everywhere(const char *name)
{
    for (int i = 0; i < 2; i++) {
        run_case(name, qn_test_backends[i], true, 0);
        run_case(name, qn_test_backends[i], true, 3);
        run_case(name, qn_test_backends[i], false, 0);
        run_case(name, qn_test_backends[i], false, 5);
    }
}

static void drelu_with_a_wide_window_is_that_of_autograd(void **state)
{
    (void)state;
    run_everywhere("lm_drelu");
}

static void tanh_is_that_of_autograd(void **state)
{
    (void)state;
    run_everywhere("lm_tanh");
}

static void segments_shorter_than_windows_are_those_of_autograd(void **state)
{
    (void)state;
    run_everywhere("lm_short_segments");
}

static void a_dense_stack_is_that_of_autograd(void **state)
{
    (void)state;
    run_everywhere("lm_dense");
}

/* Its statistics are those of each segment, so only in training. */
static void batch_norm_is_that_of_autograd(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        run_case("lm_batchnorm", qn_test_backends[i], true, 0);
        run_case("lm_batchnorm", qn_test_backends[i], true, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drelu_with_a_wide_window_is_that_of_autograd),
        cmocka_unit_test(tanh_is_that_of_autograd),
        cmocka_unit_test(segments_shorter_than_windows_are_those_of_autograd),
        cmocka_unit_test(a_dense_stack_is_that_of_autograd),
        cmocka_unit_test(batch_norm_is_that_of_autograd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
