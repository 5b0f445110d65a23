/* lstm_layer.c - one LSTM layer from host arrays to host arrays. */
#include "lstm_layer.h"

#include "base/mem.h"
#include "base/rng.h"
#include "place.h"
#include "support/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LSTM_N_ARRAYS] = {
    [LSTM_X] = "x",
    [LSTM_H0] = "h0",
    [LSTM_C0] = "c0",
    [LSTM_WEIGHT_IH] = "weight_ih",
    [LSTM_WEIGHT_HH] = "weight_hh",
    [LSTM_BIAS] = "bias",
    [LSTM_D_OUT] = "d_out",
    [LSTM_D_LAST_H] = "d_last_h",
    [LSTM_D_LAST_C] = "d_last_c",
    [LSTM_D_WEIGHT_IH] = "d_weight_ih",
    [LSTM_D_WEIGHT_HH] = "d_weight_hh",
    [LSTM_D_BIAS] = "d_bias",
    [LSTM_D_X] = "d_x",
    [LSTM_OUT] = "out",
    [LSTM_CELLS] = "cells",
    [LSTM_HIDDENS] = "hiddens",
    [LSTM_SAVED] = "saved",
    [LSTM_D_H0] = "d_h0",
    [LSTM_D_C0] = "d_c0",
    [LSTM_TABLE] = "table",
    [LSTM_D_TABLE] = "d_table",
};

const char *lstm_array_name(enum lstm_array which)
{
    return names[which];
}

static void set_counts(struct lstm_data *data)
{
    const struct lstm_shape *s = &data->shape;
    size_t rows = (size_t)s->batch * (size_t)s->steps;
    size_t hidden = (size_t)s->hidden;
    size_t state = (size_t)s->batch * hidden;
    size_t in = (size_t)s->in;
    const size_t count[LSTM_N_ARRAYS] = {
        [LSTM_X] = rows * in,
        [LSTM_H0] = state,
        [LSTM_C0] = state,
        [LSTM_WEIGHT_IH] = 4 * hidden * in,
        [LSTM_WEIGHT_HH] = 4 * hidden * hidden,
        [LSTM_BIAS] = 4 * hidden,
        [LSTM_D_OUT] = rows * hidden,
        [LSTM_D_LAST_H] = state,
        [LSTM_D_LAST_C] = state,
        [LSTM_D_WEIGHT_IH] = 4 * hidden * in,
        [LSTM_D_WEIGHT_HH] = 4 * hidden * hidden,
        [LSTM_D_BIAS] = 4 * hidden,
        [LSTM_D_X] = rows * in,
        [LSTM_OUT] = rows * hidden,
        [LSTM_CELLS] = rows * hidden,
        [LSTM_HIDDENS] = rows * hidden,
        [LSTM_SAVED] = rows * 4 * hidden,
        [LSTM_D_H0] = state,
        [LSTM_D_C0] = state,
        [LSTM_TABLE] = (size_t)s->n_symbols * in,
        [LSTM_D_TABLE] = (size_t)s->n_symbols * in,
    };
    memcpy(data->count, count, sizeof count);
}

static double scale_of(const struct lstm_shape *s, enum lstm_array which)
{
    if (which == LSTM_WEIGHT_IH)
        return 1.0 / sqrt((double)s->in);
    if (which == LSTM_WEIGHT_HH)
        return 1.0 / sqrt((double)s->hidden);
    return 1.0;
}

/* Fill rows [real, steps) of each sequence of an array [B, T, ...]. */
static void fill_masked(struct lstm_data *d, enum lstm_array which, float value)
{
    const struct lstm_shape *s = &d->shape;
    size_t width = d->count[which] / ((size_t)s->batch * (size_t)s->steps);
    for (int b = 0; s->n_real && b < s->batch; b++) {
        size_t from = (size_t)(b * s->steps + s->n_real[b]) * width;
        size_t n = (size_t)(s->steps - s->n_real[b]) * width;
        for (size_t i = 0; i < n; i++)
            d->array[which][from + i] = value;
    }
}

