/* model.h - the network: parameters once, and passes through them.
 *
 * A model owns the parameters and their gradients, one flat buffer each, in a
 * fixed order (model/params.h). A pass owns what one batch shape needs:
 * activations, the tape for the way back when it is a training pass, and the
 * state carried from segment to segment. Training, evaluation and sampling each
 * make a pass of their own, so none disturbs another's carried state.
 *
 * Threads: an object and its backend belong to one thread at a time.
 */
#ifndef QN_MODEL_MODEL_H
#define QN_MODEL_MODEL_H

#include "backend/backend.h"
#include "base/str.h"
#include "nn/spec.h"

struct qn_model;
struct qn_pass;

/* Parameters for this spec over a vocabulary of 'vocab' symbols, zeroed. The
 * backend is borrowed. QN_ENOMEM says how much was wanted. With data.vectors
 * the embedding is no parameter but a table beside them, zeros until
 * qn_model_set_vectors. */
enum qn_status qn_model_new(struct qn_backend *be, const struct qn_spec *spec,
                            int vocab, struct qn_model **out,
                            struct qn_err *err);
void qn_model_free(struct qn_model *m); /* NULL is fine; passes first */

/* Initial weights by the spec's initialiser and seed; biases 0. */
void qn_model_init(struct qn_model *m, uint64_t seed);

/* The word vectors that are not trained: [vocab, embed], or a tensor without
 * buffer when the embedding is learnt. */
struct qn_tensor qn_model_vectors(const struct qn_model *m);
void qn_model_set_vectors(struct qn_model *m, const float *table);

size_t qn_model_n_params(const struct qn_model *m); /* of the flat buffers */
struct qn_tensor qn_model_weights(const struct qn_model *m);
/* The part of the weights that training changes, and its gradients: the same
 * count. What is left are running statistics. */
struct qn_tensor qn_model_trained(const struct qn_model *m);
struct qn_tensor qn_model_grads(const struct qn_model *m);
/* Gradients += k times the weights (L2) of all trained parameters, of the
 * matrices among them, or of the decoder's weight. */
void qn_model_add_l2(struct qn_model *m, double k, enum qn_l2_on on);
struct qn_backend *qn_model_backend(const struct qn_model *m);
const struct qn_spec *qn_model_spec(const struct qn_model *m);
int qn_model_vocab(const struct qn_model *m);

/* Take the live settings of a changed spec: the next forward drops at its
 * rates. What decides the shapes of tensors must be as it was. */
void qn_model_set_spec(struct qn_model *m, const struct qn_spec *spec);

/* A pass for segments of up to 'steps' symbols of 'batch' streams, all at the
 * start of their stream. training: keeps what backward needs. */
enum qn_status qn_pass_new(struct qn_model *m, int batch, int steps,
                           bool training, struct qn_pass **out,
                           struct qn_err *err);
void qn_pass_free(struct qn_pass *p); /* NULL is fine */

/* Carried state and context back to zero: streams start anew. */
void qn_pass_restart(struct qn_pass *p);

struct qn_segment {
    const int32_t *ids; /* [batch, steps]; a negative id is the zero vector */
    /* Of a language model [batch, steps]; of a classifier [batch], the label 0
     * or 1 of each document. Negative = does not count; NULL = no loss wanted.
     */
    const int32_t *targets;
    int steps; /* 1 .. the pass's steps */
    /* [batch], the rows of each stream that are real, from its front; NULL =
     * all. Nothing behind them is seen, counted or learnt from. The array must
     * live until carry. */
    const int *n_real;
    /* Training only: where the dropout masks come from. */
    uint64_t seed, step, first_sample;
};

/* Through all layers to the logits, adding loss and count to the backend's
 * step result. A classifier has one logit a document, from the last layer's
 * output at the document's last real step: the log odds of label 1.
 * In a training pass dropout is on and the logits turn into the
 * gradient of the objective: the mean loss over the predictions that count,
 * times the steps with loss.time "sum". */
