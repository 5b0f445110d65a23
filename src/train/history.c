/* history.c - what a run's own records say when it is taken up again. */
#include "train/history.h"

#include "base/str.h"
#include "store/line.h"
#include "store/run_dir.h"
#include "train/metrics_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum qn_status qn_spec_made(const char *run_path, struct qn_spec *out,
                            struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run_path, "spec.json", &text, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_spec_parse(text.data, text.len, out, err);
    qn_bytes_free(&text);
    if (status != QN_OK) {
        char *path = qn_path_join(run_path, "spec.json");
        (void)qn_fail_in(err, status, path);
        free(path);
    }
    return status;
}

enum qn_status qn_history_spec(const char *run_path, int64_t step,
                               struct qn_spec *out, struct qn_pending **later,
                               struct qn_err *err)
{
    struct qn_pending *changes = NULL;
    struct qn_spec spec;
    enum qn_status status = qn_spec_made(run_path, &spec, err);
    if (status == QN_OK) {
        status = qn_history_changes(run_path, &changes, err);
    }
    if (status == QN_OK) {
        status = qn_pending_apply(changes, step, &spec, err);
        status = status == QN_OK ? QN_OK : qn_fail_in(err, status, run_path);
    }
    if (status == QN_OK && later != NULL) {
        *later = changes;
        changes = NULL;
    }
    if (status == QN_OK) {
        *out = spec;
    }
    qn_pending_free(changes);
    return status;
}

struct reading {
    int64_t step; /* that lines must not be after */
    struct qn_history *history;
};

/* A step tells the time up to its end; the evaluation after the last one took
 * some more. */
static enum qn_status read_clock(const char *run_path, int64_t step,
                                 double *seconds, struct qn_err *err)
{
    struct qn_metrics m;
    enum qn_status status = qn_metrics_read(run_path, &m, err);
    if (status != QN_OK) {
        return status;
    }
    *seconds = qn_metrics_seconds(&m, step);
    for (size_t i = 0; i < m.n_evals; i++) {
        if (m.eval[i].step == step && isfinite(m.eval[i].e.seconds)) {
            *seconds += m.eval[i].e.seconds;
        }
    }
    qn_metrics_free(&m);
    return QN_OK;
}

static bool read_event(void *user, const json_t *line)
{
    static const char *const ends[] = {"done", "stop", "failed"};
    struct reading *r = user;
    struct qn_history *h = r->history;
    if (json_object_get(line, "segment") != NULL) {
        h->segments++;
        h->end[0] = '\0';
        return true;
    }
    if (qn_line_int(line, "step") > r->step) {
        return true; /* the run goes on from before it */
    }
    const char *event = qn_line_text(line, "event");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (qn_str_eq(event, ends[i])) {
            (void)snprintf(h->end, sizeof h->end, "%s", event);
        }
    }
    double seconds = qn_line_number(line, "seconds");
    if (isfinite(seconds)) {
        h->seconds = fmax(h->seconds, seconds);
    }
    return true;
}

enum qn_status qn_history_read(const char *run_path, int64_t step,
                               struct qn_history *out, struct qn_err *err)
{
    struct qn_history h = {.segments = 1};
    struct reading r = {step, &h};
    enum qn_status status = read_clock(run_path, step, &h.seconds, err);
    if (status == QN_OK) {
        status = qn_run_dir_lines(run_path, QN_EVENTS, read_event, &r, err);
    }
    if (status == QN_OK) {
        *out = h;
    }
    return status;
}
