/* differences.h - what is on record of two runs and may be why they differ.
 *
 * Inside of train, for compare.c. */
#ifndef QN_TRAIN_DIFFERENCES_H
#define QN_TRAIN_DIFFERENCES_H

#include "train/compare.h"

/* Append one; the texts are copied. */
void qn_differences_add(struct qn_comparison *c, const char *what,
                        const char *then, const char *now);

/* Append settings that differ, changes made by hand before this step that only
 * one of the runs has, then program and data. What does not decide how a step
 * comes out is left out: name, tags, notes, and when the run ends. */
enum qn_status qn_differences_read(const char *then_path, const char *now_path,
                                   int64_t before_step, struct qn_comparison *c,
                                   struct qn_err *err);

#endif
