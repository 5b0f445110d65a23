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
    struct qn_tensor vectors; /* [vocab, embed], owned; or none: it is learnt */
};

/* Room for every buffer of a pass: per layer its input, state, cells, saved and
 * kept; besides the decoder's input, logits, ids, targets and two gradients,
 * and of a classifier the rows for the decoder and their gradient. */
#define QN_PASS_MAX_BUFFERS (5 * QN_MAX_LAYERS + 8)

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
    struct qn_buffer *last, *d_last; /* of a classifier: [B, H] */
    struct qn_buffer *logits, *ids, *targets;
    int *row;     /* [batch], the step of each document that is read; owned */
    int position; /* steps of the streams before row 0, modulo spec's seq */
    /* The last forward; steps 0 = there was none. */
    int steps;
    const int *n_real; /* the caller's, from forward to carry */
    bool has_loss, has_logits;
    uint64_t seed, step, first_sample;
};

/* Parameter i of the list in a flat buffer: weights or gradients. */
struct qn_tensor qn_model_param(const struct qn_model *m, struct qn_tensor flat,
                                int i);

/* The front of a buffer. */
static inline struct qn_tensor qn_pass_front(struct qn_buffer *buffer,
                                             size_t count)
{
    return (struct qn_tensor){buffer, 0, count};
}

/* Views of the last forward: ids [B, T]; what layer k reads (k = layers: what
 * the last layer wrote), history before it, and its gradient. */
size_t qn_pass_symbols(const struct qn_pass *p);
struct qn_seq qn_pass_input(const struct qn_pass *p, int k);
struct qn_seq qn_pass_input_grad(const struct qn_pass *p, int k);

/* The decoder (model/decode.c): from what the last layer wrote to the logits
 * and, with targets, the loss; and back to its gradient. */
struct qn_tensor qn_pass_logits_view(const struct qn_pass *p);
void qn_pass_decode(struct qn_pass *p, const struct qn_segment *seg);
void qn_pass_decode_back(struct qn_pass *p);

#endif