static void spoil_masked(struct lstm_data *data)
{
    fill_masked(data, LSTM_X, NAN);
    fill_masked(data, LSTM_D_OUT, NAN);
    for (int i = LSTM_OUT; data->shape.n_real && i <= LSTM_SAVED; i++)
        for (size_t k = 0; k < data->count[i]; k++)
            data->array[i][k] = NAN;
}

/* All rows of x from the table. */
static void look_up(struct lstm_data *data)
{
    const struct lstm_shape *s = &data->shape;
    float *x = data->array[LSTM_X];
    for (int b = 0; s->n_symbols > 0 && b < s->batch; b++)
        for (int t = 0; t < s->steps; t++, x += s->in)
            place_looked_up(x, data->array[LSTM_TABLE],
                            place_symbol(s->n_symbols, b, t), s->in);
}

struct lstm_data *lstm_new(struct lstm_shape shape, uint64_t seed)
{
    struct lstm_data *data = qn_xcalloc(1, sizeof *data);
    data->shape = shape;
    set_counts(data);
    for (int i = 0; i < LSTM_N_ARRAYS; i++) {
        data->array[i] = qn_xcalloc(data->count[i], sizeof(float));
        if (i < LSTM_OUT || i >= LSTM_TABLE)
            qn_fill_normal(data->array[i], data->count[i],
                           scale_of(&shape, (enum lstm_array)i),
                           seed * LSTM_N_ARRAYS + (uint64_t)i);
    }
    look_up(data);
    spoil_masked(data);
    return data;
}

void lstm_free(struct lstm_data *data)
{
    for (int i = 0; i < LSTM_N_ARRAYS; i++)
        free(data->array[i]);
    free(data);
}

static struct qn_tensor put(struct qn_backend *be, const struct lstm_data *d,
                            enum lstm_array which)
{
    return place_tensor(be, d->array[which], d->count[which]);
}

static void take(struct lstm_data *d, enum lstm_array which, float *array)
{
    free(d->array[which]);
    d->array[which] = array;
}

/* Rows [B, T, width] behind 'history' rows of NaN: an LSTM reads none of them,
 * and its way back may use them as it likes. */
static struct qn_seq put_seq(struct qn_backend *be, const struct lstm_data *d,
                             int width, int history, const float *rows)
{
    const struct lstm_shape *s = &d->shape;
    struct place_shape shape = {s->batch, s->steps, width, history, s->extra};
    if (!rows)
        return place_seq(be, shape, NULL);
    size_t before = (size_t)(history * width);
    size_t real = (size_t)(s->steps * width);
    size_t batch = (size_t)s->batch;
    float *all = qn_xcalloc(batch * (before + real), sizeof *all);
    for (size_t b = 0; b < batch; b++) {
        float *to = all + b * (before + real);
        for (size_t i = 0; i < before; i++)
            to[i] = NAN;
        memcpy(to + before, rows + b * real, real * sizeof *to);
    }
    struct qn_seq seq = place_seq(be, shape, all);
    free(all);
    return seq;
}

static struct qn_lstm put_layer(struct qn_backend *be,
                                const struct lstm_data *d)
{
    const struct lstm_shape *s = &d->shape;
    struct qn_lstm l = {
        .hidden = s->hidden,
        .dropout = {.p = s->drop,
                    .key = qn_rng_key(9, 8, 7, QN_RNG_DROPOUT),
                    .first_sample = 6 + (uint64_t)s->sample},
        .weight_ih = put(be, d, LSTM_WEIGHT_IH),
        .weight_hh = put(be, d, LSTM_WEIGHT_HH),
        .bias = put(be, d, LSTM_BIAS),
        .x = put_seq(be, d, s->in, s->history, d->array[LSTM_X]),
        .out = put_seq(be, d, s->hidden, 0, NULL),
        .h0 = put(be, d, LSTM_H0),
        .c0 = put(be, d, LSTM_C0),
        .cells = put(be, d, LSTM_CELLS),
        .hiddens = put(be, d, LSTM_HIDDENS),
        .saved = put(be, d, LSTM_SAVED),
        .n_real = s->n_real,
    };
    if (s->n_symbols > 0) {
        l.n_symbols = s->n_symbols;
        l.table = put(be, d, LSTM_TABLE);
        l.ids = place_symbols(be, s->n_symbols, s->batch, s->steps);
    }
    return l;
}

