/* plot.c - tests that plots stay inside, say the truth and cost little. */
#include "tui/plot.h"

#include "tui/curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sentinel.h"

enum shape {
    EMPTY,
    ONE,
    CONSTANT,
    FALLING,
    NEGATIVE,
    WITH_NAN,
    ALL_NAN,
    WITH_INF,
    HUGE_STEPS,
    HUGE_VALUES,
    N_SHAPES
};

static double value_of(enum shape shape, int i)
{
    switch (shape) {
    case CONSTANT:
        return 2;
    case NEGATIVE:
        return i % 7 - 3;
    case WITH_NAN:
        return i % 5 == 0 ? (double)NAN : 1.0 / (i + 1);
    case ALL_NAN:
        return (double)NAN;
    case WITH_INF:
        return i % 3 == 0 ? HUGE_VAL : i;
    case HUGE_VALUES:
        return (i % 2 == 0 ? 1 : -1) * 1.7e308;
    case EMPTY:
    case ONE:
    case FALLING:
    case HUGE_STEPS:
    case N_SHAPES:
        break;
    }
    return 1 + 5 * exp(-i / 50.0);
}

static struct qn_series *make_series(enum shape shape)
{
    struct qn_series *s = qn_series_new();
    int n = shape == EMPTY ? 0 : shape == ONE ? 1 : 300;
    double unit = shape == HUGE_STEPS ? 1e15 : 1;
    for (int i = 0; i < n; i++) {
        qn_series_add(s, (i + 1) * unit, value_of(shape, i));
    }
    return s;
}

static struct qn_line_plot plot_of(const struct qn_curve *curves, int n,
                                   enum qn_glyphs glyphs)
{
    return (struct qn_line_plot){
        .curves = curves, .n_curves = n, .x_label = "step", .glyphs = glyphs};
}

static void check_lines(const struct qn_line_plot *plot, int rows, int cols)
{
    struct qn_canvas c;
    struct qn_rect where = {1, 2, rows, cols};
    sentinel_init(&c, rows + 3, cols + 5);
    qn_plot_lines(&c, where, plot);
    assert_true(sentinel_kept(&c, where));
    qn_canvas_fini(&c);
}

static void curves_stay_inside_for_all_sizes_and_values(void **state)
{
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++) {
        struct qn_series *a = make_series((enum shape)shape);
        struct qn_series *b = make_series(FALLING);
        const struct qn_curve curves[] = {
            {.series = a, .role = QN_ROLE_TRAIN, .label = "train"},
            {.series = shape % 2 == 0 ? b : a,
             .role = QN_ROLE_VALID,
             .smooth = 0.9,
             .as_marks = shape % 3 == 0,
             .label = "a longer name"},
        };
        for (int rows = 0; rows <= 30; rows += rows < 9 ? 1 : 7) {
            for (int cols = 0; cols <= 130; cols += cols < 46 ? 1 : 21) {
                struct qn_line_plot plot = plot_of(
                    curves, 1 + cols % 2, (enum qn_glyphs)((rows + cols) % 3));
                plot.log_y = shape % 2 == cols / 2 % 2;
                check_lines(&plot, rows, cols);
            }
        }
        qn_series_free(a);
        qn_series_free(b);
    }
}

static bool shows(const struct qn_canvas *c, const char *text)
{
    struct qn_str out = {0};
    qn_canvas_dump(c, false, &out);
    bool found = out.text != NULL && strstr(out.text, text) != NULL;
    qn_str_free(&out);
    return found;
}

static void draw_series(struct qn_canvas *c, const struct qn_series *s,
                        bool log_y)
{
    const struct qn_curve curve = {
        .series = s, .role = QN_ROLE_TRAIN, .label = "train"};
    struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_BRAILLE);
    plot.log_y = log_y;
    qn_canvas_init(c, 20, 70);
    qn_plot_lines(c, (struct qn_rect){0, 0, 20, 70}, &plot);
}

static void nothing_to_draw_is_said_in_words(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = qn_series_new();
    draw_series(&c, s, false);
    assert_true(shows(&c, "no steps yet"));
    qn_canvas_fini(&c);
    qn_series_add(s, 1, (double)NAN);
    draw_series(&c, s, false);
    assert_true(shows(&c, "no finite value yet"));
    qn_canvas_fini(&c);
    qn_series_add(s, 2, -1);
    draw_series(&c, s, true);
    assert_true(shows(&c, "no values above 0"));
    qn_canvas_fini(&c);
    qn_series_free(s);
}

