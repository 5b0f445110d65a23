/* layer.h - one QRNN layer, forward and backward, from host arrays to host
 * arrays, on any backend. */
#ifndef QN_TESTS_BACKEND_LAYER_H
#define QN_TESTS_BACKEND_LAYER_H

#include "backend/backend.h"

enum layer_norm { LAYER_NO_NORM, LAYER_NORM_TRAIN, LAYER_NORM_EVAL };

struct layer_shape {
    int batch, steps, in, hidden, window;
    enum qn_pooling pooling;
    enum qn_activation activation;
    double drop; /* dropout rate */
    int extra;   /* floats between rows of every sequence */
    enum layer_norm norm;
    double zoneout;             /* rate */
    bool keep;                  /* zoneout by LAYER_KEEP instead */
    int bias_steps, bias_first; /* 0 steps: 1 */
    bool shared; /* out right of x in the same rows, as in a dense stack */
    bool no_d_x, add_x, no_d_c0, no_d_last_c;
    int skip_x;        /* first columns of d_x that are not wanted */
    const int *n_real; /* [B], borrowed; NULL: all rows are real */
    int sample;        /* number of sequence 0 in the masks */
    int n_symbols;     /* x is an embedding of so many; 0: it is not */
};

enum layer_array {
    /* in */
    LAYER_X, /* [B, n-1 + T, D] */
    LAYER_C0,
    LAYER_WEIGHT,
    LAYER_BIAS,
    LAYER_GAIN,
    LAYER_SHIFT,
    LAYER_KEEP,  /* [B, T, H] of 0 and 1 */
    LAYER_D_OUT, /* [B, T, H] */
    LAYER_D_LAST_C,
    /* in and out: what is added to */
    LAYER_D_WEIGHT,
    LAYER_D_BIAS,
    LAYER_D_GAIN,
    LAYER_D_SHIFT,
    LAYER_MEAN, /* training: out; evaluation: in */
    LAYER_VAR,
    LAYER_D_X, /* [B, T, D], scratch when x is an embedding */
    /* out */
    LAYER_OUT,
    LAYER_CELLS,
    LAYER_SAVED, /* after forward */
    LAYER_D_C0,
    /* of an embedding */
    LAYER_TABLE,   /* [V, D], in */
    LAYER_D_TABLE, /* [V, D], added to */
    LAYER_N_ARRAYS
};

/* All arrays of a layer on the host, owned. Those that a shape has absent keep
 * what they hold. */
struct layer_data {
    struct layer_shape shape;
    float *array[LAYER_N_ARRAYS];
    size_t count[LAYER_N_ARRAYS];
};

/* Inputs are seeded normal numbers, weights small enough for gates that are not
 * all at their ends; outputs are zero. With n_real, rows of x and d_out that
 * are not real are NaN, and so is all that forward has to write. */
struct layer_data *layer_new(struct layer_shape shape, uint64_t seed);
struct layer_data *layer_copy(const struct layer_data *data);
void layer_free(struct layer_data *data);
const char *layer_array_name(enum layer_array which);

/* Run it; backward, too, when 'back'. Outputs replace what data holds; rows of
 * saved that are not real, and may be anything, as zeros. */
void layer_run(struct qn_backend *be, struct layer_data *data, bool back);

#endif
