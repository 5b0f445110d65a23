/* layer.c - one QRNN layer from host arrays to host arrays. */
#include "layer.h"

#include "base/mem.h"
#include "base/rng.h"
#include "place.h"
#include "support/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LAYER_N_ARRAYS] = {
    [LAYER_X] = "x",
    [LAYER_C0] = "c0",
    [LAYER_WEIGHT] = "weight",
    [LAYER_BIAS] = "bias",
    [LAYER_D_OUT] = "d_out",
    [LAYER_D_LAST_C] = "d_last_c",
    [LAYER_D_WEIGHT] = "d_weight",
    [LAYER_D_BIAS] = "d_bias",
    [LAYER_D_X] = "d_x",
    [LAYER_OUT] = "out",
    [LAYER_CELLS] = "cells",
    [LAYER_SAVED] = "saved",
    [LAYER_D_C0] = "d_c0",
};

const char *layer_array_name(enum layer_array which)
{
    return names[which];
}

static void set_counts(struct layer_data *data)
{
    const struct layer_shape *s = &data->shape;
    size_t batch = (size_t)s->batch;
    size_t rows = batch * (size_t)s->steps;
    size_t hidden = (size_t)s->hidden;
    size_t in = (size_t)s->in;
    size_t outputs = (size_t)qn_n_gates(s->activation, s->pooling) * hidden;
    size_t *count = data->count;
    count[LAYER_X] = (rows + batch * (size_t)(s->window - 1)) * in;
    count[LAYER_C0] = batch * hidden;
    count[LAYER_WEIGHT] = outputs * (size_t)s->window * in;
    count[LAYER_BIAS] = outputs;
    count[LAYER_D_OUT] = rows * hidden;
    count[LAYER_D_LAST_C] = batch * hidden;
    count[LAYER_D_WEIGHT] = count[LAYER_WEIGHT];
    count[LAYER_D_BIAS] = outputs;
    count[LAYER_D_X] = rows * in;
    count[LAYER_OUT] = rows * hidden;
    count[LAYER_CELLS] = rows * hidden;
    count[LAYER_SAVED] = rows * outputs;
    count[LAYER_D_C0] = batch * hidden;
}

struct layer_data *layer_new(struct layer_shape shape, uint64_t seed)
{
    struct layer_data *data = qn_xcalloc(1, sizeof *data);
    data->shape = shape;
    set_counts(data);
    double weight = 1.0 / sqrt((double)(shape.window * shape.in));
    for (int i = 0; i < LAYER_N_ARRAYS; i++) {
        data->array[i] = qn_xcalloc(data->count[i], sizeof(float));
        if (i < LAYER_OUT)
            qn_fill_normal(data->array[i], data->count[i],
                           i == LAYER_WEIGHT ? weight : 1.0,
                           seed * LAYER_N_ARRAYS + (uint64_t)i);
    }
    return data;
}

struct layer_data *layer_copy(const struct layer_data *data)
{
    struct layer_data *copy = qn_xcalloc(1, sizeof *copy);
    *copy = *data;
    for (int i = 0; i < LAYER_N_ARRAYS; i++) {
        copy->array[i] = qn_xcalloc(data->count[i], sizeof(float));
        memcpy(copy->array[i], data->array[i], data->count[i] * sizeof(float));
    }
    return copy;
}

void layer_free(struct layer_data *data)
{
    for (int i = 0; i < LAYER_N_ARRAYS; i++)
        free(data->array[i]);
    free(data);
}

static struct qn_tensor put(struct qn_backend *be, const struct layer_data *d,
                            enum layer_array which)
{
    return place_tensor(be, d->array[which], d->count[which]);
}

static void take(struct layer_data *d, enum layer_array which, float *array)
{
    free(d->array[which]);
    d->array[which] = array;
}

static struct qn_seq put_seq(struct qn_backend *be, const struct layer_data *d,
                             int width, int history, const float *array)
{
    struct place_shape shape = {d->shape.batch, d->shape.steps, width, history,
                                d->shape.extra};
    return place_seq(be, shape, array);
}

