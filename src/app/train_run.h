/* train_run.h - a trainer in the main thread, driven to its end. */
#ifndef QN_APP_TRAIN_RUN_H
#define QN_APP_TRAIN_RUN_H

#include "app/args.h"
#include "app/context.h"
#include "app/report.h"

/* What a command that trains from a stored run holds. Not to be moved: the
 * trainer tells the report. */
struct qn_training {
    struct qn_context context;
    struct qn_report report;
    char *path; /* the folder of the run that words[0] names; NULL: none */
    struct qn_trainer *trainer; /* qn_train_run takes it */
};

/* Resumes, forks or reruns the run at 'path'. */
typedef enum qn_status (*qn_training_fn)(const struct qn_train_env *env,
                                         const struct qn_args *args,
                                         const char *path,
                                         const struct qn_sink *sink,
                                         struct qn_trainer **out,
                                         struct qn_err *err);

/* From now on signals are caught; find the run and make the trainer. Call end
 * whatever comes of it. */
enum qn_status qn_training_begin(struct qn_training *w,
                                 const struct qn_args *args,
                                 qn_training_fn make, struct qn_err *err);
void qn_training_end(struct qn_training *w);

/* Train it to its end, or until a signal, saying on the way what the report
 * says; frees the trainer. The exit status. resumed: not from its start. */
int qn_train_run(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t, bool resumed);

#endif
