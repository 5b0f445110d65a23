/* work.c - flops and bytes of small shapes, counted by hand. */
#include "bench/work.h"

#include "bench/flops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small.h"

/* Shapes are all that is looked at. */
static struct qn_buffer *const there = (struct qn_buffer *)&(int){0};

static struct qn_tensor tensor(size_t count)
{
    return (struct qn_tensor){there, 0, count};
}

static struct qn_seq seq(int width)
{
    return (struct qn_seq){
        .buffer = there, .batch = 2, .steps = 3, .width = width, .history = 1};
}

static void check(struct qn_work w, double flops, double floats, const char *of)
{
    assert_true(w.flops == flops);
    assert_true(w.bytes == 4 * floats);
    assert_string_equal(w.of, of);
}

/* 2 sequences of 3 rows, 5 columns to 7 units of 4 gates, window 2. */
static struct qn_qrnn dual_layer(void)
{
    return (struct qn_qrnn){.hidden = 7,
                            .window = 2,
                            .pooling = QN_POOL_FO,
                            .activation = QN_DRELU,
                            .weight = tensor(28 * 2 * 5),
                            .bias = tensor(28),
                            .bias_steps = 1,
                            .x = seq(5),
                            .out = seq(7),
                            .c0 = tensor(2 * 7),
                            .cells = tensor(6 * 7),
                            .saved = tensor(6 * 28)};
}

/* x and its context, c and the gates of 6 rows. */
enum { TAPE = (6 + 2) * 5 + 6 * 7 + 6 * 28 };

static void a_qrnn_reads_and_writes_each_tensor_once(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    check(qn_work_qrnn(&l), 2 * 6 * 28 * 10,
          TAPE + 280 + 28 + 6 * 7 /* out */ + 14, "2 x 5 to 4 x 7");
    struct qn_qrnn_grad g = {.d_out = seq(7),
                             .d_weight = tensor(280),
                             .d_bias = tensor(28),
                             .d_x = seq(5)};
    check(qn_work_qrnn_grad(&l, &g), 2 * (2 * 6 * 28 * 10),
          TAPE + 280 + 6 * 7 + 14 + 2 * (280 + 28) + 6 * 5, "2 x 5 to 4 x 7");
}

static void norm_keeps_as_much_again(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    l.bias = (struct qn_tensor){0};
    l.norm = (struct qn_norm){.on = true,
                              .batch = true,
                              .gain = tensor(28),
                              .shift = tensor(28),
                              .mean = tensor(28),
                              .var = tensor(28),
                              .raw = tensor(6 * 28)};
    check(qn_work_qrnn(&l), 3360, TAPE + 6 * 28 + 280 + 4 * 28 + 42 + 14,
          "2 x 5 to 4 x 7");
}

/* Nobody wants the gradient of what word vectors gave, or of some columns. */
static void a_gradient_that_is_not_wanted_costs_nothing(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    struct qn_qrnn_grad g = {.d_out = seq(7), .d_weight = tensor(280)};
    double without = TAPE + 280 + 42 + 14 + 2 * 280;
    check(qn_work_qrnn_grad(&l, &g), 3360, without, "2 x 5 to 4 x 7");
    g.d_x = seq(2);
    check(qn_work_qrnn_grad(&l, &g), 3360 + 2 * 6 * 28 * 4, without + 6 * 2,
          "2 x 5 to 4 x 7");
    g.add_x = true;
    check(qn_work_qrnn_grad(&l, &g), 3360 + 2 * 6 * 28 * 4, without + 2 * 6 * 2,
          "2 x 5 to 4 x 7");
}

static void rows_that_are_not_real_cost_nothing(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    l.n_real = (const int[]){3, 1};
    assert_true(qn_work_qrnn(&l).flops == 2 * 4 * 28 * 10);
}

/* Of 4 symbols, 6 rows of ids; each of 2 sequences has one step whose window
 * begins before the segment. */
