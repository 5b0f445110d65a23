/* cmd_rerun.c - quern rerun: do again what a run did, and say whether it came
 * out the same; quern compare: say so of any two runs. */
#include "app/commands.h"

#include "app/comparison.h"
#include "app/context.h"
#include "app/hint.h"
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
        size_t len = strcspn(key, " "); /* "optim.lr after step 7" as well */
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

static enum qn_status make_rerun(const struct qn_train_env *env,
                                 const struct qn_args *args, const char *path,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err)
{
    return qn_trainer_rerun(env, path, args->assignments, args->n_assignments,
                            sink, out, err);
}

static int rerun(const struct qn_args *args, struct qn_training *w)
{
    char *now = qn_xstrdup(qn_trainer_dir(w->trainer));
    int64_t end = qn_trainer_steps_total(w->trainer);
    (void)qn_train_run(args, &w->report, w->trainer, false);
    /* How it ended has been said; what counts is how far it came, unless its
     * reader is gone. */
    int result = w->report.out.failed ? QN_EXIT_FAILURE
                                      : compare(args, w->path, now, end);
    free(now);
    return result;
}

int qn_cmd_rerun(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_training w;
    enum qn_status status = qn_training_begin(&w, args, make_rerun, &err);
    int result = status == QN_OK ? rerun(args, &w) : qn_give_up(status, &err);
    qn_training_end(&w);
    return result;
}

int qn_cmd_compare(const struct qn_args *args)
{
    struct qn_err err;
    char *store = qn_store_dir(args->option[QN_OPT_STORE]);
    char *then = NULL, *now = NULL;
    enum qn_status status = qn_find_run(store, args->words[0], &then, &err);
    if (status == QN_OK) {
        status = qn_find_run(store, args->words[1], &now, &err);
    }
    int result = status == QN_OK ? compare(args, then, now, 0)
                                 : qn_give_up(status, &err);
    free(then);
    free(now);
    free(store);
    return result;
}
