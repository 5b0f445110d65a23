/* figure_histogram.c - how the values of each layer spread about zero. */
#include "base/mem.h"
#include "export/figures.h"
#include "export/legend.h"
#include "export/palette.h"
#include "export/sign_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT 44.0
#define RIGHT 12.0
#define BELOW 30.0
#define HEAD 14.0
#define MIDDLE 0.05 /* of the scale, for what is nearest to zero */
#define HIDDEN 1e-4 /* of all values may lie beyond the ends of the scale */
#define MOST_SPOTS (2 * QN_HIST_BINS + 2)

struct view {
    const struct qn_stats_record *record;
    enum qn_quantity of;
    struct qn_sign_scale scale;
    struct qn_axis y; /* share of the values in a bin */
    double under;     /* the name of a layer, for the share near zero */
};

/* log10 |x| at the lower edge of bin i, and at the upper edge of bin i-1. */
static double edge(int bin)
{
    return QN_HIST_MIN_EXP + (double)(bin - 1) / QN_HIST_PER_DECADE;
}

static double count_all(const struct qn_hist *h)
{
    return (double)(h->n_negative + h->n_near + h->n_positive);
}

static const struct qn_hist *hist_of(const struct view *v, int layer)
{
    return &v->record->layer[layer][v->of];
}

/* The largest decade that more than the fewest values lie below. */
static int outer_decade(const struct qn_hist *h)
{
    double beyond = 0;
    int bin = QN_HIST_BINS - 1;
    for (; bin > 1; bin--) {
        beyond += (double)(h->bin[0][bin] + h->bin[1][bin]);
        if (beyond > HIDDEN * count_all(h)) {
            break;
        }
    }
    int decade = (int)ceil(edge(bin + 1) - 1e-9);
    return decade < QN_HIST_MAX_EXP ? decade : QN_HIST_MAX_EXP;
}

/* From two decades below the threshold to what holds nearly all values of all
 * layers, so that the layers can be compared. */
static void choose_scale(struct view *v)
{
    double near = (double)hist_of(v, 0)->threshold;
    int inner = (int)ceil(log10(near) - 1e-6) - 2;
    inner = inner > QN_HIST_MIN_EXP ? inner : QN_HIST_MIN_EXP;
    inner = inner < QN_HIST_MAX_EXP - 1 ? inner : QN_HIST_MAX_EXP - 1;
    int outer = inner + 2;
    for (int i = 0; i < v->record->n_layers; i++) {
        int decade = outer_decade(hist_of(v, i));
        outer = decade > outer ? decade : outer;
    }
    outer = outer < QN_HIST_MAX_EXP ? outer : QN_HIST_MAX_EXP;
    v->scale = (struct qn_sign_scale){inner, outer, MIDDLE};
}

/* What a column of the scale holds: the last of them all that is beyond. */
static double count_in(const struct view *v, const struct qn_hist *h, int side,
                       int bin)
{
    double n = (double)h->bin[side][bin];
    if (edge(bin + 1) >= v->scale.to - 1e-9) {
        for (int i = bin + 1; i < QN_HIST_BINS; i++) {
            n += (double)h->bin[side][i];
        }
    }
    return n;
}

static int first_bin(const struct view *v)
{
    return (v->scale.from - QN_HIST_MIN_EXP) * QN_HIST_PER_DECADE + 1;
}

static int end_bin(const struct view *v)
{
    return (v->scale.to - QN_HIST_MIN_EXP) * QN_HIST_PER_DECADE + 1;
}

/* Nearer to zero than the decades begin. */
static double count_middle(const struct view *v, const struct qn_hist *h)
{
    double n = (double)h->n_zero;
    for (int bin = 0; bin < first_bin(v); bin++) {
        n += (double)(h->bin[0][bin] + h->bin[1][bin]);
    }
    return n;
}

static void choose_height(struct view *v)
{
    double most = 0;
    for (int i = 0; i < v->record->n_layers; i++) {
        const struct qn_hist *h = hist_of(v, i);
        double all = fmax(count_all(h), 1);
        for (int bin = first_bin(v); bin < end_bin(v); bin++) {
            most = fmax(most, count_in(v, h, 0, bin) / all);
            most = fmax(most, count_in(v, h, 1, bin) / all);
        }
    }
    qn_axis_shares(&v->y, 0, most > 0 ? most * 1.02 : 1, 4);
}

/* --- drawing -------------------------------------------------------------- */

static double across(const struct view *v, struct qn_box box, int side,
                     double exponent)
{
    int sign = side == QN_HIST_NEGATIVE ? -1 : 1;
    return box.x + box.width * qn_sign_place(&v->scale, sign, exponent);
}