static void a_symbol_is_multiplied_once_for_each_tap(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    struct qn_qrnn_grad g = {.d_out = seq(7),
                             .d_weight = tensor(280),
                             .d_bias = tensor(28),
                             .d_x = seq(5),
                             .d_table = tensor(4 * 5)};
    l.n_symbols = 4;
    l.table = tensor(4 * 5);
    l.ids = tensor(6);
    double taps = 2 * (4 * 2 + 2) * 28 * 5;
    double tape = TAPE - 6 * 5 + 6 + 4 * 5;
    check(qn_work_qrnn(&l), taps, tape + 280 + 28 + 6 * 7 + 14,
          "2 x 5 to 4 x 7");
    check(qn_work_qrnn_grad(&l, &g), taps + 2 * 4 * 28 * 10,
          tape + 280 + 6 * 7 + 14 + 2 * (280 + 28) + 2 * 4 * 5,
          "2 x 5 to 4 x 7");
}

/* No more than without a table, however large it is. */
static void a_large_table_saves_nothing(void **state)
{
    (void)state;
    struct qn_qrnn l = dual_layer();
    struct qn_work plain = qn_work_qrnn(&l);
    l.n_symbols = 1000;
    l.table = tensor(1000 * 5);
    l.ids = tensor(6);
    assert_true(qn_work_qrnn(&l).flops == plain.flops);
    assert_true(qn_work_qrnn(&l).bytes == plain.bytes);
    struct qn_qrnn_grad g = {
        .d_out = seq(7), .d_weight = tensor(280), .d_x = seq(5)};
    plain = qn_work_qrnn_grad(&l, &g);
    g.d_table = tensor(1000 * 5);
    assert_true(qn_work_qrnn_grad(&l, &g).flops == plain.flops);
    /* Of the table, rows are read and written. */
    assert_true(qn_work_qrnn_grad(&l, &g).bytes == plain.bytes + 4 * 6 * 5);
}

static struct qn_lstm lstm_layer(void)
{
    return (struct qn_lstm){.hidden = 7,
                            .weight_ih = tensor(28 * 5),
                            .weight_hh = tensor(28 * 7),
                            .bias = tensor(28),
                            .x = seq(5),
                            .out = seq(7),
                            .h0 = tensor(14),
                            .c0 = tensor(14)};
}

static struct qn_lstm_grad lstm_grad(void)
{
    return (struct qn_lstm_grad){.d_out = seq(7),
                                 .d_weight_ih = tensor(28 * 5),
                                 .d_weight_hh = tensor(28 * 7),
                                 .d_bias = tensor(28),
                                 .d_x = seq(5)};
}

static void an_lstm_multiplies_its_own_output(void **state)
{
    (void)state;
    struct qn_lstm l = lstm_layer();
    /* x, c, h and the gates. */
    int tape = 6 * (5 + 7 + 7 + 28);
    check(qn_work_lstm(&l), 2 * 6 * 28 * (5 + 7),
          tape + 28 * 12 + 28 + 6 * 7 + 28, "5 to 4 x 7");
    struct qn_lstm_grad g = lstm_grad();
    check(qn_work_lstm_grad(&l, &g), 2 * (2 * 6 * 28 * 12),
          tape + 28 * 12 + 6 * 7 + 28 + 2 * (28 * 12 + 28) + 6 * 5,
          "5 to 4 x 7");
}

/* W_hh meets every row as before, W_ih and the table's gradient 4 entries. */
static void a_symbol_meets_the_lstm_once(void **state)
{
    (void)state;
    struct qn_lstm l = lstm_layer();
    l.n_symbols = 4;
    l.table = tensor(4 * 5);
    l.ids = tensor(6);
    int tape = 6 + 4 * 5 + 6 * (7 + 7 + 28);
    int own = 2 * 6 * 28 * 7;
    int looked_up = 2 * 4 * 28 * 5;
    check(qn_work_lstm(&l), own + looked_up, tape + 28 * 12 + 28 + 6 * 7 + 28,
          "5 to 4 x 7");
    struct qn_lstm_grad g = lstm_grad();
    g.d_table = tensor(4 * 5);
    check(qn_work_lstm_grad(&l, &g), 2 * (own + looked_up),
          tape + 28 * 12 + 6 * 7 + 28 + 2 * (28 * 12 + 28) + 2 * 4 * 5,
          "5 to 4 x 7");
}

