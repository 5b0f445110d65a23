/* bench_json.c - what quern bench measured, as one JSON object. */
#include "app/bench_report.h"

#include "backend/backend.h"
#include "bench/versus_lstm.h"
#include "nn/settings.h"

const char *qn_bench_part_name(enum qn_bench_part part)
{
    static const char *const names[QN_N_BENCH_PARTS] = {
        [QN_BENCH_TRAIN] = "train",   [QN_BENCH_OPS] = "ops",
        [QN_BENCH_STEPS] = "steps",   [QN_BENCH_BATCH] = "batch",
        [QN_BENCH_LAYERS] = "layers", [QN_BENCH_THREADS] = "threads",
        [QN_BENCH_LSTM] = "lstm"};
    return names[part];
}

void qn_bench_results_free(struct qn_bench_results *r)
{
    for (int part = 0; part < QN_N_BENCH_PARTS; part++) {
        qn_shapes_free(&r->shapes[part]);
    }
    qn_ops_free(&r->ops);
}

/* The best product of all parts. */
static double product_of(const struct qn_bench_results *r)
{
    double best = r->done[QN_BENCH_OPS] ? r->ops.shape.sgemm_gflops : 0;
    for (int part = 0; part < QN_N_BENCH_PARTS; part++) {
        const struct qn_shapes *shapes = &r->shapes[part];
        for (int i = 0; i < shapes->n; i++) {
            double gflops = shapes->list[i].sgemm_gflops;
            best = gflops > best ? gflops : best;
        }
    }
    return best;
}

static void add_setting(struct qn_json *j, const char *name,
                        const struct qn_spec *spec, const char *key)
{
    struct qn_str value = {0};
    qn_spec_text(spec, key, &value);
    qn_json_kstring(j, name, value.text);
    qn_str_free(&value);
}

static void add_shape(struct qn_json *j, const struct qn_shape *s)
{
    qn_json_kstring(j, "preset", s->preset);
    qn_json_kint(j, "batch", s->spec.batch);
    qn_json_kint(j, "seq", s->steps);
    qn_json_kdouble(j, "tokens_per_s", s->tokens_per_s);
    qn_json_kdouble(j, "model_gflops", s->model_gflops);
    qn_json_kdouble(j, "ratio", s->ratio);
    qn_json_kdouble(j, "sgemm_gflops", s->sgemm_gflops);
    qn_json_kdouble(j, "step_spread", s->step_spread);
    qn_json_kdouble(j, "product_spread", s->product_spread);
    qn_json_kint(j, "layers", s->spec.model.layers);
    qn_json_kint(j, "hidden", s->spec.model.hidden);
    add_setting(j, "cell", &s->spec, "model.cell");
    if (s->spec.model.cell == QN_CELL_QRNN) {
        add_setting(j, "activation", &s->spec, "model.activation");
    }
    qn_json_kint(j, "threads", s->spec.threads);
}

static void add_versus(struct qn_json *j, const struct qn_shapes *shapes, int i)
{
    double times = qn_versus_times(shapes, i);
    if (times > 0) {
        qn_json_kdouble(j, "times_lstm", times);
    }
    qn_json_kdouble(j, "paper", qn_versus_paper(i));
}

static void add_shapes(struct qn_json *j, const struct qn_shapes *shapes,
                       enum qn_bench_part part)
{
    qn_json_key(j, qn_bench_part_name(part));
    qn_json_array(j);
    for (int i = 0; i < shapes->n; i++) {
        if (shapes->list[i].tokens_per_s == 0) {
            continue; /* stopped before */
        }
        qn_json_object(j);
        add_shape(j, &shapes->list[i]);
        if (part == QN_BENCH_LSTM && qn_versus_paper(i) > 0) {
            add_versus(j, shapes, i);
        }
        qn_json_end_object(j);
    }
    qn_json_end_array(j);
    bool whole = qn_shapes_measured(shapes->list, shapes->n) == shapes->n;
    if (part == QN_BENCH_STEPS && whole) {
        struct qn_range range = qn_shapes_range(shapes->list, shapes->n);
        qn_json_kdouble(j, "steps_range", range.speed);
        qn_json_kdouble(j, "steps_ratio_range", range.ratio);
    }
    if (shapes->note.len > 0) {
        qn_json_kstring(j, "batch_note", shapes->note.text);
    }
}

static void add_operation(struct qn_json *j, const struct qn_ops *ops,
                          const struct qn_op_row *row)
{
    qn_json_object(j);
    qn_json_kstring(j, "op", row->op);
    qn_json_kstring(j, "of", row->work.of);
    qn_json_kint(j, "calls", row->calls);
    qn_json_kdouble(j, "ms", 1e3 * row->seconds);
    qn_json_kdouble(j, "share", row->seconds / ops->step);
    qn_json_kdouble(j, "best_ms", 1e3 * row->best);
    qn_json_kdouble(j, "flops", row->work.flops);
    qn_json_kdouble(j, "bytes", row->work.bytes);
    qn_json_kdouble(j, "gflops", qn_op_gflops(row));
    qn_json_kdouble(j, "gb_per_s", qn_op_gb(row));
    qn_json_end_object(j);
}

static void add_ops(struct qn_json *j, const struct qn_ops *ops)
{
    qn_json_key(j, qn_bench_part_name(QN_BENCH_OPS));
    qn_json_object(j);
    add_shape(j, &ops->shape);
    qn_json_kdouble(j, "triad_gb_per_s", ops->triad_gb);
    qn_json_kdouble(j, "triad_spread", ops->triad_spread);
    qn_json_kdouble(j, "step_ms", 1e3 * ops->step);
    qn_json_kdouble(j, "rest_ms", 1e3 * ops->rest);
    qn_json_key(j, "operations");
    qn_json_array(j);
    for (int i = 0; i < ops->n_rows; i++) {
        add_operation(j, ops, &ops->rows[i]);
    }
    qn_json_end_array(j);
    qn_json_end_object(j);
}

void qn_bench_json(struct qn_out *out, const struct qn_bench_results *r)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    if (product_of(r) > 0) { /* else stopped before */
        qn_json_kdouble(&j, "sgemm_gflops", product_of(r));
    }
    if (r->stopped) {
        qn_json_kbool(&j, "stopped", true);
    }
    qn_json_kint(&j, "threads", r->threads);
    qn_json_kstring(&j, "blas_kernel", qn_backend_blas_kernel());
    for (int i = 0; i < QN_N_BENCH_PARTS; i++) {
        enum qn_bench_part part = (enum qn_bench_part)i;
        if (r->done[part] && part == QN_BENCH_OPS) {
            add_ops(&j, &r->ops);
        } else if (r->done[part]) {
            add_shapes(&j, &r->shapes[part], part);
        }
    }
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}