/* The outline of the bins of one side between two exponents, filled. */
static void draw_bins(struct qn_drawing *d, const struct view *v, int layer,
                      struct qn_box box, int side, double from, double to,
                      uint32_t color)
{
    const struct qn_hist *h = hist_of(v, layer);
    double all = fmax(count_all(h), 1), base = box.y + box.height;
    struct qn_spot spot[MOST_SPOTS];
    size_t n = 0;
    bool any = false;
    spot[n++] = (struct qn_spot){across(v, box, side, from), base};
    for (int bin = first_bin(v); bin < end_bin(v); bin++) {
        double lo = fmax(edge(bin), from), hi = fmin(edge(bin + 1), to);
        if (hi - lo < 1e-9) {
            continue;
        }
        double share = count_in(v, h, side, bin) / all;
        double y = base - box.height * fmin(share / v->y.hi, 1);
        spot[n++] = (struct qn_spot){across(v, box, side, lo), y};
        spot[n++] = (struct qn_spot){across(v, box, side, hi), y};
        any = any || share > 0;
    }
    spot[n] = (struct qn_spot){spot[n - 1].x, base};
    if (any) {
        qn_draw_area(d, spot, n + 1, color);
    }
}

/* Its height would say nothing, since it is no bin: the head names the share.
 */
static void draw_middle(struct qn_drawing *d, const struct view *v, int layer,
                        struct qn_box box)
{
    const struct qn_hist *h = hist_of(v, layer);
    double all = fmax(count_all(h), 1);
    double share = count_middle(v, h) / all;
    double left = across(v, box, QN_HIST_NEGATIVE, v->scale.from);
    double right = across(v, box, QN_HIST_POSITIVE, v->scale.from);
    double height = box.height * fmin(share / v->y.hi, 1);
    if (share > 0) {
        qn_draw_rect(d, (struct qn_spot){left, box.y + box.height - height},
                     right - left, height, QN_COLOR_NEAR);
    }
    if (share > v->y.hi) { /* it is cut off, which is shown */
        struct qn_pen white = {.color = 0xffffff, .width = 1.5};
        qn_draw_line(d, (struct qn_spot){left - 2, box.y + 11},
                     (struct qn_spot){right + 2, box.y + 6}, white);
    }
}

/* What is so near to zero that it is in no bin. */
static void middle_text(const struct view *v, int layer, char *buf, size_t size)
{
    char bound[32], share[32];
    const struct qn_hist *h = hist_of(v, layer);
    double all = fmax(count_all(h), 1);
    (void)qn_format_digits(bound, sizeof bound, pow(10, v->scale.from), 4);
    (void)qn_format_fixed(share, sizeof share, 100 * count_middle(v, h) / all,
                          1);
    (void)snprintf(buf, size, "|x| < %s: %s%%", bound, share);
}

/* Both in a line or, in narrow panels, one below the other. */
static void choose_head(struct view *v, struct qn_grid *grid)
{
    struct qn_font bold = qn_font_head(), font = qn_font_label(QN_END);
    double room = qn_grid_box(grid, 0).width;
    v->under = 0;
    for (int i = 0; i < grid->n; i++) {
        char name[32], text[96];
        (void)snprintf(name, sizeof name, "layer %d", i + 1);
        middle_text(v, i, text, sizeof text);
        if (qn_draw_text_width(name, &bold) + qn_draw_text_width(text, &font) >
            room) {
            v->under = QN_LINE_HEIGHT;
        }
    }
    grid->above += v->under;
}

static void draw_head(struct qn_drawing *d, const struct view *v, int layer,
                      struct qn_box box)
{
    char text[96];
    double line = box.y - 5;
    (void)snprintf(text, sizeof text, "layer %d", layer + 1);
    qn_draw_text(d, (struct qn_spot){box.x, line - v->under}, text,
                 qn_font_head());
    middle_text(v, layer, text, sizeof text);
    if (v->under > 0) {
        qn_draw_text(d, (struct qn_spot){box.x, line}, text,
                     qn_font_label(QN_START));
    } else {
        qn_draw_text(d, (struct qn_spot){box.x + box.width, line}, text,
                     qn_font_label(QN_END));
    }
}

static void draw_band(struct qn_drawing *d, const struct view *v, int layer,
                      struct qn_box box)
{
    double near = log10((double)hist_of(v, layer)->threshold);
    double left = across(v, box, QN_HIST_NEGATIVE, near);
    double right = across(v, box, QN_HIST_POSITIVE, near);
    qn_draw_rect(d, (struct qn_spot){left, box.y}, right - left, box.height,
                 QN_COLOR_BAND);
}

