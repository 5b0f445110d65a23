/* blocks.c - the arithmetic of slices and blocks. */
#include "backend/cpu/blocks.h"

#include "backend/private.h"

bool qn_batch_by_time(const struct qn_batch *batch)
{
    return batch->sequences < batch->slices;
}

/* Where part i of some steps begins. Parts begin at even steps: pairs.h. */
static int split_steps(int steps, int parts, int i)
{
    int from = 2 * qn_split((steps + 1) / 2, parts, i);
    return from < steps ? from : steps;
}

/* A slice as one rectangle of sequences and steps. */
static struct qn_block slice_of(const struct qn_batch *b, int slice)
{
    struct qn_block all = {0, b->sequences, 0, b->steps};
    if (qn_batch_by_time(b)) {
        all.from = split_steps(b->steps, b->slices, slice);
        all.steps = split_steps(b->steps, b->slices, slice + 1) - all.from;
    } else {
        all.first = qn_split(b->sequences, b->slices, slice);
        all.sequences =
            qn_split(b->sequences, b->slices, slice + 1) - all.first;
    }
    return all;
}

int qn_slice_rows(const struct qn_batch *batch, int slice)
{
    struct qn_block all = slice_of(batch, slice);
    int rows = 0;
    if (!batch->n_real)
        return all.sequences * all.steps;
    for (int b = all.first; b < all.first + all.sequences; b++)
        rows += qn_block_real(&all, batch->n_real, b);
    return rows;
}

bool qn_slice_first_row(const struct qn_batch *batch, int slice, int *b, int *t)
{
    struct qn_block all = slice_of(batch, slice);
    int first = all.first;
    int end = first + all.sequences;
    while (first < end && qn_block_real(&all, batch->n_real, first) == 0)
        first++;
    *b = first;
    *t = all.from;
    return first < end;
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* May blocks of this slice hold several sequences? Only whole ones: their rows
 * lie one after the other in [B, T, ...] tensors. */
static bool of_whole_sequences(const struct qn_batch *b,
                               const struct qn_block *slice)
{
    return slice->steps == b->steps && b->steps <= b->block_rows;
}

int qn_n_blocks(const struct qn_batch *batch, int slice)
{
    struct qn_block all = slice_of(batch, slice);
    if (of_whole_sequences(batch, &all))
        return divide_up(all.sequences, batch->block_rows / all.steps);
    return all.sequences * divide_up(all.steps, batch->block_rows);
}

struct qn_block qn_block_at(const struct qn_batch *batch, int slice, int i)
{
    struct qn_block all = slice_of(batch, slice);
    struct qn_block block = all;
    if (of_whole_sequences(batch, &all)) {
        int n = qn_n_blocks(batch, slice);
        int from = qn_split(all.sequences, n, i);
        block.first = all.first + from;
        block.sequences = qn_split(all.sequences, n, i + 1) - from;
        return block;
    }
    int pieces = divide_up(all.steps, batch->block_rows);
    int from = split_steps(all.steps, pieces, i % pieces);
    block.first = all.first + i / pieces;
    block.sequences = 1;
    block.from = all.from + from;
    block.steps = split_steps(all.steps, pieces, i % pieces + 1) - from;
    return block;
}

int qn_largest_block(const struct qn_batch *batch)
{
    int largest = 0;
    for (int s = 0; s < batch->slices; s++)
        for (int i = 0; i < qn_n_blocks(batch, s); i++) {
            struct qn_block block = qn_block_at(batch, s, i);
            int rows = block.sequences * block.steps;
            largest = rows > largest ? rows : largest;
        }
    return largest;
}

int qn_block_real(const struct qn_block *block, const int *n_real, int b)
{
    int end = block->from + block->steps;
    int real = qn_real_steps(n_real, b, end) - block->from;
    if (real < 0)
        return 0;
    return real < block->steps ? real : block->steps;
}

bool qn_block_is_masked(const struct qn_block *block, const int *n_real)
{
    for (int b = block->first; n_real && b < block->first + block->sequences;
         b++)
        if (qn_block_real(block, n_real, b) < block->steps)
            return true;
    return false;
}

struct qn_block qn_block_clip(const struct qn_block *block, const int *n_real)
{
    struct qn_block part = *block;
    if (block->sequences == 1)
        part.steps = qn_block_real(block, n_real, block->first);
    return part;
}
