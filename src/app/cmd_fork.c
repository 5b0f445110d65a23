/* cmd_fork.c - quern fork: a new run from a checkpoint of another one. */
#include "app/commands.h"

#include "app/train_run.h"

static enum qn_status make_fork(const struct qn_train_env *env,
                                const struct qn_args *args, const char *path,
                                const struct qn_sink *sink,
                                struct qn_trainer **out, struct qn_err *err)
{
    return qn_trainer_fork(env, path, args->option[QN_OPT_FROM],
                           args->assignments, args->n_assignments, sink, out,
                           err);
}

int qn_cmd_fork(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_training w;
    enum qn_status status = qn_training_begin(&w, args, make_fork, &err);
    int result = status == QN_OK
                     ? qn_train_run(args, &w.report, w.trainer, false)
                     : qn_give_up(status, &err);
    qn_training_end(&w);
    return result;
}
