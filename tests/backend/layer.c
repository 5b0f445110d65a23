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
    [LAYER_GAIN] = "gain",
    [LAYER_SHIFT] = "shift",
    [LAYER_KEEP] = "zoneout_keep",
    [LAYER_D_OUT] = "d_out",
    [LAYER_D_LAST_C] = "d_last_c",
    [LAYER_D_WEIGHT] = "d_weight",
    [LAYER_D_BIAS] = "d_bias",
    [LAYER_D_GAIN] = "d_gain",
    [LAYER_D_SHIFT] = "d_shift",
    [LAYER_MEAN] = "mean",
    [LAYER_VAR] = "var",
    [LAYER_D_X] = "d_x",
    [LAYER_OUT] = "out",
    [LAYER_CELLS] = "cells",
    [LAYER_SAVED] = "saved",
    [LAYER_D_C0] = "d_c0",
    [LAYER_TABLE] = "table",
    [LAYER_D_TABLE] = "d_table",
};

const char *layer_array_name(enum layer_array which)
{
    return names[which];
}

static int bias_steps(const struct layer_shape *s)
{
    return s->bias_steps ? s->bias_steps : 1;
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
    count[LAYER_BIAS] = (size_t)bias_steps(s) * outputs;
    count[LAYER_GAIN] = outputs;
    count[LAYER_SHIFT] = outputs;
    count[LAYER_KEEP] = rows * hidden;
    count[LAYER_D_OUT] = rows * hidden;
    count[LAYER_D_LAST_C] = batch * hidden;
    count[LAYER_TABLE] = (size_t)s->n_symbols * in;
    count[LAYER_D_TABLE] = count[LAYER_TABLE];
    count[LAYER_D_WEIGHT] = count[LAYER_WEIGHT];
    count[LAYER_D_BIAS] = count[LAYER_BIAS];
    count[LAYER_D_GAIN] = outputs;
    count[LAYER_D_SHIFT] = outputs;
    count[LAYER_MEAN] = outputs;
    count[LAYER_VAR] = outputs;
    count[LAYER_D_X] = rows * in;
    count[LAYER_OUT] = rows * hidden;
    count[LAYER_CELLS] = rows * hidden;
    count[LAYER_SAVED] = rows * outputs;
    count[LAYER_D_C0] = batch * hidden;
}

/* The rows of x, but not those of its history, from the table. */
static void look_up(struct layer_data *data)
{
    const struct layer_shape *s = &data->shape;
    size_t in = (size_t)s->in;
    for (int b = 0; s->n_symbols > 0 && b < s->batch; b++)
        for (int t = 0; t < s->steps; t++) {
            size_t row = (size_t)((b + 1) * (s->window - 1) + b * s->steps + t);
            place_looked_up(data->array[LAYER_X] + row * in,
                            data->array[LAYER_TABLE],
                            place_symbol(s->n_symbols, b, t), s->in);
        }
}

/* Normal numbers into variances and a mask. */
static void set_ranges(struct layer_data *data)
{
    for (size_t i = 0; i < data->count[LAYER_VAR]; i++)
        data->array[LAYER_VAR][i] = 0.5f + fabsf(data->array[LAYER_VAR][i]);
    for (size_t i = 0; i < data->count[LAYER_KEEP]; i++)
        data->array[LAYER_KEEP][i] = data->array[LAYER_KEEP][i] > -0.7f;
}

/* Fill rows [real, steps) of each sequence of an array [B, before + T, width].
 */
static void fill_masked(const struct layer_data *d, float *array, int before,
                        size_t width, float value)
{
    const struct layer_shape *s = &d->shape;
    for (int b = 0; s->n_real && b < s->batch; b++) {
        size_t row = (size_t)((b + 1) * before + b * s->steps + s->n_real[b]);
        size_t n = (size_t)(s->steps - s->n_real[b]) * width;
        for (size_t i = 0; i < n; i++)
            array[row * width + i] = value;
    }
}

