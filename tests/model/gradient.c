/* gradient.c - gradients of a whole network against differences of its loss.
 */
#include "base/mem.h"
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 7, BATCH = 3, STEPS = 6 };

/* Of documents: the last is padding and nothing else. */
static const int N_REAL[BATCH] = {4, 6, 0};

struct net {
    struct qn_backend *be;
    struct qn_model *m;
    struct qn_pass *p;
    struct qn_segment seg;
    int32_t *ids, *targets;
};

static void open_net(struct net *net, const char *backend,
                     const struct qn_spec *spec)
{
    size_t n = (size_t)BATCH * STEPS;
    net->be = qn_test_backend(backend);
    net->m = qn_test_model(net->be, spec, VOCAB);
    net->p = qn_test_pass(net->m, BATCH, STEPS, true);
    net->ids = qn_test_ids(n, VOCAB, 3);
    bool classify = spec->task == QN_TASK_CLASSIFY;
    net->targets = qn_test_ids(n, classify ? 2 : VOCAB, 4);
    net->targets[2] = -1; /* one that does not count */
    net->seg = (struct qn_segment){
        net->ids, net->targets, STEPS, classify ? N_REAL : NULL, 11, 5, 40};
    if (classify) {
        return; /* documents begin from nothing */
    }
    /* A state and a context that are not zero. */
    (void)qn_test_forward(net->m, net->p, &net->seg);
    qn_pass_carry(net->p);
}

static void close_net(struct net *net)
{
    free(net->ids);
    free(net->targets);
    qn_pass_free(net->p);
    qn_model_free(net->m);
    qn_backend_free(net->be);
}

/* The objective: the mean loss, times the steps with loss.time "sum". */
static double objective(struct net *net)
{
    double loss = qn_test_loss(qn_test_forward(net->m, net->p, &net->seg));
    bool sum = qn_model_spec(net->m)->loss.time == QN_TIME_SUM;
    return sum ? loss * net->seg.steps : loss;
}

/* The objective with one tensor moved by 'step' along a direction. */
static double at(struct net *net, const struct qn_param *p,
                 const float *weights, const float *direction, double step)
{
    float *moved = qn_xcalloc(p->count, sizeof *moved);
    struct qn_tensor t =
        qn_tensor_part(qn_model_weights(net->m), p->offset, p->count);
    for (size_t i = 0; i < p->count; i++) {
        double w = (double)weights[p->offset + i];
        moved[i] = (float)(w + step * (double)direction[i]);
    }
    net->be->ops->write(net->be, t, moved);
    double loss = objective(net);
    net->be->ops->write(net->be, t, weights + p->offset);
    free(moved);
    return loss;
}

/* Along the gradient itself the objective changes by its norm. The difference
 * errs by the third derivative times step^2 / 6, and by the rounding of float32
 * activations, about 1e-7 / step: 2e-3 of the norm leaves room for both. */
static void check_tensor(struct net *net, const struct qn_param *p,
                         const float *weights, const float *grads)
{
    const double step = 0.01;
    const float *g = grads + p->offset;
    double squares = 0;
    for (size_t i = 0; i < p->count; i++) {
        squares += (double)g[i] * (double)g[i];
    }
    double norm = sqrt(squares);
    assert_true(norm > 1e-4);
    double slope = (at(net, p, weights, g, step / norm) -
                    at(net, p, weights, g, -step / norm)) /
                   (2 * step);
    if (!(fabs(slope / norm - 1) < 2e-3)) {
        fail_msg(
            "%s: the objective changes by %.9g, the gradient has norm %.9g",
            p->name, slope, norm);
    }
}

static void check_on(const char *backend, const struct qn_spec *spec)
{
    struct net net;
    struct qn_param_list list;
    open_net(&net, backend, spec);
    qn_param_list_init(&list, spec, VOCAB);
    (void)qn_test_forward(net.m, net.p, &net.seg);
    qn_pass_backward(net.p);
    float *weights = qn_test_read(net.m, qn_model_weights(net.m));
    float *grads = qn_test_read(net.m, qn_model_grads(net.m));
    for (int i = 0; i < list.n; i++) {
        if (!list.items[i].fixed) {
            check_tensor(&net, &list.items[i], weights, grads);
        }
    }
    free(weights);
    free(grads);
    qn_param_list_fini(&list);
    close_net(&net);
}

