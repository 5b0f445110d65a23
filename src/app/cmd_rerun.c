/* cmd_rerun.c - quern rerun: do again what a run did, and say whether it came
 * out the same; quern compare: say so of any two runs. */
#include "app/commands.h"

#include "app/comparison.h"
#include "app/context.h"
#include "app/hint.h"
#include "app/interrupt.h"
#include "app/train_run.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static void say(const struct qn_args *args, struct qn_out *out,
                const struct qn_comparison *c, const struct qn_compared *runs)
{
    if (args->option[QN_OPT_JSON] != NULL) {
        qn_comparison_json(out, c, runs);
    } else {
        qn_comparison_text(out, c, runs);
    }
}

/* Settings that decide when something is looked at, kept or told, and the
 * numbers of no step. */
static bool is_idle(const char *key)
{
    static const char *const idle[] = {
        "name",   "tags",    "notes",      "steps",
        "epochs", "eval.",   "stats.",     "checkpoint.",
        "log.",   "sample.", "stop.after", "stop.restore"};
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        if (qn_starts_with(key, idle[i])) {
            return true;
        }
    }
    return false;
}

/* Another outcome was wanted: a setting that decides it was changed. */
static bool was_wanted(const struct qn_args *args,
                       const struct qn_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *key = c->difference[i].what;
        size_t len = strlen(key);
        for (int a = 0; a < args->n_assignments && !is_idle(key); a++) {
            if (strncmp(args->assignments[a], key, len) == 0 &&
                args->assignments[a][len] == '=') {
                return true;
            }
        }
    }
    return false;
}

/* It ended early: what to do once it has been resumed. */
static void say_how_to_compare(const struct qn_args *args,
                               const struct qn_compared *runs)
{
    struct qn_str s = {0};
    qn_str_add(&s, "once it has come to its end, compare with: ");
    qn_hint_compare(&s, args->option[QN_OPT_STORE], runs->then, runs->now);
    qn_complain(s.text);
    qn_str_free(&s);
}

/* The run at 'now' has ended, or been interrupted; end: where it was to. */
static int compare(const struct qn_args *args, const char *then,
                   const char *now, int64_t end)
{
    struct qn_comparison c;
    struct qn_out out = {.failed = false};
    struct qn_err err;
    enum qn_status status = qn_compare_runs(then, now, &c, &err);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    int64_t wanted = end < c.then_last ? end : c.then_last;
    struct qn_compared runs = {
        .then = qn_path_base(then),
        .now = qn_path_base(now),
        .complete = c.now_last >= wanted,
    };
    say(args, &out, &c, &runs);
    if (!runs.complete) {
        say_how_to_compare(args, &runs);
    }
    bool fine = qn_comparison_same(&c) || was_wanted(args, &c);
    qn_comparison_fini(&c);
    return qn_out_close(&out,
                        fine && runs.complete ? QN_EXIT_OK : QN_EXIT_FAILURE);
}

static int rerun(const struct qn_args *args, const char *then,
                 struct qn_report *report, struct qn_trainer *t)
{
    char *now = qn_xstrdup(qn_trainer_dir(t));
    int64_t end = qn_trainer_steps_total(t);
    (void)qn_train_run(args, report, t, false);
    /* How it ended has been said; what counts is how far it came, unless its
     * reader is gone. */
    int result =
        report->out.failed ? QN_EXIT_FAILURE : compare(args, then, now, end);
    free(now);
    return result;
}

int qn_cmd_rerun(const struct qn_args *args)
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
        status = qn_trainer_rerun(&c.env, path, args->assignments,
                                  args->n_assignments, &sink, &t, &err);
    }
    int result = status == QN_OK ? rerun(args, path, &report, t)
                                 : qn_give_up(status, &err);
    free(path);
    qn_report_fini(&report);
    qn_context_fini(&c);
    return result;
}

int qn_cmd_compare(const struct qn_args *args)
{
    struct qn_err err;
    char *store = qn_store_dir(args->option[QN_OPT_STORE]);
    char *then = NULL, *now = NULL;
    enum qn_status status =
        qn_store_find(store, args->words[0], &then, NULL, &err);
    if (status == QN_OK) {
        status = qn_store_find(store, args->words[1], &now, NULL, &err);
    }
    int result = status == QN_OK ? compare(args, then, now, 0)
                                 : qn_give_up(status, &err);
    free(then);
    free(now);
    free(store);
    return result;
}
