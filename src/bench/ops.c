/* ops.c - what each operation of a training step takes. */
#include "bench/ops.h"

#include "bench/bandwidth.h"
#include "bench/product.h"
#include "bench/rig.h"
#include "bench/timed.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

/* What is measured with, and the times of each turn. */
struct bench {
    const struct qn_bench_env *env;
    struct qn_backend *timed; /* the rig's */
    struct qn_rig rig;
    struct qn_product product;
    struct qn_triad triad;
    struct qn_times step_times, product_times, triad_times;
};

/* --- rows --------------------------------------------------------------- */

/* The row of calls like this one; NULL if there is none. */
static struct qn_op_row *find_row(const struct qn_ops *ops,
                                  const struct qn_call *call)
{
    for (int i = 0; i < ops->n_rows; i++) {
        struct qn_op_row *row = &ops->rows[i];
        if (qn_str_eq(row->op, call->op) &&
            qn_str_eq(row->work.of, call->work.of)) {
            return row;
        }
    }
    return NULL;
}

static struct qn_op_row *add_row(struct qn_ops *ops, const struct qn_call *call)
{
    size_t n = (size_t)ops->n_rows + 1;
    ops->rows = qn_xrealloc(ops->rows, n, sizeof *ops->rows);
    struct qn_op_row *row = &ops->rows[ops->n_rows++];
    *row = (struct qn_op_row){.op = call->op, .best = (double)INFINITY};
    qn_copy_text(row->work.of, sizeof row->work.of, call->work.of);
    return row;
}

/* The calls of a step, as rows. */
static void make_rows(struct qn_ops *ops, const struct qn_call *calls, int n)
{
    for (int i = 0; i < n; i++) {
        struct qn_op_row *row = find_row(ops, &calls[i]);
        row = row != NULL ? row : add_row(ops, &calls[i]);
        row->calls++;
        row->work.flops += calls[i].work.flops;
        row->work.bytes += calls[i].work.bytes;
    }
}

/* Seconds of each row in one step, into now[n_rows]; their sum. Every step
 * makes the same calls. */
static double add_up(const struct qn_ops *ops, const struct qn_call *calls,
                     int n, double *now)
{
    double sum = 0;
    for (int r = 0; r < ops->n_rows; r++) {
        now[r] = 0;
    }
    for (int i = 0; i < n; i++) {
        const struct qn_op_row *row = find_row(ops, &calls[i]);
        QN_ASSERT(row != NULL);
        now[row - ops->rows] += calls[i].seconds;
        sum += calls[i].seconds;
    }
    return sum;
}

/* A step of so many seconds. */
static void take_step(struct qn_ops *ops, const struct qn_backend *timed,
                      double seconds)
{
    int n;
    const struct qn_call *calls = qn_timed_calls(timed, &n);
    if (ops->n_rows == 0) {
        make_rows(ops, calls, n);
    }
    int n_rows = ops->n_rows;
    double *now = qn_xcalloc((size_t)n_rows, sizeof *now);
    double sum = add_up(ops, calls, n, now);
    bool fastest = ops->step == 0 || seconds < ops->step;
    for (int r = 0; r < n_rows; r++) {
        struct qn_op_row *row = &ops->rows[r];
        row->best = fmin(row->best, now[r]);
        row->seconds = fastest ? now[r] : row->seconds;
    }
    if (fastest) {
        ops->step = seconds;
        ops->rest = seconds - sum;
    }
    free(now);
}

double qn_op_gflops(const struct qn_op_row *row)
{
    return row->work.flops > 0 ? row->work.flops / row->best / 1e9 : 0;
}

double qn_op_gb(const struct qn_op_row *row)
{
    return row->work.bytes > 0 ? row->work.bytes / row->best / 1e9 : 0;
}

/* --- measuring ---------------------------------------------------------- */

static enum qn_status set_up(struct bench *b, const struct qn_bench_env *env,
                             const struct qn_shape *shape, struct qn_err *err)
{
    struct qn_backend *inner = NULL;
    enum qn_status status = qn_backend_new(env->backend, env->pool,
                                           shape->spec.threads, &inner, err);
    if (status != QN_OK) {
        return status;
    }
    b->timed = qn_timed_new(inner);
    status = qn_rig_init(&b->rig, b->timed, &shape->spec, shape->steps, err);
    if (status == QN_OK && !qn_triad_init(&b->triad, 0)) {
        return qn_fail(err, QN_ENOMEM, "no memory to measure its bandwidth");
    }
    if (status == QN_OK) {
        status = qn_product_init(&b->product, &shape->spec, shape->steps, err);
    }
    return status;
}

static void clean_up(struct bench *b)
{
    qn_times_free(&b->step_times);
    qn_times_free(&b->product_times);
    qn_times_free(&b->triad_times);
    qn_triad_fini(&b->triad);
    qn_product_fini(&b->product);
    qn_rig_fini(&b->rig);
}

static enum qn_status take_turn(struct bench *b, struct qn_ops *ops,
                                struct qn_err *err)
{
    qn_times_add(&b->product_times, qn_product_run(&b->product, b->env->pool));
    qn_times_add(&b->triad_times, qn_triad_run(&b->triad, b->env->pool));
    qn_timed_clear(b->timed);
    double start = qn_clock_now();
    enum qn_status status = qn_rig_step(&b->rig, err);
    double seconds = qn_clock_now() - start;
    if (status != QN_OK) {
        return status;
    }
    qn_times_add(&b->step_times, seconds);
    take_step(ops, b->timed, seconds);
    return QN_OK;
}

static enum qn_status take_turns(struct bench *b, int64_t turns,
                                 struct qn_ops *ops, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (int i = 0; i < 2 && status == QN_OK; i++) {
        status = qn_bench_go_on(b->env, 0, turns, err);
        if (status == QN_OK) {
            status = qn_rig_step(&b->rig, err); /* pages come to be */
            (void)qn_product_run(&b->product, b->env->pool);
            (void)qn_triad_run(&b->triad, b->env->pool);
        }
    }
    for (int64_t i = 0; i < turns && status == QN_OK; i++) {
        status = qn_bench_go_on(b->env, i, turns, err);
        status = status == QN_OK ? take_turn(b, ops, err) : status;
    }
    return status;
}

static void conclude(const struct bench *b, struct qn_ops *ops)
{
    qn_shape_conclude(&ops->shape, &b->step_times, &b->product_times,
                      qn_product_flops(&b->product));
    ops->triad_gb =
        qn_triad_bytes(&b->triad) / qn_times_best(&b->triad_times) / 1e9;
    ops->triad_spread = qn_times_spread(&b->triad_times);
}

enum qn_status qn_measure_ops(const struct qn_bench_env *env,
                              const struct qn_shape *shape, int64_t turns,
                              struct qn_ops *ops, struct qn_err *err)
{
    struct bench b = {.env = env};
    *ops = (struct qn_ops){.shape = *shape};
    enum qn_status status =
        qn_shape_check(env, shape, shape, qn_triad_size(0), err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_bench_go_on(env, 0, turns, err);
    if (status == QN_OK) {
        status = set_up(&b, env, shape, err);
    }
    if (status == QN_OK) {
        status = take_turns(&b, turns, ops, err);
    }
    bool stopped = status == QN_ESTOPPED;
    if ((status == QN_OK || stopped) && ops->n_rows > 0) {
        conclude(&b, ops);
    }
    clean_up(&b);
    return stopped ? status : qn_shape_say(shape, status, err);
}

void qn_ops_free(struct qn_ops *ops)
{
    free(ops->rows);
    *ops = (struct qn_ops){.rows = NULL};
}
