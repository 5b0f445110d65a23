/* pairs.c - windows of two whose products are made by pairs of steps, against
 * ref: even and odd lengths, blocks of several sequences and of a part of one,
 * padding, and what is absent or added to. */
#include "layer_agree.h"
#include "place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SLICES 3

static void check(struct layer_shape shape)
{
    for (int slices = 1; slices <= SLICES; slices++)
        assert_true(layer_pairs_up(&shape, slices));
    layer_check_slices(shape, SLICES);
}

static struct layer_shape shape_of(int batch, int steps)
{
    struct layer_shape shape = {.batch = batch,
                                .steps = steps,
                                .in = 99,
                                .hidden = 33,
                                .window = 2,
                                .pooling = QN_POOL_FO,
                                .activation = QN_DRELU};
    return shape;
}

/* Several sequences a block, and several such blocks. */
static void whole_sequences_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{50, 8},  {45, 9},  {13, 30},
                                    {13, 31}, {26, 33}, {26, 34}};
    for (int i = 0; i < 6; i++)
        check(shape_of(shapes[i][0], shapes[i][1]));
}

/* Longer than a block, and split by time: the input's gradient reads a step
 * behind the block. */
static void parts_of_sequences_agree(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 400}, {1, 801}, {2, 399}, {3, 802}};
    for (int i = 0; i < 4; i++)
        check(shape_of(shapes[i][0], shapes[i][1]));
}

/* What an operation may be asked for, in rotation. */
static void options_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 15; i++) {
        struct layer_shape shape = shape_of(i % 2 ? 20 : 2, i % 2 ? 21 : 200);
        shape.steps += i / 2 % 2;
        shape.in += i % 3;
        shape.hidden = 50;
        shape.pooling = (enum qn_pooling)(i / 5 % 3);
        shape.activation = (enum qn_activation)(i % 5);
        shape.drop = i % 2 ? 0.2 : 0.0;
        shape.zoneout = i % 7 == 3 ? 0.3 : 0.0;
        shape.norm = (enum layer_norm)(i % 3);
        shape.bias_steps = 1 + i / 3 % 3;
        shape.bias_first = i % 4;
        shape.extra = i % 4;
        shape.shared = i % 5 == 2;
        shape.no_d_x = i % 6 == 5;
        shape.add_x = i / 4 % 2;
        shape.skip_x = i % 3 == 1 ? 40 : 0;
        check(shape);
    }
}

/* Rows behind the end hold NaN. */
static void padding_agrees(void **state)
{
    (void)state;
    for (int i = 0; i < 14; i++) {
        int n_real[20];
        struct layer_shape shape = shape_of(i % 2 ? 20 : 2, i % 2   ? 21
                                                            : i % 4 ? 230
                                                                    : 820);
        shape.steps += i / 2 % 2;
        shape.n_real = n_real;
        shape.norm = i / 7 ? LAYER_NORM_EVAL : LAYER_NO_NORM;
        shape.add_x = i / 3 % 2;
        shape.skip_x = i % 5 == 2 ? 40 : 0;
        place_lengths(n_real, shape.batch, shape.steps, i % 7);
        check(shape);
    }
}

static void what_is_small_or_of_another_window_does_not_pair(void **state)
{
    (void)state;
    struct layer_shape shape = shape_of(16, 100);
    assert_true(layer_pairs_up(&shape, 2));
    shape.window = 3;
    assert_false(layer_pairs_up(&shape, 2));
    shape = shape_of(16, 100);
    shape.in = 20;
    assert_false(layer_pairs_up(&shape, 2));
    shape = shape_of(16, 100);
    shape.hidden = 20;
    assert_false(layer_pairs_up(&shape, 2));
    shape = shape_of(400, 1);
    assert_false(layer_pairs_up(&shape, 2));
    shape = shape_of(1, 100);
    assert_false(layer_pairs_up(&shape, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_sequences_agree),
        cmocka_unit_test(parts_of_sequences_agree),
        cmocka_unit_test(options_agree),
        cmocka_unit_test(padding_agrees),
        cmocka_unit_test(what_is_small_or_of_another_window_does_not_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