static void values_that_are_not_finite_leave_a_cross_on_the_axis(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = make_series(FALLING);
    draw_series(&c, s, false);
    assert_false(shows(&c, "\u00d7"));
    qn_canvas_fini(&c);
    qn_series_add(s, 301, (double)NAN);
    draw_series(&c, s, false);
    assert_true(shows(&c, "\u00d7"));
    assert_true(shows(&c, "train NaN"));
    qn_canvas_fini(&c);
    qn_series_free(s);
}

static void a_log_axis_says_what_it_leaves_out(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = make_series(NEGATIVE);
    draw_series(&c, s, true);
    assert_true(shows(&c, "values <= 0 left out"));
    qn_canvas_fini(&c);
    draw_series(&c, s, false);
    assert_false(shows(&c, "left out"));
    qn_canvas_fini(&c);
    qn_series_free(s);
}

/* Columns of a curve over its own steps. */
static void columns_of(const struct qn_curve *curve, struct qn_column *columns,
                       int n)
{
    size_t len = qn_series_len(curve->series);
    struct qn_axis x = {.lo = qn_series_at(curve->series, 0).step,
                        .hi = qn_series_at(curve->series, len - 1).step};
    qn_curve_columns(curve, &x, columns, n);
}

static void first_outliers_do_not_ruin_the_range(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 100; i++) {
        qn_series_add(s, i, i < 2 ? 1000 : 1 + 0.001 * i);
    }
    const struct qn_curve curve = {.series = s};
    const struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_BRAILLE);
    struct qn_column columns[100];
    double lo, hi;
    columns_of(&curve, columns, 100);
    assert_true(qn_curve_range(&plot, columns, 100, &lo, &hi));
    assert_true(hi < 1.3);
    assert_true(lo > 0.8 && lo <= 1.002);
    qn_series_free(s);
}

static void the_range_holds_the_newest_value(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 100; i++) {
        qn_series_add(s, i, i < 99 ? 1 : 50);
    }
    const struct qn_curve curve = {.series = s};
    const struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_BRAILLE);
    struct qn_column columns[100];
    double lo, hi;
    columns_of(&curve, columns, 100);
    assert_true(qn_curve_range(&plot, columns, 100, &lo, &hi));
    assert_true(hi >= 50);
    qn_series_free(s);
}

static void spikes_survive_decimation(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 100000; i++) {
        qn_series_add(s, i, i == 54321 ? 9 : 1);
    }
    const struct qn_curve curve = {.series = s};
    struct qn_column columns[50];
    double most = 0;
    columns_of(&curve, columns, 50);
    for (int i = 0; i < 50; i++) {
        most = fmax(most, columns[i].hi);
    }
    assert_true(most == 9);
    qn_series_free(s);
}

/* Every point is in one column and only one. */
static void columns_share_out_all_points(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 1000; i++) {
        qn_series_add(s, i * 3, i);
    }
    const struct qn_curve curve = {.series = s};
    for (int n = 1; n < 1500; n += 37) {
        struct qn_column *columns = calloc((size_t)n, sizeof *columns);
        assert_non_null(columns);
        columns_of(&curve, columns, n);
        double next = 0;
        for (int i = 0; i < n; i++) {
            if (columns[i].any) {
                assert_true(columns[i].first == next);
                next = columns[i].last + 1;
            }
        }
        assert_true(next == 1000);
        free(columns);
    }
    qn_series_free(s);
}

/* The mean of a column takes over when the average's window is shorter than the
 * column: a million points must not be walked one by one. */
static void a_long_smoothed_curve_is_the_mean_of_its_columns(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 1000000; i++) {
        qn_series_add(s, i, i % 2 == 0 ? 1 : 3);
    }
    const struct qn_curve curve = {.series = s, .smooth = 0.98};
    struct qn_column columns[200];
    columns_of(&curve, columns, 200);
    for (int i = 0; i < 200; i++) {
        assert_true(columns[i].any && fabs(columns[i].last - 2) < 0.01);
    }
    assert_true(fabs(qn_curve_newest(&curve) - 2) < 0.05);
    qn_series_free(s);
}

static void a_smoothed_column_is_the_average_at_its_point(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 1000; i++) {
        qn_series_add(s, i, i % 11 == 0 ? (double)NAN : 1 + i * i % 17);
    }
    const struct qn_curve curve = {.series = s, .smooth = 0.9};
    struct qn_column columns[1000]; /* a point each */
    columns_of(&curve, columns, 1000);
    for (int i = 0; i < 1000; i++) {
        double expected = qn_series_smooth(s, (size_t)i, curve.smooth);
        assert_int_equal(columns[i].any, i % 11 != 0);
        /* Another order of summation: a few units of rounding. */
        assert_true(!columns[i].any ||
                    fabs(columns[i].last - expected) < 1e-12 * expected);
    }
    qn_series_free(s);
}