static struct qn_lstm_grad put_grad(struct qn_backend *be,
                                    const struct lstm_data *d)
{
    const struct lstm_shape *s = &d->shape;
    struct qn_lstm_grad g = {
        .d_out = put_seq(be, d, s->hidden, 0, d->array[LSTM_D_OUT]),
        .d_weight_ih = put(be, d, LSTM_D_WEIGHT_IH),
        .d_weight_hh = put(be, d, LSTM_D_WEIGHT_HH),
        .d_bias = put(be, d, LSTM_D_BIAS),
        .add_x = s->add_x,
    };
    if (!s->no_d_last) {
        g.d_last_h = put(be, d, LSTM_D_LAST_H);
        g.d_last_c = put(be, d, LSTM_D_LAST_C);
    }
    if (!s->no_d_x)
        g.d_x = put_seq(be, d, s->in, s->history, d->array[LSTM_D_X]);
    if (s->n_symbols > 0 && !s->no_d_x)
        g.d_table = put(be, d, LSTM_D_TABLE);
    if (!s->no_d_first) {
        g.d_h0 = put(be, d, LSTM_D_H0);
        g.d_c0 = put(be, d, LSTM_D_C0);
    }
    return g;
}

static void run_back(struct qn_backend *be, struct lstm_data *d,
                     const struct qn_lstm *l)
{
    struct qn_lstm_grad g = put_grad(be, d);
    struct qn_seq d_x = g.d_x;
    if (d_x.buffer)
        g.d_x = place_last_columns(d_x, d->shape.skip_x);
    be->ops->lstm_grad(be, l, &g);
    take(d, LSTM_D_WEIGHT_IH, place_read(be, g.d_weight_ih));
    take(d, LSTM_D_WEIGHT_HH, place_read(be, g.d_weight_hh));
    take(d, LSTM_D_BIAS, place_read(be, g.d_bias));
    if (g.d_table.buffer)
        take(d, LSTM_D_TABLE, place_read(be, g.d_table));
    if (g.d_x.buffer) {
        float *rows = place_read_rows(be, &d_x);
        if (g.d_table.buffer)
            free(rows);
        else
            take(d, LSTM_D_X, rows);
    }
    if (g.d_h0.buffer) {
        take(d, LSTM_D_H0, place_read(be, g.d_h0));
        take(d, LSTM_D_C0, place_read(be, g.d_c0));
    }
    struct qn_buffer *all[] = {g.d_out.buffer,       g.d_last_h.buffer,
                               g.d_last_c.buffer,    g.d_weight_ih.buffer,
                               g.d_weight_hh.buffer, g.d_bias.buffer,
                               g.d_x.buffer,         g.d_h0.buffer,
                               g.d_c0.buffer,        g.d_table.buffer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        place_free(be, all[i]);
}

void lstm_run(struct qn_backend *be, struct lstm_data *d, bool back)
{
    struct qn_lstm l = put_layer(be, d);
    be->ops->lstm(be, &l);
    take(d, LSTM_OUT, place_read_rows(be, &l.out));
    take(d, LSTM_CELLS, place_read(be, l.cells));
    take(d, LSTM_HIDDENS, place_read(be, l.hiddens));
    take(d, LSTM_SAVED, place_read(be, l.saved));
    fill_masked(d, LSTM_SAVED, 0.0f);
    if (back)
        run_back(be, d, &l);
    struct qn_buffer *all[] = {
        l.weight_ih.buffer, l.weight_hh.buffer, l.bias.buffer,  l.x.buffer,
        l.out.buffer,       l.h0.buffer,        l.c0.buffer,    l.cells.buffer,
        l.hiddens.buffer,   l.saved.buffer,     l.table.buffer, l.ids.buffer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        place_free(be, all[i]);
}
