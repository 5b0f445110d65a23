/* cmd_bench.c - quern bench: training speed against the machine's own product.
 *
 * sgemm_gflops: the best of 9 of one product (B*T) x 4H x 2H over all cores,
 * of the largest shape that is measured. model_gflops: 6 x parameters without
 * embeddings (4 x where word vectors are given) x tokens/s, of the fastest
 * step: both are then what the machine can, not what others leave of it. A
 * seeded stream of random ids stands for a text, and rows of 256 of them, all
 * real, for documents; no run is made.
 */
#include "app/commands.h"

#include "app/context.h"
#include "app/out.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "model/params.h"
#include "train/optim.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#define SYMBOLS 50 /* where the preset names no number: those of a text */
#define SEED 1
#define PRODUCTS 9
#define DEFAULT_STEPS 5
#define DOCUMENT 256 /* words, about what a review has */

struct result {
    const char *preset;
    struct qn_spec spec;
    double tokens_per_s, model_gflops;
};

/* What one shape trains with. */
struct rig {
    struct qn_backend *be;
    struct qn_model *model;
    struct qn_pass *pass;
    struct qn_optim optim;
    int32_t *ids;     /* [batch, steps] */
    int32_t *targets; /* the same, or the labels [batch] of documents */
};

static bool of_documents(const struct qn_spec *spec)
{
    return spec->task == QN_TASK_CLASSIFY;
}

/* Symbols of a stream, or words of a document, in one training step. */
static int steps_of(const struct qn_spec *spec)
{
    return of_documents(spec) ? DOCUMENT : spec->seq;
}

static int symbols_of(const struct qn_spec *spec)
{
    return spec->data.vocab_size > 0 ? spec->data.vocab_size : SYMBOLS;
}

static void fill_batch(struct rig *r, const struct qn_spec *spec)
{
    size_t n = (size_t)spec->batch * (size_t)steps_of(spec);
    int n_symbols = symbols_of(spec);
    int n_labels = of_documents(spec) ? 2 : n_symbols;
    r->ids = qn_xcalloc(n, sizeof *r->ids);
    r->targets = qn_xcalloc(n, sizeof *r->targets);
    uint64_t key = qn_rng_key(SEED, 0, 0, QN_RNG_SAMPLE);
    for (size_t i = 0; i < n; i++) {
        r->ids[i] = (int32_t)(qn_rng_uniform(key, i) * n_symbols);
        r->targets[i] = (int32_t)(qn_rng_uniform(key, i + 1) * n_labels);
    }
}

/* Word vectors that stand for those of a file. */
static void fill_vectors(struct qn_model *m)
{
    struct qn_tensor vectors = qn_model_vectors(m);
    if (vectors.count == 0) {
        return;
    }
    uint64_t key = qn_rng_key(SEED, 0, 0, QN_RNG_INIT);
    float *table = qn_xcalloc(vectors.count, sizeof *table);
    for (size_t i = 0; i < vectors.count; i++) {
        table[i] = (float)qn_rng_normal(key, i);
    }
    qn_model_set_vectors(m, table);
    free(table);
}

static enum qn_status rig_init(struct rig *r, const struct qn_train_env *env,
                               const struct qn_spec *spec, struct qn_err *err)
{
    *r = (struct rig){.be = NULL};
    enum qn_status status =
        qn_backend_new(env->backend, env->pool, spec->threads, &r->be, err);
    if (status == QN_OK) {
        status = qn_model_new(r->be, spec, symbols_of(spec), &r->model, err);
    }
    if (status == QN_OK) {
        qn_model_init(r->model, SEED);
        fill_vectors(r->model);
        status = qn_pass_new(r->model, spec->batch, steps_of(spec), true,
                             &r->pass, err);
    }
    if (status == QN_OK) {
        status = qn_optim_init(&r->optim, r->be, spec,
                               qn_model_trained(r->model).count, err);
    }
    fill_batch(r, spec);
    return status;
}

static void rig_fini(struct rig *r)
{
    free(r->ids);
    free(r->targets);
    qn_optim_fini(&r->optim);
    qn_pass_free(r->pass);
    qn_model_free(r->model);
    qn_backend_free(r->be);
}

