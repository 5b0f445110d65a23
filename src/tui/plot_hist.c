/* plot_hist.c - how the values of a layer spread, over a sign-symmetric
 * logarithmic axis.
 *
 * Left to right: large negative values, small ones, a middle for everything
 * nearer to zero than the axis begins, small positive values, large ones. */
#include "tui/plot.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MIN_COLS 9
#define ROWS_FOR_AXIS 3
#define ROWS_FOR_LABELS 4
#define ROWS_FOR_NOTE 6
#define EIGHTHS 8

struct hist_chart {
    const struct qn_hist_plot *plot;
    struct qn_rect where;
    int rows;         /* of the bars */
    int top;          /* the bars' first row */
    int side, middle; /* columns */
    int from, to;     /* exponents of ten at the inner and outer end */
    uint64_t total;   /* values, without NaN */
    double *share;    /* a column each, of all values */
    double tallest;   /* of the columns beside the middle */
};

static uint64_t count_all(const struct qn_hist *h)
{
    return h->n_negative + h->n_near + h->n_positive;
}

/* |x| at the lower edge of bin i; bin 0 has none. */
static double lower_exp(int bin)
{
    return QN_HIST_MIN_EXP + (double)(bin - 1) / QN_HIST_PER_DECADE;
}

/* The axis ends at the decade that holds all but one value in ten thousand of
 * either side, and begins a tenth of a tenth of the threshold. */
static void choose_range(struct hist_chart *t)
{
    const struct qn_hist *h = t->plot->hist;
    uint64_t above = 0;
    int bin = QN_HIST_BINS - 1;
    for (; bin > 1; bin--) {
        above += h->bin[0][bin] + h->bin[1][bin];
        if (above * 10000 > t->total) {
            break;
        }
    }
    double threshold = h->threshold > 0 ? (double)h->threshold : 0.1;
    int near = (int)ceil(log10(threshold) - 1e-6);
    t->from = (int)fmax(QN_HIST_MIN_EXP, near - 2);
    t->from = (int)fmin(t->from, QN_HIST_MAX_EXP - 1);
    int last = (int)ceil(lower_exp(bin + 1) - 1e-9);
    t->to = (int)fmin(QN_HIST_MAX_EXP, fmax(last, fmax(near, t->from) + 1));
}

/* The values of one side whose log10 |x| lies in [from, to), spread evenly over
 * each bin. */
static double count_between(const uint64_t *bin, double from, double to)
{
    double sum = 0;
    for (int i = 0; i < QN_HIST_BINS; i++) {
        double lo = i == 0 ? -HUGE_VAL : lower_exp(i);
        double hi = i + 1 == QN_HIST_BINS ? HUGE_VAL : lower_exp(i + 1);
        double both = fmin(hi, to) - fmax(lo, from);
        if (bin[i] > 0 && both > 0) {
            bool whole = lo >= from && hi <= to;
            sum += (double)bin[i] *
                   (whole ? 1 : fmin(1, both * QN_HIST_PER_DECADE));
        }
    }
    return sum;
}

static void fill_columns(struct hist_chart *t)
{
    const struct qn_hist *h = t->plot->hist;
    double width = (double)(t->to - t->from) / t->side;
    double total = t->total > 0 ? (double)t->total : 1;
    for (int i = 0; i < t->side; i++) {
        double from = t->from + i * width, to = from + width;
        to = i + 1 == t->side ? HUGE_VAL : to; /* what is larger, here */
        int left = t->side - 1 - i, right = t->side + t->middle + i;
        t->share[left] =
            count_between(h->bin[QN_HIST_NEGATIVE], from, to) / total;
        t->share[right] =
            count_between(h->bin[QN_HIST_POSITIVE], from, to) / total;
        t->tallest = fmax(t->tallest, t->share[left]);
        t->tallest = fmax(t->tallest, t->share[right]);
    }
    double inner = (double)h->n_zero;
    for (int side = 0; side < 2; side++) {
        inner += count_between(h->bin[side], -HUGE_VAL, t->from);
    }
    for (int i = 0; i < t->middle; i++) {
        t->share[t->side + i] = inner / total;
    }
    t->tallest = t->tallest > 0 ? t->tallest : inner / total;
}

