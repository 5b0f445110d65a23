/* work.h - what a backend's operation has to do, from the shapes it is given.
 *
 * flops: additions and multiplications of its products of matrices. bytes: each
 * tensor of the contract that it must read or write, once; one that is added to
 * or changed in place is read and written. Rows that are not real are left out,
 * and so is whatever a backend keeps for itself: no implementation of the
 * textbook's way can do with less, unless a cache still holds what the
 * operation before it wrote.
 *
 * A QRNN above an embedding of fewer symbols than rows multiplies each symbol
 * once for each tap, and what lies before its segment; it reads ids and table
 * in place of x, and adds to d_table without a d_x. A backend that multiplies
 * all rows does more than is counted. */
#ifndef QN_BENCH_WORK_H
#define QN_BENCH_WORK_H

#include "backend/backend.h"

#define QN_WORK_TEXT 40

struct qn_work {
    double flops, bytes;
    char of[QN_WORK_TEXT]; /* "6 x 50 to 4 x 250": the shapes, for a person */
};

struct qn_work qn_work_qrnn(const struct qn_qrnn *l);
struct qn_work qn_work_qrnn_grad(const struct qn_qrnn *l,
                                 const struct qn_qrnn_grad *g);
struct qn_work qn_work_lstm(const struct qn_lstm *l);
struct qn_work qn_work_lstm_grad(const struct qn_lstm *l,
                                 const struct qn_lstm_grad *g);
struct qn_work qn_work_linear(const struct qn_seq *x, struct qn_tensor y,
                              struct qn_tensor weight, struct qn_tensor bias);
struct qn_work qn_work_linear_grad(const struct qn_seq *x, struct qn_tensor d_y,
                                   struct qn_tensor weight,
                                   struct qn_tensor d_bias);
/* Of a table as many rows at most as there are symbols. */
struct qn_work qn_work_embed(const struct qn_seq *out, struct qn_tensor table);
struct qn_work qn_work_embed_grad(const struct qn_seq *d_out,
                                  struct qn_tensor d_table);
/* Softmax or one sigmoid unit; scale 0 leaves the logits as they are. */
struct qn_work qn_work_xent(struct qn_tensor logits, struct qn_tensor targets,
                            float scale);
struct qn_work qn_work_update(struct qn_tensor w, struct qn_tensor m,
                              struct qn_tensor v);

/* So many elements read or written, 'passes' times each: a fill 1, a copy 2. */
struct qn_work qn_work_elements(size_t count, int passes);
/* Rows of a sequence's width: 'rows' of each of its sequences. */
struct qn_work qn_work_rows(const struct qn_seq *seq, int rows, int passes);

#endif
