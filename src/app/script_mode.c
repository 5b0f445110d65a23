/* script_mode.c - quern SCRIPT.lua: a script without a screen, or with it. */
#include "app/workbench.h"

#include "app/args.h"
#include "app/context.h"
#include "app/desk.h"
#include "app/end_runs.h"
#include "app/hint.h"
#include "app/interrupt.h"
#include "app/out.h"
#include "base/str.h"
#include "script/script.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct script_mode {
    const struct qn_args *args;
    struct qn_lab *lab;
    struct qn_script *script;
    struct qn_out out;
};

static void on_print(void *user, const char *text, bool is_error)
{
    struct script_mode *m = user;
    if (is_error)
        fputs(text, stderr);
    else
        (void)qn_out_text(&m->out, text, strlen(text)); /* said at the end */
}

/* The lab's log goes to standard error: standard output is the script's. */
static void take_log(struct script_mode *m)
{
    char line[1024];
    enum qn_log_level level;
    while (qn_lab_take_log(m->lab, line, sizeof line, &level))
        fprintf(stderr, "%s\n", line);
}

static void on_pump(void *user, double timeout)
{
    struct script_mode *m = user;
    struct pollfd p = {.fd = qn_lab_fd(m->lab), .events = POLLIN};
    (void)poll(&p, 1, (int)(timeout * 1000 + 0.999)); /* EINTR: a signal */
    (void)qn_lab_poll(m->lab);
    take_log(m);
    if (qn_interrupted())
        qn_script_interrupt(m->script);
}

/* Runs that still work, and those that paused by themselves. A paused one does
 * not work, since without a screen nobody lets it go on, unless it only waits
 * for room on its disk. */
static int count_working(const struct qn_lab *lab, int *n_stuck)
{
    int n = 0;
    *n_stuck = 0;
    for (int i = 0; i < qn_lab_n_runs(lab); i++) {
        struct qn_lab_run r;
        if (!qn_lab_run(lab, qn_lab_run_at(lab, i), &r))
            continue;
        bool paused = r.state == QN_LAB_PAUSED && !r.waits;
        n += qn_lab_state_active(r.state) && !paused;
        *n_stuck += paused && r.error[0] != '\0';
    }
    return n;
}

/* Runs that the script started and did not wait for are finished all the same:
 * nobody starts a run in order not to have it. The exit status: a run that
 * paused by itself has failed. */
static int wait_for_runs(struct script_mode *m)
{
    int n_stuck;
    while (count_working(m->lab, &n_stuck) > 0 && !qn_interrupted())
        on_pump(m, 0.5);
    return n_stuck > 0 ? QN_EXIT_FAILURE : QN_EXIT_OK;
}

static void pump_on(void *user)
{
    on_pump(user, 0.5);
}

static void say_saved(void *user, const struct qn_lab_run *r)
{
    const struct script_mode *m = user;
    struct qn_str s = {0};
    if (r->state == QN_LAB_DONE) /* its last step came before the wish */
        return;
    if (r->state == QN_LAB_FAILED)
        qn_str_addf(&s, "%s failed: %s; go on with: ", r->name, r->error);
    else
        qn_str_addf(&s, "saved %s at step %lld; go on with: ", r->name,
                    (long long)r->step);
    qn_hint_resume(&s, m->args->option[QN_OPT_STORE],
                   m->args->option[QN_OPT_DATA], r->run);
    qn_complain(s.text);
    qn_str_free(&s);
}

static int exit_status(const struct script_mode *m, enum qn_script_result r)
{
    if (r == QN_SCRIPT_QUIT)
        return qn_script_exit_code(m->script);
    return r == QN_SCRIPT_CHECKED ? QN_EXIT_OK : QN_EXIT_FAILURE;
}

static int run_without_screen(const struct qn_context *c,
                              const struct qn_args *args,
                              const struct qn_script_options *options)
{
    struct script_mode m = {.args = args};
    struct qn_script_host host = {
        .user = &m, .print = on_print, .pump = on_pump, .has_screen = false};
    struct qn_err err;
    int status;
    qn_interrupt_catch();
    enum qn_status st = qn_lab_new(&c->env, &m.lab, &err);
    if (st == QN_OK)
        st = qn_script_new(m.lab, &host, options, &m.script, &err);
    if (st == QN_OK) {
        enum qn_script_result r = qn_script_file(
            m.script, args->words[0], (const char *const *)(args->words + 1),
            args->n_words - 1);
        status = r == QN_SCRIPT_OK ? wait_for_runs(&m) : exit_status(&m, r);
        status = qn_out_close(&m.out, status);
    } else {
        status = qn_give_up(st, &err);
    }
    const struct qn_end_runs how = {
        .user = &m, .pump = pump_on, .say = say_saved};
    if (m.lab != NULL && !qn_end_runs(m.lab, &how) && status == QN_EXIT_OK)
        status = QN_EXIT_FAILURE;
    qn_script_free(m.script);
    qn_lab_free(m.lab, true);
    return status;
}

int qn_run_script(const struct qn_args *args)
{
    struct qn_context c;
    qn_context_init(&c, args);
    struct qn_script_options options = {.set = (const char *const *)args->sets,
                                        .n_set = args->n_sets,
                                        .check =
                                            args->option[QN_OPT_CHECK] != NULL};
    int status;
    if (args->option[QN_OPT_INTERACTIVE] != NULL) {
        struct qn_desk_options desk = {
            .env = c.env,
            .store = args->option[QN_OPT_STORE],
            .data = args->option[QN_OPT_DATA],
            .script = args->words[0],
            .script_args = (const char *const *)(args->words + 1),
            .n_script_args = args->n_words - 1,
            .script_options = options};
        status = qn_desk_run(&desk);
    } else {
        status = run_without_screen(&c, args, &options);
    }
    qn_context_fini(&c);
    return status;
}
