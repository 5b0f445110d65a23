/* checkpoints.h - the folder "checkpoints" of a run, and "best" and "last".
 *
 *   checkpoints/<step>/        committed when it holds the file "metric"
 *   checkpoints/.old-<step>/   committed before, being written anew
 *   checkpoints/.gone-<step>/  about to be removed
 *
 * 'run' is the path of the run's folder everywhere.
 */
#ifndef QN_STORE_CHECKPOINTS_H
#define QN_STORE_CHECKPOINTS_H

#include "base/str.h"
#include "store/run_dir.h"

/* An empty folder <step> to write files to; *path is the caller's to free. */
enum qn_status qn_run_checkpoint_begin(const char *run, int64_t step,
                                       char **path, struct qn_err *err);
enum qn_status qn_run_checkpoint_commit(const char *run, int64_t step,
                                        bool is_best,
                                        const struct qn_figures *figures,
                                        struct qn_err *err);
/* Remove what the rule does not keep, after 'step' was committed. */
enum qn_status qn_run_checkpoint_prune(const char *run, int64_t step,
                                       struct qn_keep keep, struct qn_err *err);
/* The run goes on from this step: "last" names the newest checkpoint that is
 * not after it, or goes when there is none; those after it are removed, but for
 * what "best" names. */
enum qn_status qn_run_checkpoint_rewind(const char *run, int64_t step,
                                        struct qn_err *err);
/* Finish or undo what a crash has left half done. */
enum qn_status qn_run_checkpoint_recover(const char *run, struct qn_err *err);

/* Where the committed checkpoint of this step is, NULL when there is none; the
 * caller frees it. */
char *qn_run_checkpoint_folder(const char *run, int64_t step);

/* The step that "best" or "last" names, -1 when there is no such file. */
enum qn_status qn_run_checkpoint_named(const char *run, const char *which,
                                       int64_t *step, struct qn_err *err);
/* Let "best" or "last" name this step, or nothing any more. */
enum qn_status qn_run_checkpoint_name(const char *run, const char *which,
                                      int64_t step, struct qn_err *err);
enum qn_status qn_run_checkpoint_unname(const char *run, const char *which,
                                        struct qn_err *err);
/* What the file "metric" holds, added to the text. */
void qn_figures_add(struct qn_str *text, const struct qn_figures *figures);
/* What was committed with it, NaN where unknown. Without an accuracy the metric
 * is the loss. */
struct qn_figures qn_run_checkpoint_figures(const char *run, int64_t step);

#endif
