/* train_run.h - a trainer in the main thread, driven to its end. */
#ifndef QN_APP_TRAIN_RUN_H
#define QN_APP_TRAIN_RUN_H

#include "app/args.h"
#include "app/report.h"

/* Train it to its end, or until a signal, saying on the way what the report
 * says; frees the trainer. The exit status. resumed: not from its start. */
int qn_train_run(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t, bool resumed);

#endif