static void spoil_masked(struct layer_data *data)
{
    const struct layer_shape *s = &data->shape;
    fill_masked(data, data->array[LAYER_X], s->window - 1, (size_t)s->in, NAN);
    fill_masked(data, data->array[LAYER_D_OUT], 0, (size_t)s->hidden, NAN);
    for (int i = LAYER_OUT; s->n_real && i <= LAYER_SAVED; i++)
        for (size_t k = 0; k < data->count[i]; k++)
            data->array[i][k] = NAN;
}

struct layer_data *layer_new(struct layer_shape shape, uint64_t seed)
{
    struct layer_data *data = qn_xcalloc(1, sizeof *data);
    data->shape = shape;
    set_counts(data);
    double weight = 1.0 / sqrt((double)(shape.window * shape.in));
    for (int i = 0; i < LAYER_N_ARRAYS; i++) {
        data->array[i] = qn_xcalloc(data->count[i], sizeof(float));
        if (i < LAYER_OUT || i >= LAYER_TABLE)
            qn_fill_normal(data->array[i], data->count[i],
                           i == LAYER_WEIGHT ? weight : 1.0,
                           seed * LAYER_TABLE + (uint64_t)i);
    }
    set_ranges(data);
    look_up(data);
    spoil_masked(data);
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

/* x, and room for out at the right of it when they share rows. */
static struct qn_seq put_x(struct qn_backend *be, const struct layer_data *d)
{
    const struct layer_shape *s = &d->shape;
    size_t in = (size_t)s->in;
    size_t width = in + (s->shared ? (size_t)s->hidden : 0);
    size_t rows = d->count[LAYER_X] / in;
    float *wide = qn_xcalloc(rows * width, sizeof *wide);
    for (size_t i = 0; i < rows; i++) {
        memcpy(wide + i * width, d->array[LAYER_X] + i * in, in * sizeof *wide);
        for (size_t j = in; j < width; j++)
            wide[i * width + j] = NAN;
    }
    struct qn_seq x = put_seq(be, d, (int)width, s->window - 1, wide);
    free(wide);
    return x;
}

static void put_norm(struct qn_backend *be, const struct layer_data *d,
                     struct qn_qrnn *l)
{
    if (d->shape.norm == LAYER_NO_NORM) {
        l->bias = put(be, d, LAYER_BIAS);
        l->bias_steps = bias_steps(&d->shape);
        l->bias_first = d->shape.bias_first;
        return;
    }
    l->norm.on = true;
    l->norm.batch = d->shape.norm == LAYER_NORM_TRAIN;
    l->norm.gain = put(be, d, LAYER_GAIN);
    l->norm.shift = put(be, d, LAYER_SHIFT);
    l->norm.mean = put(be, d, LAYER_MEAN);
    l->norm.var = put(be, d, LAYER_VAR);
    l->norm.raw = put(be, d, LAYER_SAVED);
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
                    .first_sample = 6 + (uint64_t)s->sample},
        .weight = put(be, d, LAYER_WEIGHT),
        .zoneout = {.p = s->zoneout,
                    .key = qn_rng_key(9, 8, 6, QN_RNG_DROPOUT),
                    .first_sample = 6 + (uint64_t)s->sample},
        .x = put_x(be, d),
        .c0 = put(be, d, LAYER_C0),
        .cells = put(be, d, LAYER_CELLS),
        .saved = put(be, d, LAYER_SAVED),
        .n_real = s->n_real,
    };
    put_norm(be, d, &l);
    if (s->n_symbols > 0) {
        l.n_symbols = s->n_symbols;
        l.table = put(be, d, LAYER_TABLE);
        l.ids = place_symbols(be, s->n_symbols, s->batch, s->steps);
    }
    if (s->keep)
        l.zoneout_keep = put(be, d, LAYER_KEEP);
    if (s->shared) {
        l.out = l.x;
        l.x.width = s->in;
        l.out.width = s->hidden;
        l.out.offset += (size_t)s->in;
    } else {
        l.out = put_seq(be, d, s->hidden, 0, NULL);
    }
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
        .add_x = s->add_x,
    };
    if (s->norm == LAYER_NO_NORM) {
        g.d_bias = put(be, d, LAYER_D_BIAS);
    } else {
        g.d_gain = put(be, d, LAYER_D_GAIN);
        g.d_shift = put(be, d, LAYER_D_SHIFT);
    }
    if (!s->no_d_last_c)
        g.d_last_c = put(be, d, LAYER_D_LAST_C);
    struct qn_seq d_x = {0};
    if (!s->no_d_x) {
        d_x = put_d_x(be, d);
        g.d_x = place_last_columns(d_x, s->skip_x);
    }
    if (s->n_symbols > 0 && !s->no_d_x)
        g.d_table = put(be, d, LAYER_D_TABLE);
    if (!s->no_d_c0)
        g.d_c0 = put(be, d, LAYER_D_C0);
    be->ops->qrnn_grad(be, l, &g);
    take(d, LAYER_D_WEIGHT, place_read(be, g.d_weight));
    if (s->norm == LAYER_NO_NORM) {
        take(d, LAYER_D_BIAS, place_read(be, g.d_bias));
    } else {
        take(d, LAYER_D_GAIN, place_read(be, g.d_gain));
        take(d, LAYER_D_SHIFT, place_read(be, g.d_shift));
    }
    float *rows = s->no_d_x ? NULL : place_read_rows(be, &d_x);
    if (rows && s->n_symbols == 0)
        take(d, LAYER_D_X, rows);
    else
        free(rows);
    if (g.d_table.buffer)
        take(d, LAYER_D_TABLE, place_read(be, g.d_table));
    if (!s->no_d_c0)
        take(d, LAYER_D_C0, place_read(be, g.d_c0));
    place_free(be, g.d_out.buffer);
    place_free(be, g.d_weight.buffer);
    place_free(be, g.d_bias.buffer);
    place_free(be, g.d_gain.buffer);
    place_free(be, g.d_shift.buffer);
    place_free(be, g.d_last_c.buffer);
    place_free(be, d_x.buffer);
    place_free(be, g.d_table.buffer);
    place_free(be, g.d_c0.buffer);
}

