/* metrics_read.h - a run's steps and evaluations, as if no resume had happened.
 *
 * metrics.jsonl is the truth. Beside it lies metrics.cache, binary, which holds
 * what its first bytes say, so that a million steps open in a moment; it is
 * made by whoever reads a long file, checked before it is believed, and may be
 * deleted at any time (docs/run-format.md).
 */
#ifndef QN_TRAIN_METRICS_READ_H
#define QN_TRAIN_METRICS_READ_H

#include "train/event.h"
#include "train/measure.h"

struct qn_metrics {
    struct qn_step_record *step; /* [n_steps], by rising step */
    size_t n_steps;
    struct qn_eval_record {
        int64_t step;
        struct qn_evaluation e;
    } * eval; /* [n_evals], in the order of the lines */
    size_t n_evals;
};
void qn_metrics_free(struct qn_metrics *m); /* a zeroed one is fine */

/* All that counts. QN_EFORMAT names a damaged line. A missing file is an empty
 * history. */
enum qn_status qn_metrics_read(const char *run_path, struct qn_metrics *out,
                               struct qn_err *err);

#endif
