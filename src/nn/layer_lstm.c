/* layer_lstm.c - an LSTM layer (torch.nn.LSTM's equations) as one operation.
 *
 * Parameters: lstm.weight_ih [4H, D], lstm.weight_hh [4H, H] and lstm.bias_ih
 * [4H], whose twin lstm.bias_hh is added to it. State: two parts [B, H], c and
 * then h. saved: the gates [B, T, 4H], and behind them the hidden states before
 * dropout [B, T, H]. */
#include "nn/layer_lstm.h"

#include "nn/layer_self.h"

enum { WEIGHT_IH, WEIGHT_HH, BIAS, N_PARAMS };
enum { N_GATES = 4 }; /* i, f, g, o */

static size_t hidden_of(const struct qn_layer_place *place)
{
    return (size_t)place->spec->model.hidden;
}

static int lstm_params(const struct qn_layer_place *place,
                       struct qn_layer_param out[QN_LAYER_MAX_PARAMS])
{
    size_t hidden = hidden_of(place);
    size_t rows = N_GATES * hidden;
    out[WEIGHT_IH] =
        (struct qn_layer_param){.name = "lstm.weight_ih",
                                .n_dims = 2,
                                .dim = {rows, (size_t)place->in_width},
                                .blocks = N_GATES,
                                .drawn = true};
    out[WEIGHT_HH] = (struct qn_layer_param){.name = "lstm.weight_hh",
                                             .n_dims = 2,
                                             .dim = {rows, hidden},
                                             .blocks = N_GATES,
                                             .drawn = true};
    out[BIAS] = (struct qn_layer_param){.name = "lstm.bias_ih",
                                        .twin = "lstm.bias_hh",
                                        .n_dims = 1,
                                        .dim = {rows}};
    return N_PARAMS;
}

static int lstm_history(const struct qn_layer_place *place)
{
    (void)place;
    return 0;
}

static size_t lstm_state(const struct qn_layer_place *place)
{
    return 2 * hidden_of(place);
}

static size_t lstm_saved(const struct qn_layer_place *place, bool training)
{
    (void)training;
    return (N_GATES + 1) * hidden_of(place);
}

static size_t lstm_kept(const struct qn_layer_place *place)
{
    (void)place;
    return 0;
}

static bool lstm_has(const struct qn_layer_place *place, enum qn_quantity what)
{
    (void)place;
    return what < QN_N_QUANTITIES;
}

static struct qn_lstm as_op(const struct qn_layer_run *run)
{
    size_t hidden = hidden_of(&run->place);
    size_t state = (size_t)run->x.batch * hidden;
    size_t symbols = (size_t)run->x.batch * (size_t)run->x.steps;
    size_t gates = symbols * N_GATES * hidden;
    return (struct qn_lstm){
        .hidden = (int)hidden,
        .dropout = run->dropout,
        .weight_ih = run->weights[WEIGHT_IH],
        .weight_hh = run->weights[WEIGHT_HH],
        .bias = run->weights[BIAS],
        .x = run->x,
        .out = run->out,
        .c0 = qn_tensor_part(run->state, 0, state),
        .h0 = qn_tensor_part(run->state, state, state),
        .n_real = run->n_real,
        .n_symbols = run->symbols.n,
        .table = run->symbols.table,
        .ids = run->symbols.ids,
        .cells = run->cells,
        .saved = qn_tensor_part(run->saved, 0, gates),
        .hiddens = qn_tensor_part(run->saved, gates, symbols * hidden)};
}

static void lstm_forward(const struct qn_layer_run *run)
{
    struct qn_lstm op = as_op(run);
    run->be->ops->lstm(run->be, &op);
}

/* No gradient crosses segments: none comes into the last states, none leaves
 * the first. */
static void lstm_backward(const struct qn_layer_run *run)
{
    struct qn_lstm op = as_op(run);
    struct qn_lstm_grad grad = {.d_out = run->d_out,
                                .d_weight_ih = run->grads[WEIGHT_IH],
                                .d_weight_hh = run->grads[WEIGHT_HH],
                                .d_bias = run->grads[BIAS],
                                .d_x = run->d_x,
                                .add_x = run->add_x,
                                .d_table = run->symbols.d_table};
    run->be->ops->lstm_grad(run->be, &op, &grad);
}

static enum qn_status lstm_count(const struct qn_layer_run *run,
                                 enum qn_quantity what, struct qn_hist *h,
                                 struct qn_err *err)
{
    struct qn_lstm op = as_op(run);
    return run->be->ops->count_lstm(run->be, &op, what, run->n_real, h, err);
}

/* In evaluation the layers share 'saved', so the hidden states there may be
 * another layer's; but nothing is dropped, and out holds them, too. */
static void lstm_carry(const struct qn_layer_run *run)
{
    struct qn_lstm op = as_op(run);
    struct qn_seq hiddens =
        run->training ? qn_layer_rows(run, op.hiddens) : run->out;
    qn_layer_carry_rows(run, qn_layer_rows(run, op.cells), op.c0);
    qn_layer_carry_rows(run, hiddens, op.h0);
}

static size_t lstm_workspace(const struct qn_layer_run *run)
{
    struct qn_lstm op = as_op(run);
    return run->be->ops->lstm_workspace(run->be, &op);
}

const struct qn_layer_ops qn_layer_lstm = {
    .looks_up = true,
    .params = lstm_params,
    .history = lstm_history,
    .state = lstm_state,
    .saved = lstm_saved,
    .kept = lstm_kept,
    .has = lstm_has,
    .forward = lstm_forward,
    .backward = lstm_backward,
    .count = lstm_count,
    .carry = lstm_carry,
    .workspace = lstm_workspace,
};
