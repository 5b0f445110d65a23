/* figure_heatmap.c - how the values of each layer spread, over the steps. */
#include "base/mem.h"
#include "export/figures.h"
#include "export/palette.h"
#include "export/panel.h"
#include "export/sign_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT 48.0
#define RIGHT 80.0 /* with the colour bar in it */
#define BELOW 30.0
#define HEAD 14.0
#define BAR_AWAY 14.0
#define BAR_WIDTH 8.0
#define MIDDLE 0.03
#define LEVELS 48
#define OVERLAP 0.12     /* of a cell into the next, against seams */
#define COMMON 0.995     /* of the cells have a colour of their own */
#define MOST_CELLS 150e3 /* of a figure, so that it stays small */

struct view {
    const struct qn_stats_history *history;
    enum qn_quantity of;
    int bands; /* of QN_HISTORY_BANDS that are one row */
    int rows;  /* of a side */
    struct qn_axis x;
    double unit; /* steps of 1 on the scale x */
    double most; /* share that has the last colour */
};

static const struct qn_sign_scale scale = {QN_HIST_MIN_EXP, QN_HIST_MAX_EXP,
                                           MIDDLE};

static double sum_of(const struct qn_history_bands *b)
{
    double sum = b->zero;
    for (int i = 0; i < QN_HISTORY_BANDS; i++) {
        sum += b->side[0][i] + b->side[1][i];
    }
    return sum;
}

/* Rows count from the most negative one; the middle one is zero. Share of the
 * column's values, NaN where nothing was counted. */
static double share_of(const struct view *v, int column, int layer, int row)
{
    const struct qn_history_bands *b =
        qn_stats_history_bands(v->history, column, layer, v->of);
    double sum = b != NULL ? sum_of(b) : 0, n = 0;
    if (!(sum > 0)) {
        return (double)NAN;
    }
    if (row == v->rows) {
        return b->zero / sum;
    }
    int side = row < v->rows ? QN_HIST_NEGATIVE : QN_HIST_POSITIVE;
    int from_zero =
        side == QN_HIST_NEGATIVE ? v->rows - 1 - row : row - v->rows - 1;
    for (int i = 0; i < v->bands; i++) {
        n += b->side[side][from_zero * v->bands + i];
    }
    return n / sum;
}

/* --- scales --------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all cells but those at zero, which hold any number of decades, the share
 * that few are above; a round number. */
static void choose_colors(struct view *v)
{
    const struct qn_stats_history *h = v->history;
    size_t n = 0, rows = 2 * (size_t)v->rows + 1;
    double *share = qn_xcalloc(
        (size_t)h->n_columns * (size_t)h->n_layers * rows, sizeof *share);
    for (int column = 0; column < h->n_columns; column++) {
        for (int layer = 0; layer < h->n_layers; layer++) {
            for (int row = 0; row < (int)rows; row++) {
                double s = share_of(v, column, layer, row);
                if (row != v->rows && s > 0) {
                    share[n++] = s;
                }
            }
        }
    }
    qsort(share, n, sizeof *share, compare);
    double most = n > 0 ? share[(size_t)(COMMON * (double)(n - 1))] : 1;
    free(share);
    struct qn_axis round;
    qn_axis_values(&round, 0, most, false, 5);
    double apart = round.tick[1] - round.tick[0];
    v->most = fmin(ceil(most / apart - 1e-9) * apart, 1);
}

/* As many rows as are a point high at least, and not too many cells. */
static void choose_rows(struct view *v, double height)
{
    const struct qn_stats_history *h = v->history;
    for (v->bands = 1; v->bands < 8; v->bands *= 2) {
        v->rows = QN_HISTORY_BANDS / v->bands;
        double cells = (double)h->n_columns * h->n_layers * 2 * v->rows;
        if (height / (2 * v->rows) >= 1 && cells <= MOST_CELLS) {
            break;
        }
    }
    v->rows = QN_HISTORY_BANDS / v->bands;
}

/* Columns meet half way between their steps; the outer ones are as wide as
 * their neighbours. */
static double column_start(const struct qn_stats_history *h, int i)
{
    const struct qn_history_column *c = h->column;
    if (h->n_columns == 1) {
        return (double)(i == 0 ? c[0].first - 1 : c[0].last);
    }
    if (i == 0) {
        double half = (double)(c[1].first - c[0].last) / 2;
        return fmax((double)c[0].first - half, 0);
    }
    if (i == h->n_columns) {
        return (double)c[i - 1].last;
    }
    return (double)(c[i - 1].last + c[i].first) / 2;
}

