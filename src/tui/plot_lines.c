/* plot_lines.c - curves over steps, with axes, labels and a legend. */
#include "tui/plot.h"

#include "base/mem.h"
#include "tui/axis.h"
#include "tui/curve.h"
#include "tui/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CURVES 16
#define COLS_FOR_AXIS 12
#define COLS_FOR_LABELS 24
#define COLS_FOR_NAMES 44 /* names at the lines' ends */
#define ROWS_FOR_AXIS 4
#define ROWS_FOR_LABELS 5
#define ROWS_FOR_LEGEND 7
#define COLS_A_TICK 10
#define ROWS_A_TICK 3

struct chart {
    struct qn_canvas *canvas;
    const struct qn_line_plot *plot;
    int n_curves;
    struct qn_rect where; /* all of it */
    struct qn_rect area;  /* the cells of the curves */
    struct qn_axis x, y;
    bool axis_x, axis_y, labels_x, labels_y;
    struct qn_raster raster;
    struct qn_column *columns; /* n_curves x raster.cols */
    bool left_out;             /* values <= 0 on a log axis */
};

static bool ascii(const struct chart *t)
{
    return t->plot->glyphs == QN_GLYPHS_ASCII;
}

static uint32_t mark_glyph(enum qn_glyphs glyphs)
{
    switch (glyphs) {
    case QN_GLYPHS_BRAILLE:
        return 0x25c6; /* a diamond */
    case QN_GLYPHS_BLOCK:
        return 0x25a0; /* a square */
    case QN_GLYPHS_ASCII:
        break;
    }
    return 'o';
}

static uint32_t line_glyph(enum qn_glyphs glyphs)
{
    return glyphs == QN_GLYPHS_ASCII ? ':' : 0x2501;
}

static uint32_t point_glyph(enum qn_glyphs glyphs)
{
    return glyphs == QN_GLYPHS_ASCII ? '*' : 0x2022;
}

/* Steps from first to last over all curves; false when there is no point. */
static bool step_range(const struct qn_line_plot *plot, double *lo, double *hi)
{
    *lo = HUGE_VAL;
    *hi = -HUGE_VAL;
    for (int k = 0; k < plot->n_curves; k++) {
        const struct qn_series *s = plot->curves[k].series;
        size_t len = s != NULL ? qn_series_len(s) : 0;
        if (len > 0) {
            *lo = fmin(*lo, qn_series_at(s, 0).step);
            *hi = fmax(*hi, qn_series_at(s, len - 1).step);
        }
    }
    return *lo <= *hi;
}

static void message(struct qn_canvas *c, struct qn_rect where, const char *text,
                    enum qn_role role)
{
    int width = qn_text_width(text);
    int shift = where.cols > width ? (where.cols - width) / 2 : 0;
    if (where.rows > 0 && where.cols > 0) {
        qn_canvas_text(c, where.row + (where.rows - 1) / 2, where.col + shift,
                       where.cols - shift, text, role);
    }
}

/* Columns that the longest name needs at the right of the curves. */
static int name_cols(const struct chart *t)
{
    int most = 0;
    for (int k = 0; k < t->n_curves; k++) {
        const struct qn_curve *curve = &t->plot->curves[k];
        if (curve->label != NULL) {
            int width = qn_text_width(curve->label) + 1;
            most = width > most ? width : most;
        }
    }
    return t->where.cols >= COLS_FOR_NAMES ? most : 0;
}

/* What fits: first the labels go, then the axes. */
static void plan(struct chart *t)
{
    t->area = t->where;
    t->axis_y = t->where.cols >= COLS_FOR_AXIS;
    t->labels_y = t->where.cols >= COLS_FOR_LABELS && t->where.rows > 1;
    t->axis_x = t->where.rows >= ROWS_FOR_AXIS;
    t->labels_x = t->where.rows >= ROWS_FOR_LABELS && t->labels_y;
    if (!t->plot->legend_apart && t->where.rows >= ROWS_FOR_LEGEND) {
        t->area.row++;
        t->area.rows--;
    }
    t->area.rows -= (t->axis_x ? 1 : 0) + (t->labels_x ? 1 : 0);
}