/* Step number t: forward, backward, norm, update. */
static enum qn_status step(struct rig *r, const struct qn_spec *spec, int64_t t,
                           struct qn_err *err)
{
    const struct qn_backend_ops *ops = r->be->ops;
    struct qn_segment segment = {.ids = r->ids,
                                 .targets = r->targets,
                                 .steps = steps_of(spec),
                                 .seed = SEED,
                                 .step = (uint64_t)t};
    struct qn_step_result result;
    ops->step_begin(r->be);
    qn_pass_forward(r->pass, &segment);
    qn_pass_backward(r->pass);
    struct qn_tensor grads = qn_model_grads(r->model);
    ops->grad_norm(r->be, grads);
    struct qn_update update = qn_optim_update(spec, 1, t);
    ops->update(r->be, &update, qn_model_trained(r->model), grads, r->optim.m,
                r->optim.v);
    qn_pass_carry(r->pass);
    if (of_documents(spec)) {
        qn_pass_restart(r->pass);
    }
    return ops->step_end(r->be, &result, err);
}

/* Weights that multiply word vectors which are not trained: nobody wants the
 * gradient of their inputs. Of layer 0 all of them, in a dense stack as many
 * columns of every layer. */
static double weights_of_vectors(const struct qn_param_list *list,
                                 const struct qn_spec *spec)
{
    double n = 0;
    for (int i = list->first_layer; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        bool of_input = qn_ends_with(p->name, ".conv.weight") ||
                        qn_ends_with(p->name, ".lstm.weight_ih");
        bool meets = i < list->per_layer || spec->model.dense;
        if (of_input && meets) {
            n += (double)p->count / (double)p->dim[1] * spec->model.embed;
        }
    }
    return n;
}

/* 6 operations a parameter and token: 2 forward, 4 backward. The embedding is
 * looked up, not multiplied; of the biases of all steps a token meets one.
 * Above word vectors that are not trained 2 of the 6 are not made. */
static double flops_per_token(const struct qn_spec *spec)
{
    struct qn_param_list list;
    qn_param_list_init(&list, spec, symbols_of(spec));
    double n = 0;
    for (int i = list.first_layer; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        bool of_step = p->n_dims == 2 && qn_ends_with(p->name, ".bias");
        size_t met = of_step ? p->dim[1] : p->count;
        n += p->fixed ? 0 : (double)met;
    }
    bool frozen = list.first_layer == 0;
    double idle = frozen ? weights_of_vectors(&list, spec) : 0;
    qn_param_list_fini(&list);
    return 6 * n - 2 * idle;
}

static enum qn_status measure_training(const struct qn_train_env *env,
                                       int64_t steps, struct result *result,
                                       struct qn_err *err)
{
    struct rig r;
    const struct qn_spec *spec = &result->spec;
    enum qn_status status = rig_init(&r, env, spec, err);
    if (status == QN_OK) {
        status = step(&r, spec, 1, err); /* pages and caches warm up */
    }
    double best = (double)INFINITY;
    for (int64_t t = 2; status == QN_OK && t < steps + 2; t++) {
        double start = qn_clock_now();
        status = step(&r, spec, t, err);
        best = fmin(best, qn_clock_now() - start);
    }
    rig_fini(&r);
    if (status == QN_OK) {
        result->tokens_per_s = (double)spec->batch * steps_of(spec) / best;
        result->model_gflops =
            flops_per_token(spec) * result->tokens_per_s / 1e9;
    }
    return status;
}

/* Operations a second of one product of this shape, in 1e9. */
static double measure_product(struct qn_pool *pool, const struct qn_spec *spec)
{
    int m = spec->batch * steps_of(spec);
    int n = 4 * spec->model.hidden;
    int k = 2 * spec->model.hidden;
    size_t a_len = (size_t)m * (size_t)k;
    size_t b_len = (size_t)k * (size_t)n;
    float *a = qn_xcalloc(a_len, sizeof *a);
    float *b = qn_xcalloc(b_len, sizeof *b);
    float *c = qn_xcalloc((size_t)m * (size_t)n, sizeof *c);
    for (size_t i = 0; i < a_len; i++) {
        a[i] = (float)(i % 7) - 3;
    }
    for (size_t i = 0; i < b_len; i++) {
        b[i] = (float)(i % 5) - 2;
    }
    double best = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        double start = qn_clock_now();
        qn_backend_sgemm(pool, c, a, b, m, n, k);
        double speed = 2.0 * m * n * k / (qn_clock_now() - start);
        best = speed > best ? speed : best;
    }
    free(a);
    free(b);
    free(c);
    return best / 1e9;
}

static enum qn_status preset_spec(struct result *r, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    enum qn_status status = qn_settings_preset(s, r->preset, err);
    status = status == QN_ENOTFOUND ? QN_EUSAGE : status;
    if (status == QN_OK) {
        status = qn_settings_finish(s, &r->spec, err);
    }
    qn_settings_free(s);
    return status;
}