static const char *choose_steps(struct view *v, int ticks)
{
    double lo = column_start(v->history, 0);
    double hi = column_start(v->history, v->history->n_columns);
    hi = hi > lo ? hi : lo + 1;
    v->unit = hi >= 2e6 ? 1e6 : hi >= 2e4 ? 1e3 : 1;
    qn_axis_between(&v->x, lo / v->unit, hi / v->unit, 1 / v->unit, ticks);
    return v->unit > 1e3 ? "training step (millions)"
           : v->unit > 1 ? "training step (thousands)"
                         : "training step";
}

/* --- drawing -------------------------------------------------------------- */

/* Where a row begins, from below, as a share of the panel's height. */
static double row_start(const struct view *v, int row)
{
    double side = (1 - MIDDLE) / 2;
    return row <= v->rows
               ? side * row / v->rows
               : side + MIDDLE + side * (row - v->rows - 1) / v->rows;
}

/* 0 is white, which the panel is already. */
static int level_of(const struct view *v, double share)
{
    if (!(share > 0)) {
        return 0;
    }
    double level = ceil(share / v->most * LEVELS - 0.5);
    return (int)fmin(fmax(level, 0), LEVELS);
}

/* One row of a layer as lines of one colour each, where neighbouring columns
 * share a level: line[level] grows by start and end. */
struct line {
    struct qn_spot *spot;
    size_t n, room;
};

static void add_line(struct line *line, double y, double from, double to)
{
    if (line->n + 3 > line->room) {
        line->room = line->room > 0 ? 2 * line->room : 96;
        line->spot = qn_xrealloc(line->spot, line->room, sizeof *line->spot);
    }
    line->spot[line->n++] = (struct qn_spot){from, y};
    line->spot[line->n++] = (struct qn_spot){to, y};
    line->spot[line->n++] = (struct qn_spot){(double)NAN, (double)NAN};
}

static double column_x(const struct view *v, struct qn_box box, int column)
{
    double step = column_start(v->history, column) / v->unit;
    return box.x + box.width * qn_axis_place(&v->x, step);
}

static void add_row(const struct view *v, struct line line[LEVELS + 1],
                    int layer, int row, struct qn_box box)
{
    double middle = (row_start(v, row) + row_start(v, row + 1)) / 2;
    double y = box.y + box.height * (1 - middle);
    int n = v->history->n_columns;
    for (int from = 0, to; from < n; from = to) {
        int level = level_of(v, share_of(v, from, layer, row));
        for (to = from + 1; to < n; to++) {
            if (level_of(v, share_of(v, to, layer, row)) != level) {
                break;
            }
        }
        double end = column_x(v, box, to) + (to < n ? OVERLAP : 0);
        if (level > 0) {
            add_line(&line[level], y, column_x(v, box, from), end);
        }
    }
}

static void draw_lines(struct qn_drawing *d, struct line line[LEVELS + 1],
                       double width)
{
    for (int level = 1; level <= LEVELS; level++) {
        struct qn_pen pen = {.color = qn_color_of_share((double)level / LEVELS),
                             .width = width,
                             .crisp = true};
        if (line[level].n > 0) {
            qn_draw_path(d, line[level].spot, line[level].n - 1, pen);
        }
        line[level].n = 0;
    }
}

static void draw_cells(struct qn_drawing *d, const struct view *v, int layer,
                       struct qn_box box)
{
    struct line line[LEVELS + 1] = {{.n = 0}};
    double height = box.height * (row_start(v, 1) - row_start(v, 0));
    for (int row = 0; row <= 2 * v->rows; row++) {
        if (row != v->rows) {
            add_row(v, line, layer, row, box);
        }
    }
    draw_lines(d, line, height + OVERLAP);
    add_row(v, line, layer, v->rows, box);
    draw_lines(d, line, box.height * MIDDLE);
    for (int level = 0; level <= LEVELS; level++) {
        free(line[level].spot);
    }
}

static void draw_frame(struct qn_drawing *d, struct qn_box b)
{
    const struct qn_spot corner[] = {{b.x, b.y},
                                     {b.x + b.width, b.y},
                                     {b.x + b.width, b.y + b.height},
                                     {b.x, b.y + b.height},
                                     {b.x, b.y}};
    qn_draw_path(d, corner, 5, qn_pen_axis());
}

