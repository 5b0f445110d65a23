/* layout.c - the places and sizes of a pass's buffers. */
#include "model/layout.h"

#include "base/assert.h"
#include "model/size.h"

int qn_layout_outputs(const struct qn_spec *spec, int vocab)
{
    return spec->task == QN_TASK_CLASSIFY ? 1 : vocab;
}

int qn_layout_width(const struct qn_spec *spec, int k)
{
    int embed = spec->model.embed;
    int hidden = spec->model.hidden;
    if (spec->model.dense) {
        return embed + k * hidden;
    }
    return k == 0 ? embed : hidden;
}

bool qn_layout_looks_up(const struct qn_spec *spec)
{
    return qn_layer_ops(spec)->looks_up && !spec->model.dense;
}

static int history_of(const struct qn_spec *spec, int k)
{
    struct qn_layer_place place = {spec, k, qn_layout_width(spec, k)};
    return qn_layer_ops(spec)->history(&place);
}

/* Where inputs begin and how many vectors stand before them. */
static void place_inputs(struct qn_layout *l, const struct qn_spec *spec)
{
    int most = 0;
    for (int k = 0; k < l->layers; k++) {
        l->width[k] = qn_layout_width(spec, k);
        l->pitch[k] = l->width[k];
        l->history[k] = history_of(spec, k);
        most = l->history[k] > most ? l->history[k] : most;
    }
    l->width[l->layers] = l->hidden;
    l->pitch[l->layers] = l->hidden;
    if (!l->dense) {
        return;
    }
    l->column[l->layers] = l->width[l->layers - 1];
    for (int k = 0; k <= l->layers; k++) {
        l->pitch[k] = l->width[l->layers - 1] + l->hidden;
        l->history[k] = most;
    }
}

static void size_inputs(struct qn_layout *l)
{
    int n = l->dense ? 0 : l->layers;
    for (int k = 0; k <= n; k++) {
        size_t rows = (size_t)l->history[k] + (size_t)l->steps;
        rows = qn_size_mul((size_t)l->batch, rows);
        l->in[k] = qn_size_mul(rows, (size_t)l->pitch[k]);
        l->grad = l->in[k] > l->grad ? l->in[k] : l->grad;
    }
    for (int k = 0; k < l->layers && l->in[k] > 0; k++) {
        l->context[k] = (size_t)l->history[k] * (size_t)l->pitch[k];
    }
    l->n_grads = !l->training ? 0 : l->dense ? 1 : 2;
}

static void size_layers(struct qn_layout *l, const struct qn_spec *spec)
{
    const struct qn_layer_ops *ops = qn_layer_ops(spec);
    for (int k = 0; k < l->layers; k++) {
        struct qn_layer_place place = {spec, k, l->width[k]};
        size_t saved = qn_size_mul(l->symbols, ops->saved(&place, l->training));
        size_t kept = l->training ? ops->kept(&place) : 0;
        l->state[k] = qn_size_mul((size_t)l->batch, ops->state(&place));
        l->saved = saved > l->saved ? saved : l->saved;
        l->kept = kept > l->kept ? kept : l->kept;
    }
}

static void add_up(struct qn_layout *l, const struct qn_spec *spec)
{
    size_t sum = qn_size_add(l->logits, qn_size_add(l->symbols, l->targets));
    size_t layers = (size_t)l->layers;
    l->has_position = spec->model.bias == QN_BIAS_STEP;
    l->carried = l->has_position ? 1 : 0;
    for (int k = 0; k < l->layers; k++) {
        size_t context = qn_size_mul((size_t)l->batch, l->context[k]);
        sum = qn_size_add(sum, qn_size_add(l->in[k], l->state[k]));
        l->carried = qn_size_add(l->carried, qn_size_add(l->state[k], context));
    }
    sum = qn_size_add(sum, l->in[l->layers]);
    sum = qn_size_add(sum, qn_size_mul(l->training ? 2 : 1, l->last));
    sum = qn_size_add(sum, qn_size_mul(layers, l->cells));
    sum = qn_size_add(sum, qn_size_mul(layers, l->kept));
    sum = qn_size_add(sum, qn_size_mul(l->training ? layers : 1, l->saved));
    l->total = qn_size_add(sum, qn_size_mul((size_t)l->n_grads, l->grad));
}

void qn_layout_init(struct qn_layout *l, const struct qn_spec *spec, int vocab,
                    int batch, int steps, bool training)
{
    QN_ASSERT(batch >= 1 && steps >= 1 && vocab >= 1);
    *l = (struct qn_layout){.layers = spec->model.layers,
                            .batch = batch,
                            .steps = steps,
                            .hidden = spec->model.hidden,
                            .outputs = qn_layout_outputs(spec, vocab),
                            .classifies = spec->task == QN_TASK_CLASSIFY,
                            .training = training,
                            .dense = spec->model.dense};
    l->symbols = qn_size_mul((size_t)batch, (size_t)steps);
    l->cells = qn_size_mul(l->symbols, (size_t)l->hidden);
    l->targets = qn_layout_predictions(l, steps);
    l->logits = qn_size_mul(l->targets, (size_t)l->outputs);
    if (l->classifies) {
        l->last = qn_size_mul(l->targets, (size_t)l->hidden);
    }
    place_inputs(l, spec);
    size_inputs(l);
    size_layers(l, spec);
    add_up(l, spec);
}

/* --- views -------------------------------------------------------------- */

struct qn_seq qn_layout_rows(const struct qn_layout *l, int k, int steps)
{
    size_t pitch = (size_t)l->pitch[k];
    size_t history = (size_t)l->history[k];
    return (struct qn_seq){.offset = history * pitch,
                           .row_pitch = pitch,
                           .seq_pitch = (history + (size_t)l->steps) * pitch,
                           .batch = l->batch,
                           .steps = steps,
                           .width = l->pitch[k],
                           .history = l->history[k]};
}

struct qn_seq qn_layout_input(const struct qn_layout *l, int k, int steps)
{
    struct qn_seq seq = qn_layout_rows(l, k, steps);
    seq.offset += (size_t)l->column[k];
    seq.width = l->width[k];
    return seq;
}

struct qn_seq qn_layout_output(const struct qn_layout *l, int k, int steps)
{
    if (!l->dense) {
        return qn_layout_input(l, k + 1, steps);
    }
    struct qn_seq seq = qn_layout_rows(l, k, steps);
    seq.offset += (size_t)l->width[k];
    seq.width = l->hidden;
    return seq;
}

struct qn_seq qn_layout_decoded(const struct qn_layout *l, int steps)
{
    if (!l->classifies) {
        return qn_layout_input(l, l->layers, steps);
    }
    return (struct qn_seq){.row_pitch = (size_t)l->hidden,
                           .seq_pitch = (size_t)l->hidden,
                           .batch = l->batch,
                           .steps = 1,
                           .width = l->hidden};
}

size_t qn_layout_predictions(const struct qn_layout *l, int steps)
{
    size_t rows = l->classifies ? 1 : (size_t)steps;
    return qn_size_mul((size_t)l->batch, rows);
}
