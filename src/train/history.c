/* history.c - what a run's own records say when it is taken up again. */
#include "train/history.h"

#include "store/run_dir.h"

#include <stdio.h>
#include <string.h>

struct replay {
    int64_t step;
    struct qn_spec *spec;
    struct qn_log *log;
    enum qn_status status;
    struct qn_err *err;
};

static bool replay_set(void *user, const json_t *line)
{
    struct replay *r = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    const char *key = json_string_value(json_object_get(line, "key"));
    const char *value = json_string_value(json_object_get(line, "value"));
    if (event == NULL || strcmp(event, "set") != 0 || key == NULL ||
        value == NULL) {
        return true;
    }
    int64_t step = json_integer_value(json_object_get(line, "step"));
    if (step > r->step) {
        qn_log_write(r->log, QN_LOG_WARN,
                     "%s = %s, set after step %lld, is no longer in effect: "
                     "the run goes on from step %lld",
                     key, value, (long long)step, (long long)r->step);
        return true;
    }
    r->status = qn_settings_change(r->spec, key, value, r->err);
    return r->status == QN_OK;
}

enum qn_status qn_history_spec(const char *run_path, int64_t step,
                               struct qn_spec *out, struct qn_log *log,
                               struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run_path, "spec.json", &text, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_spec spec;
    status = qn_spec_parse(text.data, text.len, &spec, err);
    qn_bytes_free(&text);
    if (status != QN_OK) {
        return qn_fail_in(err, status, run_path);
    }
    struct replay r = {.step = step, .spec = &spec, .log = log, .err = err};
    status = qn_run_dir_lines(run_path, QN_EVENTS, replay_set, &r, err);
    if (status == QN_OK && r.status) {
        status = qn_fail_in(err, r.status, run_path);
    }
    if (status == QN_OK) {
        *out = spec;
    }
    return status;
}

static bool read_event(void *user, const json_t *line)
{
    static const char *const ends[] = {"done", "stop", "failed"};
    struct qn_history *h = user;
    if (json_object_get(line, "segment") != NULL) {
        h->segments++;
        h->end[0] = '\0';
        return true;
    }
    const char *event = json_string_value(json_object_get(line, "event"));
    for (size_t i = 0; event != NULL && i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(event, ends[i]) == 0) {
            (void)snprintf(h->end, sizeof h->end, "%s", event);
        }
    }
    return true;
}

struct clock_reading {
    int64_t step;
    double seconds;
};

static bool read_seconds(void *user, const json_t *line)
{
    struct clock_reading *c = user;
    const json_t *step = json_object_get(line, "step");
    const char *event = json_string_value(json_object_get(line, "event"));
    if (event != NULL && strcmp(event, "step") == 0 &&
        json_integer_value(step) <= c->step) {
        c->seconds = json_number_value(json_object_get(line, "seconds"));
    }
    return true;
}

enum qn_status qn_history_read(const char *run_path, int64_t step,
                               struct qn_history *out, struct qn_err *err)
{
    struct qn_history h = {.segments = 1};
    enum qn_status status =
        qn_run_dir_lines(run_path, QN_EVENTS, read_event, &h, err);
    if (status != QN_OK) {
        return status;
    }
    struct clock_reading clock = {.step = step};
    status = qn_run_dir_lines(run_path, QN_METRICS, read_seconds, &clock, err);
    if (status != QN_OK) {
        return status;
    }
    h.seconds = clock.seconds;
    *out = h;
    return QN_OK;
}
