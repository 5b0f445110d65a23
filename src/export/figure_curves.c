/* figure_curves.c - loss and accuracy over the steps of a run. */
#include "base/mem.h"
#include "export/curve_path.h"
#include "export/figures.h"
#include "export/legend.h"
#include "export/palette.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEIGHT 185.0 /* of the panel */
#define LEFT 28.0    /* and the widest label of the scale */
#define RIGHT 12.0
#define BELOW 30.0
#define EPOCHS 26.0    /* above the panel, for their scale */
#define FEW 20         /* steps: each is a point, and none are averaged */
#define FAR 3.0        /* times the span of training, for validation */
#define WIDE 100.0     /* a range, from one end to the other */
#define MOST_NATS 300. /* e to this is finite */

struct curves {
    const struct qn_figure_source *source;
    bool accuracy; /* or the loss */
    bool log;
    struct qn_curve_points train, smooth, valid;
    int window; /* steps that are averaged, 0: none are */
    int64_t n_bad;
    const struct qn_eval_record *best; /* NULL: none */
    double best_x;
    double unit;     /* steps of 1 on the scale x */
    double per_step; /* epochs of a step; 0: unknown */
};

/* --- what is shown -------------------------------------------------------- */

/* A loss as people compare it. */
static double shown_loss(const struct curves *c, double loss)
{
    switch (qn_spec_reading(&c->source->spec)) {
    case QN_READ_BPC:
        return qn_bpc(loss);
    case QN_READ_PERPLEXITY:
        /* Not the least of NaN and a number, which would be the number. */
        return isfinite(loss) ? qn_perplexity(fmin(loss, MOST_NATS)) : loss;
    case QN_READ_ACCURACY:
        break;
    }
    return loss;
}

static double shown_eval(const struct curves *c, const struct qn_eval_record *r)
{
    bool labels = qn_spec_reading(&c->source->spec) == QN_READ_ACCURACY;
    if (c->accuracy) {
        return r->e.accuracy;
    }
    /* What the run wrote counts eval.floor in. */
    return labels || !isfinite(r->value) ? shown_loss(c, r->e.loss) : r->value;
}

static struct qn_curve_points new_points(size_t room)
{
    return (struct qn_curve_points){
        .x = qn_xcalloc(room + 1, sizeof(double)),
        .y = qn_xcalloc(room + 1, sizeof(double)),
    };
}

/* What has no place on a scale by decades is a gap. */
static void add_point(const struct curves *c, struct qn_curve_points *to,
                      int64_t step, double y)
{
    to->x[to->n] = (double)step;
    to->y[to->n++] = c->log && !(y > 0) ? (double)NAN : y;
}

/* 10, 20, 50, 100, ...: about a hundredth of the steps. */
static int choose_window(size_t n)
{
    static const int windows[] = {5000, 2000, 1000, 500, 200, 100, 50, 20, 10};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (n >= (size_t)windows[i] * 80) {
            return windows[i];
        }
    }
    return n >= FEW ? 5 : 0;
}

static void read_steps(struct curves *c)
{
    const struct qn_metrics *m = c->source->metrics;
    c->train = new_points(m->n_steps);
    for (size_t i = 0; i < m->n_steps; i++) {
        const struct qn_step_record *r = &m->step[i];
        double v = c->accuracy ? r->accuracy : r->loss;
        add_point(c, &c->train, r->step, c->accuracy ? v : shown_loss(c, v));
        c->n_bad += !isfinite(v);
        if (isfinite(r->epoch) && r->epoch > 0) {
            c->per_step = r->epoch / (double)r->step;
        }
    }
    c->window = choose_window(m->n_steps);
}

/* Whether it is the best so far by the rule that the run's checkpoints follow;
 * one whose loss is not finite never is. */
static bool is_best(const struct curves *c, const struct qn_evaluation *e)
{
    const struct qn_evaluation *best = c->best != NULL ? &c->best->e : NULL;
    if (!isfinite(e->loss)) {
        return false;
    }
    if (best == NULL) {
        return true;
    }
    return c->source->spec.checkpoint.metric == QN_VALID_ACCURACY
               ? e->accuracy > best->accuracy
               : e->loss < best->loss;
}