/* The x axis holds all steps and, where there is one, the names' room. */
static void plan_steps(struct chart *t, double first, double last)
{
    double from = first > 0 && first <= last * 0.25 + 1 ? 0 : first;
    double taken = (double)name_cols(t) / t->area.cols;
    double to = from + (last - from) / (1 - taken);
    qn_axis_steps(&t->x, from, to, t->area.cols / COLS_A_TICK);
}

static void make_columns(struct chart *t)
{
    int n = t->raster.cols;
    for (int k = 0; k < t->n_curves; k++) {
        qn_curve_columns(&t->plot->curves[k], &t->x, t->columns + k * n, n);
    }
}

static int label_cols(const struct chart *t)
{
    int most = 0;
    for (int i = 0; i < t->y.n_ticks; i++) {
        char text[32];
        int width = qn_text_width(qn_axis_label(&t->y, i, text, sizeof text));
        most = width > most ? width : most;
    }
    return most;
}

static void start_raster(struct chart *t)
{
    qn_raster_init(&t->raster, t->area, t->plot->glyphs);
    size_t n = (size_t)t->n_curves * (size_t)t->raster.cols;
    t->columns = qn_xcalloc(n, sizeof *t->columns);
    make_columns(t);
}

static void stop_raster(struct chart *t)
{
    qn_raster_fini(&t->raster);
    free(t->columns);
    t->columns = NULL;
}

/* The y range comes from columns, whose number depends on the width that the y
 * labels leave: columns are made twice. */
static bool plan_values(struct chart *t, double first, double last)
{
    double lo, hi;
    plan_steps(t, first, last);
    start_raster(t);
    bool any = qn_curve_range(t->plot, t->columns, t->raster.cols, &lo, &hi);
    stop_raster(t);
    if (!any) {
        return false;
    }
    int ticks = t->area.rows / (t->area.rows < 12 ? 2 : ROWS_A_TICK);
    if (t->plot->shares) {
        qn_axis_shares(&t->y, lo, hi, ticks);
    } else {
        qn_axis_values(&t->y, lo, hi, t->plot->log_y, ticks);
    }
    int left = t->axis_y ? 1 : 0;
    int labels = t->labels_y ? label_cols(t) : 0;
    if (labels > t->where.cols / 3) {
        t->labels_y = t->labels_x = false;
        labels = 0;
    }
    t->area.col += left + labels;
    t->area.cols -= left + labels;
    plan_steps(t, first, last);
    start_raster(t);
    return true;
}

static double dot_row(const struct chart *t, double v)
{
    return (1 - qn_axis_place(&t->y, v)) * (t->raster.rows - 1);
}

/* The canvas row of a value, or -1 outside the axis. */
static int cell_row(const struct chart *t, double v)
{
    double dot = dot_row(t, v);
    if (!(dot > -0.5) || dot > t->raster.rows - 0.5) {
        return -1;
    }
    return t->area.row + (int)lround(dot) / t->raster.per_row;
}

static void put_mark(struct chart *t, int k, int column, uint32_t glyph)
{
    const struct qn_column *at = &t->columns[k * t->raster.cols + column];
    int row = cell_row(t, at->last);
    if (row >= 0) {
        qn_canvas_put(t->canvas, row, t->area.col + column / t->raster.per_col,
                      glyph, t->plot->curves[k].role);
    }
}

static bool drawable(const struct chart *t, const struct qn_column *at)
{
    return at->any && (!t->plot->log_y || at->last > 0);
}

static void draw_curve(struct chart *t, int k)
{
    const struct qn_column *columns = t->columns + k * t->raster.cols;
    struct qn_pen pen = {.owner = (uint8_t)k,
                         .dotted = t->plot->curves[k].as_marks};
    int before = -1;
    for (int i = 0; i < t->raster.cols; i++) {
        const struct qn_column *at = &columns[i];
        if (!drawable(t, at)) {
            t->left_out |= at->any;
            before = at->any || at->bad ? -1 : before;
            continue;
        }
        double first = t->plot->log_y && at->first <= 0 ? at->last : at->first;
        double lo = t->plot->log_y && at->lo <= 0 ? at->last : at->lo;
        if (before >= 0) {
            qn_raster_line(&t->raster, before, dot_row(t, columns[before].last),
                           i, dot_row(t, first), pen);
        }
        qn_raster_line(&t->raster, i, dot_row(t, lo), i, dot_row(t, at->hi),
                       pen);
        t->left_out |= t->plot->log_y && at->lo <= 0;
        before = i;
    }
}

