/* looked_up.c - a model of characters whose first layer looks its products up
 * trains as one that multiplies.
 *
 * The ref backend always multiplies. The cpu backend looks up where a segment
 * has many rows for each symbol: that it does is seen by the workspace, which
 * is another. Both take the same steps of training, so that errors may add up.
 */
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { VOCAB = 13, BATCH = 5, STEPS = 12, SEGMENTS = 6 };

#define BOUND 1e-5

/* Of the layers that ran last; the table of operations of a backend knows
 * nothing of a test, hence the file's only variable. */
static struct {
    void (*qrnn)(struct qn_backend *be, const struct qn_qrnn *layer);
    void (*lstm)(struct qn_backend *be, const struct qn_lstm *layer);
    int n_looked_up;
} meter;

static void metered_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    struct qn_qrnn multiplied = *layer;
    multiplied.n_symbols = 0;
    meter.n_looked_up += be->ops->qrnn_workspace(be, layer) !=
                         be->ops->qrnn_workspace(be, &multiplied);
    meter.qrnn(be, layer);
}

static void metered_lstm(struct qn_backend *be, const struct qn_lstm *layer)
{
    struct qn_lstm multiplied = *layer;
    multiplied.n_symbols = 0;
    meter.n_looked_up += be->ops->lstm_workspace(be, layer) !=
                         be->ops->lstm_workspace(be, &multiplied);
    meter.lstm(be, layer);
}

struct trained {
    struct qn_backend *be;
    struct qn_backend_ops ops;
    struct qn_model *m;
    struct qn_pass *pass;
    float *grads; /* of the last segment */
    double loss;
};

static void open_model(struct trained *t, const char *backend,
                       const struct qn_spec *spec)
{
    *t = (struct trained){.be = qn_test_backend(backend)};
    t->ops = *t->be->ops;
    if (backend[0] == 'c') {
        meter.qrnn = t->ops.qrnn;
        meter.lstm = t->ops.lstm;
        t->ops.qrnn = metered_qrnn;
        t->ops.lstm = metered_lstm;
        t->be->ops = &t->ops;
    }
    t->m = qn_test_model(t->be, spec, VOCAB);
    t->pass = qn_test_pass(t->m, BATCH, STEPS, true);
}

static void close_model(struct trained *t)
{
    qn_pass_free(t->pass);
    qn_model_free(t->m);
    qn_backend_free(t->be);
}

/* One step of training; what it carries over is of the table before it. */
static void train(struct trained *t, const struct qn_segment *segment)
{
    struct qn_update update = {.kind = QN_SGD, .lr = 0.1};
    struct qn_step_result r;
    struct qn_tensor none = {0};
    t->loss = qn_test_loss(qn_test_forward(t->m, t->pass, segment));
    t->be->ops->step_begin(t->be);
    qn_pass_backward(t->pass);
    qn_pass_carry(t->pass);
    t->be->ops->grad_norm(t->be, qn_model_grads(t->m));
    t->be->ops->update(t->be, &update, qn_model_trained(t->m),
                       qn_model_grads(t->m), none, none);
    assert_int_equal(t->be->ops->step_end(t->be, &r, NULL), QN_OK);
    t->grads = qn_test_read(t->m, qn_model_grads(t->m));
}

static double most_of(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)x[i]));
    }
    return most;
}

/* How many layers of the cpu backend looked up. */
static int train_both(struct trained *cpu, struct trained *ref, int step)
{
    enum { N = BATCH * STEPS };
    int32_t *ids = qn_test_ids(N, VOCAB, 2 * (uint64_t)step);
    int32_t *targets = qn_test_ids(N, VOCAB, 2 * (uint64_t)step + 1);
    struct qn_segment segment = {.ids = ids,
                                 .targets = targets,
                                 .steps = STEPS,
                                 .seed = 9,
                                 .step = (uint64_t)step};
    size_t n = qn_model_grads(cpu->m).count;
    meter.n_looked_up = 0;
    train(cpu, &segment);
    train(ref, &segment);
    assert_true(fabs(cpu->loss / ref->loss - 1) < BOUND);
    assert_true(qn_test_distance(cpu->grads, ref->grads, n) <
                BOUND * most_of(ref->grads, n));
    free(cpu->grads);
    free(ref->grads);
    free(targets);
    free(ids);
    return meter.n_looked_up;
}

static void set_embed_dropout(struct trained *t, struct qn_spec spec, double p)
{
    spec.model.embed_dropout = p;
    qn_model_set_spec(t->m, &spec);
}

/* In between rows of the embedding are dropped, and none can be looked up; what
 * is carried over each change is of the other kind. */
static void check(struct qn_spec spec)
{
    static const double embed_dropout[SEGMENTS] = {0, 0, 0.3, 0.3, 0, 0};
    struct trained cpu;
    struct trained ref;
    open_model(&cpu, "cpu", &spec);
    open_model(&ref, "ref", &spec);
    for (int i = 0; i < SEGMENTS; i++) {
        set_embed_dropout(&cpu, spec, embed_dropout[i]);
        set_embed_dropout(&ref, spec, embed_dropout[i]);
        assert_int_equal(train_both(&cpu, &ref, i), embed_dropout[i] == 0);
    }
    close_model(&cpu);
    close_model(&ref);
}

static void segments_in_a_row_train_as_multiplied(void **state)
{
    (void)state;
    check(QN_SPEC("model.hidden=10", "model.embed=17", "model.layers=2",
                  "model.window=3,2"));
}

static void windows_longer_than_a_segment_train_as_multiplied(void **state)
{
    (void)state;
    check(QN_SPEC("model.hidden=10", "model.embed=16", "model.layers=2",
                  "model.window=20,2", "model.bias=step", "seq=12"));
}

static void batch_norm_trains_as_multiplied(void **state)
{
    (void)state;
    check(QN_SPEC("model.hidden=10", "model.embed=20", "model.layers=2",
                  "model.window=3,2", "model.batch_norm=true",
                  "model.dropout=0.2"));
}

static void an_lstm_trains_as_multiplied(void **state)
{
    (void)state;
    check(QN_SPEC("model.cell=lstm", "model.hidden=10", "model.embed=20",
                  "model.layers=2", "model.dropout=0.2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_in_a_row_train_as_multiplied),
        cmocka_unit_test(windows_longer_than_a_segment_train_as_multiplied),
        cmocka_unit_test(batch_norm_trains_as_multiplied),
        cmocka_unit_test(an_lstm_trains_as_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