static struct qn_qrnn put_layer(struct qn_backend *be,
                                const struct layer_data *d)
{
    const struct layer_shape *s = &d->shape;
    struct qn_qrnn l = {
        .hidden = s->hidden,
        .window = s->window,
        .pooling = s->pooling,
        .activation = s->activation,
        .alpha = 0.1f,
        .dropout = {.p = s->drop,
                    .key = qn_rng_key(9, 8, 7, QN_RNG_DROPOUT),
                    .first_sample = 6},
        .weight = put(be, d, LAYER_WEIGHT),
        .bias = put(be, d, LAYER_BIAS),
        .bias_steps = 1,
        .x = put_seq(be, d, s->in, s->window - 1, d->array[LAYER_X]),
        .out = put_seq(be, d, s->hidden, 0, NULL),
        .c0 = put(be, d, LAYER_C0),
        .cells = put(be, d, LAYER_CELLS),
        .saved = put(be, d, LAYER_SAVED),
    };
    return l;
}

/* [B, T, D] with n - 1 rows of NaN before each sequence: backward may use them
 * as it likes. */
static struct qn_seq put_d_x(struct qn_backend *be, const struct layer_data *d)
{
    const struct layer_shape *s = &d->shape;
    size_t real = (size_t)(s->steps * s->in);
    size_t history = (size_t)((s->window - 1) * s->in);
    float *all = qn_xcalloc(d->count[LAYER_X], sizeof *all);
    for (size_t b = 0; b < (size_t)s->batch; b++) {
        float *to = all + b * (real + history);
        for (size_t i = 0; i < history; i++)
            to[i] = NAN;
        memcpy(to + history, d->array[LAYER_D_X] + b * real, real * sizeof *to);
    }
    struct qn_seq d_x = put_seq(be, d, s->in, s->window - 1, all);
    free(all);
    return d_x;
}

static void run_back(struct qn_backend *be, struct layer_data *d,
                     const struct qn_qrnn *l)
{
    const struct layer_shape *s = &d->shape;
    struct qn_qrnn_grad g = {
        .d_out = put_seq(be, d, s->hidden, 0, d->array[LAYER_D_OUT]),
        .d_weight = put(be, d, LAYER_D_WEIGHT),
        .d_bias = put(be, d, LAYER_D_BIAS),
        .add_x = s->add_x,
    };
    if (!s->no_d_last_c)
        g.d_last_c = put(be, d, LAYER_D_LAST_C);
    if (!s->no_d_x)
        g.d_x = put_d_x(be, d);
    if (!s->no_d_c0)
        g.d_c0 = put(be, d, LAYER_D_C0);
    be->ops->qrnn_grad(be, l, &g);
    take(d, LAYER_D_WEIGHT, place_read(be, g.d_weight));
    take(d, LAYER_D_BIAS, place_read(be, g.d_bias));
    if (!s->no_d_x)
        take(d, LAYER_D_X, place_read_rows(be, &g.d_x));
    if (!s->no_d_c0)
        take(d, LAYER_D_C0, place_read(be, g.d_c0));
    place_free(be, g.d_out.buffer);
    place_free(be, g.d_weight.buffer);
    place_free(be, g.d_bias.buffer);
    place_free(be, g.d_last_c.buffer);
    place_free(be, g.d_x.buffer);
    place_free(be, g.d_c0.buffer);
}

void layer_run(struct qn_backend *be, struct layer_data *d, bool back)
{
    struct qn_qrnn l = put_layer(be, d);
    be->ops->qrnn(be, &l);
    take(d, LAYER_OUT, place_read_rows(be, &l.out));
    take(d, LAYER_CELLS, place_read(be, l.cells));
    take(d, LAYER_SAVED, place_read(be, l.saved));
    if (back)
        run_back(be, d, &l);
    place_free(be, l.weight.buffer);
    place_free(be, l.bias.buffer);
    place_free(be, l.x.buffer);
    place_free(be, l.out.buffer);
    place_free(be, l.c0.buffer);
    place_free(be, l.cells.buffer);
    place_free(be, l.saved.buffer);
}
