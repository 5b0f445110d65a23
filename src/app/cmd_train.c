/* cmd_train.c - quern train and resume. */
#include "app/commands.h"

#include "app/context.h"
#include "app/interrupt.h"
#include "app/run_state.h"
#include "app/train_run.h"

#include <stdlib.h>

static int train_spec(const struct qn_args *args, struct qn_context *c,
                      struct qn_spec *spec)
{
    struct qn_err err;
    struct qn_report report;
    struct qn_trainer *t = NULL;
    qn_interrupt_catch();
    qn_report_init(&report, args->option[QN_OPT_JSON] != NULL);
    struct qn_sink sink = qn_report_sink(&report);
    enum qn_status status = qn_trainer_create(&c->env, spec, &sink, &t, &err);
    int result = status == QN_OK ? qn_train_run(args, &report, t, false)
                                 : qn_give_up(status, &err);
    qn_report_fini(&report);
    return result;
}

int qn_cmd_train(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_spec spec;
    enum qn_status status = qn_context_spec(args, &spec, &err);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    struct qn_context c;
    qn_context_init(&c, args);
    int result = train_spec(args, &c, &spec);
    qn_context_fini(&c);
    return result;
}

/* A run that has nothing left to do: not a failure. */
static int say_finished(const struct qn_err *err)
{
    qn_complain(err->text);
    return QN_EXIT_OK;
}

int qn_cmd_resume(const struct qn_args *args)
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
    int result;
    enum qn_status status = qn_context_run(&c, args, &path, &err);
    if (status == QN_OK) {
        status = qn_trainer_resume(&c.env, path, args->assignments,
                                   args->n_assignments, &sink, &t, &err);
    }
    if (status == QN_OK) {
        result = qn_train_run(args, &report, t, true);
    } else if (status == QN_ESTATE && qn_run_has_ended(c.store, path)) {
        result = say_finished(&err);
    } else {
        result = qn_give_up(status, &err);
    }
    free(path);
    qn_report_fini(&report);
    qn_context_fini(&c);
    return result;
}
