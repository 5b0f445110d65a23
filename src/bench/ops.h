/* ops.h - what each operation of a training step takes, and how near to the
 * machine's product and memory it comes. */
#ifndef QN_BENCH_OPS_H
#define QN_BENCH_OPS_H

#include "bench/measure.h"
#include "bench/work.h"

/* All calls of one operation with the same shapes in a step. */
struct qn_op_row {
    const char *op;
    struct qn_work work; /* of all of them together */
    int calls;
    double seconds; /* in the fastest step, as it was */
    double best;    /* the least in any step: rates are of this */
};

struct qn_ops {
    struct qn_shape shape; /* of the same steps, and the product between them */
    struct qn_op_row *rows; /* in the order of a step */
    int n_rows;
    double step;         /* seconds of the fastest step */
    double rest;         /* of these outside all operations */
    double triad_gb;     /* memory, 1e9 bytes a second (bench/bandwidth.h) */
    double triad_spread; /* median by best */
};

/* Of shape->spec and ->steps; product, triad and step take turns, 'turns'
 * times; after QN_ESTOPPED, if n_rows > 0, of those before. ops is to be freed
 * in any case. */
enum qn_status qn_measure_ops(const struct qn_bench_env *env,
                              const struct qn_shape *shape, int64_t turns,
                              struct qn_ops *ops, struct qn_err *err);
void qn_ops_free(struct qn_ops *ops);

/* 1e9 a second; 0 where there is nothing to count. */
double qn_op_gflops(const struct qn_op_row *row);
double qn_op_gb(const struct qn_op_row *row);

#endif