void qn_pass_forward(struct qn_pass *p, const struct qn_segment *seg);
/* Gradients of the last forward, written to the model's gradient buffer. */
void qn_pass_backward(struct qn_pass *p);
/* After forward (and backward): carry the cell states and contexts over to the
 * next segment; a training pass moves the running statistics of batch norm on.
 * Without this call the next forward starts from where this one did, and the
 * step has left no trace. Where documents ended inside (n_real) nothing that
 * comes next belongs to them: restart then. */
void qn_pass_carry(struct qn_pass *p);

/* The logits of the last forward of an evaluation pass: [batch, steps, V], of a
 * classifier [batch]. */
enum qn_status qn_pass_logits(struct qn_pass *p, float *out,
                              struct qn_err *err);

/* What to count of every layer on the way forward, at the real positions. */
struct qn_probe {
    unsigned of; /* set of enum qn_quantity: bits 1u << quantity */
    struct qn_hist (*hist)[QN_N_QUANTITIES]; /* [layers], added to */
};
/* As qn_pass_forward, and count what the probe asks for; a quantity that the
 * layers have not (no output gate with f-pooling) is left out. Without targets
 * it ends at the layers: there are no logits. */
enum qn_status qn_pass_forward_counting(struct qn_pass *p,
                                        const struct qn_segment *seg,
                                        const struct qn_probe *probe,
                                        struct qn_err *err);
/* The quantities of 'of' that layers of this spec have. */
unsigned qn_model_quantities(const struct qn_spec *spec, unsigned of);

/* The cell states of layer 0 .. layers-1 of the last forward, [batch, steps,
 * H], to the host. */
enum qn_status qn_pass_cells(struct qn_pass *p, int layer, float *out,
                             struct qn_err *err);

/* The carried state as one block of floats, for checkpoints. Layer after layer:
 * its state ([B, H] of c; of an LSTM then [B, H] of h) and its context ([B,
 * n-1, D], oldest first; of a dense stack the wide rows, with layer 0 alone).
 * Last, with model.bias "step", the streams' position. */
size_t qn_pass_state_len(const struct qn_pass *p);
enum qn_status qn_pass_read_state(struct qn_pass *p, float *out,
                                  struct qn_err *err);
void qn_pass_write_state(struct qn_pass *p, const float *in);

/* What a run of this spec will take, in bytes, before anything is allocated.
 * The network's parts are qn_model_plan's; what is around it is for whoever
 * trains to fill in, and to add up again. */
struct qn_memory_plan {
    size_t parameters, gradients, moments, activations, workspace;
    size_t saving; /* copies on the host that checkpoints are written from */
    size_t evaluation; /* its pass, kept from one evaluation to the next */
    size_t sampling;   /* while text is drawn */
    /* What loading a checkpoint takes beyond evaluation and sampling, whose
     * memory is given back before. */
    size_t loading;
    size_t data;  /* text, documents, word vectors: taken already */
    size_t taken; /* all else that is taken already: the program itself */
    size_t rest;  /* what else it will take */
    size_t total; /* of all these */
};

/* The shapes that a spec alone does not tell. */
struct qn_plan_shapes {
    int vocab;
    int steps;                  /* of the longest segment or document */
    int eval_batch, eval_steps; /* 0 steps: there is no evaluation */
    int sample_steps;           /* of a prompt; 0: nothing is drawn */
    bool loads_weights;         /* from a checkpoint, now or later */
    bool loads_state;           /* as well */
};
void qn_model_plan(const struct qn_spec *spec,
                   const struct qn_plan_shapes *shapes, struct qn_backend *be,
                   struct qn_memory_plan *out);
void qn_memory_plan_add_up(struct qn_memory_plan *plan);
/* QN_ENOMEM with "needs 3.1 GB: parameters 1.0 GB, ..." when what is not taken
 * already is more than 'available' bytes. */
enum qn_status qn_memory_plan_check(const struct qn_memory_plan *plan,
                                    size_t available, struct qn_err *err);
/* "3.1 GB (activations 2.0 GB, parameters 500 MB, all else 600 MB)": the
 * largest parts. */
void qn_memory_plan_text(const struct qn_memory_plan *plan, struct qn_str *out);

#endif
