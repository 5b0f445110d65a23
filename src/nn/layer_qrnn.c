/* layer_qrnn.c - a quasi-recurrent layer (paper, section 3) as one operation.
 *
 * Parameters: conv.weight [G*H, D, n] in files, [G*H, n, D] in memory; and
 * conv.bias [G*H], with model.bias "step" [T, G*H], or instead of it with batch
 * norm norm.weight (the gain), norm.bias (the shift), norm.running_mean and
 * norm.running_var, [G*H] each. State: the cell states c, [B, H]. saved: the
 * gates [B, T, G*H], and behind them in training with batch norm as much for
 * what its way back wants. kept: with batch norm the segment's mean and
 * variance, [G*H] each. */
#include "nn/layer_qrnn.h"

#include "nn/layer_self.h"

enum { WEIGHT, BIAS, N_PLAIN_PARAMS };
enum { GAIN = 1, SHIFT, MEAN, VAR, N_NORM_PARAMS };

/* Of the old running statistics each training step keeps this share. */
#define RUNNING_KEEP 0.9

static int n_gates(const struct qn_spec *spec)
{
    return qn_n_gates(spec->model.activation, spec->model.pooling);
}

/* G*H, the channels of a layer. */
static size_t n_channels(const struct qn_spec *spec)
{
    return (size_t)n_gates(spec) * (size_t)spec->model.hidden;
}

/* Biases of a layer: one for all steps, or one for each step of a segment. */
static int bias_steps(const struct qn_spec *spec)
{
    return spec->model.bias == QN_BIAS_STEP ? spec->seq : 1;
}

static struct qn_layer_param bias_param(const struct qn_spec *spec)
{
    size_t channels = n_channels(spec);
    struct qn_layer_param bias = {
        .name = "conv.bias", .n_dims = 1, .dim = {channels}};
    if (spec->model.bias == QN_BIAS_STEP) {
        bias.n_dims = 2;
        bias.dim[0] = (size_t)spec->seq;
        bias.dim[1] = channels;
    }
    return bias;
}

/* A small gain keeps sigmoid and tanh where they are steep to begin with
 * (Cooijmans et al. 2016); the halves of a dual candidate never level off. */
static void norm_params(const struct qn_spec *spec,
                        struct qn_layer_param out[QN_LAYER_MAX_PARAMS])
{
    int candidates = qn_n_candidates(spec->model.activation);
    const struct qn_layer_param plain = {
        .n_dims = 1, .dim = {n_channels(spec)}, .blocks = n_gates(spec)};
    for (int i = GAIN; i <= VAR; i++) {
        out[i] = plain;
        out[i].fixed = i == MEAN || i == VAR;
    }
    out[GAIN].name = "norm.weight";
    out[SHIFT].name = "norm.bias";
    out[MEAN].name = "norm.running_mean";
    out[VAR].name = "norm.running_var";
    for (int g = 0; g < plain.blocks; g++) {
        bool dual = candidates == 2 && g < candidates;
        out[GAIN].value[g] = dual ? 0.5f : 0.1f;
        out[VAR].value[g] = 1.0f;
    }
}

static int qrnn_params(const struct qn_layer_place *place,
                       struct qn_layer_param out[QN_LAYER_MAX_PARAMS])
{
    const struct qn_spec *spec = place->spec;
    size_t window = (size_t)spec->model.window[place->index];
    out[WEIGHT] = (struct qn_layer_param){
        .name = "conv.weight",
        .n_dims = 3,
        .dim = {n_channels(spec), (size_t)place->in_width, window},
        .blocks = n_gates(spec),
        .drawn = true};
    if (spec->model.batch_norm) {
        norm_params(spec, out);
        return N_NORM_PARAMS;
    }
    out[BIAS] = bias_param(spec);
    return N_PLAIN_PARAMS;
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
    size_t raw = training && place->spec->model.batch_norm ? 1 : 0;
    return (1 + raw) * n_channels(place->spec);
}

static size_t qrnn_kept(const struct qn_layer_place *place)
{
    return place->spec->model.batch_norm ? 2 * n_channels(place->spec) : 0;
}

static bool qrnn_has(const struct qn_layer_place *place, enum qn_quantity what)
{
    return what != QN_OUTGATE || place->spec->model.pooling != QN_POOL_F;
}

