/* layer.h - what the stack knows of a layer: its tensors and its ways through.
 *
 * A layer is described by its place (which settings, which number, how wide the
 * vectors are that it reads) and keeps nothing of its own: all memory of a pass
 * is handed to it. A further kind of cell is one more table of functions. */
#ifndef QN_NN_LAYER_H
#define QN_NN_LAYER_H

#include "backend/backend.h"
#include "nn/spec.h"

#define QN_LAYER_MAX_PARAMS 6
#define QN_MAX_BLOCKS 5 /* z+, z-, f, o, i */

struct qn_layer_param {
    const char *name; /* after "layers.K.", as in checkpoints */
    /* A second tensor of the same shape in checkpoints: written as zeros, and
     * added to this one when read (the two biases of torch.nn.LSTM); or NULL.
     */
    const char *twin;
    int n_dims;
    size_t dim[3]; /* as in checkpoints */
    /* Gate blocks along the first dimension (0 counts as one). Each is drawn by
     * model.init, or begins as the constant value[block]. */
    int blocks;
    bool drawn;
    float value[QN_MAX_BLOCKS];
    bool fixed; /* not trained: running statistics */
};

struct qn_layer_place {
    const struct qn_spec *spec; /* borrowed */
    int index;                  /* 0 .. layers-1 */
    int in_width;
};

/* Of a layer whose x is an embedding, nothing dropped: see struct qn_qrnn. */
struct qn_layer_symbols {
    int n; /* 0: x is something else */
    struct qn_tensor ids, table, d_table;
};

/* A layer's way through one segment: B streams, T steps, H units. */
struct qn_layer_run {
    struct qn_backend *be;
    struct qn_layer_place place;
    struct qn_tensor weights[QN_LAYER_MAX_PARAMS];
    struct qn_tensor grads[QN_LAYER_MAX_PARAMS]; /* added to; none of fixed */
    struct qn_seq x, out;   /* x with the layer's history before it */
    struct qn_tensor state; /* [B, state] carried in */
    struct qn_tensor cells; /* [B, T, H], written */
    struct qn_tensor saved; /* [B, T, saved], between forward and backward */
    struct qn_tensor kept;  /* [kept], from forward to carry; training only */
    struct qn_dropout dropout, zoneout;
    bool training;
    struct qn_layer_symbols symbols;
    const int *n_real; /* [B], rows of each stream that are real; NULL: all */
    int position; /* of row 0: steps since the stream's start, modulo seq */
    /* Backward only: d_out comes in, d_x is written or added to; without a
     * buffer it is not wanted. */
    struct qn_seq d_out, d_x;
    bool add_x;
};

struct qn_layer_ops {
    /* Takes 'symbols', and with them the embedding's gradient on itself. */
    bool looks_up;
    /* Fill out[] and return how many there are. */
    int (*params)(const struct qn_layer_place *place,
                  struct qn_layer_param out[QN_LAYER_MAX_PARAMS]);
    int (*history)(const struct qn_layer_place *place);  /* rows before x */
    size_t (*state)(const struct qn_layer_place *place); /* floats a stream */
    /* Floats a symbol, and floats of the layer. */
    size_t (*saved)(const struct qn_layer_place *place, bool training);
    size_t (*kept)(const struct qn_layer_place *place);
    bool (*has)(const struct qn_layer_place *place, enum qn_quantity what);
    void (*forward)(const struct qn_layer_run *run);
    void (*backward)(const struct qn_layer_run *run);
    /* Count a quantity that the layer has, after its forward and before its
     * backward, over the real rows. */
    enum qn_status (*count)(const struct qn_layer_run *run,
                            enum qn_quantity what, struct qn_hist *h,
                            struct qn_err *err);
    /* The state after the segment becomes the state carried in; in training
     * running statistics move on, too. */
    void (*carry)(const struct qn_layer_run *run);
    /* Bytes that the backend keeps inside for this shape; of run only be,
     * place, symbols.n and x's and out's shapes are read. */
    size_t (*workspace)(const struct qn_layer_run *run);
};

const struct qn_layer_ops *qn_layer_ops(const struct qn_spec *spec);

#endif
