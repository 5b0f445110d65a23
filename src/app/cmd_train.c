/* cmd_train.c - quern train, resume and rerun: a trainer in the main thread. */
#include "app/commands.h"

#include "app/context.h"
#include "app/hint.h"
#include "app/interrupt.h"
#include "app/report.h"
#include "app/run_state.h"

#include <stdlib.h>

static void say_how_to_go_on(const struct qn_args *args,
                             const struct qn_trainer *t, const char *why)
{
    struct qn_str s = {0};
    qn_str_addf(&s, "%s; go on with: ", why);
    qn_hint_resume(&s, args->option[QN_OPT_STORE], args->option[QN_OPT_DATA],
                   qn_trainer_id(t));
    qn_complain(s.text);
    qn_str_free(&s);
}

/* A signal, or nobody reads any more: keep what there is, leave the rest. */
static int leave(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t)
{
    struct qn_err err;
    struct qn_str why = {0};
    qn_trainer_set_interrupt(t, NULL, NULL);
    enum qn_status status = qn_trainer_stop(t, true, &err);
    if (status == QN_OK) {
        qn_str_addf(&why, "stopped after step %lld, checkpoint written",
                    (long long)qn_trainer_step_count(t));
    } else {
        qn_str_addf(&why, "stopped after step %lld without a checkpoint: %s",
                    (long long)qn_trainer_step_count(t), err.text);
    }
    say_how_to_go_on(args, t, why.text);
    qn_str_free(&why);
    bool asked_for = status == QN_OK && !r->out.failed;
    return asked_for ? QN_EXIT_OK : QN_EXIT_FAILURE;
}

/* The trainer waits for a person (NaN, no room on disk), and none is here. */
static int give_up_paused(const struct qn_args *args, struct qn_report *r,
                          struct qn_trainer *t)
{
    qn_report_error(r, r->why);
    /* What can be kept is kept; the reason for the pause is told below. */
    struct qn_err err;
    (void)qn_trainer_checkpoint(t, &err);
    struct qn_str why = {0};
    qn_str_addf(&why, "paused after step %lld: %s",
                (long long)qn_trainer_step_count(t), r->why);
    say_how_to_go_on(args, t, why.text);
    qn_str_free(&why);
    return QN_EXIT_FAILURE;
}

static int drive(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t)
{
    struct qn_err err;
    while (qn_trainer_state(t) == QN_RUN_ACTIVE) {
        if (qn_interrupted() || r->out.failed) {
            return leave(args, r, t);
        }
        enum qn_status status = qn_trainer_step(t, &err);
        if (status != QN_OK && status != QN_ESTOPPED) {
            qn_report_error(r, err.text);
            return qn_give_up(status, &err);
        }
    }
    switch (qn_trainer_state(t)) {
    case QN_RUN_DONE:
        qn_report_done(r);
        return QN_EXIT_OK;
    case QN_RUN_PAUSED:
        return give_up_paused(args, r, t);
    case QN_RUN_STOPPED:
        /* Only stop.nan = stop ends a run so while nobody asks. */
        qn_report_error(r, "a number was not finite");
        qn_complain("stopped, since a number was not finite (stop.nan)");
        return QN_EXIT_FAILURE;
    case QN_RUN_ACTIVE:
    case QN_RUN_FAILED:
        break;
    }
    qn_complain(r->why);
    return QN_EXIT_FAILURE;
}

/* Train it to its end and free it. */
static int run(const struct qn_args *args, struct qn_report *r,
               struct qn_trainer *t, bool resumed)
{
    qn_trainer_set_interrupt(t, qn_interrupt_asked, NULL);
    qn_report_start(r, t, resumed);
    int status = drive(args, r, t);
    qn_trainer_free(t);
    return qn_out_close(&r->out, status);
}

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
    int result = status == QN_OK ? run(args, &report, t, false)
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
        result = run(args, &report, t, true);
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
