/* cmd_fork.c - quern fork: a new run from a checkpoint of another one. */
#include "app/commands.h"

#include "app/context.h"
#include "app/interrupt.h"
#include "app/train_run.h"

#include <stdlib.h>

int qn_cmd_fork(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_context c;
    struct qn_report report;
    struct qn_trainer *t = NULL;
    char *path = NULL;
    qn_context_init(&c, args);
    qn_interrupt_catch();
    qn_report_init(&report, args->option[QN_OPT_JSON] != NULL);
    struct qn_sink sink = qn_report_sink(&report);
    enum qn_status status = qn_context_run(&c, args, &path, &err);
    if (status == QN_OK) {
        status = qn_trainer_fork(&c.env, path, args->option[QN_OPT_FROM],
                                 args->assignments, args->n_assignments, &sink,
                                 &t, &err);
    }
    int result = status == QN_OK ? qn_train_run(args, &report, t, false)
                                 : qn_give_up(status, &err);
    free(path);
    qn_report_fini(&report);
    qn_context_fini(&c);
    return result;
}
