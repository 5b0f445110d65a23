/* measure.h - how fast networks of given shapes train, beside the machine's own
 * product.
 *
 * Other programs take their part of a machine for seconds or minutes. So the
 * product and the steps take turns: product, step, product, step; both then
 * meet the same neighbours, and their quotient says more than either. */
#ifndef QN_BENCH_MEASURE_H
#define QN_BENCH_MEASURE_H

#include "base/pool.h"
#include "bench/times.h"
#include "nn/spec.h"

struct qn_bench_env {
    struct qn_pool *pool; /* over all cores */
    const char *backend;  /* "cpu" or "ref" */
    /* Asked before each stretch that is measured, 'done' of 'all': false stops.
     * Or NULL. */
    bool (*go_on)(void *arg, int64_t done, int64_t all);
    void *go_on_arg;
};

/* One network and what was measured of it: figures are 0 until something was.
 */
struct qn_shape {
    const char *preset; /* where its settings come from; borrowed */
    struct qn_spec spec;
    int steps;   /* symbols of a stream, words of a document, in one step */
    int workers; /* threads of its pool; 0 = all cores, the pool of the env */

    double tokens_per_s; /* of the fastest step */
    double step_spread;  /* median step by fastest step, >= 1 */
    double model_gflops; /* of the fastest step (bench/flops.h) */
    double sgemm_gflops; /* of the fastest product between its steps */
    double product_spread;
    double ratio; /* of FLOP/s, step by the product before it, the median */
};

struct qn_turns {
    int64_t steps; /* of each shape, in all; 1 or more */
    int rounds;    /* the list is gone through so often */
    /* The shapes take turns step by step, all in memory at once, instead of one
     * after the other. Their workers must be 0. */
    bool together;
};

/* Ask; QN_ESTOPPED when not. */
enum qn_status qn_bench_go_on(const struct qn_bench_env *env, int64_t done,
                              int64_t all, struct qn_err *err);

/* The product is of the size of the largest shape. A step that takes less than
 * a tenth of a second is measured as the mean of several. After QN_ESTOPPED the
 * shapes that had a turn have figures of what they had. */
enum qn_status qn_measure_shapes(const struct qn_bench_env *env,
                                 struct qn_shape *shapes, int n,
                                 const struct qn_turns *turns,
                                 struct qn_err *err);

/* The figures of a shape from the seconds of its steps and of a product. */
void qn_shape_conclude(struct qn_shape *s, const struct qn_times *step,
                       const struct qn_times *product, double product_flops);

/* QN_ENOMEM, with the shape and what it needs, when it has no room beside the
 * product of 'largest' and 'more' bytes. Nothing is taken. */
enum qn_status qn_shape_check(const struct qn_bench_env *env,
                              const struct qn_shape *shape,
                              const struct qn_shape *largest, size_t more,
                              struct qn_err *err);
/* What happened to a shape: "ptb-char/drelu-4x250, 128 x 100: " before the
 * sentence of a failure. Returns status. */
enum qn_status qn_shape_say(const struct qn_shape *shape, enum qn_status status,
                            struct qn_err *err);

/* Those that have figures. */
int qn_shapes_measured(const struct qn_shape *shapes, int n);

/* (max - min) / max of their tokens a second, and of their ratios, which a
 * machine that is now faster and now slower does not widen as much. */
struct qn_range {
    double speed, ratio;
};
struct qn_range qn_shapes_range(const struct qn_shape *shapes, int n);

#endif
