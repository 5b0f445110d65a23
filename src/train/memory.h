/* memory.h - the plan of all that a run takes in memory. */
#ifndef QN_TRAIN_MEMORY_H
#define QN_TRAIN_MEMORY_H

#include "model/model.h"
#include "train/trainer.h"

/* Bytes that the process holds, and the most that it ever held. */
struct qn_held {
    size_t now, most;
};
struct qn_held qn_held_now(void);

/* The plan of a trainer that has its data and nothing of a model yet. 'before':
 * what was held before its data was opened. */
void qn_memory_plan_run(const struct qn_trainer *t,
                        const struct qn_held *before,
                        struct qn_memory_plan *out);

#endif
