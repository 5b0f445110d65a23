/* blocks.c - the split of a batch covers every row once, in blocks that fit. */
#include "backend/cpu/blocks.h"
#include "base/mem.h"

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
                struct qn_batch batch = {sequences[b], steps[t], slices, ROWS};
                check_cover(batch);
            }
}

static void whole_sequences_share_a_block_when_they_fit(void **state)
{
    (void)state;
    struct qn_batch batch = {64, ROWS / 4, 2, ROWS};
    assert_false(qn_batch_by_time(&batch));
    assert_int_equal(qn_n_blocks(&batch, 0), 8);
    assert_int_equal(qn_block_at(&batch, 1, 0).first, 32);
    assert_int_equal(qn_block_at(&batch, 1, 0).sequences, 4);
}

static void few_sequences_are_split_by_time(void **state)
{
    (void)state;
    struct qn_batch batch = {1, 100, 2, ROWS};
    assert_true(qn_batch_by_time(&batch));
    assert_int_equal(qn_block_at(&batch, 1, 0).from, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_one_block),
        cmocka_unit_test(whole_sequences_share_a_block_when_they_fit),
        cmocka_unit_test(few_sequences_are_split_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