static void read_evals(struct curves *c)
{
    const struct qn_metrics *m = c->source->metrics;
    c->valid = new_points(m->n_evals);
    for (size_t i = 0; i < m->n_evals; i++) {
        const struct qn_eval_record *r = &m->eval[i];
        if (r->e.split != QN_VALID) {
            continue;
        }
        add_point(c, &c->valid, r->step, shown_eval(c, r));
        if (isfinite(c->valid.y[c->valid.n - 1]) && is_best(c, &r->e)) {
            c->best = r;
        }
    }
}

/* --- scales --------------------------------------------------------------- */

/* Validation widens the range that training has, but not without end. */
static void widen(const struct curves *c, double *lo, double *hi)
{
    double span = c->log ? *hi / *lo : *hi - *lo;
    double least = c->log ? *lo / pow(span, FAR) : *lo - FAR * span;
    double most = c->log ? *hi * pow(span, FAR) : *hi + FAR * span;
    for (size_t i = 0; i < c->valid.n; i++) {
        double y = c->valid.y[i];
        if (isfinite(y) && y >= least && y <= most) {
            *lo = fmin(*lo, y);
            *hi = fmax(*hi, y);
        }
    }
    if (c->best != NULL) {
        *lo = fmin(*lo, shown_eval(c, c->best));
        *hi = fmax(*hi, shown_eval(c, c->best));
    }
}

/* A loss that ran away is seen best by its decades. */
static void scale_y(struct curves *c, struct qn_axis *y)
{
    double lo = c->log ? 1 : 0, hi = c->log ? 10 : 1; /* with nothing to show */
    if (qn_curve_points_range(&c->train, c->log, &lo, &hi)) {
        widen(c, &lo, &hi);
    } else {
        (void)qn_curve_points_range(&c->valid, c->log, &lo, &hi);
    }
    lo = c->log ? fmax(lo, 1e-3) : lo;
    hi = fmax(hi, lo);
    c->log = c->log || (lo > 0 && hi / lo > WIDE);
    if (c->accuracy) {
        qn_axis_shares(y, lo, hi, 6);
    } else {
        qn_axis_values(y, lo, hi, c->log, c->log ? 8 : 6);
    }
}

/* As values lie along the scale: an average of perplexities is not what the
 * average of the losses means. What is far beyond the scale, the first steps
 * or a spike, counts as half its length beyond it. */
static void smooth_steps(struct curves *c, const struct qn_axis *y)
{
    struct qn_curve_points along = new_points(c->train.n);
    double lo = c->log ? log(y->lo) : y->lo;
    double hi = c->log ? log(y->hi) : y->hi;
    double reach = (hi - lo) / 2;
    if (c->window > 0) {
        along.n = c->train.n;
        for (size_t i = 0; i < along.n; i++) {
            along.x[i] = c->train.x[i];
            along.y[i] = c->log ? log(c->train.y[i]) : c->train.y[i];
        }
        c->smooth = qn_curve_smoothed(&along, 1 - 1.0 / c->window, lo - reach,
                                      hi + reach);
    }
    for (size_t i = 0; i < c->smooth.n && c->log; i++) {
        c->smooth.y[i] = exp(c->smooth.y[i]);
    }
    qn_curve_points_free(&along);
}

static double last_x(const struct qn_curve_points *p)
{
    return p->n > 0 ? p->x[p->n - 1] : 0;
}

/* From the step before the first one, which is 0 unless the run is a fork, to
 * the last; large numbers in thousands or millions, which the title says. */
static const char *scale_x(struct curves *c, struct qn_axis *x)
{
    double lo = c->train.n > 0 ? c->train.x[0] - 1 : 0;
    double hi = fmax(last_x(&c->train), last_x(&c->valid));
    lo = c->train.n == 0 && c->valid.n > 0 ? c->valid.x[0] - 1 : lo;
    lo = fmax(lo, 0);
    hi = hi > lo ? hi : lo + 1;
    c->unit = hi >= 2e6 ? 1e6 : hi >= 2e4 ? 1e3 : 1;
    qn_axis_between(x, lo / c->unit, hi / c->unit, 1 / c->unit, 8);
    return c->unit > 1e3 ? "training step (millions)"
           : c->unit > 1 ? "training step (thousands)"
                         : "training step";
}

