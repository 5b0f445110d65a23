/* tensor.h - tensors without a data pointer: a buffer, an offset, a shape.
 *
 * Only a backend turns buffer + offset into an address, so a buffer may live on
 * another device. Everything is float32 but token ids, which are int32. */
#ifndef QN_BACKEND_TENSOR_H
#define QN_BACKEND_TENSOR_H

#include <stddef.h>

struct qn_buffer; /* made by a backend's alloc; opaque above backend/ */

/* count elements, one after the other, from element offset of the buffer. What
 * the dimensions are is the business of whoever made it; ops state the shapes
 * they expect. buffer NULL means "absent". */
struct qn_tensor {
    struct qn_buffer *buffer;
    size_t offset; /* elements */
    size_t count;  /* elements */
};

/* A batch of sequences: batch x steps rows of width floats. Row t of sequence b
 * begins at element offset + b * seq_pitch + t * row_pitch. Rows t = -history
 * .. -1 lie before row 0 of each sequence and hold what stood before it: the
 * context that a causal window reads. A layer with window n reads a qn_seq with
 * history = n - 1. Width may be less than row_pitch (a part of the columns). */
struct qn_seq {
    struct qn_buffer *buffer;
    size_t offset;
    size_t row_pitch, seq_pitch;
    int batch, steps, width, history;
};

static inline struct qn_tensor qn_tensor_part(struct qn_tensor t, size_t from,
                                              size_t count)
{
    struct qn_tensor part = {t.buffer, t.offset + from, count};
    return part;
}

#endif
