/* blocks.c - the split of a batch covers every row once, in blocks that fit. */
#include "backend/cpu/blocks.h"
#include "base/mem.h"
#include "place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

/* The most rows in a block here. */
enum { ROWS = 400 };

static void check_cover(struct qn_batch batch)
{
    int rows = batch.sequences * batch.steps;
    int *seen = qn_xcalloc((size_t)rows, sizeof *seen);
    int largest = qn_largest_block(&batch);
    assert_true(largest >= 1 && largest <= ROWS);
    for (int s = 0; s < batch.slices; s++) {
        int of_slice = 0;
        for (int i = 0; i < qn_n_blocks(&batch, s); i++) {
            struct qn_block k = qn_block_at(&batch, s, i);
            of_slice += k.sequences * k.steps;
            assert_true(k.sequences >= 1 && k.steps >= 1);
            assert_true(k.sequences * k.steps <= largest);
            assert_true(k.sequences == 1 || k.steps == batch.steps);
            assert_int_equal(k.from % 2, 0);
            for (int b = 0; b < k.sequences; b++)
                for (int t = 0; t < k.steps; t++)
                    seen[(k.first + b) * batch.steps + k.from + t]++;
        }
        assert_int_equal(qn_slice_rows(&batch, s), of_slice);
    }
    for (int i = 0; i < rows; i++)
        assert_int_equal(seen[i], 1);
    free(seen);
}

static void every_row_is_in_one_block(void **state)
{
    (void)state;
    static const int steps[] = {1, 2, 100, ROWS, ROWS + 1, 2500};
    static const int sequences[] = {1, 2, 3, 20, 129};
    for (int t = 0; t < 6; t++)
        for (int b = 0; b < 5; b++)
            for (int slices = 1; slices <= 5; slices++) {
                struct qn_batch batch = {sequences[b], steps[t], slices, ROWS,
                                         NULL};
                check_cover(batch);
            }
}

static void whole_sequences_share_a_block_when_they_fit(void **state)
{
    (void)state;
    struct qn_batch batch = {64, ROWS / 4, 2, ROWS, NULL};
    assert_false(qn_batch_by_time(&batch));
    assert_int_equal(qn_n_blocks(&batch, 0), 8);
    assert_int_equal(qn_block_at(&batch, 1, 0).first, 32);
    assert_int_equal(qn_block_at(&batch, 1, 0).sequences, 4);
}

static void few_sequences_are_split_by_time(void **state)
{
    (void)state;
    struct qn_batch batch = {1, 100, 2, ROWS, NULL};
    assert_true(qn_batch_by_time(&batch));
    assert_int_equal(qn_block_at(&batch, 1, 0).from, 50);
}

/* Rows behind the end are in their block, but not counted as real; the first
 * real one of a slice is the first in the order of blocks. */
static void check_real(struct qn_batch batch)
{
    for (int s = 0; s < batch.slices; s++) {
        int rows = 0;
        int first[2] = {0, 0};
        for (int i = 0; i < qn_n_blocks(&batch, s); i++) {
            struct qn_block k = qn_block_at(&batch, s, i);
            struct qn_block part = qn_block_clip(&k, batch.n_real);
            int whole = 0;
            for (int b = k.first; b < k.first + k.sequences; b++) {
                int real = 0;
                for (int t = k.from; t < k.from + k.steps; t++)
                    real += t < batch.n_real[b];
                assert_int_equal(qn_block_real(&k, batch.n_real, b), real);
                if (rows == 0 && real > 0) {
                    first[0] = b;
                    first[1] = k.from;
                }
                whole += real;
                rows += real;
            }
            bool masked = whole < k.sequences * k.steps;
            assert_int_equal(qn_block_is_masked(&k, batch.n_real), masked);
            assert_int_equal(part.steps, k.sequences == 1 ? whole : k.steps);
        }
        int b, t;
        assert_int_equal(qn_slice_first_row(&batch, s, &b, &t), rows > 0);
        assert_true(rows == 0 || (b == first[0] && t == first[1]));
        assert_int_equal(qn_slice_rows(&batch, s), rows);
    }
}

static void real_rows_are_told_from_the_others(void **state)
{
    (void)state;
    static const int steps[] = {1, 2, 100, ROWS, ROWS + 1, 2500};
    static const int sequences[] = {1, 2, 3, 20, 129};
    for (int t = 0; t < 6; t++)
        for (int b = 0; b < 5; b++)
            for (int slices = 1; slices <= 5; slices++)
                for (int kind = 0; kind < 5; kind++) {
                    int n_real[129];
                    place_lengths(n_real, sequences[b], steps[t], kind);
                    struct qn_batch batch = {sequences[b], steps[t], slices,
                                             ROWS, n_real};
                    check_real(batch);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_one_block),
        cmocka_unit_test(whole_sequences_share_a_block_when_they_fit),
        cmocka_unit_test(few_sequences_are_split_by_time),
        cmocka_unit_test(real_rows_are_told_from_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