static const char *title_y(const struct curves *c)
{
    const struct qn_spec *spec = &c->source->spec;
    if (c->accuracy) {
        return "accuracy";
    }
    switch (qn_spec_reading(spec)) {
    case QN_READ_BPC:
        return spec->data.level == QN_LEVEL_BYTE ? "bits per byte"
                                                 : "bits per character";
    case QN_READ_PERPLEXITY:
        return "perplexity";
    case QN_READ_ACCURACY:
        break;
    }
    return "loss (nats per document)";
}

/* --- drawing -------------------------------------------------------------- */

static struct qn_pen pen(uint32_t color, double width)
{
    return (struct qn_pen){.color = color, .width = width};
}

static const char *best_text(const struct curves *c, char *buf, size_t size)
{
    char number[32];
    double y = shown_eval(c, c->best);
    if (c->accuracy) {
        (void)snprintf(buf, size, "%s%%",
                       qn_format_fixed(number, sizeof number, 100 * y, 1));
    } else {
        (void)qn_format_digits(buf, size, y, 4);
    }
    return buf;
}

static bool has_finite(const struct qn_curve_points *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (isfinite(p->y[i])) {
            return true;
        }
    }
    return false;
}

static void make_legend(const struct curves *c, struct qn_legend *l)
{
    char number[64];
    if (c->train.n > 0 && c->window > 0) {
        qn_legend_add(l, QN_KEY_LINE, pen(QN_COLOR_RAW, 1.5),
                      "training, each step");
        qn_legend_add(l, QN_KEY_LINE, pen(QN_COLOR_TRAIN, 1.2),
                      "training, smoothed over %d steps", c->window);
    } else if (c->train.n > 0) {
        qn_legend_add(l, QN_KEY_POINTS, pen(QN_COLOR_TRAIN, 1.2),
                      "training, each step");
    }
    if (has_finite(&c->valid)) {
        qn_legend_add(l, QN_KEY_POINTS, pen(QN_COLOR_VALID, 0.8), "validation");
    }
    if (c->best != NULL) {
        qn_legend_add(
            l, QN_KEY_RING, pen(QN_COLOR_MARK, 1), "best: %s at step %lld",
            best_text(c, number, sizeof number), (long long)c->best->step);
    }
    if (c->n_bad > 0) {
        qn_legend_add(l, QN_KEY_BOX, pen(QN_COLOR_MARK, 1),
                      "not finite: %lld step%s", (long long)c->n_bad,
                      c->n_bad == 1 ? "" : "s");
    }
}

static void draw_curve(struct qn_drawing *d, const struct qn_panel *p,
                       const struct qn_curve_points *c, struct qn_pen with)
{
    struct qn_spots path = qn_curve_path(c, p);
    qn_draw_path(d, path.spot, path.n, with);
    free(path.spot);
}

static void draw_points(struct qn_drawing *d, const struct qn_panel *p,
                        const struct qn_curve_points *c, uint32_t color)
{
    for (size_t i = 0; i < c->n; i++) {
        if (isfinite(c->y[i]) && c->y[i] >= p->y.lo && c->y[i] <= p->y.hi) {
            qn_mark_point(d, qn_panel_spot(p, c->x[i], c->y[i]), color);
        }
    }
}

static void draw_gaps(struct qn_drawing *d, const struct qn_panel *p,
                      const struct qn_curve_points *c, double step)
{
    struct qn_spots gaps = qn_curve_gaps(c, p, step);
    if (gaps.n > 0) {
        qn_draw_path(d, gaps.spot, gaps.n, pen(QN_COLOR_MARK, 5));
    }
    free(gaps.spot);
}

static void draw_curves(struct qn_drawing *d, const struct curves *c,
                        const struct qn_panel *p)
{
    bool few = c->window == 0;
    if (c->train.n > 0) {
        draw_curve(d, p, &c->train,
                   few ? pen(QN_COLOR_TRAIN, 1.2) : pen(QN_COLOR_RAW, 0.5));
    }
    if (few) {
        draw_points(d, p, &c->train, QN_COLOR_TRAIN);
    } else {
        draw_curve(d, p, &c->smooth, pen(QN_COLOR_TRAIN, 1.2));
    }
    draw_gaps(d, p, &c->train, 1 / c->unit);
    if (c->valid.n > 0) {
        draw_curve(d, p, &c->valid, pen(QN_COLOR_VALID, 0.8));
    }
    if (c->best != NULL) {
        struct qn_spot at = qn_panel_spot(p, c->best_x, shown_eval(c, c->best));
        qn_mark_ring(d, at, QN_COLOR_MARK);
    }
    draw_points(d, p, &c->valid, QN_COLOR_VALID);
}

