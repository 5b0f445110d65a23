/* lstm_layer.h - one LSTM layer, forward and backward, from host arrays to host
 * arrays, on any backend. */
#ifndef QN_TESTS_BACKEND_LSTM_LAYER_H
#define QN_TESTS_BACKEND_LSTM_LAYER_H

#include "backend/backend.h"

struct lstm_shape {
    int batch, steps, in, hidden;
    double drop; /* dropout rate */
    int extra;   /* floats between rows of every sequence */
    int history; /* rows of NaN before x and d_x */
    bool no_d_x, add_x, no_d_first, no_d_last; /* d_h0 and d_c0, d_last_* */
    int skip_x;        /* first columns of d_x that are not wanted */
    const int *n_real; /* [B], borrowed; NULL: all rows are real */
    int sample;        /* number of sequence 0 in the masks */
    int n_symbols;     /* x is an embedding of so many; 0: it is not */
};

enum lstm_array {
    /* in */
    LSTM_X, /* [B, T, D] */
    LSTM_H0,
    LSTM_C0,
    LSTM_WEIGHT_IH,
    LSTM_WEIGHT_HH,
    LSTM_BIAS,
    LSTM_D_OUT, /* [B, T, H] */
    LSTM_D_LAST_H,
    LSTM_D_LAST_C,
    /* in and out: what is added to */
    LSTM_D_WEIGHT_IH,
    LSTM_D_WEIGHT_HH,
    LSTM_D_BIAS,
    LSTM_D_X, /* [B, T, D], scratch when x is an embedding */
    /* out */
    LSTM_OUT,
    LSTM_CELLS,
    LSTM_HIDDENS,
    LSTM_SAVED, /* after forward */
    LSTM_D_H0,
    LSTM_D_C0,
    /* of an embedding */
    LSTM_TABLE,   /* [V, D], in */
    LSTM_D_TABLE, /* [V, D], added to */
    LSTM_N_ARRAYS
};

/* All arrays of a layer on the host, owned. Those that a shape has absent keep
 * what they hold. */
struct lstm_data {
    struct lstm_shape shape;
    float *array[LSTM_N_ARRAYS];
    size_t count[LSTM_N_ARRAYS];
};

/* Inputs are seeded normal numbers, weights small enough for gates that are not
 * all at their ends; outputs are zero. With n_real, rows of x and d_out that
 * are not real are NaN, and so is all that forward has to write. */
struct lstm_data *lstm_new(struct lstm_shape shape, uint64_t seed);
void lstm_free(struct lstm_data *data);
const char *lstm_array_name(enum lstm_array which);

/* Run it; backward, too, when 'back'. Outputs replace what data holds; rows of
 * saved that are not real, and may be anything, as zeros. */
void lstm_run(struct qn_backend *be, struct lstm_data *data, bool back);

#endif