static void a_million_points_draw(void **state)
{
    (void)state;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i < 1000000; i++) {
        qn_series_add(s, i, 1 + 4 * exp(-i / 1e5) + i % 10 * 0.01);
    }
    const struct qn_curve curve = {.series = s, .label = "train"};
    struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_BRAILLE);
    check_lines(&plot, 25, 100);
    qn_series_free(s);
}

static void only_the_last_drawn_curve_owns_a_cell(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = make_series(CONSTANT);
    const struct qn_curve curves[] = {{.series = s, .role = QN_ROLE_TRAIN},
                                      {.series = s, .role = QN_ROLE_VALID}};
    const struct qn_line_plot plot = plot_of(curves, 2, QN_GLYPHS_BRAILLE);
    qn_canvas_init(&c, 3, 10);
    qn_plot_lines(&c, (struct qn_rect){0, 0, 3, 10}, &plot);
    for (int i = 0; i < 30; i++) {
        assert_int_not_equal(c.cells[i].role, QN_ROLE_TRAIN);
    }
    qn_canvas_fini(&c);
    qn_series_free(s);
}

/* Cells of a role in some columns of the canvas. */
static int count_role(const struct qn_canvas *c, enum qn_role role, int from,
                      int to)
{
    int n = 0;
    for (int i = 0; i < c->rows * c->cols; i++) {
        bool here = i % c->cols >= from && i % c->cols < to;
        bool drawn = c->cells[i].glyph != ' ';
        n += here && drawn && c->cells[i].role == role ? 1 : 0;
    }
    return n;
}

static void values_that_are_not_finite_are_gaps(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = qn_series_new();
    for (int i = 0; i <= 10; i++) {
        qn_series_add(s, i, i == 5 ? (double)NAN : 1);
    }
    const struct qn_curve curve = {.series = s, .role = QN_ROLE_TRAIN};
    const struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_BRAILLE);
    /* Without axes: step k is at column 10 k of 101, in a plot of 3 rows that
     * are too few for an axis below; 3 columns are the axis at the left. */
    qn_canvas_init(&c, 3, 104);
    qn_plot_lines(&c, (struct qn_rect){0, 0, 3, 104}, &plot);
    assert_int_equal(count_role(&c, QN_ROLE_TRAIN, 46, 62), 0);
    assert_true(count_role(&c, QN_ROLE_TRAIN, 20, 36) >= 16);
    assert_true(count_role(&c, QN_ROLE_TRAIN, 70, 86) >= 16);
    qn_canvas_fini(&c);
    qn_series_free(s);
}

static void names_at_equal_values_stand_apart(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = make_series(CONSTANT);
    const struct qn_curve curves[] = {
        {.series = s, .role = QN_ROLE_TRAIN, .label = "first"},
        {.series = s, .role = QN_ROLE_VALID, .label = "second"}};
    struct qn_line_plot plot = plot_of(curves, 2, QN_GLYPHS_BRAILLE);
    plot.legend_apart = true;
    qn_canvas_init(&c, 20, 70);
    qn_plot_lines(&c, (struct qn_rect){0, 0, 20, 70}, &plot);
    assert_true(shows(&c, "first") && shows(&c, "second"));
    qn_canvas_fini(&c);
    qn_series_free(s);
}

static void a_legend_names_unit_curve_and_newest_value(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_series *s = make_series(CONSTANT);
    const struct qn_curve curve = {.series = s, .label = "train"};
    struct qn_line_plot plot = plot_of(&curve, 1, QN_GLYPHS_ASCII);
    plot.y_label = "nats";
    qn_canvas_init(&c, 10, 24);
    qn_plot_lines(&c, (struct qn_rect){0, 0, 10, 24}, &plot);
    assert_true(shows(&c, "nats       : train 2.000\n"));
    qn_canvas_resize(&c, 1, 9);
    assert_int_equal(qn_plot_legend(&c, (struct qn_rect){0, 0, 1, 9}, &plot),
                     7);
    assert_true(shows(&c, "  : 2.000\n"));
    assert_int_equal(qn_plot_legend(&c, (struct qn_rect){0, 0, 1, 6}, &plot),
                     0);
    qn_canvas_fini(&c);
    qn_series_free(s);
}

