/* private.h - what a model and a pass are made of, for the files of model/. */
#ifndef QN_MODEL_PRIVATE_H
#define QN_MODEL_PRIVATE_H

#include "model/layout.h"
#include "model/model.h"
#include "model/params.h"
#include "nn/layer.h"

struct qn_model {
    struct qn_backend *be; /* borrowed */
    struct qn_spec spec;
    int vocab;
    struct qn_param_list params;
    struct qn_tensor weights; /* [params.count], owned */
    struct qn_tensor grads;   /* [params.trained], owned */
};

/* Room for every buffer of a pass: per layer its input, state, cells, saved and
 * kept; besides the decoder's input, logits, ids, targets and two gradients. */
#define QN_PASS_MAX_BUFFERS (5 * QN_MAX_LAYERS + 6)

struct qn_pass {
    struct qn_model *m;
    struct qn_layout layout;
    int n_buffers;
    struct qn_buffer *buffers[QN_PASS_MAX_BUFFERS]; /* owned */
    struct qn_buffer *in[QN_MAX_LAYERS + 1];        /* dense: all the same */
    struct qn_buffer *state[QN_MAX_LAYERS];
    struct qn_buffer *cells[QN_MAX_LAYERS];
    struct qn_buffer *saved[QN_MAX_LAYERS]; /* all the same in evaluation */
    struct qn_buffer *kept[QN_MAX_LAYERS];  /* or NULL */
    struct qn_buffer *grad[2]; /* of the even and the odd inputs; training */
    struct qn_buffer *logits, *ids, *targets;
    int position; /* steps of the streams before row 0, modulo spec's seq */
    /* The last forward; steps 0 = there was none. */
    int steps;
    const int *n_real; /* the caller's, from forward to carry */
    bool has_loss, has_logits;
    uint64_t seed, step, first_sample;
};

#endif
