/* cmd_rerun.c - quern rerun: do again what a run did. */
#include "app/commands.h"

#include "app/context.h"
#include "app/interrupt.h"
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

int qn_cmd_rerun(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_context c;
    struct qn_spec spec;
    char *path = NULL;
    qn_context_init(&c, args);
    enum qn_status status = qn_context_run(&c, args, &path, &err);
    if (status == QN_OK) {
        status = qn_context_run_spec(path, args, &spec, &err);
    }
    int result = status == QN_OK ? train_spec(args, &c, &spec)
                                 : qn_give_up(status, &err);
    free(path);
    qn_context_fini(&c);
    return result;
}