/* out, also from the right of x; nothing else may have been written. */
static float *read_out(struct qn_backend *be, const struct qn_qrnn *l,
                       bool shared)
{
    if (!shared)
        return place_read_rows(be, &l->out);
    size_t in = (size_t)l->x.width, hidden = (size_t)l->out.width;
    size_t rows = (size_t)l->x.batch * (size_t)l->x.steps;
    struct qn_seq all = l->x;
    all.width = l->x.width + l->out.width;
    float *wide = place_read_rows(be, &all);
    float *out = qn_xcalloc(rows * hidden, sizeof *out);
    for (size_t i = 0; i < rows; i++)
        memcpy(out + i * hidden, wide + i * (in + hidden) + in,
               hidden * sizeof *out);
    free(wide);
    return out;
}

void layer_run(struct qn_backend *be, struct layer_data *d, bool back)
{
    struct qn_qrnn l = put_layer(be, d);
    be->ops->qrnn(be, &l);
    take(d, LAYER_OUT, read_out(be, &l, d->shape.shared));
    if (l.norm.on) {
        take(d, LAYER_MEAN, place_read(be, l.norm.mean));
        take(d, LAYER_VAR, place_read(be, l.norm.var));
    }
    take(d, LAYER_CELLS, place_read(be, l.cells));
    take(d, LAYER_SAVED, place_read(be, l.saved));
    size_t outputs = d->count[LAYER_GAIN];
    fill_masked(d, d->array[LAYER_SAVED], 0, outputs, 0.0f);
    if (back)
        run_back(be, d, &l);
    place_free(be, l.weight.buffer);
    place_free(be, l.bias.buffer);
    place_free(be, l.x.buffer);
    if (!d->shape.shared)
        place_free(be, l.out.buffer);
    place_free(be, l.norm.gain.buffer);
    place_free(be, l.norm.shift.buffer);
    place_free(be, l.norm.mean.buffer);
    place_free(be, l.norm.var.buffer);
    place_free(be, l.norm.raw.buffer);
    place_free(be, l.zoneout_keep.buffer);
    place_free(be, l.table.buffer);
    place_free(be, l.ids.buffer);
    place_free(be, l.c0.buffer);
    place_free(be, l.cells.buffer);
    place_free(be, l.saved.buffer);
}
