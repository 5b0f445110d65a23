/* rig.c - a network of a spec that trains on random symbols. */
#include "bench/rig.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SEED 1

static bool of_documents(const struct qn_spec *spec)
{
    return spec->task == QN_TASK_CLASSIFY;
}

int qn_rig_steps(const struct qn_spec *spec)
{
    return of_documents(spec) ? QN_RIG_DOCUMENT : spec->seq;
}

int qn_rig_symbols(const struct qn_spec *spec)
{
    return spec->data.vocab_size > 0 ? spec->data.vocab_size : QN_RIG_SYMBOLS;
}

static void fill_batch(struct qn_rig *r)
{
    size_t n = (size_t)r->spec.batch * (size_t)r->steps;
    int n_symbols = qn_rig_symbols(&r->spec);
    int n_labels = of_documents(&r->spec) ? 2 : n_symbols;
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

/* Of a run's plan, what training takes: nothing is evaluated or saved. */
static void plan_rig(struct qn_backend *be, const struct qn_spec *spec,
                     int steps, size_t beside, struct qn_memory_plan *plan)
{
    struct qn_plan_shapes shapes = {.vocab = qn_rig_symbols(spec),
                                    .steps = steps};
    qn_model_plan(spec, &shapes, be, plan);
    plan->saving = 0;
    plan->evaluation = plan->sampling = 0;
    size_t symbols = (size_t)spec->batch * (size_t)steps;
    plan->rest = qn_size_add(beside, 2 * symbols * sizeof(int32_t));
    qn_memory_plan_add_up(plan);
}

enum qn_status qn_rig_check(struct qn_backend *be, const struct qn_spec *spec,
                            int steps, size_t beside, struct qn_err *err)
{
    struct qn_memory_plan plan;
    plan_rig(be, spec, steps, beside, &plan);
    return qn_memory_plan_check(&plan, qn_mem_available(), err);
}

enum qn_status qn_rig_init(struct qn_rig *r, struct qn_backend *be,
                           const struct qn_spec *spec, int steps,
                           struct qn_err *err)
{
    *r = (struct qn_rig){.spec = *spec, .steps = steps, .be = be};
    enum qn_status status = qn_rig_check(be, spec, steps, 0, err);
    if (status == QN_OK) {
        status =
            qn_model_new(be, &r->spec, qn_rig_symbols(spec), &r->model, err);
    }
    if (status == QN_OK) {
        qn_model_init(r->model, SEED);
        fill_vectors(r->model);
        status = qn_pass_new(r->model, spec->batch, steps, true, &r->pass, err);
    }
    if (status == QN_OK) {
        status = qn_optim_init(&r->optim, be, spec,
                               qn_model_trained(r->model).count, err);
    }
    if (status == QN_OK) {
        fill_batch(r);
    }
    return status;
}

void qn_rig_fini(struct qn_rig *r)
{
    free(r->ids);
    free(r->targets);
    qn_optim_fini(&r->optim);
    qn_pass_free(r->pass);
    qn_model_free(r->model);
    qn_backend_free(r->be);
    *r = (struct qn_rig){.be = NULL};
}

/* Numbers that are none take other time than numbers, and nothing is updated.
 */
static enum qn_status check_numbers(const struct qn_rig *r, struct qn_err *err)
{
    if (r->result.finite) {
        return QN_OK;
    }
    bool loss = !isfinite(r->result.loss_sum);
    return qn_fail(err, QN_ESTATE,
                   "step %" PRId64 " on random symbols: %s is not finite, and "
                   "what such steps take is not what training takes",
                   r->t, loss ? "the loss" : "the gradient's norm");
}

enum qn_status qn_rig_step(struct qn_rig *r, struct qn_err *err)
{
    const struct qn_backend_ops *ops = r->be->ops;
    const struct qn_spec *spec = &r->spec;
    struct qn_segment segment = {.ids = r->ids,
                                 .targets = r->targets,
                                 .steps = r->steps,
                                 .seed = SEED,
                                 .step = (uint64_t)++r->t};
    ops->step_begin(r->be);
    qn_pass_forward(r->pass, &segment);
    qn_pass_backward(r->pass);
    if (spec->optim.l2 > 0) {
        qn_model_add_l2(r->model, spec->optim.l2, spec->optim.l2_on);
    }
    struct qn_tensor grads = qn_model_grads(r->model);
    ops->grad_norm(r->be, grads);
    struct qn_update update = qn_optim_update(spec, 1, r->t);
    ops->update(r->be, &update, qn_model_trained(r->model), grads, r->optim.m,
                r->optim.v);
    qn_pass_carry(r->pass);
    if (of_documents(spec)) {
        qn_pass_restart(r->pass);
    }
    enum qn_status status = ops->step_end(r->be, &r->result, err);
    return status == QN_OK ? check_numbers(r, err) : status;
}