static int count_glyphs(const struct qn_canvas *c, uint32_t glyph)
{
    int n = 0;
    for (int i = 0; i < c->rows * c->cols; i++) {
        n += c->cells[i].glyph == glyph ? 1 : 0;
    }
    return n;
}

static struct qn_shares shares(double negative, double near, double positive)
{
    return (struct qn_shares){.negative = negative,
                              .near = near,
                              .positive = positive,
                              .nan = 1 - negative - near - positive,
                              .count = 1000};
}

/* The percentages of a row of text, summed. */
static int sum_of_percentages(const char *row)
{
    int sum = 0;
    for (const char *at = strchr(row, '%'); at != NULL;
         at = strchr(at + 1, '%')) {
        const char *digit = at;
        while (digit > row && digit[-1] >= '0' && digit[-1] <= '9') {
            digit--;
        }
        sum += atoi(digit);
    }
    return sum;
}

static void percentages_sum_to_a_hundred(void **state)
{
    (void)state;
    for (int a = 0; a <= 60; a++) {
        for (int b = 0; a + b <= 60; b++) {
            struct qn_canvas c;
            struct qn_str out = {0};
            const struct qn_share_bar bar = {
                .label = "1",
                .shares = {.negative = a / 60.0,
                           .near = b / 60.0,
                           .positive = (60 - a - b) / 60.0,
                           .count = 60}};
            qn_canvas_init(&c, 1, 40);
            qn_plot_shares(&c, (struct qn_rect){0, 0, 1, 40}, &bar);
            qn_canvas_dump(&c, false, &out);
            assert_int_equal(sum_of_percentages(out.text), 100);
            qn_str_free(&out);
            qn_canvas_fini(&c);
        }
    }
}

static void parts_of_a_bar_are_as_wide_as_their_shares(void **state)
{
    (void)state;
    struct qn_canvas c;
    const struct qn_share_bar bar = {.label = "1",
                                     .shares = shares(0.25, 0.25, 0.5),
                                     .glyphs = QN_GLYPHS_ASCII};
    /* "  1 " and " 25%  25%  50%  " leave 40 of 60 columns. */
    qn_canvas_init(&c, 1, 60);
    qn_plot_shares(&c, (struct qn_rect){0, 0, 1, 60}, &bar);
    assert_int_equal(count_glyphs(&c, '-'), 10);
    assert_int_equal(count_glyphs(&c, '.'), 10);
    assert_int_equal(count_glyphs(&c, '+'), 20);
    qn_canvas_fini(&c);
}

static void a_small_share_is_never_invisible(void **state)
{
    (void)state;
    struct qn_canvas c;
    const struct qn_share_bar bar = {.label = "1",
                                     .shares = shares(0.001, 0.998, 0.001),
                                     .glyphs = QN_GLYPHS_ASCII};
    qn_canvas_init(&c, 1, 60);
    qn_plot_shares(&c, (struct qn_rect){0, 0, 1, 60}, &bar);
    assert_int_equal(count_glyphs(&c, '-'), 1);
    assert_int_equal(count_glyphs(&c, '+'), 1);
    qn_canvas_fini(&c);
}

static void nan_is_shown_when_there_is_any(void **state)
{
    (void)state;
    struct qn_canvas c;
    struct qn_share_bar bar = {.label = "1",
                               .shares = shares(0.25, 0.25, 0.4999)};
    qn_canvas_init(&c, 1, 60);
    qn_plot_shares(&c, (struct qn_rect){0, 0, 1, 60}, &bar);
    assert_true(shows(&c, "<1% NaN"));
    qn_canvas_resize(&c, 1, 60);
    bar.shares = shares(0.25, 0.25, 0.25);
    qn_plot_shares(&c, (struct qn_rect){0, 0, 1, 60}, &bar);
    assert_true(shows(&c, " 25% NaN"));
    qn_canvas_fini(&c);
}

static void bars_stay_inside_for_all_widths(void **state)
{
    (void)state;
    for (int cols = 0; cols < 130; cols++) {
        for (int i = 0; i < 3; i++) {
            struct qn_canvas c;
            struct qn_rect where = {1, 2, 1, cols};
            const struct qn_share_bar bar = {
                .label = "a label",
                .shares = i == 0 ? (struct qn_shares){0}
                                 : shares(0.3, 0.3, i == 1 ? 0.4 : 0.1),
                .selected = true,
                .glyphs = (enum qn_glyphs)i};
            sentinel_init(&c, 3, cols + 4);
            qn_plot_shares(&c, where, &bar);
            assert_true(sentinel_kept(&c, where));
            qn_canvas_fini(&c);
        }
    }
}

