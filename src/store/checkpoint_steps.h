/* checkpoint_steps.h - the checkpoints that a run has, and which ones stay. */
#ifndef QN_STORE_CHECKPOINT_STEPS_H
#define QN_STORE_CHECKPOINT_STEPS_H

#include "store/run_dir.h"

#include <stddef.h>

struct qn_steps {
    struct qn_step {
        int64_t step;
        double metric;
        bool keep;
        bool spoilt; /* qn_steps_accuse */
    } * at;          /* by step */
    size_t n;
};

/* A step as a folder is named: digits, no sign, no leading zero. */
bool qn_step_parse(const char *text, int64_t *step);

/* Those that are committed, keep false. A run without any is fine. */
enum qn_status qn_steps_list(const char *run, struct qn_steps *out,
                             struct qn_err *err);
/* Mark as spoilt those that something speaks against: a "nan" or "spike" event
 * of their own step or of the one after, which is the first that their weights
 * made. */
enum qn_status qn_steps_accuse(const char *run, struct qn_steps *steps,
                               struct qn_err *err);
/* Mark what stays once 'step' is the newest: what "best" and "last" name, the
 * one that the run began from when it has a parent, the keep.last newest, the
 * keep.best of least metric, and the newest that is not spoilt. Later steps
 * belong to a history that a resume replaced. */
enum qn_status qn_steps_mark(const char *run, struct qn_steps *steps,
                             int64_t step, struct qn_keep keep,
                             struct qn_err *err);
void qn_steps_free(struct qn_steps *steps);

#endif
