/* layout.c - the sizes of a pass's buffers. */
#include "model/layout.h"

#include "base/assert.h"
#include "model/size.h"

static void lay_inputs(struct qn_layout *l, const struct qn_spec *spec)
{
    const struct qn_layer_ops *ops = qn_layer_ops(spec);
    for (int k = 0; k <= l->layers; k++) {
        int width = k == 0 ? spec->model.embed : spec->model.hidden;
        struct qn_layer_place place = {spec, k, width};
        int history = k < l->layers ? ops->history(&place) : 0;
        size_t rows =
            qn_size_mul((size_t)l->batch, (size_t)history + (size_t)l->steps);
        l->width[k] = width;
        l->history[k] = history;
        l->in[k] = qn_size_mul(rows, (size_t)width);
    }
}

static void lay_layers(struct qn_layout *l, const struct qn_spec *spec)
{
    const struct qn_layer_ops *ops = qn_layer_ops(spec);
    for (int k = 0; k < l->layers; k++) {
        struct qn_layer_place place = {spec, k, l->width[k]};
        size_t saved = qn_size_mul(l->symbols, ops->saved(&place, l->training));
        l->state[k] = qn_size_mul((size_t)l->batch, ops->state(&place));
        l->saved = saved > l->saved ? saved : l->saved;
        l->grad = l->training && l->in[k] > l->grad ? l->in[k] : l->grad;
    }
    size_t last = l->training ? l->in[l->layers] : 0;
    l->grad = last > l->grad ? last : l->grad;
}

static size_t add_up(const struct qn_layout *l)
{
    size_t sum = qn_size_add(l->logits, qn_size_mul(2, l->symbols));
    for (int k = 0; k < l->layers; k++) {
        sum = qn_size_add(sum, qn_size_add(l->in[k], l->state[k]));
    }
    size_t layers = (size_t)l->layers;
    sum = qn_size_add(sum, l->in[l->layers]);
    sum = qn_size_add(sum, qn_size_mul(layers, l->cells));
    sum = qn_size_add(sum, qn_size_mul(l->training ? layers : 1, l->saved));
    return qn_size_add(sum, qn_size_mul(2, l->grad));
}

void qn_layout_init(struct qn_layout *l, const struct qn_spec *spec, int vocab,
                    int batch, int steps, bool training)
{
    QN_ASSERT(batch >= 1 && steps >= 1 && vocab >= 1);
    *l = (struct qn_layout){.layers = spec->model.layers,
                            .batch = batch,
                            .steps = steps,
                            .training = training};
    l->symbols = qn_size_mul((size_t)batch, (size_t)steps);
    l->cells = qn_size_mul(l->symbols, (size_t)spec->model.hidden);
    l->logits = qn_size_mul(l->symbols, (size_t)vocab);
    lay_inputs(l, spec);
    lay_layers(l, spec);
    l->total = add_up(l);
}
