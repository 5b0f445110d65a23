/* checkpoints.h - the folder "checkpoints" of a run, and "best" and "last".
 *
 *   checkpoints/<step>/        committed: complete and synced
 *   checkpoints/.new-<step>/   being written
 *   checkpoints/.old-<step>/   about to be replaced by one of the same step
 *   checkpoints/.gone-<step>/  about to be removed
 *
 * 'run' is the path of the run's folder everywhere.
 */
#ifndef QN_STORE_CHECKPOINTS_H
#define QN_STORE_CHECKPOINTS_H

#include "store/run_dir.h"

/* An empty folder to write this step's files to; *path is the caller's. */
enum qn_status qn_checkpoint_begin(const char *run, int64_t step, char **path,
                                   struct qn_err *err);
enum qn_status qn_checkpoint_commit(const char *run, int64_t step, bool is_best,
                                    double metric, struct qn_err *err);
/* Remove what the rule does not keep, after 'step' was committed. */
enum qn_status qn_checkpoint_prune(const char *run, int64_t step,
                                   struct qn_keep keep, struct qn_err *err);
/* Finish or undo what a crash has left half done. */
enum qn_status qn_checkpoint_recover(const char *run, struct qn_err *err);

/* The step that "best" or "last" names, -1 when there is no such file. */
enum qn_status qn_checkpoint_named(const char *run, const char *which,
                                   int64_t *step, struct qn_err *err);
/* The metric that was committed with it, NaN when unknown. */
double qn_checkpoint_metric(const char *run, int64_t step);

#endif
