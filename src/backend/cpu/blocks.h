/* blocks.h - how a batch is split into slices, and slices into blocks of rows
 * that fit a cache.
 *
 * A slice is some whole sequences, or a stretch of time of every sequence when
 * the batch has fewer sequences than slices. A block is some whole sequences of
 * a slice, or a stretch of time of one. Stretches begin at even steps, for
 * pairs (pairs.h). */
#ifndef QN_BACKEND_CPU_BLOCKS_H
#define QN_BACKEND_CPU_BLOCKS_H

#include <stdbool.h>

struct qn_batch {
    int sequences, steps, slices;
    int block_rows;    /* the most in a block, even */
    const int *n_real; /* real steps of each sequence; NULL: all */
};

struct qn_block {
    int first, sequences; /* sequences [first, first + sequences) */
    int from, steps;      /* of each, steps [from, from + steps) */
};

/* Then a slice holds no sequence from start to end. */
bool qn_batch_by_time(const struct qn_batch *batch);
/* Real rows of a slice, of all its sequences together; 0 when it has none. */
int qn_slice_rows(const struct qn_batch *batch, int slice);
/* The first of them, if there is one: *t of sequence *b. */
bool qn_slice_first_row(const struct qn_batch *batch, int slice, int *b,
                        int *t);
int qn_n_blocks(const struct qn_batch *batch, int slice);
/* Block i of a slice: by sequence, then by time. */
struct qn_block qn_block_at(const struct qn_batch *batch, int slice, int i);
/* Rows of the largest block. */
int qn_largest_block(const struct qn_batch *batch);

/* Sequences may end before their last step (n_real): blocks hold the rows
 * behind the end, too. */

/* The steps of sequence b in the block that are real, its first ones. */
int qn_block_real(const struct qn_block *block, const int *n_real, int b);
/* Are some rows of the block not? */
bool qn_block_is_masked(const struct qn_block *block, const int *n_real);
/* A block of one sequence without the rows behind its end, which may leave no
 * steps. One of several stays as it is. */
struct qn_block qn_block_clip(const struct qn_block *block, const int *n_real);

#endif
