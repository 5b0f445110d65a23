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
 */
#ifndef QN_MODEL_LAYOUT_H
#define QN_MODEL_LAYOUT_H

#include "nn/layer.h"

#include <stdbool.h>

struct qn_layout {
    int layers, batch, steps, hidden;
    bool training, dense;
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
    size_t logits, symbols; /* symbols: ids, and targets */
    size_t carried;         /* states, contexts and position */
    size_t total;           /* of all buffers */
};

/* Width of what layer k reads, 0 <= k < layers. */
int qn_layout_width(const struct qn_spec *spec, int k);

void qn_layout_init(struct qn_layout *l, const struct qn_spec *spec, int vocab,
                    int batch, int steps, bool training);

/* Views of 'steps' steps, without their buffer: whole rows of the buffer that
 * holds input k; what layer k reads (k = layers: the decoder; the embedding
 * writes input 0); and what layer k writes. */
struct qn_seq qn_layout_rows(const struct qn_layout *l, int k, int steps);
struct qn_seq qn_layout_input(const struct qn_layout *l, int k, int steps);
struct qn_seq qn_layout_output(const struct qn_layout *l, int k, int steps);

#endif
