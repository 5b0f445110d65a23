/* bench_report.h - what quern bench says: a table for each part, or one JSON
 * object. */
#ifndef QN_APP_BENCH_REPORT_H
#define QN_APP_BENCH_REPORT_H

#include "app/out.h"
#include "bench/ops.h"
#include "bench/sweep.h"

/* What --only names, in the order of a report. */
enum qn_bench_part {
    QN_BENCH_TRAIN,
    QN_BENCH_OPS,
    QN_BENCH_STEPS,
    QN_BENCH_BATCH,
    QN_BENCH_LAYERS,
    QN_BENCH_THREADS,
    QN_BENCH_LSTM,
    QN_N_BENCH_PARTS
};
const char *qn_bench_part_name(enum qn_bench_part part);

struct qn_bench_results {
    int threads;                               /* of the pool over all cores */
    bool done[QN_N_BENCH_PARTS];               /* has figures */
    bool stopped;                              /* before all of them */
    struct qn_shapes shapes[QN_N_BENCH_PARTS]; /* of ops one, as it began */
    struct qn_ops ops;
};
void qn_bench_results_free(struct qn_bench_results *r);

/* The table of a part that is done. */
void qn_bench_text(struct qn_out *out, const struct qn_bench_results *r,
                   enum qn_bench_part part);
/* All parts that are done. */
void qn_bench_json(struct qn_out *out, const struct qn_bench_results *r);

#endif