/* The gates of the segment, at the front of 'saved'. */
static size_t gates_count(const struct qn_layer_run *run)
{
    return (size_t)run->x.batch * (size_t)run->x.steps *
           n_channels(run->place.spec);
}

static struct qn_norm norm_of(const struct qn_layer_run *run)
{
    size_t channels = n_channels(run->place.spec);
    struct qn_norm norm = {.on = true,
                           .batch = run->training,
                           .gain = run->weights[GAIN],
                           .shift = run->weights[SHIFT],
                           .mean = run->weights[MEAN],
                           .var = run->weights[VAR]};
    if (run->training) {
        size_t gates = gates_count(run);
        norm.mean = qn_tensor_part(run->kept, 0, channels);
        norm.var = qn_tensor_part(run->kept, channels, channels);
        norm.raw = qn_tensor_part(run->saved, gates, gates);
    }
    return norm;
}

static struct qn_qrnn as_op(const struct qn_layer_run *run)
{
    const struct qn_spec *spec = run->place.spec;
    struct qn_qrnn op = {.hidden = spec->model.hidden,
                         .window = spec->model.window[run->place.index],
                         .pooling = spec->model.pooling,
                         .activation = spec->model.activation,
                         .alpha = (float)spec->model.alpha,
                         .dropout = run->dropout,
                         .zoneout = run->zoneout,
                         .weight = run->weights[WEIGHT],
                         .x = run->x,
                         .out = run->out,
                         .c0 = run->state,
                         .cells = run->cells,
                         .n_real = run->n_real,
                         .n_symbols = run->symbols.n,
                         .table = run->symbols.table,
                         .ids = run->symbols.ids,
                         .saved =
                             qn_tensor_part(run->saved, 0, gates_count(run))};
    if (spec->model.batch_norm) {
        op.norm = norm_of(run);
    } else {
        op.bias = run->weights[BIAS];
        op.bias_steps = bias_steps(spec);
        op.bias_first = run->position % op.bias_steps;
    }
    return op;
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
                                .d_x = run->d_x,
                                .add_x = run->add_x,
                                .d_table = run->symbols.d_table};
    if (op.norm.on) {
        grad.d_gain = run->grads[GAIN];
        grad.d_shift = run->grads[SHIFT];
    } else {
        grad.d_bias = run->grads[BIAS];
    }
    run->be->ops->qrnn_grad(run->be, &op, &grad);
}

static enum qn_status qrnn_count(const struct qn_layer_run *run,
                                 enum qn_quantity what, struct qn_hist *h,
                                 struct qn_err *err)
{
    struct qn_qrnn op = as_op(run);
    return run->be->ops->count_qrnn(run->be, &op, what, run->n_real, h, err);
}

/* Whether the segment had a row whose statistics it could take. */
static bool has_real_rows(const struct qn_layer_run *run)
{
    if (run->n_real == NULL) {
        return true;
    }
    for (int b = 0; b < run->x.batch; b++) {
        if (run->n_real[b] > 0) {
            return true;
        }
    }
    return false;
}

static void qrnn_carry(const struct qn_layer_run *run)
{
    struct qn_qrnn op = as_op(run);
    const struct qn_backend_ops *ops = run->be->ops;
    qn_layer_carry_rows(run, qn_layer_rows(run, op.cells), op.c0);
    if (op.norm.batch && has_real_rows(run)) {
        ops->combine(run->be, run->weights[MEAN], op.norm.mean,
                     1 - RUNNING_KEEP, RUNNING_KEEP);
        ops->combine(run->be, run->weights[VAR], op.norm.var, 1 - RUNNING_KEEP,
                     RUNNING_KEEP);
    }
}

static size_t qrnn_workspace(const struct qn_layer_run *run)
{
    struct qn_qrnn op = as_op(run);
    return run->be->ops->qrnn_workspace(run->be, &op);
}

const struct qn_layer_ops qn_layer_qrnn = {
    .looks_up = true,
    .params = qrnn_params,
    .history = qrnn_history,
    .state = qrnn_state,
    .saved = qrnn_saved,
    .kept = qrnn_kept,
    .has = qrnn_has,
    .forward = qrnn_forward,
    .backward = qrnn_backward,
    .count = qrnn_count,
    .carry = qrnn_carry,
    .workspace = qrnn_workspace,
};
