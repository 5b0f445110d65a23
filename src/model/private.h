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
    struct qn_tensor weights, grads; /* [params.count] each, owned */
};

/* Room for every buffer of a pass: per layer its input, state, cells and saved;
 * besides the decoder's input, logits, ids, targets and two gradients. */
#define QN_PASS_MAX_BUFFERS (4 * QN_MAX_LAYERS + 6)

struct qn_pass {
    struct qn_model *m;
    struct qn_layout layout;
    int n_buffers;
    struct qn_buffer *buffers[QN_PASS_MAX_BUFFERS]; /* owned */
    struct qn_buffer *in[QN_MAX_LAYERS + 1];
    struct qn_buffer *state[QN_MAX_LAYERS];
    struct qn_buffer *cells[QN_MAX_LAYERS];
    struct qn_buffer *saved[QN_MAX_LAYERS]; /* all the same in evaluation */
    struct qn_buffer *grad[2]; /* of the even and the odd inputs; training */
    struct qn_buffer *logits, *ids, *targets;
    /* The last forward; steps 0 = there was none. */
    int steps;
    bool has_loss;
    uint64_t seed, step, first_sample;
};

/* The vectors that layer k reads (k = layers: the decoder), as a sequence of
 * 'steps' with its history before it. */
struct qn_seq qn_pass_input(const struct qn_pass *p, int k, int steps);

#endif