/* Values of one kind: 0 none, 1 all zero, 2 NaN, 3 spread, 4 huge, 5 tiny. */
static void fill_hist(struct qn_hist *h, int kind)
{
    float x[500];
    qn_hist_init(h, 0.1f);
    for (int i = 0; i < 500; i++) {
        float sign = i % 2 == 0 ? 1.0f : -1.0f;
        float spread = sign * (float)pow(10, i / 100.0 - 3);
        x[i] = kind == 1   ? 0
               : kind == 2 ? (float)NAN
               : kind == 3 ? spread
               : kind == 4 ? sign * 1e30f
                           : sign * 1e-30f;
    }
    qn_hist_add(h, x, kind == 0 ? 0 : 500);
}

static void histograms_stay_inside_for_all_sizes_and_values(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        struct qn_hist h;
        fill_hist(&h, kind);
        for (int rows = 0; rows <= 20; rows++) {
            for (int cols = 0; cols <= 130; cols += cols < 40 ? 1 : 9) {
                struct qn_canvas c;
                struct qn_rect where = {1, 2, rows, cols};
                const struct qn_hist_plot plot = {
                    .hist = &h,
                    .title = cols % 2 == 0 ? "layer 1" : NULL,
                    .log_count = rows % 2 == 0,
                    .glyphs = (enum qn_glyphs)(cols % 3)};
                sentinel_init(&c, rows + 2, cols + 4);
                qn_plot_hist(&c, where, &plot);
                assert_true(sentinel_kept(&c, where));
                qn_canvas_fini(&c);
            }
        }
    }
}

/* Values of one sign draw on their side of the middle only. */
static void a_histogram_puts_signs_on_their_sides(void **state)
{
    (void)state;
    struct qn_hist h;
    struct qn_canvas c;
    const float x[] = {0.5f, 0.7f, 2, 3, 0.02f};
    qn_hist_init(&h, 0.1f);
    qn_hist_add(&h, x, 5);
    const struct qn_hist_plot plot = {.hist = &h, .glyphs = QN_GLYPHS_BRAILLE};
    qn_canvas_init(&c, 2, 41);
    qn_plot_hist(&c, (struct qn_rect){0, 0, 2, 41}, &plot);
    int near = 0, positive = 0;
    for (int i = 0; i < 82; i++) {
        bool drawn = c.cells[i].glyph != ' ';
        assert_false(drawn && i % 41 <= 20);
        near += drawn && c.cells[i].role == QN_ROLE_NEAR ? 1 : 0;
        positive += drawn && c.cells[i].role == QN_ROLE_POSITIVE ? 1 : 0;
    }
    assert_true(near > 0 && positive > 0);
    qn_canvas_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_stay_inside_for_all_sizes_and_values),
        cmocka_unit_test(nothing_to_draw_is_said_in_words),
        cmocka_unit_test(values_that_are_not_finite_leave_a_cross_on_the_axis),
        cmocka_unit_test(a_log_axis_says_what_it_leaves_out),
        cmocka_unit_test(first_outliers_do_not_ruin_the_range),
        cmocka_unit_test(the_range_holds_the_newest_value),
        cmocka_unit_test(spikes_survive_decimation),
        cmocka_unit_test(columns_share_out_all_points),
        cmocka_unit_test(a_long_smoothed_curve_is_the_mean_of_its_columns),
        cmocka_unit_test(a_smoothed_column_is_the_average_at_its_point),
        cmocka_unit_test(a_million_points_draw),
        cmocka_unit_test(only_the_last_drawn_curve_owns_a_cell),
        cmocka_unit_test(values_that_are_not_finite_are_gaps),
        cmocka_unit_test(names_at_equal_values_stand_apart),
        cmocka_unit_test(a_legend_names_unit_curve_and_newest_value),
        cmocka_unit_test(percentages_sum_to_a_hundred),
        cmocka_unit_test(parts_of_a_bar_are_as_wide_as_their_shares),
        cmocka_unit_test(a_small_share_is_never_invisible),
        cmocka_unit_test(nan_is_shown_when_there_is_any),
        cmocka_unit_test(bars_stay_inside_for_all_widths),
        cmocka_unit_test(histograms_stay_inside_for_all_sizes_and_values),
        cmocka_unit_test(a_histogram_puts_signs_on_their_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