static void print_json(struct qn_out *out, double sgemm, int threads,
                       const struct result *r, int n)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kdouble(&j, "sgemm_gflops", sgemm);
    qn_json_kint(&j, "threads", threads);
    qn_json_kstring(&j, "blas_kernel", qn_backend_blas_kernel());
    qn_json_key(&j, "train");
    qn_json_array(&j);
    for (int i = 0; i < n; i++) {
        qn_json_object(&j);
        qn_json_kstring(&j, "preset", r[i].preset);
        qn_json_kint(&j, "batch", r[i].spec.batch);
        qn_json_kint(&j, "seq", steps_of(&r[i].spec));
        qn_json_kdouble(&j, "tokens_per_s", r[i].tokens_per_s);
        qn_json_kdouble(&j, "model_gflops", r[i].model_gflops);
        qn_json_kdouble(&j, "ratio", r[i].model_gflops / sgemm);
        qn_json_end_object(&j);
    }
    qn_json_end_array(&j);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print_text(struct qn_out *out, double sgemm, int threads,
                       const struct result *r, int n)
{
    (void)qn_out_linef(out, "product: %.1f GFLOP/s with %d threads, kernel %s",
                       sgemm, threads, qn_backend_blas_kernel());
    for (int i = 0; i < n; i++) {
        (void)qn_out_linef(
            out, "%-27s %9.0f tokens/s %7.1f GFLOP/s  ratio %.3f", r[i].preset,
            r[i].tokens_per_s, r[i].model_gflops, r[i].model_gflops / sgemm);
        if (of_documents(&r[i].spec)) {
            (void)qn_out_linef(out, "    of %d documents of %d words, all real",
                               r[i].spec.batch, DOCUMENT);
        }
    }
}

static enum qn_status read_steps(const struct qn_args *args, int64_t *steps,
                                 struct qn_err *err)
{
    const char *only = args->option[QN_OPT_ONLY];
    *steps = DEFAULT_STEPS;
    if (only != NULL && !qn_str_eq(only, "train")) {
        return qn_fail(err, QN_EUSAGE, "--only is '%s', must be train", only);
    }
    if (args->n_words > 0 &&
        (!qn_parse_int(args->words[0], steps) || *steps < 1)) {
        return qn_fail(err, QN_EUSAGE, "steps is '%s', must be 1 or more",
                       args->words[0]);
    }
    return QN_OK;
}

/* The largest shape's spec: the product is of its size. */
static const struct qn_spec *largest(const struct result *r, int n)
{
    const struct qn_spec *max = &r[0].spec;
    for (int i = 1; i < n; i++) {
        if (r[i].spec.model.hidden > max->model.hidden) {
            max = &r[i].spec;
        }
    }
    return max;
}

static enum qn_status bench(const struct qn_args *args, struct qn_context *c,
                            struct result *r, int n, struct qn_out *out,
                            struct qn_err *err)
{
    int64_t steps;
    enum qn_status status = read_steps(args, &steps, err);
    for (int i = 0; i < n && status == QN_OK; i++) {
        status = preset_spec(&r[i], err);
    }
    if (status != QN_OK) {
        return status;
    }
    double sgemm = measure_product(c->env.pool, largest(r, n));
    for (int i = 0; i < n && status == QN_OK; i++) {
        status = measure_training(&c->env, steps, &r[i], err);
    }
    if (status != QN_OK) {
        return status;
    }
    int threads = qn_pool_size(c->env.pool);
    if (args->option[QN_OPT_JSON] != NULL) {
        print_json(out, sgemm, threads, r, n);
    } else {
        print_text(out, sgemm, threads, r, n);
    }
    return QN_OK;
}

int qn_cmd_bench(const struct qn_args *args)
{
    struct result shapes[] = {{.preset = "ptb-char/drelu-2x250"},
                              {.preset = "ptb-char/drelu-4x250"},
                              {.preset = "ptb-char/drelu-4x500"}};
    int n = (int)(sizeof shapes / sizeof shapes[0]);
    if (args->option[QN_OPT_PRESET] != NULL) {
        shapes[0].preset = args->option[QN_OPT_PRESET];
        n = 1;
    }
    struct qn_err err;
    struct qn_context c;
    struct qn_out out = {.failed = false};
    qn_context_init(&c, args);
    enum qn_status status = bench(args, &c, shapes, n, &out, &err);
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_context_fini(&c);
    return qn_out_close(&out, result);
}