/* Marks where they leave room for the line between; a lone point as well, since
 * a single dot is easily missed. */
static void draw_marks(struct chart *t, int k)
{
    int n = 0;
    for (int i = 0; i < t->raster.cols; i++) {
        n += drawable(t, &t->columns[k * t->raster.cols + i]) ? 1 : 0;
    }
    bool marks = t->plot->curves[k].as_marks && n <= t->area.cols / 2;
    if (!marks && n != 1) {
        return;
    }
    uint32_t glyph = t->plot->curves[k].as_marks ? mark_glyph(t->plot->glyphs)
                                                 : point_glyph(t->plot->glyphs);
    for (int i = 0; i < t->raster.cols; i++) {
        if (drawable(t, &t->columns[k * t->raster.cols + i])) {
            put_mark(t, k, i, glyph);
        }
    }
}

static void draw_y_axis(struct chart *t)
{
    uint32_t bar = ascii(t) ? '|' : 0x2502, tick = ascii(t) ? '+' : 0x2524;
    int col = t->area.col - 1;
    for (int i = 0; i < t->area.rows; i++) {
        qn_canvas_put(t->canvas, t->area.row + i, col, bar, QN_ROLE_DIM);
    }
    for (int i = 0; i < t->y.n_ticks; i++) {
        int row = cell_row(t, t->y.tick[i]);
        char text[32];
        if (row < 0) {
            continue;
        }
        qn_canvas_put(t->canvas, row, col, tick, QN_ROLE_DIM);
        if (t->labels_y) {
            qn_axis_label(&t->y, i, text, sizeof text);
            qn_canvas_text(t->canvas, row, col - qn_text_width(text), -1, text,
                           QN_ROLE_DIM);
        }
    }
}

static void draw_x_label(struct chart *t, int i, int col, int *free_from)
{
    char text[32];
    qn_text_count(text, sizeof text, t->x.tick[i], true);
    int width = qn_text_width(text);
    int from = col - (width - 1) / 2;
    int end = t->where.col + t->where.cols;
    if (from < *free_from || from + width > end) {
        return;
    }
    qn_canvas_text(t->canvas, t->area.row + t->area.rows + 1, from, width, text,
                   QN_ROLE_DIM);
    *free_from = from + width + 1;
}

static void draw_x_axis(struct chart *t)
{
    uint32_t bar = ascii(t) ? '-' : 0x2500, tick = ascii(t) ? '+' : 0x252c;
    int row = t->area.row + t->area.rows;
    int end = t->area.col + t->area.cols;
    if (t->axis_y) {
        qn_canvas_put(t->canvas, row, t->area.col - 1, ascii(t) ? '+' : 0x2514,
                      QN_ROLE_DIM);
    }
    for (int col = t->area.col; col < end; col++) {
        qn_canvas_put(t->canvas, row, col, bar, QN_ROLE_DIM);
    }
    int free_from = t->where.col;
    for (int i = 0; i < t->x.n_ticks; i++) {
        double dot = qn_axis_place(&t->x, t->x.tick[i]) * (t->raster.cols - 1);
        int col = t->area.col + (int)lround(dot) / t->raster.per_col;
        if (col >= end) {
            continue;
        }
        qn_canvas_put(t->canvas, row, col, tick, QN_ROLE_DIM);
        if (t->labels_x) {
            draw_x_label(t, i, col, &free_from);
        }
    }
    const char *name = t->plot->x_label;
    int width = name != NULL ? qn_text_width(name) : 0;
    if (t->labels_x && width > 0 && free_from + 1 + width <= end) {
        qn_canvas_text(t->canvas, row + 1, end - width, width, name,
                       QN_ROLE_DIM);
    }
}

