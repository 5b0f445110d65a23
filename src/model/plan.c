/* plan.c - what a run will take in memory, known before it takes any. */
#include "model/model.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/layout.h"
#include "model/params.h"
#include "model/size.h"

#include <stdlib.h>

static bool same_shapes(const struct qn_layout *l, int a, int b)
{
    return l->width[a] == l->width[b] && l->history[a] == l->history[b] &&
           l->width[a + 1] == l->width[b + 1];
}

/* A backend uses one workspace for all layers and the decoder, as large as the
 * largest needs. Most layers are shaped as the one before them and need not be
 * asked. */
static size_t workspace_of(const struct qn_layout *l,
                           const struct qn_spec *spec, struct qn_backend *be)
{
    struct qn_seq decoded = qn_layout_decoded(l, l->steps);
    size_t most = be->ops->linear_workspace(be, &decoded, (size_t)l->outputs);
    for (int k = 0; k < l->layers; k++) {
        if (k > 0 && same_shapes(l, k, k - 1)) {
            continue;
        }
        struct qn_layer_run run = {.be = be,
                                   .place = {spec, k, l->width[k]},
                                   .x = qn_layout_input(l, k, l->steps),
                                   .out = qn_layout_output(l, k, l->steps),
                                   .training = l->training};
        size_t bytes = qn_layer_ops(spec)->workspace(&run);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int n_moments(const struct qn_spec *spec)
{
    int n = 0;
    switch (spec->optim.kind) {
    case QN_SGD:
        n = spec->optim.momentum > 0 ? 1 : 0;
        break;
    case QN_RMSPROP:
        n = 1;
        break;
    case QN_ADAM:
        n = 2;
        break;
    }
    return n;
}

void qn_model_plan(const struct qn_spec *spec, int vocab, int steps,
                   int eval_batch, struct qn_backend *be,
                   struct qn_memory_plan *out)
{
    struct qn_param_list params;
    struct qn_layout train;
    struct qn_layout eval;
    qn_param_list_init(&params, spec, vocab);
    qn_layout_init(&train, spec, vocab, spec->batch, steps, true);
    qn_layout_init(&eval, spec, vocab, eval_batch, steps, false);
    size_t weights = qn_size_mul(params.count, sizeof(float));
    size_t table =
        qn_size_mul(qn_param_table(&params, spec, vocab), sizeof(float));
    size_t trained = qn_size_mul(params.trained, sizeof(float));
    size_t moments = qn_size_mul((size_t)n_moments(spec), trained);
    /* A copy of all that a checkpoint holds, the weights in two orders. */
    size_t copy = qn_size_add(qn_size_mul(2, weights), moments);
    copy = qn_size_add(copy, qn_size_mul(train.carried, sizeof(float)));
    size_t train_work = workspace_of(&train, spec, be);
    size_t eval_work = workspace_of(&eval, spec, be);
    struct qn_memory_plan plan = {
        .parameters = qn_size_add(weights, table),
        .gradients = trained,
        .moments = moments,
        .activations = qn_size_mul(train.total, sizeof(float)),
        .evaluation = qn_size_mul(eval.total, sizeof(float)),
        .workspace = train_work > eval_work ? train_work : eval_work,
        .saving = copy};
    const size_t parts[] = {plan.parameters,  plan.gradients,  plan.moments,
                            plan.activations, plan.evaluation, plan.workspace,
                            plan.saving};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        plan.total = qn_size_add(plan.total, parts[i]);
    }
    qn_param_list_fini(&params);
    *out = plan;
}

struct part {
    const char *name;
    size_t bytes;
    int order; /* among equals */
};

static int larger_first(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    int by_size = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return by_size != 0 ? by_size : x->order - y->order;
}

enum qn_status qn_memory_plan_check(const struct qn_memory_plan *plan,
                                    size_t available, struct qn_err *err)
{
    if (plan->total <= available) {
        return QN_OK;
    }
    struct part parts[] = {
        {"parameters", plan->parameters, 0},
        {"gradients", plan->gradients, 1},
        {"moments", plan->moments, 2},
        {"activations", plan->activations, 3},
        {"evaluation", plan->evaluation, 4},
        {"workspace", plan->workspace, 5},
        {"saving", plan->saving, 6},
    };
    size_t n = sizeof parts / sizeof parts[0];
    qsort(parts, n, sizeof parts[0], larger_first);
    struct qn_str list = {0};
    char size[32];
    char have[32];
    for (size_t i = 0; i < n && parts[i].bytes > 0; i++) {
        qn_str_addf(&list, "%s%s %s", i == 0 ? "" : ", ", parts[i].name,
                    qn_format_bytes(size, sizeof size, (double)parts[i].bytes));
    }
    enum qn_status status = qn_fail(
        err, QN_ENOMEM,
        "the network needs %s of memory and %s is available: %s",
        qn_format_bytes(size, sizeof size, (double)plan->total),
        qn_format_bytes(have, sizeof have, (double)available), list.text);
    qn_str_free(&list);
    return status;
}