/* A second scale, above: as many epochs to a step as the newest says. */
static void draw_epochs(struct qn_drawing *d, const struct curves *c,
                        const struct qn_panel *p)
{
    char label[64];
    struct qn_axis epochs;
    qn_axis_between(&epochs, p->x.lo * c->per_step, p->x.hi * c->per_step, 0,
                    6);
    for (int i = 0; i < epochs.n_ticks; i++) {
        double part = qn_axis_place(&epochs, epochs.tick[i]);
        qn_box_tick(d, p->box, QN_ABOVE, p->box.x + p->box.width * part,
                    qn_axis_label(&epochs, i, label, sizeof label));
    }
    qn_draw_line(d, (struct qn_spot){p->box.x, p->box.y},
                 (struct qn_spot){p->box.x + p->box.width, p->box.y},
                 qn_pen_axis());
    qn_box_title(d, p->box, QN_ABOVE, 17, "epoch");
}

static void scale_points(struct qn_curve_points *p, double unit)
{
    for (size_t i = 0; i < p->n; i++) {
        p->x[i] /= unit;
    }
}

/* Steps in the units of their scale. */
static void scale_steps(struct curves *c)
{
    scale_points(&c->train, c->unit);
    scale_points(&c->smooth, c->unit);
    scale_points(&c->valid, c->unit);
    c->best_x = c->best != NULL ? (double)c->best->step / c->unit : 0;
    c->per_step *= c->unit;
}

/* Room for the labels of the scale and its title. */
static double left_of(const struct qn_axis *y)
{
    char label[64];
    double widest = 0;
    struct qn_font font = qn_font_label(QN_END);
    for (int i = 0; i < y->n_ticks; i++) {
        qn_axis_label(y, i, label, sizeof label);
        widest = fmax(widest, qn_draw_text_width(label, &font));
    }
    return LEFT + widest;
}

static void draw(struct qn_drawing *d, const char *title, struct curves *c)
{
    struct qn_legend legend = {.n = 0};
    struct qn_panel p;
    const char *title_x = scale_x(c, &p.x);
    scale_y(c, &p.y);
    smooth_steps(c, &p.y);
    double left = left_of(&p.y), width = QN_FIGURE_WIDTH - left - RIGHT;
    make_legend(c, &legend);
    double top = qn_legend_height(&legend, width) + 4;
    double above = c->per_step > 0 ? EPOCHS : 2;
    p.box = (struct qn_box){left, top + above, width, HEIGHT};
    scale_steps(c);
    qn_drawing_init(d, QN_FIGURE_WIDTH, top + above + HEIGHT + BELOW, title);
    qn_legend_draw(d, &legend, (struct qn_box){left, 2, width, 0});
    draw_curves(d, c, &p);
    qn_panel_frame(d, &p);
    if (c->per_step > 0) {
        draw_epochs(d, c, &p);
    }
    qn_box_title(d, p.box, QN_BELOW, 26, title_x);
    qn_box_title(d, p.box, QN_LEFT, left - 9, title_y(c));
}

static bool make(const struct qn_figure_source *s, bool accuracy,
                 struct qn_drawing *out)
{
    struct curves c = {.source = s, .accuracy = accuracy};
    c.log = !accuracy && qn_spec_reading(&s->spec) == QN_READ_PERPLEXITY;
    read_steps(&c);
    read_evals(&c);
    bool any = c.train.n > 0 || c.valid.n > 0;
    if (any) {
        char *title = qn_xasprintf("%s: %s", s->spec.name,
                                   accuracy ? "accuracy" : "loss");
        draw(out, title, &c);
        free(title);
    }
    qn_curve_points_free(&c.train);
    qn_curve_points_free(&c.smooth);
    qn_curve_points_free(&c.valid);
    return any;
}

bool qn_figure_loss(const struct qn_figure_source *s, struct qn_drawing *out)
{
    return make(s, false, out);
}

bool qn_figure_accuracy(const struct qn_figure_source *s,
                        struct qn_drawing *out)
{
    return s->spec.task == QN_TASK_CLASSIFY && make(s, true, out);
}
