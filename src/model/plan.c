/* plan.c - what a run will take in memory, known before it takes any. */
#include "model/model.h"

#include "base/mem.h"
#include "model/checkpoint.h"
#include "model/layout.h"
#include "model/params.h"
#include "model/size.h"

#include <stdlib.h>
#include <string.h>

static bool same_shapes(const struct qn_layout *l, int a, int b)
{
    return l->width[a] == l->width[b] && l->history[a] == l->history[b] &&
           l->width[a + 1] == l->width[b + 1];
}

/* Most layers are shaped as the one before them and need not be asked, unless
 * that one is the first, which may look its input up. */
static bool is_asked(const struct qn_layout *l, int k)
{
    return k <= 1 || !same_shapes(l, k, k - 1);
}

/* A backend uses one workspace for all layers and the decoder, as large as the
 * largest needs. */
static size_t workspace_at(const struct qn_layout *l, int steps, int vocab,
                           const struct qn_spec *spec, struct qn_backend *be)
{
    struct qn_seq decoded = qn_layout_decoded(l, steps);
    size_t most = be->ops->linear_workspace(be, &decoded, (size_t)l->outputs);
    for (int k = 0; k < l->layers; k++) {
        if (!is_asked(l, k)) {
            continue;
        }
        int looked_up = k == 0 && qn_layout_looks_up(spec) ? vocab : 0;
        struct qn_layer_run run = {.be = be,
                                   .place = {spec, k, l->width[k]},
                                   .x = qn_layout_input(l, k, steps),
                                   .out = qn_layout_output(l, k, steps),
                                   .symbols = {.n = looked_up},
                                   .training = l->training};
        size_t bytes = qn_layer_ops(spec)->workspace(&run);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Rows of segments that are looked at, of all shapes together, which bounds the
 * time. */
#define MOST_ROWS ((size_t)4000000)
/* Steps of each slice beyond which no more can be wanted. */
#define MOST_STEPS 2048

/* A backend looks at each slice, and at the blocks of its rows, for each shape
 * that is asked. */
static size_t rows_of_a_step(const struct qn_layout *l, int slices)
{
    int n_asked = 1; /* the decoder */
    for (int k = 0; k < l->layers; k++) {
        n_asked += is_asked(l, k);
    }
    int rows = l->batch > slices ? l->batch : slices;
    return qn_size_mul((size_t)rows, (size_t)n_asked);
}

/* A backend cuts a segment into blocks that are as equal as they can be, so a
 * shorter one may want more than the longest. */
static size_t workspace_of(const struct qn_layout *l, bool every_length,
                           int vocab, const struct qn_spec *spec,
                           struct qn_backend *be)
{
    size_t most =
        l->layers > 0 ? workspace_at(l, l->steps, vocab, spec, be) : 0;
    int slices = spec->threads > 0 ? spec->threads : 1;
    int limit = MOST_STEPS * (l->batch < slices ? slices : 1);
    limit = every_length ? (l->steps < limit ? l->steps : limit) : 0;
    size_t rows = qn_size_mul(rows_of_a_step(l, slices), (size_t)limit);
    int stride = 1 + (int)(rows / MOST_ROWS);
    for (int steps = 1; steps <= limit; steps += stride) {
        size_t bytes = workspace_at(l, steps, vocab, spec, be);
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

/* Of a pass that is made to be asked. */
static struct qn_layout asked(const struct qn_spec *spec, int vocab, int batch,
                              int steps)
{
    struct qn_layout l = {.total = 0};
    if (steps > 0) {
        qn_layout_init(&l, spec, vocab, batch, steps, false);
    }
    return l;
}

static size_t floats(size_t n)
{
    return qn_size_mul(n, sizeof(float));
}

/* A pass, its logits on the host, and the weights of a draw in double. */
static size_t sampling_of(const struct qn_layout *l)
{
    size_t weights = qn_size_mul((size_t)l->outputs, sizeof(double));
    return qn_size_add(floats(qn_size_add(l->total, l->logits)), weights);
}

/* Weights are loaded first, and then the state of training: as much as its file
 * holds. */
static size_t loading_of(const struct qn_plan_shapes *shapes,
                         const struct qn_param_list *params, size_t state)
{
    size_t weights =
        shapes->loads_weights ? floats(qn_checkpoint_load_size(params)) : 0;
    return shapes->loads_state && state > weights ? state : weights;
}

static size_t most_of(size_t a, size_t b, size_t c)
{
    size_t most = a > b ? a : b;
    return most > c ? most : c;
}

void qn_model_plan(const struct qn_spec *spec,
                   const struct qn_plan_shapes *shapes, struct qn_backend *be,
                   struct qn_memory_plan *out)
{
    int vocab = shapes->vocab;
    struct qn_param_list params;
    struct qn_layout train;
    qn_param_list_init(&params, spec, vocab);
    qn_layout_init(&train, spec, vocab, spec->batch, shapes->steps, true);
    struct qn_layout eval =
        asked(spec, vocab, shapes->eval_batch, shapes->eval_steps);
    struct qn_layout sample = asked(spec, vocab, 1, shapes->sample_steps);
    bool documents = spec->task == QN_TASK_CLASSIFY;
    size_t table = qn_param_table(&params, spec, vocab);
    size_t trained = floats(params.trained);
    size_t moments = qn_size_mul((size_t)n_moments(spec), trained);
    size_t state = qn_size_add(moments, floats(train.carried));
    size_t weights = floats(qn_weights_copy_size(&params));
    struct qn_memory_plan plan = {
        .parameters = floats(qn_size_add(params.count, table)),
        .gradients = trained,
        .moments = moments,
        .activations = floats(train.total),
        .workspace = most_of(workspace_of(&train, documents, vocab, spec, be),
                             workspace_of(&eval, true, vocab, spec, be),
                             workspace_of(&sample, true, vocab, spec, be)),
        .saving = qn_size_add(weights, state),
        .evaluation = floats(eval.total),
        .sampling = sampling_of(&sample),
    };
    size_t loading = loading_of(shapes, &params, state);
    size_t given_back = qn_size_add(plan.evaluation, plan.sampling);
    plan.loading = loading > given_back ? loading - given_back : 0;
    qn_memory_plan_add_up(&plan);
    qn_param_list_fini(&params);
    *out = plan;
}

void qn_memory_plan_add_up(struct qn_memory_plan *plan)
{
    const size_t parts[] = {plan->parameters,  plan->gradients, plan->moments,
                            plan->activations, plan->workspace, plan->saving,
                            plan->evaluation,  plan->sampling,  plan->loading,
                            plan->data,        plan->taken,     plan->rest};
    plan->total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        plan->total = qn_size_add(plan->total, parts[i]);
    }
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

#define N_PARTS 10

/* Those that have a name, the largest first. */
static void list_parts(const struct qn_memory_plan *plan,
                       struct part out[N_PARTS])
{
    const struct part parts[N_PARTS] = {
        {"parameters", plan->parameters, 0},
        {"gradients", plan->gradients, 1},
        {"moments", plan->moments, 2},
        {"activations", plan->activations, 3},
        {"evaluation", plan->evaluation, 4},
        {"workspace", plan->workspace, 5},
        {"saving", plan->saving, 6},
        {"sampling", plan->sampling, 7},
        {"loading", plan->loading, 8},
        {"data", plan->data, 9},
    };
    memcpy(out, parts, sizeof parts);
    qsort(out, N_PARTS, sizeof out[0], larger_first);
}

enum qn_status qn_memory_plan_check(const struct qn_memory_plan *plan,
                                    size_t available, struct qn_err *err)
{
    struct qn_memory_plan wanted = *plan;
    wanted.data = wanted.taken = 0;
    qn_memory_plan_add_up(&wanted);
    if (wanted.total <= available) {
        return QN_OK;
    }
    struct part parts[N_PARTS];
    list_parts(&wanted, parts);
    struct qn_str list = {0};
    char size[32];
    char have[32];
    for (size_t i = 0; i < N_PARTS && parts[i].bytes > 0; i++) {
        qn_str_addf(&list, "%s%s %s", i == 0 ? "" : ", ", parts[i].name,
                    qn_format_bytes(size, sizeof size, (double)parts[i].bytes));
    }
    enum qn_status status = qn_fail(
        err, QN_ENOMEM, "the run needs %s of memory and %s is available: %s",
        qn_format_bytes(size, sizeof size, (double)wanted.total),
        qn_format_bytes(have, sizeof have, (double)available), list.text);
    qn_str_free(&list);
    return status;
}

/* So many are named, and none below a twentieth of all. */
#define MOST_NAMED 4

void qn_memory_plan_text(const struct qn_memory_plan *plan, struct qn_str *out)
{
    struct part parts[N_PARTS];
    char size[32];
    size_t left = plan->total;
    list_parts(plan, parts);
    qn_str_addf(out, "%s",
                qn_format_bytes(size, sizeof size, (double)plan->total));
    for (int i = 0; i < MOST_NAMED && parts[i].bytes > plan->total / 20; i++) {
        qn_str_addf(out, "%s%s %s", i == 0 ? " (" : ", ", parts[i].name,
                    qn_format_bytes(size, sizeof size, (double)parts[i].bytes));
        left -= parts[i].bytes;
    }
    if (left < plan->total) {
        qn_str_addf(out, ", all else %s)",
                    qn_format_bytes(size, sizeof size, (double)left));
    }
}
