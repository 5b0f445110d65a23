/* bench_text.c - the tables of quern bench. */
#include "app/bench_report.h"

#include "backend/backend.h"
#include "bench/rig.h"
#include "bench/versus_lstm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL 27

/* The best product of a part. */
static double product_of(const struct qn_shapes *shapes)
{
    double best = 0;
    for (int i = 0; i < shapes->n; i++) {
        double gflops = shapes->list[i].sgemm_gflops;
        best = gflops > best ? gflops : best;
    }
    return best;
}

static bool is_classifier(const struct qn_spec *spec)
{
    return spec->task == QN_TASK_CLASSIFY;
}

static void name_segment(const struct qn_shape *s, char *label, size_t size)
{
    (void)snprintf(label, size, "%d x %d", s->spec.batch, s->steps);
}

static const char *kind_of(const struct qn_spec *spec)
{
    return spec->model.cell == QN_CELL_LSTM     ? "LSTM"
           : spec->model.activation == QN_DRELU ? "DReLU"
                                                : "tanh";
}

/* What is different about a shape of this part. */
static void name_shape(const struct qn_shape *s, enum qn_bench_part part,
                       char *label, size_t size)
{
    switch (part) {
    case QN_BENCH_STEPS:
    case QN_BENCH_BATCH:
        name_segment(s, label, size);
        break;
    case QN_BENCH_LAYERS:
        (void)snprintf(label, size, "%d layer%s", s->spec.model.layers,
                       s->spec.model.layers == 1 ? "" : "s");
        break;
    case QN_BENCH_THREADS:
        (void)snprintf(label, size, "%d thread%s", s->workers,
                       s->workers == 1 ? "" : "s");
        break;
    case QN_BENCH_LSTM:
        (void)snprintf(label, size, "%s %d x %d, batch %d", kind_of(&s->spec),
                       s->spec.model.layers, s->spec.model.hidden,
                       s->spec.batch);
        break;
    default:
        (void)snprintf(label, size, "%s", s->preset);
        break;
    }
}

/* What the names above leave open. */
static void describe(struct qn_out *out, const struct qn_shapes *shapes,
                     enum qn_bench_part part)
{
    const struct qn_shape *s = &shapes->list[0];
    if (part == QN_BENCH_TRAIN || part == QN_BENCH_LSTM) {
        return;
    }
    if (part == QN_BENCH_STEPS || part == QN_BENCH_BATCH) {
        (void)qn_out_linef(out, "%s, %s x %s of a step", s->preset,
                           is_classifier(&s->spec) ? "documents" : "streams",
                           is_classifier(&s->spec) ? "words" : "symbols");
        return;
    }
    char segment[64];
    name_segment(s, segment, sizeof segment);
    (void)qn_out_linef(out, "%s, a step of %s", s->preset, segment);
}

/* Median / best; '-' where one time tells nothing. */
static const char *spread(char *buf, size_t size, double v)
{
    (void)snprintf(buf, size, "%.2f", v);
    return isnan(v) ? "-" : buf;
}

static void print_shape(struct qn_out *out, const struct qn_shapes *shapes,
                        int i, enum qn_bench_part part)
{
    const struct qn_shape *s = &shapes->list[i];
    char label[300];
    char beside[64] = "", step[32], product[32];
    name_shape(s, part, label, sizeof label);
    if (s->tokens_per_s == 0) {
        return; /* stopped before */
    }
    if (part == QN_BENCH_LSTM && qn_versus_paper(i) > 0 &&
        qn_versus_times(shapes, i) > 0) {
        (void)snprintf(beside, sizeof beside, "%7.2f%6.1f",
                       qn_versus_times(shapes, i), qn_versus_paper(i));
    }
    (void)qn_out_linef(
        out, "%-*s%9.0f%9.1f%7.3f%6s%8s%s", LABEL, label, s->tokens_per_s,
        s->model_gflops, s->ratio, spread(step, sizeof step, s->step_spread),
        spread(product, sizeof product, s->product_spread), beside);
    if (part == QN_BENCH_TRAIN && is_classifier(&s->spec)) {
        (void)qn_out_linef(out, "    of %d documents of %d words, all real",
                           s->spec.batch, s->steps);
    }
}

/* Over 1 it looks like a mistake. */
static void explain_ratio(struct qn_out *out, const struct qn_shape *list,
                          int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i].ratio > 1) {
            (void)qn_out_line(out, "ratio: the textbook's work by the "
                                   "product's speed; over 1, work was saved");
            return;
        }
    }
}