/* The column's height in eighths of a row; what is taller than the tallest
 * column beside the middle is cut there. */
static int height_of(const struct hist_chart *t, double share)
{
    if (!(share > 0)) {
        return 0;
    }
    double part = share / t->tallest;
    if (t->plot->log_count) {
        /* From one value (a hair) to the tallest. */
        double n = (double)t->total;
        part = log1p(share * n) / log1p(t->tallest * n);
    }
    int units = t->plot->glyphs == QN_GLYPHS_ASCII ? 1 : EIGHTHS;
    int height = (int)lround(fmin(1, part) * t->rows * units);
    return (height > 0 ? height : 1) * (EIGHTHS / units);
}

static enum qn_role role_of(const struct hist_chart *t, int col)
{
    double width = (double)(t->to - t->from) / t->side;
    int from_middle =
        col < t->side ? t->side - 1 - col : col - t->side - t->middle;
    double at = t->from + (from_middle + 0.5) * width;
    bool in_middle = col >= t->side && col < t->side + t->middle;
    if (in_middle || at < log10((double)t->plot->hist->threshold)) {
        return QN_ROLE_NEAR;
    }
    return col < t->side ? QN_ROLE_NEGATIVE : QN_ROLE_POSITIVE;
}

static uint32_t bar_glyph(enum qn_glyphs glyphs, enum qn_role role, int eighths)
{
    if (glyphs != QN_GLYPHS_ASCII) {
        return 0x2580u + (uint32_t)eighths;
    }
    return role == QN_ROLE_NEAR ? '.' : role == QN_ROLE_NEGATIVE ? '-' : '+';
}

static void draw_columns(const struct hist_chart *t, struct qn_canvas *c)
{
    int n = 2 * t->side + t->middle;
    for (int col = 0; col < n; col++) {
        int left = height_of(t, t->share[col]);
        enum qn_role role = role_of(t, col);
        for (int row = t->rows - 1; row >= 0 && left > 0; row--) {
            int here = left < EIGHTHS ? left : EIGHTHS;
            qn_canvas_put(c, t->top + row, t->where.col + col,
                          bar_glyph(t->plot->glyphs, role, here), role);
            left -= here;
        }
    }
}

/* "-.01", "10": short, since they stand close. */
static void tick_text(char *buf, size_t size, bool negative, int exponent)
{
    const char *sign = negative ? "-" : "";
    if (exponent >= 0) {
        (void)snprintf(buf, size, "%s%.0f", sign, pow(10, exponent));
    } else if (exponent >= -3) {
        static const char *const small[] = {".1", ".01", ".001"};
        (void)snprintf(buf, size, "%s%s", sign, small[-exponent - 1]);
    } else {
        (void)snprintf(buf, size, "%s1e%d", sign, exponent);
    }
}

struct tick_row {
    struct qn_canvas *canvas;
    int row;
    bool labels, ascii;
    struct qn_rect where;
};

static bool is_free(const struct tick_row *r, int from, int width)
{
    if (from < r->where.col || from + width > r->where.col + r->where.cols) {
        return false;
    }
    for (int col = from - 1; col <= from + width; col++) {
        bool inside = col >= r->where.col && col < r->where.col + r->where.cols;
        size_t at = (size_t)(r->row + 1) * (size_t)r->canvas->cols;
        if (inside && r->canvas->cells[at + (size_t)col].glyph != ' ') {
            return false;
        }
    }
    return true;
}

