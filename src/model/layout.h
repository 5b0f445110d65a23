/* layout.h - how large each buffer of a pass is, before any is allocated.
 *
 * The pass allocates by it and the memory plan adds it up, so that the two
 * cannot differ. Sizes stop at SIZE_MAX instead of wrapping round. */
#ifndef QN_MODEL_LAYOUT_H
#define QN_MODEL_LAYOUT_H

#include "nn/layer.h"

#include <stdbool.h>

struct qn_layout {
    int layers, batch, steps;
    bool training;
    /* Input k is what layer k reads; the last is what the decoder reads. */
    int width[QN_MAX_LAYERS + 1];
    int history[QN_MAX_LAYERS + 1];
    /* Elements of 4 bytes. */
    size_t in[QN_MAX_LAYERS + 1];
    size_t state[QN_MAX_LAYERS];
    size_t cells; /* of each layer */
    size_t saved; /* of each layer when training, else of all together */
    size_t grad;  /* of each of two buffers; 0 when not training */
    size_t logits, symbols; /* symbols: ids, and targets */
    size_t total;           /* of all buffers */
};

void qn_layout_init(struct qn_layout *l, const struct qn_spec *spec, int vocab,
                    int batch, int steps, bool training);

#endif