/* A cross on the x axis where values are not finite. */
static void draw_bad(struct chart *t)
{
    int row = t->area.row + t->area.rows - (t->axis_x ? 0 : 1);
    for (int k = 0; k < t->n_curves; k++) {
        for (int i = 0; i < t->raster.cols; i++) {
            if (t->columns[k * t->raster.cols + i].bad) {
                qn_canvas_put(t->canvas, row,
                              t->area.col + i / t->raster.per_col,
                              ascii(t) ? 'x' : 0xd7, QN_ROLE_ERROR);
            }
        }
    }
}

/* An arrow at either end of the y axis when something lies beyond it. */
static void draw_cut(struct chart *t)
{
    bool above = false, below = false;
    for (int i = 0; i < t->n_curves * t->raster.cols; i++) {
        const struct qn_column *at = &t->columns[i];
        above |= at->any && dot_row(t, at->hi) < -0.5;
        below |= drawable(t, at) && dot_row(t, at->lo) > t->raster.rows - 0.5;
    }
    if (above && t->axis_y) {
        qn_canvas_put(t->canvas, t->area.row, t->area.col - 1,
                      ascii(t) ? '^' : 0x2191, QN_ROLE_DIM);
    }
    if (below && t->axis_y) {
        qn_canvas_put(t->canvas, t->area.row + t->area.rows - 1,
                      t->area.col - 1, ascii(t) ? 'v' : 0x2193, QN_ROLE_DIM);
    }
    if (t->left_out) {
        qn_canvas_text(t->canvas, t->area.row, t->area.col + 1,
                       t->area.cols - 1, "values <= 0 left out", QN_ROLE_WARN);
    }
}

struct end_name {
    int k, row;
    double value;
};

/* Names of curves that have a newest value, the highest first. */
static int collect_names(const struct chart *t, struct end_name *names)
{
    int n = 0;
    for (int k = 0; k < t->n_curves; k++) {
        const struct qn_curve *curve = &t->plot->curves[k];
        double v = qn_curve_newest(curve);
        int row = isfinite(v) ? cell_row(t, v) : -1;
        if (curve->label == NULL || row < 0) {
            continue;
        }
        int at = n++;
        for (; at > 0 && names[at - 1].value < v; at--) {
            names[at] = names[at - 1];
        }
        names[at] = (struct end_name){k, row, v};
    }
    return n;
}

/* Push names apart that share a row. */
static void spread_names(const struct chart *t, struct end_name *names, int n)
{
    for (int i = 1; i < n; i++) {
        if (names[i].row <= names[i - 1].row) {
            names[i].row = names[i - 1].row + 1;
        }
    }
    int last = t->area.row + t->area.rows - 1;
    for (int i = n - 1; i >= 0 && names[i].row > last; i--) {
        names[i].row = last--;
    }
}

static void draw_names(struct chart *t, double last)
{
    struct end_name names[MAX_CURVES];
    if (name_cols(t) == 0) {
        return;
    }
    int n = collect_names(t, names);
    spread_names(t, names, n);
    double dot = qn_axis_place(&t->x, last) * (t->raster.cols - 1);
    int col = t->area.col + (int)lround(dot) / t->raster.per_col + 2;
    int room = t->area.col + t->area.cols - col;
    for (int i = 0; i < n; i++) {
        const struct qn_curve *curve = &t->plot->curves[names[i].k];
        if (names[i].row >= t->area.row &&
            qn_text_width(curve->label) <= room) {
            qn_canvas_text(t->canvas, names[i].row, col, room, curve->label,
                           curve->role);
        }
    }
}

static void draw_chart(struct chart *t, double last)
{
    enum qn_role roles[MAX_CURVES];
    if (t->axis_y) {
        draw_y_axis(t);
    }
    if (t->axis_x) {
        draw_x_axis(t);
    }
    for (int k = 0; k < t->n_curves; k++) {
        roles[k] = t->plot->curves[k].role;
        if (t->plot->curves[k].as_marks) {
            draw_curve(t, k);
        }
    }
    for (int k = 0; k < t->n_curves; k++) {
        if (!t->plot->curves[k].as_marks) {
            draw_curve(t, k);
        }
    }
    qn_raster_draw(&t->raster, t->canvas, roles);
    for (int k = 0; k < t->n_curves; k++) {
        draw_marks(t, k);
    }
    draw_names(t, last);
    draw_bad(t);
    draw_cut(t);
}

