/* measure.c - how fast networks of given shapes train, beside the machine's own
 * product. */
#include "bench/measure.h"

#include "bench/flops.h"
#include "bench/product.h"
#include "bench/rig.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/size.h"

#include <stdlib.h>

/* A measured stretch, and the most steps in it. */
#define STRETCH_SECONDS 0.1
#define MOST_REPEATS 200

/* What is kept of a shape while it is measured. */
struct subject {
    struct qn_rig rig;
    int repeats; /* steps in one stretch */
    struct qn_times step, product;
};

struct measurement {
    const struct qn_bench_env *env;
    struct qn_product product;
    struct subject *subjects; /* one for each shape */
    int64_t done, all;        /* stretches */
    struct qn_err *err;
};

enum qn_status qn_bench_go_on(const struct qn_bench_env *env, int64_t done,
                              int64_t all, struct qn_err *err)
{
    if (env->go_on != NULL && !env->go_on(env->go_on_arg, done, all)) {
        return qn_fail(err, QN_ESTOPPED, "stopped on request");
    }
    return QN_OK;
}

enum qn_status qn_shape_say(const struct qn_shape *shape, enum qn_status status,
                            struct qn_err *err)
{
    if (status == QN_OK) {
        return status;
    }
    struct qn_str name = {0};
    qn_str_addf(&name, "%s, %d x %d", shape->preset, shape->spec.batch,
                shape->steps);
    status = qn_fail_in(err, status, name.text);
    qn_str_free(&name);
    return status;
}

enum qn_status qn_shape_check(const struct qn_bench_env *env,
                              const struct qn_shape *shape,
                              const struct qn_shape *largest, size_t more,
                              struct qn_err *err)
{
    struct qn_backend *be = NULL;
    size_t product = qn_product_size(&largest->spec, largest->steps);
    enum qn_status status =
        qn_backend_new(env->backend, env->pool, shape->spec.threads, &be, err);
    if (status == QN_OK) {
        status = qn_rig_check(be, &shape->spec, shape->steps,
                              qn_size_add(product, more), err);
    }
    qn_backend_free(be);
    return qn_shape_say(shape, status, err);
}

static enum qn_status run_stretch(struct subject *s, double *seconds,
                                  struct qn_err *err)
{
    enum qn_status status = QN_OK;
    double start = qn_clock_now();
    for (int i = 0; i < s->repeats && status == QN_OK; i++) {
        status = qn_rig_step(&s->rig, err);
    }
    *seconds = (qn_clock_now() - start) / s->repeats;
    return status;
}

/* Two steps: with the first, pages and workspaces come to be, and the second
 * tells how many make a stretch. */
static enum qn_status warm_up(struct subject *s, struct qn_err *err)
{
    double seconds = 0;
    s->repeats = 1;
    enum qn_status status = run_stretch(s, &seconds, err);
    if (status == QN_OK) {
        status = run_stretch(s, &seconds, err);
    }
    double wanted = STRETCH_SECONDS / (seconds > 1e-9 ? seconds : 1e-9);
    s->repeats = wanted > MOST_REPEATS ? MOST_REPEATS
                 : wanted > 1          ? (int)wanted
                                       : 1;
    return status;
}

static enum qn_status set_up(struct measurement *m, struct subject *s,
                             const struct qn_shape *shape, struct qn_pool *pool)
{
    struct qn_backend *be = NULL;
    enum qn_status status =
        qn_backend_new(m->env->backend, pool, shape->spec.threads, &be, m->err);
    if (status == QN_OK) {
        status = qn_rig_init(&s->rig, be, &shape->spec, shape->steps, m->err);
    }
    if (status == QN_OK) {
        status = warm_up(s, m->err);
    }
    return qn_shape_say(shape, status, m->err);
}