static void put_tick(const struct tick_row *r, int col, const char *text)
{
    qn_canvas_put(r->canvas, r->row, col, r->ascii ? '+' : 0x252c, QN_ROLE_DIM);
    int width = qn_text_width(text);
    int from = col - width / 2;
    int end = r->where.col + r->where.cols;
    from = from + width > end ? end - width : from;
    from = from < r->where.col ? r->where.col : from;
    if (r->labels && is_free(r, from, width)) {
        qn_canvas_text(r->canvas, r->row + 1, from, width, text, QN_ROLE_DIM);
    }
}

static void draw_axis(const struct hist_chart *t, struct qn_canvas *c,
                      bool labels)
{
    struct tick_row r = {.canvas = c,
                         .row = t->top + t->rows,
                         .labels = labels,
                         .ascii = t->plot->glyphs == QN_GLYPHS_ASCII,
                         .where = t->where};
    int n = 2 * t->side + t->middle;
    for (int col = 0; col < n; col++) {
        qn_canvas_put(c, r.row, t->where.col + col, r.ascii ? '-' : 0x2500,
                      QN_ROLE_DIM);
    }
    put_tick(&r, t->where.col + t->side + t->middle / 2, "0");
    int decades = t->to - t->from;
    /* From the outside in: the outer labels matter more. */
    for (int e = t->to; e > t->from; e--) {
        int shift = (e - t->from) * t->side / decades;
        char text[16];
        tick_text(text, sizeof text, true, e);
        int left = t->side - shift;
        put_tick(&r, t->where.col + left, text);
        tick_text(text, sizeof text, false, e);
        int right = t->side + t->middle - 1 + shift;
        put_tick(&r, t->where.col + right, text);
    }
}

/* The title, what the heights mean and, when there is room, what the middle
 * holds if it is cut. */
static void draw_note(const struct hist_chart *t, struct qn_canvas *c)
{
    char text[2][96];
    double inner = t->share[t->side], percent = t->tallest * 100;
    (void)snprintf(text[1], sizeof text[1], "%stallest bar %.*f%%",
                   t->plot->log_count ? "log counts, " : "",
                   percent < 9.95 ? 1 : 0, percent);
    (void)snprintf(text[0], sizeof text[0], "%.60s, middle %.0f%%", text[1],
                   inner * 100);
    const char *title = t->plot->title != NULL ? t->plot->title : "";
    int used = qn_canvas_text(c, t->where.row, t->where.col, t->where.cols,
                              title, QN_ROLE_TITLE);
    for (int i = inner > t->tallest ? 0 : 1; i < 2; i++) {
        int width = qn_text_width(text[i]);
        if (used + 2 + width <= t->where.cols) {
            qn_canvas_text(c, t->where.row,
                           t->where.col + t->where.cols - width, width, text[i],
                           QN_ROLE_DIM);
            return;
        }
    }
}

void qn_plot_hist(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_hist_plot *plot)
{
    struct hist_chart t = {.plot = plot,
                           .where = where,
                           .rows = where.rows,
                           .top = where.row,
                           .total = count_all(plot->hist)};
    if (where.rows < 1 || where.cols < MIN_COLS || t.total == 0) {
        return;
    }
    bool note = where.rows >= ROWS_FOR_NOTE;
    bool labels = where.rows >= ROWS_FOR_LABELS;
    bool axis = where.rows >= ROWS_FOR_AXIS;
    t.rows -= (note ? 1 : 0) + (labels ? 1 : 0) + (axis ? 1 : 0);
    t.top += note ? 1 : 0;
    t.middle = where.cols % 2 == 1 ? 1 : 2;
    t.side = (where.cols - t.middle) / 2;
    choose_range(&t);
    t.share = qn_xcalloc((size_t)where.cols, sizeof *t.share);
    fill_columns(&t);
    draw_columns(&t, c);
    if (axis) {
        draw_axis(&t, c, labels);
    }
    if (note) {
        draw_note(&t, c);
    }
    free(t.share);
}
