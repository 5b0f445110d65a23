/* train_run.c - a trainer in the main thread, driven to its end. */
#include "app/train_run.h"

#include "app/hint.h"
#include "app/interrupt.h"
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

enum qn_status qn_training_begin(struct qn_training *w,
                                 const struct qn_args *args,
                                 qn_training_fn make, struct qn_err *err)
{
    w->path = NULL;
    w->trainer = NULL;
    qn_context_init(&w->context, args);
    qn_interrupt_catch();
    qn_report_init(&w->report, args->option[QN_OPT_JSON] != NULL);
    struct qn_sink sink = qn_report_sink(&w->report);
    enum qn_status status = qn_context_run(&w->context, args, &w->path, err);
    if (status == QN_OK) {
        status = make(&w->context.env, args, w->path, &sink, &w->trainer, err);
    }
    return status;
}

void qn_training_end(struct qn_training *w)
{
    free(w->path);
    qn_report_fini(&w->report);
    qn_context_fini(&w->context);
}

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

/* The weights may be spoilt, so that going on as it is would end here again. */
static void say_how_to_go_back(const struct qn_args *args,
                               const struct qn_trainer *t, const char *why)
{
    struct qn_str s = {0};
    qn_str_addf(&s, "%s; go back to the last good checkpoint with: ", why);
    qn_hint_resume(&s, args->option[QN_OPT_STORE], args->option[QN_OPT_DATA],
                   qn_trainer_id(t));
    qn_str_add(&s, " stop.nan=rollback");
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
        qn_str_addf(&why, "stopped after step %lld, not all is written: %s",
                    (long long)qn_trainer_step_count(t), err.text);
    }
    say_how_to_go_on(args, t, why.text);
    qn_str_free(&why);
    bool asked_for = status == QN_OK && !r->out.failed;
    return asked_for ? QN_EXIT_OK : QN_EXIT_FAILURE;
}

/* A tenth of a second, or less when a signal comes. */
static void doze(void)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    (void)nanosleep(&tenth, NULL);
}

/* The disk does not take what must be written. Nothing is lost meanwhile, so
 * wait until it does or somebody wants an end; say so once. */
static void wait_for_disk(struct qn_report *r, struct qn_trainer *t)
{
    struct qn_str s = {0};
    qn_str_addf(&s,
                "step %lld: %s; training waits, goes on once this works, and "
                "ends on Ctrl-C",
                (long long)qn_trainer_step_count(t),
                qn_trainer_disk_trouble(t));
    qn_complain(s.text);
    qn_str_free(&s);
    double next = qn_clock_now() + QN_DISK_TRY_SECONDS;
    while (qn_trainer_waits_for_disk(t) && !qn_interrupted() &&
           !r->out.failed) {
        doze();
        if (qn_clock_now() >= next) {
            (void)qn_trainer_try_disk(t);
            next = qn_clock_now() + QN_DISK_TRY_SECONDS;
        }
    }
}

/* The trainer waits for a person (NaN), and none is here. */
static int give_up_paused(const struct qn_args *args, struct qn_report *r,
                          struct qn_trainer *t)
{
    struct qn_str why = {0};
    struct qn_err err;
    qn_report_error(r, r->why);
    qn_str_addf(&why, "paused after step %lld: %s",
                (long long)qn_trainer_step_count(t), r->why);
    (void)qn_trainer_checkpoint(t, &err); /* what can be kept is kept */
    bool tried = qn_trainer_spec(t)->stop.nan == QN_NAN_ROLLBACK;
    if (r->trouble == qn_trainer_step_count(t) && !tried) {
        say_how_to_go_back(args, t, why.text);
    } else {
        say_how_to_go_on(args, t, why.text);
    }
    qn_str_free(&why);
    return QN_EXIT_FAILURE;
}

static void complain_of_stop(const struct qn_args *args,
                             const struct qn_report *r,
                             const struct qn_trainer *t)
{
    struct qn_str s = {0};
    qn_str_addf(&s, "stopped: %s (stop.nan)", r->why);
    say_how_to_go_back(args, t, s.text);
    qn_str_free(&s);
}

/* It has steps to do, or will have when there is room. */
static bool goes_on(const struct qn_trainer *t)
{
    return qn_trainer_state(t) == QN_RUN_ACTIVE || qn_trainer_waits_for_disk(t);
}

static int drive(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t)
{
    struct qn_err err;
    while (goes_on(t)) {
        if (qn_interrupted() || r->out.failed) {
            return leave(args, r, t);
        }
        if (qn_trainer_waits_for_disk(t)) {
            wait_for_disk(r, t);
            continue;
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
        qn_report_error(r, r->why);
        complain_of_stop(args, r, t);
        return QN_EXIT_FAILURE;
    case QN_RUN_ACTIVE:
    case QN_RUN_FAILED:
        break;
    }
    qn_complain(r->why);
    return QN_EXIT_FAILURE;
}

int qn_train_run(const struct qn_args *args, struct qn_report *r,
                 struct qn_trainer *t, bool resumed)
{
    qn_trainer_set_interrupt(t, qn_interrupt_asked, NULL);
    qn_report_start(r, t, resumed);
    int status = drive(args, r, t);
    qn_trainer_free(t);
    return qn_out_close(&r->out, status);
}