static enum qn_status take_turn(struct measurement *m, struct subject *s,
                                const struct qn_shape *shape, double product)
{
    double seconds = 0;
    enum qn_status status = qn_bench_go_on(m->env, m->done++, m->all, m->err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_shape_say(shape, run_stretch(s, &seconds, m->err), m->err);
    if (status == QN_OK) {
        qn_times_add(&s->step, seconds);
        qn_times_add(&s->product, product);
    }
    return status;
}

/* The product, then a stretch of each of n subjects; 'turns' times. */
static enum qn_status take_turns(struct measurement *m, struct subject *s,
                                 const struct qn_shape *shapes, int n,
                                 int64_t turns, struct qn_pool *pool)
{
    enum qn_status status = QN_OK;
    (void)qn_product_run(&m->product, pool); /* its pages, too */
    for (int64_t turn = 0; turn < turns && status == QN_OK; turn++) {
        double product = qn_product_run(&m->product, pool);
        for (int i = 0; i < n && status == QN_OK; i++) {
            status = take_turn(m, &s[i], &shapes[i], product);
        }
    }
    return status;
}

/* Some shapes from beginning to end, all in memory at once. */
static enum qn_status visit(struct measurement *m, struct subject *s,
                            const struct qn_shape *shapes, int n, int64_t turns)
{
    int workers = shapes[0].workers;
    struct qn_pool *own = workers > 0 ? qn_pool_new(workers) : NULL;
    struct qn_pool *pool = workers > 0 ? own : m->env->pool;
    enum qn_status status = QN_OK;
    for (int i = 0; i < n && status == QN_OK; i++) {
        status = qn_bench_go_on(m->env, m->done, m->all, m->err);
        status = status == QN_OK ? set_up(m, &s[i], &shapes[i], pool) : status;
    }
    if (status == QN_OK) {
        status = take_turns(m, s, shapes, n, turns, pool);
    }
    for (int i = 0; i < n; i++) {
        qn_rig_fini(&s[i].rig);
    }
    qn_pool_free(own);
    return status;
}

static double multiplications(const struct qn_shape *s)
{
    double h = s->spec.model.hidden;
    return (double)s->spec.batch * s->steps * h * h;
}

static const struct qn_shape *largest(const struct qn_shape *shapes, int n)
{
    const struct qn_shape *max = shapes;
    for (int i = 1; i < n; i++) {
        max = multiplications(&shapes[i]) > multiplications(max) ? &shapes[i]
                                                                 : max;
    }
    return max;
}

void qn_shape_conclude(struct qn_shape *s, const struct qn_times *step,
                       const struct qn_times *product, double product_flops)
{
    double tokens = (double)s->spec.batch * s->steps;
    double flops = qn_flops_per_token(&s->spec, qn_rig_symbols(&s->spec));
    s->tokens_per_s = tokens / qn_times_best(step);
    s->model_gflops = flops * s->tokens_per_s / 1e9;
    s->sgemm_gflops = product_flops / qn_times_best(product) / 1e9;
    s->ratio =
        flops * tokens / product_flops * qn_times_quotient(product, step);
    s->step_spread = qn_times_spread(step);
    s->product_spread = qn_times_spread(product);
}

static enum qn_status go_through(struct measurement *m,
                                 const struct qn_shape *shapes, int n,
                                 const struct qn_turns *turns)
{
    int64_t each = (turns->steps + turns->rounds - 1) / turns->rounds;
    int group = turns->together ? n : 1;
    enum qn_status status = QN_OK;
    m->all = each * turns->rounds * n;
    for (int round = 0; round < turns->rounds && status == QN_OK; round++) {
        for (int i = 0; i < n && status == QN_OK; i += group) {
            status = visit(m, &m->subjects[i], &shapes[i], group, each);
        }
    }
    return status;
}

/* All of them before any is measured; first the one whose product it is. */
static enum qn_status begin(struct measurement *m,
                            const struct qn_shape *shapes, int n)
{
    const struct qn_shape *max = largest(shapes, n);
    enum qn_status status = qn_shape_check(m->env, max, max, 0, m->err);
    for (int i = 0; i < n && status == QN_OK; i++) {
        status = qn_shape_check(m->env, &shapes[i], max, 0, m->err);
    }
    if (status == QN_OK) {
        status = qn_shape_say(
            max, qn_product_init(&m->product, &max->spec, max->steps, m->err),
            m->err);
    }
    return status;
}

enum qn_status qn_measure_shapes(const struct qn_bench_env *env,
                                 struct qn_shape *shapes, int n,
                                 const struct qn_turns *turns,
                                 struct qn_err *err)
{
    struct measurement m = {.env = env, .err = err};
    m.subjects = qn_xcalloc((size_t)n, sizeof *m.subjects);
    enum qn_status status = begin(&m, shapes, n);
    if (status == QN_OK) {
        status = go_through(&m, shapes, n, turns);
    }
    for (int i = 0; i < n; i++) {
        bool known = status == QN_OK || status == QN_ESTOPPED;
        if (known && m.subjects[i].step.n > 0) {
            qn_shape_conclude(&shapes[i], &m.subjects[i].step,
                              &m.subjects[i].product,
                              qn_product_flops(&m.product));
        }
        qn_times_free(&m.subjects[i].step);
        qn_times_free(&m.subjects[i].product);
    }
    qn_product_fini(&m.product);
    free(m.subjects);
    return status;
}

int qn_shapes_measured(const struct qn_shape *shapes, int n)
{
    int measured = 0;
    for (int i = 0; i < n; i++) {
        measured += shapes[i].tokens_per_s > 0;
    }
    return measured;
}

struct qn_range qn_shapes_range(const struct qn_shape *shapes, int n)
{
    const struct qn_shape *slow = shapes, *fast = shapes;
    const struct qn_shape *low = shapes, *high = shapes;
    for (int i = 1; i < n; i++) {
        const struct qn_shape *s = &shapes[i];
        slow = s->tokens_per_s < slow->tokens_per_s ? s : slow;
        fast = s->tokens_per_s > fast->tokens_per_s ? s : fast;
        low = s->ratio < low->ratio ? s : low;
        high = s->ratio > high->ratio ? s : high;
    }
    return (struct qn_range){.speed =
                                 1 - slow->tokens_per_s / fast->tokens_per_s,
                             .ratio = 1 - low->ratio / high->ratio};
}
