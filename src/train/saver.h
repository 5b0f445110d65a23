/* saver.h - checkpoints that are written beside training.
 *
 * The trainer copies what a checkpoint holds - weights, moments, carried state,
 * counters - and goes on; the saver's thread puts the copy in order, writes,
 * sums, syncs and commits it. One checkpoint is on its way at a time: the next
 * one waits for it. A copy that cannot be written is kept, and written when
 * there is room again, so that a best checkpoint is never lost to a full disk.
 *
 * Threads: all functions belong to the trainer's thread. What is on its way is
 * the saver's thread's alone until it says that it has ended.
 */
#ifndef QN_TRAIN_SAVER_H
#define QN_TRAIN_SAVER_H

#include "model/model.h"
#include "store/run_dir.h"
#include "train/optim.h"
#include "train/state.h"

struct qn_saver;

/* Takes the memory of the copy at once, so that a run which starts can be
 * saved; QN_ENOMEM says how much is missing. All borrowed. gives_way: so does
 * its thread (qn_thread_give_way). */
enum qn_status qn_saver_new(struct qn_model *model,
                            const struct qn_optim *optim, struct qn_pass *pass,
                            struct qn_run_dir *dir, bool gives_way,
                            struct qn_saver **out, struct qn_err *err);
void qn_saver_free(struct qn_saver *s); /* waits; NULL is fine */

/* What the rule of keeping is told with a checkpoint. */
struct qn_saving {
    struct qn_progress at;
    bool is_best;
    struct qn_figures figures;
    struct qn_keep keep;
};
/* Copy and begin to write. The one before must have ended well: QN_ESTATE. */
enum qn_status qn_saver_begin(struct qn_saver *s, const struct qn_saving *what,
                              struct qn_err *err);

/* One that has ended, told once. */
struct qn_saved {
    int64_t step;
    bool is_best;
    char *folder; /* the caller's to free; NULL when it failed */
    enum qn_status status;
    struct qn_err err;
};
/* false: nothing new. Never waits. */
bool qn_saver_poll(struct qn_saver *s, struct qn_saved *out);
/* The same, waiting for what is on its way; false: nothing is. */
bool qn_saver_wait(struct qn_saver *s, struct qn_saved *out);
/* A checkpoint failed and is kept: it must be written before the next one. */
bool qn_saver_owes(const struct qn_saver *s);
void qn_saver_retry(struct qn_saver *s);

#endif