/* Whether the labels of ticks stand clear of each other. */
static bool are_apart(const struct qn_sign_tick *tick, int n, double width)
{
    struct qn_font font = qn_font_label(QN_MIDDLE);
    for (int i = 1; i < n; i++) {
        double both = qn_draw_text_width(tick[i - 1].label, &font) +
                      qn_draw_text_width(tick[i].label, &font);
        if (width * (tick[i].place - tick[i - 1].place) < both / 2 + 3) {
            return false;
        }
    }
    return true;
}

static int choose_ticks(const struct view *v, double width,
                        struct qn_sign_tick tick[QN_MAX_SIGN_TICKS])
{
    int decades = v->scale.to - v->scale.from, n = 0;
    for (int every = 1; every <= decades; every++) {
        n = qn_sign_ticks(&v->scale, every, tick);
        if (are_apart(tick, n, width)) {
            break;
        }
    }
    return n;
}

static void draw_scales(struct qn_drawing *d, const struct view *v,
                        struct qn_box box, bool is_left, bool is_lowest)
{
    char label[64];
    struct qn_sign_tick tick[QN_MAX_SIGN_TICKS];
    int n = choose_ticks(v, box.width, tick);
    for (int i = 0; i < n; i++) {
        qn_box_tick(d, box, QN_BELOW, box.x + box.width * tick[i].place,
                    is_lowest ? tick[i].label : "");
    }
    for (int i = 0; i < v->y.n_ticks; i++) {
        double up = box.height * qn_axis_place(&v->y, v->y.tick[i]);
        qn_axis_label(&v->y, i, label, sizeof label);
        qn_box_tick(d, box, QN_LEFT, box.y + box.height - up,
                    is_left ? label : "");
    }
    qn_box_axes(d, box);
}

static void draw_layer(struct qn_drawing *d, const struct view *v, int layer,
                       const struct qn_grid *grid)
{
    struct qn_box box = qn_grid_box(grid, layer);
    double near = log10((double)hist_of(v, layer)->threshold);
    double from = v->scale.from, to = v->scale.to;
    double bound = fmin(fmax(near, from), to);
    draw_band(d, v, layer, box);
    for (int side = 0; side < 2; side++) {
        draw_bins(d, v, layer, box, side, from, bound, QN_COLOR_NEAR);
        draw_bins(d, v, layer, box, side, bound, to,
                  side == QN_HIST_NEGATIVE ? QN_COLOR_NEGATIVE
                                           : QN_COLOR_POSITIVE);
    }
    draw_middle(d, v, layer, box);
    draw_head(d, v, layer, box);
    draw_scales(d, v, box, qn_grid_is_left(grid, layer),
                qn_grid_is_lowest(grid, layer));
}

static void draw(struct qn_drawing *d, struct view *v, struct qn_legend *legend,
                 struct qn_grid *grid)
{
    double width = QN_FIGURE_WIDTH - RIGHT;
    double top = qn_legend_height(legend, width - LEFT) + 8;
    grid->all = (struct qn_box){0, top, width, 0};
    choose_head(v, grid);
    double height = qn_grid_height(grid);
    struct qn_box all = {LEFT, top, width - LEFT, height};
    char *below = qn_xasprintf("%s at step %lld", qn_quantity_title(v->of),
                               (long long)v->record->step);
    d->height = top + height + BELOW;
    qn_legend_draw(d, legend, (struct qn_box){LEFT, 2, width - LEFT, 0});
    for (int i = 0; i < grid->n; i++) {
        draw_layer(d, v, i, grid);
    }
    qn_box_title(d, all, QN_BELOW, 26, below);
    qn_box_title(d, all, QN_LEFT, 34, "share of values in a bin");
    free(below);
}

bool qn_figure_histogram(const struct qn_figure_source *s, enum qn_quantity of,
                         struct qn_drawing *out)
{
    struct view v = {.record = s->stats.newest, .of = of};
    if (v.record == NULL || (v.record->of & 1u << of) == 0) {
        return false;
    }
    int n = v.record->n_layers;
    struct qn_legend legend = {.n = 0};
    struct qn_grid grid = {.n = n,
                           .columns = qn_grid_columns(n, false),
                           .height = n <= 2    ? 120
                                     : n <= 12 ? 84
                                               : 60,
                           .above = HEAD,
                           .left = LEFT,
                           .gap = 14,
                           .apart = 26};
    char *title =
        qn_xasprintf("%s: %s by layer", s->spec.name, qn_quantity_title(of));
    qn_legend_add_shares(&legend, (double)v.record->layer[0][of].threshold);
    choose_scale(&v);
    choose_height(&v);
    qn_drawing_init(out, QN_FIGURE_WIDTH, 0, title);
    draw(out, &v, &legend, &grid);
    free(title);
    return true;
}
