/* state.h - state.safetensors: what training needs beside the weights.
 *
 * It holds the optimiser's moments, the counters, the place in the data and
 * the state carried between segments; no time, host, name or path, so that
 * equal training gives equal bytes. Settings changed by hand are not in it:
 * events.jsonl has them (train/history.h).
 */
#ifndef QN_TRAIN_STATE_H
#define QN_TRAIN_STATE_H

#include "model/model.h"
#include "train/optim.h"

struct qn_progress {
    int64_t step;    /* steps done, those without an update included */
    int64_t updates; /* steps whose gradients were finite: the optimiser's t */
    int64_t epoch;   /* epochs done */
    int64_t segment; /* of this epoch, the next one to be read */
    int64_t evals;   /* evaluations by the schedule and after the last step;
                        one made because the run is stopped is none of them,
                        so that periods in evaluations do not shift */
    int64_t eval_step;               /* of the last one; -1 = none yet */
    double eval_loss, eval_accuracy; /* its figures; NaN = none */
    int64_t best_step;               /* by checkpoint.metric, a stop's own
                                        evaluation too; -1 = none yet */
    double best_loss, best_accuracy; /* NaN = none */
    double usual_loss; /* mean of applied steps, weighted by 0.99 for every step
                          since; divide by 1 - 0.99^updates. NaN = none yet */
};

struct qn_progress qn_progress_zero(void);

/* Saving in two parts: a copy of the state on the host, whose memory is all
 * taken when it is made (QN_ENOMEM says how much); take reads optimiser and
 * pass; write touches neither, so any thread may call it that has the copy to
 * itself. */
struct qn_state_copy;
enum qn_status qn_state_copy_new(const struct qn_optim *optim,
                                 const struct qn_pass *pass,
                                 struct qn_state_copy **out,
                                 struct qn_err *err);
void qn_state_copy_free(struct qn_state_copy *c); /* NULL is fine */
enum qn_status qn_state_copy_take(struct qn_state_copy *c,
                                  const struct qn_progress *at,
                                  const struct qn_optim *optim,
                                  struct qn_pass *pass, struct qn_err *err);
enum qn_status qn_state_copy_write(const struct qn_state_copy *c,
                                   const char *path, struct qn_err *err);

/* Both at once. */
enum qn_status qn_state_save(const char *path, const struct qn_progress *at,
                             const struct qn_optim *optim, struct qn_pass *pass,
                             struct qn_err *err);
/* QN_EFORMAT when a tensor is missing, has another size or is a moment that the
 * run's rule does not keep; nothing has been changed then. */
enum qn_status qn_state_load(const char *path, struct qn_progress *at,
                             struct qn_optim *optim, struct qn_pass *pass,
                             struct qn_err *err);

#endif
