/* layout.h - where a pass's vectors lie, and how large each buffer is, before
 * any is allocated.
 *
 * The pass allocates by it and the memory plan adds it up, so that the two
 * cannot differ. Sizes stop at SIZE_MAX instead of wrapping round.
 *
 * A plain stack has a buffer for the input of each layer and one for the
 * decoder's. A dense one has a single wide buffer, whose rows hold the
 * embedding and then each layer's output: layer k reads the first E + k H
 * columns and writes the next H, so that nothing is ever joined by copying. Its
 * history is the largest of all layers'. Gradients of the inputs lie likewise.
 *
 * The decoder of a language model reads every step. That of a classifier reads
 * one row of each document, which lie in a small buffer of their own.
 */
#ifndef QN_MODEL_LAYOUT_H
#define QN_MODEL_LAYOUT_H

#include "nn/layer.h"

#include <stdbool.h>

struct qn_layout {
    int layers, batch, steps, hidden;
    int outputs; /* units of the decoder */
    bool training, dense;
    bool classifies;   /* one prediction a document, not one a step */
    bool has_position; /* the state carried on says how far streams are */
    /* Input k is what layer k reads; the last is what the decoder reads. */
    int width[QN_MAX_LAYERS + 1];
    /* Of the rows that hold it: where it begins, all columns, rows before. */
    int column[QN_MAX_LAYERS + 1];
    int pitch[QN_MAX_LAYERS + 1];
    int history[QN_MAX_LAYERS + 1];
    /* Elements of 4 bytes. */
    size_t in[QN_MAX_LAYERS + 1]; /* dense: all in the first, the rest 0 */
    size_t state[QN_MAX_LAYERS];
    size_t context[QN_MAX_LAYERS]; /* history of each stream; dense: as in */
    size_t cells;                  /* of each layer */
    size_t saved; /* of each layer when training, else of all together */
    size_t kept;  /* of each layer when training */
    size_t grad;  /* of each gradient buffer */
    int n_grads;  /* two that take turns, dense: one; 0 when not training */
    size_t last;  /* a classifier's rows for the decoder; training: two such */
    size_t logits, symbols, targets; /* symbols: ids */
    size_t carried;                  /* states, contexts and position */
    size_t total;                    /* of all buffers */
};

/* Units of the decoder: one a symbol, of a classifier a single one. */
int qn_layout_outputs(const struct qn_spec *spec, int vocab);

/* Width of what layer k reads, 0 <= k < layers. */
int qn_layout_width(const struct qn_spec *spec, int k);

/* Whether the embedding may be the first layer's own (struct qn_layer_symbols):
 * in a dense stack others read it, too. */
bool qn_layout_looks_up(const struct qn_spec *spec);

void qn_layout_init(struct qn_layout *l, const struct qn_spec *spec, int vocab,
                    int batch, int steps, bool training);

/* Views of 'steps' steps, without their buffer: whole rows of the buffer that
 * holds input k; what layer k reads (k = layers: the decoder; the embedding
 * writes input 0); and what layer k writes. */
struct qn_seq qn_layout_rows(const struct qn_layout *l, int k, int steps);
struct qn_seq qn_layout_input(const struct qn_layout *l, int k, int steps);
struct qn_seq qn_layout_output(const struct qn_layout *l, int k, int steps);
/* What the decoder reads: input 'layers', or a classifier's rows [B, 1, H]. */
struct qn_seq qn_layout_decoded(const struct qn_layout *l, int steps);
/* Rows that the decoder makes of 'steps' steps: logits are so many times
 * 'outputs'. */
size_t qn_layout_predictions(const struct qn_layout *l, int steps);

#endif