static void draw_scales(struct qn_drawing *d, const struct view *v,
                        struct qn_box box, bool is_left, bool is_lowest)
{
    char label[64];
    struct qn_sign_tick tick[QN_MAX_SIGN_TICKS];
    int n = qn_sign_ticks(&scale, box.height < 100 ? 4 : 2, tick);
    for (int i = 0; i < n; i++) {
        qn_box_tick(d, box, QN_LEFT, box.y + box.height * (1 - tick[i].place),
                    is_left ? tick[i].label : "");
    }
    for (int i = 0; i < v->x.n_ticks; i++) {
        double at = box.x + box.width * qn_axis_place(&v->x, v->x.tick[i]);
        qn_axis_label(&v->x, i, label, sizeof label);
        qn_box_tick(d, box, QN_BELOW, at, is_lowest ? label : "");
    }
    draw_frame(d, box);
}

static void draw_color_bar(struct qn_drawing *d, const struct view *v,
                           struct qn_box box)
{
    char label[64], text[80];
    struct qn_axis shares;
    double height = box.height / LEVELS;
    for (int level = 1; level <= LEVELS; level++) {
        qn_draw_rect(
            d, (struct qn_spot){box.x, box.y + box.height - level * height},
            box.width, height + (level > 1 ? OVERLAP : 0),
            qn_color_of_share((double)level / LEVELS));
    }
    qn_axis_between(&shares, 0, v->most, 0, 5);
    shares.per_cent = true;
    for (int i = 0; i < shares.n_ticks; i++) {
        double up = box.height * qn_axis_place(&shares, shares.tick[i]);
        bool last = i + 1 == shares.n_ticks && up > box.height - 1;
        qn_axis_label(&shares, i, label, sizeof label);
        (void)snprintf(text, sizeof text, "%s%s", last ? "\xe2\x89\xa5 " : "",
                       label); /* at least */
        qn_box_tick(d, box, QN_RIGHT, box.y + box.height - up, text);
    }
    draw_frame(d, box);
    (void)snprintf(text, sizeof text, "share of values in 1/%d decade",
                   8 / v->bands);
    qn_box_title(d, box, QN_RIGHT, 50, text);
}

static void draw_layer(struct qn_drawing *d, const struct view *v, int layer,
                       const struct qn_grid *grid)
{
    char name[32];
    struct qn_box box = qn_grid_box(grid, layer);
    (void)snprintf(name, sizeof name, "layer %d", layer + 1);
    qn_draw_text(d, (struct qn_spot){box.x, box.y - 5}, name, qn_font_head());
    draw_cells(d, v, layer, box);
    draw_scales(d, v, box, qn_grid_is_left(grid, layer),
                qn_grid_is_lowest(grid, layer));
}

static void draw(struct qn_drawing *d, struct view *v,
                 const struct qn_grid *grid)
{
    double height = qn_grid_height(grid);
    struct qn_box all = {LEFT, grid->all.y, grid->all.width - LEFT, height};
    struct qn_box bar = {all.x + all.width + BAR_AWAY,
                         grid->all.y + grid->above, BAR_WIDTH,
                         fmin(height - grid->above, 200)};
    choose_rows(v, grid->height);
    choose_colors(v);
    const char *title = choose_steps(v, grid->columns == 1   ? 8
                                        : grid->columns == 2 ? 5
                                                             : 3);
    for (int i = 0; i < grid->n; i++) {
        draw_layer(d, v, i, grid);
    }
    draw_color_bar(d, v, bar);
    qn_box_title(d, all, QN_BELOW, 26, title);
    qn_box_title(d, all, QN_LEFT, 40, qn_quantity_title(v->of));
}

bool qn_figure_heatmap(const struct qn_figure_source *s, enum qn_quantity of,
                       struct qn_drawing *out)
{
    struct view v = {.history = &s->stats, .of = of};
    int n = s->stats.n_layers;
    if (s->stats.n_columns == 0 || (s->stats.of & 1u << of) == 0) {
        return false;
    }
    struct qn_grid grid = {.all = {0, 2, QN_FIGURE_WIDTH - RIGHT, 0},
                           .n = n,
                           .columns = qn_grid_columns(n, true),
                           .height = n <= 4   ? 130
                                     : n <= 8 ? 104
                                              : 80,
                           .above = HEAD,
                           .left = LEFT,
                           .gap = 14,
                           .apart = 24};
    char *title = qn_xasprintf("%s: %s over the steps of training",
                               s->spec.name, qn_quantity_title(of));
    qn_drawing_init(out, QN_FIGURE_WIDTH, 2 + qn_grid_height(&grid) + BELOW,
                    title);
    draw(out, &v, &grid);
    free(title);
    return true;
}
