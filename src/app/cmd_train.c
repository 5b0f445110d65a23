/* cmd_train.c - quern train and resume. */
#include "app/commands.h"

#include "app/interrupt.h"
#include "app/run_state.h"
#include "app/train_run.h"

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

static enum qn_status make_resumed(const struct qn_train_env *env,
                                   const struct qn_args *args, const char *path,
                                   const struct qn_sink *sink,
                                   struct qn_trainer **out, struct qn_err *err)
{
    return qn_trainer_resume(env, path, args->assignments, args->n_assignments,
                             sink, out, err);
}

int qn_cmd_resume(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_training w;
    enum qn_status status = qn_training_begin(&w, args, make_resumed, &err);
    int result;
    if (status == QN_OK) {
        result = qn_train_run(args, &w.report, w.trainer, true);
    } else if (status == QN_ESTATE &&
               qn_run_has_ended(w.context.store, w.path)) {
        result = say_finished(&err);
    } else {
        result = qn_give_up(status, &err);
    }
    qn_training_end(&w);
    return result;
}
