/* checkpoint_steps.c - list checkpoints, choose those that stay. */
#include "store/checkpoint_steps.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoints.h"
#include "store/files.h"
#include "store/line.h"
#include "store/parent.h"

#include <math.h>
#include <stdlib.h>

bool qn_step_parse(const char *text, int64_t *step)
{
    bool first_is_digit = text[0] >= '0' && text[0] <= '9';
    bool leads_with_zero = text[0] == '0' && text[1] != '\0';
    return first_is_digit && !leads_with_zero && qn_parse_int(text, step);
}

void qn_steps_free(struct qn_steps *steps)
{
    free(steps->at);
    *steps = (struct qn_steps){0};
}

static int by_step(const void *a, const void *b)
{
    const struct qn_step *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

/* Room for one more is there. */
static void add_committed(const char *run, const char *name,
                          struct qn_steps *steps)
{
    int64_t step;
    if (!qn_step_parse(name, &step)) {
        return;
    }
    char *folder = qn_run_checkpoint_folder(run, step);
    if (folder != NULL) {
        double metric = qn_run_checkpoint_figures(run, step).metric;
        steps->at[steps->n++] =
            (struct qn_step){.step = step, .metric = metric};
    }
    free(folder);
}

enum qn_status qn_steps_list(const char *run, struct qn_steps *out,
                             struct qn_err *err)
{
    struct qn_steps steps = {0};
    char *parent = qn_path_join(run, QN_RUN_CHECKPOINTS);
    char **names = NULL;
    size_t n = 0;
    enum qn_status status = QN_OK;
    if (qn_path_exists(parent)) {
        status = qn_dir_list(parent, &names, &n, err);
    }
    steps.at = qn_xcalloc(n, sizeof *steps.at);
    for (size_t i = 0; i < n; i++) {
        add_committed(run, names[i], &steps);
        free(names[i]);
    }
    free(names);
    free(parent);
    if (status != QN_OK) {
        qn_steps_free(&steps);
        return status;
    }
    qsort(steps.at, steps.n, sizeof *steps.at, by_step);
    *out = steps;
    return QN_OK;
}

/* A line of events.jsonl; user is the struct qn_steps. */
static bool accuse(void *user, const json_t *line)
{
    struct qn_steps *steps = user;
    const char *event = qn_line_text(line, "event");
    if (!qn_str_eq(event, "nan") && !qn_str_eq(event, "spike")) {
        return true;
    }
    int64_t at = qn_line_int(line, "step");
    for (size_t i = 0; i < steps->n; i++) {
        struct qn_step *s = &steps->at[i];
        s->spoilt |=
            s->step == at || (s->step < INT64_MAX && s->step + 1 == at);
    }
    return true;
}

enum qn_status qn_steps_accuse(const char *run, struct qn_steps *steps,
                               struct qn_err *err)
{
    return qn_run_dir_lines(run, QN_EVENTS, accuse, steps, err);
}

/* The best of those not yet marked in this round: least metric, of equal ones
 * the earliest, which is the one that "best" names; NULL when none has a
 * metric. */
static struct qn_step *best_unmarked(struct qn_steps *steps, int64_t newest,
                                     const bool *taken)
{
    struct qn_step *best = NULL;
    for (size_t i = 0; i < steps->n; i++) {
        struct qn_step *s = &steps->at[i];
        bool counts = !taken[i] && s->step <= newest && !isnan(s->metric);
        if (counts && (best == NULL || s->metric < best->metric)) {
            best = s;
        }
    }
    return best;
}

static void mark_best(struct qn_steps *steps, int64_t newest, int n)
{
    bool *taken = qn_xcalloc(steps->n, sizeof *taken);
    for (; n > 0; n--) {
        struct qn_step *best = best_unmarked(steps, newest, taken);
        if (best == NULL) {
            break;
        }
        taken[best - steps->at] = true;
        best->keep = true;
    }
    free(taken);
}

static void mark_newest(struct qn_steps *steps, int64_t newest, int n)
{
    for (size_t i = steps->n; i > 0 && n > 0; i--) {
        if (steps->at[i - 1].step <= newest) {
            steps->at[i - 1].keep = true;
            n--;
        }
    }
}

/* Where the events cannot be read, nothing is known against the newest. */
static void mark_good(const char *run, struct qn_steps *steps, int64_t newest)
{
    (void)qn_steps_accuse(run, steps, NULL);
    for (size_t i = steps->n; i-- > 0;) {
        struct qn_step *s = &steps->at[i];
        if (s->step <= newest && !s->spoilt) {
            s->keep = true;
            return;
        }
    }
}

/* Whether it is where a fork or a rerun began. */
static bool is_origin(const struct qn_steps *steps, size_t i,
                      enum qn_status parent_status,
                      const struct qn_parent *parent)
{
    if (parent_status == QN_ENOTFOUND) {
        return false;
    }
    /* Where parent.json cannot be read: nothing is older than the origin. */
    return parent_status == QN_OK ? steps->at[i].step == parent->step : i == 0;
}

enum qn_status qn_steps_mark(const char *run, struct qn_steps *steps,
                             int64_t step, struct qn_keep keep,
                             struct qn_err *err)
{
    int64_t best, last;
    enum qn_status status = qn_run_checkpoint_named(run, "best", &best, err);
    if (status == QN_OK) {
        status = qn_run_checkpoint_named(run, "last", &last, err);
    }
    if (status != QN_OK) {
        return status;
    }
    mark_newest(steps, step, keep.last);
    mark_best(steps, step, keep.best);
    mark_good(run, steps, step);
    struct qn_parent parent;
    enum qn_status parent_status = qn_parent_read(run, &parent, NULL);
    for (size_t i = 0; i < steps->n; i++) {
        struct qn_step *s = &steps->at[i];
        s->keep = s->keep || s->step == best || s->step == last ||
                  is_origin(steps, i, parent_status, &parent);
    }
    return QN_OK;
}
