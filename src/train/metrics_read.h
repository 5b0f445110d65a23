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
    struct qn_step_record *step; /* [n_steps], by rising step, as runs write
                                    them; NaN where a line has no number */
    size_t n_steps;
    struct qn_eval_record {
        int64_t step;
        struct qn_evaluation e;
        double value; /* of e.reading, as it was written; NaN: none */
    } * eval;         /* [n_evals], in the order of the lines */
    size_t n_evals;
};
void qn_metrics_free(struct qn_metrics *m); /* a zeroed one is fine */

/* All that counts. QN_EFORMAT names a damaged line. A missing file is an empty
 * history. */
enum qn_status qn_metrics_read(const char *run_path, struct qn_metrics *out,
                               struct qn_err *err);
/* The same from the bytes of a metrics.jsonl. */
enum qn_status qn_metrics_parse(const char *text, size_t len,
                                struct qn_metrics *out, struct qn_err *err);

/* Of training when this step had been done, its pauses left out: as the newest
 * step up to it says that says so; 0 when none does. */
double qn_metrics_seconds(const struct qn_metrics *m, int64_t step);

#endif