static void check(const struct qn_spec *spec)
{
    check_on("ref", spec);
    check_on("cpu", spec);
}

static void gradients_are_slopes_of_the_loss(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=6", "model.embed=5", "model.window=3,2",
                "model.activation=tanh", "model.pooling=ifo");
    check(&spec);
    spec = QN_SPEC("model.hidden=6", "model.embed=5", "model.layers=3",
                   "model.activation=delu", "model.alpha=1");
    check(&spec);
}

static void gradients_are_slopes_under_dropout(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=8", "model.embed=9", "model.window=4,1",
                "model.activation=tanh", "model.pooling=f", "model.dropout=0.3",
                "model.embed_dropout=0.4");
    check(&spec);
    spec =
        QN_SPEC("model.hidden=8", "model.embed=9", "model.layers=3",
                "model.activation=delu", "model.alpha=1", "model.dropout=0.5");
    check(&spec);
}

static void gradients_are_slopes_under_batch_norm_and_zoneout(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=6", "model.embed=5", "model.window=3,2",
                "model.activation=delu", "model.alpha=1",
                "model.batch_norm=true", "model.zoneout=0.3");
    check(&spec);
    spec = QN_SPEC("model.hidden=6", "model.embed=5", "model.pooling=ifo",
                   "model.activation=tanh", "model.zoneout=0.5",
                   "model.dropout=0.2");
    check(&spec);
}

static void gradients_are_slopes_with_a_bias_for_each_step(void **state)
{
    (void)state;
    /* Segments of 6 steps: of 4 biases some hold twice, of 9 some never. */
    struct qn_spec spec =
        QN_SPEC("model.hidden=6", "model.embed=5", "model.activation=tanh",
                "model.bias=step", "seq=4");
    check(&spec);
    spec = QN_SPEC("model.hidden=6", "model.embed=5", "model.activation=tanh",
                   "model.bias=step", "seq=9", "loss.time=sum");
    check(&spec);
}

static void gradients_are_slopes_of_dense_stacks(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=6", "model.embed=5", "model.layers=3",
                "model.window=3,1,2", "model.activation=tanh",
                "model.dense=true", "model.dropout=0.3");
    check(&spec);
    spec = QN_SPEC("model.hidden=6", "model.embed=5", "model.activation=tanh",
                   "model.dense=true", "model.batch_norm=true",
                   "model.zoneout=0.2", "loss.time=sum");
    check(&spec);
}

static void gradients_are_slopes_of_lstms(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.cell=lstm", "model.hidden=6", "model.embed=5",
                "model.dropout=0.3", "loss.time=sum", "model.init.gain=2");
    check(&spec);
    spec = QN_SPEC("model.cell=lstm", "model.hidden=6", "model.embed=5",
                   "model.layers=3", "model.dense=true", "model.init.gain=2");
    check(&spec);
}

static void gradients_are_slopes_of_classifiers(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("task=classify", "data.vectors=there", "model.hidden=6",
                "model.embed=5", "model.layers=3", "model.window=3,2,1",
                "model.activation=delu", "model.alpha=1", "model.dropout=0.3");
    check(&spec);
    spec = QN_SPEC("task=classify", "model.hidden=6", "model.embed=5",
                   "model.activation=tanh", "model.pooling=ifo",
                   "model.dense=true", "model.zoneout=0.2",
                   "model.embed_dropout=0.3");
    check(&spec);
    /* Larger weights bend less what few rows normalise. */
    spec = QN_SPEC("task=classify", "data.vectors=there", "model.hidden=6",
                   "model.embed=5", "model.activation=tanh",
                   "model.batch_norm=true", "model.init.gain=2");
    check(&spec);
    spec = QN_SPEC("task=classify", "model.cell=lstm", "model.hidden=6",
                   "model.embed=5", "model.dense=true", "model.dropout=0.3",
                   "model.init.gain=2");
    check(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(gradients_are_slopes_under_dropout),
        cmocka_unit_test(gradients_are_slopes_under_batch_norm_and_zoneout),
        cmocka_unit_test(gradients_are_slopes_with_a_bias_for_each_step),
        cmocka_unit_test(gradients_are_slopes_of_dense_stacks),
        cmocka_unit_test(gradients_are_slopes_of_lstms),
        cmocka_unit_test(gradients_are_slopes_of_classifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