static void a_decoder_has_two_products_on_the_way_back(void **state)
{
    (void)state;
    struct qn_seq x = seq(5);
    check(qn_work_linear(&x, tensor(6 * 9), tensor(9 * 5), tensor(9)),
          2 * 6 * 9 * 5, 6 * 5 + 6 * 9 + 45 + 9, "5 to 9");
    check(qn_work_linear_grad(&x, tensor(6 * 9), tensor(9 * 5), tensor(9)),
          2 * (2 * 6 * 9 * 5), 2 * 6 * 5 + 6 * 9 + 3 * 45 + 2 * 9, "5 to 9");
}

static void of_a_large_table_only_some_rows_are_met(void **state)
{
    (void)state;
    struct qn_seq out = seq(5);
    check(qn_work_embed(&out, tensor(4 * 5)), 0, 6 + 6 * 5 + 4 * 5, "4 x 5");
    check(qn_work_embed(&out, tensor(100 * 5)), 0, 6 + 6 * 5 + 6 * 5,
          "100 x 5");
    check(qn_work_embed_grad(&out, tensor(100 * 5)), 0, 6 + 6 * 5 + 2 * 6 * 5,
          "100 x 5");
}

static void the_rest_moves_what_it_is_given(void **state)
{
    (void)state;
    struct qn_tensor none = {0};
    struct qn_seq rows = seq(5);
    check(qn_work_xent(tensor(54), tensor(6), 1), 0, 2 * 54 + 6, "6 x 9");
    check(qn_work_xent(tensor(54), tensor(6), 0), 0, 54 + 6, "6 x 9");
    check(qn_work_update(tensor(10), none, none), 0, 3 * 10, "10");
    check(qn_work_update(tensor(10), tensor(10), tensor(10)), 0, 7 * 10, "10");
    check(qn_work_elements(10, 2), 0, 20, "10");
    check(qn_work_rows(&rows, 1, 2), 0, 2 * 2 * 5, "2 x 1 x 5");
}

/* 8 units over 4 numbers, then over 8, windows 6 and 2, a norm of 2 numbers a
 * channel, and a decoder of 49 symbols. */
static void a_token_costs_six_for_each_parameter(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("ptb-char/drelu-2x250", NULL);
    double n = 32 * (6 * 4 + 2) + 32 * (2 * 8 + 2) + 49 * 9;
    assert_true(qn_flops_per_token(&s.spec, 49) == 6 * n);
}

static void above_given_vectors_a_token_costs_four(void **state)
{
    (void)state;
    struct qn_shape s = small_shape("sentiment/tanh-300", NULL);
    double first = 24 * 2 * 4;
    double n = first + 24 + 24 * (2 * 8 + 1) + 9;
    assert_true(qn_flops_per_token(&s.spec, 50) == 6 * n - 2 * first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_qrnn_reads_and_writes_each_tensor_once),
        cmocka_unit_test(norm_keeps_as_much_again),
        cmocka_unit_test(a_gradient_that_is_not_wanted_costs_nothing),
        cmocka_unit_test(rows_that_are_not_real_cost_nothing),
        cmocka_unit_test(a_symbol_is_multiplied_once_for_each_tap),
        cmocka_unit_test(a_large_table_saves_nothing),
        cmocka_unit_test(an_lstm_multiplies_its_own_output),
        cmocka_unit_test(a_symbol_meets_the_lstm_once),
        cmocka_unit_test(a_decoder_has_two_products_on_the_way_back),
        cmocka_unit_test(of_a_large_table_only_some_rows_are_met),
        cmocka_unit_test(the_rest_moves_what_it_is_given),
        cmocka_unit_test(a_token_costs_six_for_each_parameter),
        cmocka_unit_test(above_given_vectors_a_token_costs_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
