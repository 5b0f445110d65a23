/* layer_qrnn.c - a quasi-recurrent layer (paper, section 3) as one operation.
 *
 * Parameters: conv.weight [G*H, D, n] in files, [G*H, n, D] in memory, and
 * conv.bias [G*H]. State: the cell states c, [B, H]. */
#include "nn/layer_qrnn.h"

#include "base/assert.h"

enum { WEIGHT, BIAS, N_PARAMS };

static int n_gates(const struct qn_spec *spec)
{
    return qn_n_gates(spec->model.activation, spec->model.pooling);
}

static int qrnn_params(const struct qn_layer_place *place,
                       struct qn_layer_param out[QN_LAYER_MAX_PARAMS])
{
    const struct qn_spec *spec = place->spec;
    int gates = n_gates(spec);
    size_t rows = (size_t)gates * (size_t)spec->model.hidden;
    size_t window = (size_t)spec->model.window[place->index];
    out[WEIGHT] =
        (struct qn_layer_param){.name = "conv.weight",
                                .n_dims = 3,
                                .dim = {rows, (size_t)place->in_width, window},
                                .blocks = gates,
                                .drawn = true};
    out[BIAS] = (struct qn_layer_param){
        .name = "conv.bias", .n_dims = 1, .dim = {rows}};
    return N_PARAMS;
}

static int qrnn_history(const struct qn_layer_place *place)
{
    return place->spec->model.window[place->index] - 1;
}

static size_t qrnn_state(const struct qn_layer_place *place)
{
    return (size_t)place->spec->model.hidden;
}

static size_t qrnn_saved(const struct qn_layer_place *place, bool training)
{
    (void)training;
    const struct qn_spec *spec = place->spec;
    return (size_t)n_gates(spec) * (size_t)spec->model.hidden;
}

static struct qn_qrnn as_op(const struct qn_layer_run *run)
{
    const struct qn_spec *spec = run->place.spec;
    return (struct qn_qrnn){.hidden = spec->model.hidden,
                            .window = spec->model.window[run->place.index],
                            .pooling = spec->model.pooling,
                            .activation = spec->model.activation,
                            .alpha = (float)spec->model.alpha,
                            .dropout = run->dropout,
                            .weight = run->weights[WEIGHT],
                            .bias = run->weights[BIAS],
                            .bias_steps = 1,
                            .x = run->x,
                            .out = run->out,
                            .c0 = run->state,
                            .cells = run->cells,
                            .saved = run->saved};
}

static void qrnn_forward(const struct qn_layer_run *run)
{
    struct qn_qrnn op = as_op(run);
    run->be->ops->qrnn(run->be, &op);
}

/* No gradient crosses segments: none comes into the last c, none leaves c0. */
static void qrnn_backward(const struct qn_layer_run *run)
{
    struct qn_qrnn op = as_op(run);
    struct qn_qrnn_grad grad = {.d_out = run->d_out,
                                .d_weight = run->grads[WEIGHT],
                                .d_bias = run->grads[BIAS],
                                .d_x = run->d_x};
    run->be->ops->qrnn_grad(run->be, &op, &grad);
}

static void qrnn_carry(const struct qn_layer_run *run)
{
    size_t hidden = (size_t)run->place.spec->model.hidden;
    size_t steps = (size_t)run->x.steps;
    struct qn_seq last = {.buffer = run->cells.buffer,
                          .offset = run->cells.offset + (steps - 1) * hidden,
                          .row_pitch = hidden,
                          .seq_pitch = steps * hidden,
                          .batch = run->x.batch,
                          .steps = 1,
                          .width = (int)hidden};
    struct qn_seq state = last;
    state.buffer = run->state.buffer;
    state.offset = run->state.offset;
    state.seq_pitch = hidden;
    run->be->ops->copy_seq(run->be, state, last);
}

static size_t qrnn_workspace(const struct qn_layer_run *run)
{
    struct qn_qrnn op = as_op(run);
    return run->be->ops->qrnn_workspace(run->be, &op);
}

const struct qn_layer_ops qn_layer_qrnn = {
    .params = qrnn_params,
    .history = qrnn_history,
    .state = qrnn_state,
    .saved = qrnn_saved,
    .forward = qrnn_forward,
    .backward = qrnn_backward,
    .carry = qrnn_carry,
    .workspace = qrnn_workspace,
};