static void print_shapes(struct qn_out *out, const struct qn_bench_results *r,
                         enum qn_bench_part part)
{
    const struct qn_shapes *shapes = &r->shapes[part];
    (void)qn_out_linef(out, "product: %.1f GFLOP/s with %d threads, kernel %s",
                       product_of(shapes), r->threads,
                       qn_backend_blas_kernel());
    describe(out, shapes, part);
    bool versus = part == QN_BENCH_LSTM;
    (void)qn_out_linef(out, "%-*s%9s%9s%7s%14s%s", LABEL, "", "", "", "",
                       "median / best", versus ? "      by LSTM" : "");
    (void)qn_out_linef(out, "%-*s%9s%9s%7s%6s%8s%s", LABEL, "", "tokens/s",
                       "GFLOP/s", "ratio", "step", "product",
                       versus ? "   here paper" : "");
    for (int i = 0; i < shapes->n; i++) {
        print_shape(out, shapes, i, part);
    }
    explain_ratio(out, shapes->list, shapes->n);
    bool whole = qn_shapes_measured(shapes->list, shapes->n) == shapes->n;
    if (part == QN_BENCH_STEPS && whole) {
        struct qn_range range = qn_shapes_range(shapes->list, shapes->n);
        (void)qn_out_linef(
            out, "(max - min) / max: %.1f %% of tokens/s, %.1f %% of the ratio",
            100 * range.speed, 100 * range.ratio);
    }
    if (shapes->note.len > 0) {
        (void)qn_out_line(out, shapes->note.text);
    }
}

/* A number, or nothing where there is none. */
static const char *cell(char *buf, size_t size, double v, int decimals)
{
    buf[0] = '\0';
    if (v > 0) {
        (void)snprintf(buf, size, "%.*f", decimals, v);
    }
    return buf;
}

/* Without the blanks of empty cells at its end. */
static void print_trimmed(struct qn_out *out, char *line)
{
    size_t len = strlen(line);
    while (len > 0 && line[len - 1] == ' ') {
        line[--len] = '\0';
    }
    (void)qn_out_line(out, line);
}

static void print_operation(struct qn_out *out, const struct qn_ops *ops,
                            const struct qn_op_row *row)
{
    char gflops[32], gb[32], of_triad[32], line[256];
    double speed = qn_op_gb(row);
    (void)snprintf(line, sizeof line, "%-14s%-21s%5d%9.2f%6.1f%8s%7s%8s",
                   row->op, row->work.of, row->calls, 1e3 * row->seconds,
                   100 * row->seconds / ops->step,
                   cell(gflops, sizeof gflops, qn_op_gflops(row), 1),
                   cell(gb, sizeof gb, speed, 1),
                   cell(of_triad, sizeof of_triad, speed / ops->triad_gb, 2));
    print_trimmed(out, line);
}

static void print_ops(struct qn_out *out, const struct qn_bench_results *r)
{
    const struct qn_ops *ops = &r->ops;
    const struct qn_shape *s = &ops->shape;
    char product[32], triad[32], step[32];
    (void)qn_out_linef(
        out,
        "product: %.1f GFLOP/s with %d threads, kernel %s (median / best %s)",
        s->sgemm_gflops, r->threads, qn_backend_blas_kernel(),
        spread(product, sizeof product, s->product_spread));
    (void)qn_out_linef(out, "triad: %.1f GB/s (median / best %s)",
                       ops->triad_gb,
                       spread(triad, sizeof triad, ops->triad_spread));
    (void)qn_out_linef(out, "%s, a step of %d x %d: %.1f ms (median / best %s)",
                       s->preset, s->spec.batch, s->steps, 1e3 * ops->step,
                       spread(step, sizeof step, s->step_spread));
    (void)qn_out_linef(out, "%.0f tokens/s, %.1f GFLOP/s, ratio %.3f",
                       s->tokens_per_s, s->model_gflops, s->ratio);
    explain_ratio(out, s, 1);
    (void)qn_out_linef(out, "%-14s%-21s%5s%9s%6s%8s%7s%8s", "operation", "of",
                       "calls", "ms", "%", "GFLOP/s", "GB/s", "/ triad");
    for (int i = 0; i < ops->n_rows; i++) {
        print_operation(out, ops, &ops->rows[i]);
    }
    (void)qn_out_linef(out, "%-14s%-21s%5s%9.2f%6.1f", "the rest", "", "",
                       1e3 * ops->rest, 100 * ops->rest / ops->step);
}

void qn_bench_text(struct qn_out *out, const struct qn_bench_results *r,
                   enum qn_bench_part part)
{
    if (part == QN_BENCH_OPS) {
        print_ops(out, r);
    } else {
        print_shapes(out, r, part);
    }
}
