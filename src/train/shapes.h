/* shapes.h - the tensors of a run as a person is told of them: plain records.
 */
#ifndef QN_TRAIN_SHAPES_H
#define QN_TRAIN_SHAPES_H

#include "nn/spec.h"

#include <stddef.h>

struct qn_shape {
    char name[64]; /* as in checkpoints */
    int n_dims;
    size_t dim[3]; /* as in checkpoints */
    size_t count;
};

struct qn_shapes {
    struct qn_shape *items;
    int n;
    size_t all;       /* as the paper counts */
    size_t trainable; /* the plain count */
};

/* symbols: of the vocabulary, at least 1. */
void qn_shapes_init(struct qn_shapes *s, const struct qn_spec *spec,
                    int symbols);
void qn_shapes_fini(struct qn_shapes *s);

#endif