void qn_plot_lines(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_line_plot *plot)
{
    struct chart t = {.canvas = c, .plot = plot, .where = where};
    double first, last;
    if (where.rows < 1 || where.cols < 1) {
        return;
    }
    if (!step_range(plot, &first, &last)) {
        message(c, where, "no steps yet", QN_ROLE_DIM);
        return;
    }
    t.n_curves = plot->n_curves < MAX_CURVES ? plot->n_curves : MAX_CURVES;
    plan(&t);
    if (!plan_values(&t, first, last)) {
        message(c, where,
                plot->log_y ? "no values above 0 to draw on a log axis"
                            : "no finite value yet",
                QN_ROLE_WARN);
        return;
    }
    draw_chart(&t, last);
    if (!plot->legend_apart && where.rows >= ROWS_FOR_LEGEND) {
        where.rows = 1;
        int taken = qn_plot_legend(c, where, plot);
        const char *unit = plot->y_label != NULL ? plot->y_label : "";
        if (qn_text_width(unit) + 1 + taken <= where.cols) {
            qn_canvas_text(c, where.row, where.col, -1, unit, QN_ROLE_DIM);
        }
    }
    stop_raster(&t);
}

/* One entry: sign, name, newest value. Returns its columns; draws nothing when
 * c is NULL. */
static int legend_entry(struct qn_canvas *c, struct qn_rect at,
                        const struct qn_line_plot *plot, int k, bool names)
{
    const struct qn_curve *curve = &plot->curves[k];
    char value[32];
    double newest = qn_curve_newest(curve);
    if (plot->shares) {
        qn_text_share(value, sizeof value, newest);
    } else {
        qn_text_value(value, sizeof value, newest);
    }
    const char *name = names && curve->label != NULL ? curve->label : "";
    int name_width = qn_text_width(name);
    int gap = name_width > 0 ? 1 : 0;
    int width = 2 + name_width + gap + qn_text_width(value);
    if (c != NULL) {
        uint32_t sign = curve->as_marks ? mark_glyph(plot->glyphs)
                                        : line_glyph(plot->glyphs);
        qn_canvas_put(c, at.row, at.col, sign, curve->role);
        qn_canvas_put(c, at.row, at.col + 1, ' ', curve->role);
        qn_canvas_text(c, at.row, at.col + 2, -1, name, QN_ROLE_DIM);
        qn_canvas_text(c, at.row, at.col + 2 + name_width, gap, " ",
                       QN_ROLE_DIM);
        qn_canvas_text(c, at.row, at.col + 2 + name_width + gap, -1, value,
                       isfinite(newest) ? curve->role : QN_ROLE_ERROR);
    }
    return width;
}

static bool in_legend(const struct qn_curve *curve)
{
    return curve->series != NULL && qn_series_len(curve->series) > 0;
}

/* All entries, two columns apart; the width only when c is NULL. */
static int legend_entries(struct qn_canvas *c, struct qn_rect at,
                          const struct qn_line_plot *plot, bool names)
{
    int used = 0;
    for (int k = 0; k < plot->n_curves; k++) {
        if (!in_legend(&plot->curves[k])) {
            continue;
        }
        if (used > 0) {
            if (c != NULL) {
                qn_canvas_text(c, at.row, at.col + used, 2, "  ", QN_ROLE_DIM);
            }
            used += 2;
        }
        struct qn_rect here = {at.row, at.col + used, 1, 0};
        used += legend_entry(c, here, plot, k, names);
    }
    return used;
}

int qn_plot_legend(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_line_plot *plot)
{
    bool names = true;
    int width = legend_entries(NULL, where, plot, names);
    if (width > where.cols) {
        names = false;
        width = legend_entries(NULL, where, plot, names);
    }
    if (width > where.cols || where.rows < 1) {
        return 0;
    }
    where.col += where.cols - width;
    return legend_entries(c, where, plot, names);
}
