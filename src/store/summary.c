/* summary.c - what a run's folder says about it, in one record. */
#include "store/files.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoints.h"
#include "store/lock.h"
#include "store/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Events after which a run is in another state. */
static const struct {
    const char *event, *state;
    bool final;
} transitions[] = {
    {"start", "running", false}, {"resume", "running", false},
    {"pause", "paused", false},  {"done", "done", true},
    {"stop", "stopped", true},   {"failed", "failed", true},
};
#define N_TRANSITIONS (int)(sizeof transitions / sizeof *transitions)

/* Enough for some lines of metrics.jsonl, the newest of which is wanted. */
#define TAIL 8192

/* The whole of spec.json, the caller's to release. */
static enum qn_status read_spec(const char *path, json_t **out,
                                struct qn_err *err)
{
    struct qn_bytes bytes;
    enum qn_status status = qn_run_dir_read(path, QN_RUN_SPEC, &bytes, err);
    if (status != QN_OK) {
        return status;
    }
    json_error_t why;
    json_t *spec = json_loadb(bytes.data, bytes.len, 0, &why);
    qn_bytes_free(&bytes);
    if (!json_is_object(spec)) {
        json_decref(spec);
        return qn_fail(err, QN_EFORMAT, "%s/" QN_RUN_SPEC ": is no JSON object",
                       path);
    }
    *out = spec;
    return QN_OK;
}

/* The caller frees it. */
static char *name_in(const json_t *spec, const char *path)
{
    const char *given = json_string_value(json_object_get(spec, "name"));
    return given != NULL && given[0] != '\0'
               ? qn_xstrdup(given)
               : qn_run_id_name(qn_path_base(path));
}

enum qn_status qn_run_read_name(const char *path, char **name,
                                struct qn_err *err)
{
    json_t *spec;
    enum qn_status status = read_spec(path, &spec, err);
    if (status == QN_OK) {
        *name = name_in(spec, path);
        json_decref(spec);
    } else if (qn_is_run(path)) { /* whoever opens it says what is wrong */
        *name = qn_run_id_name(qn_path_base(path));
        return QN_OK;
    }
    return status;
}

/* A line of events.jsonl; user is an int, the last transition or -1. A resume's
 * line means that it runs again. */
static bool follow_event(void *user, const json_t *line)
{
    int *last = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    if (json_object_get(line, "segment") != NULL) {
        *last = 0;
    }
    for (int i = 0; event != NULL && i < N_TRANSITIONS; i++) {
        if (qn_str_eq(event, transitions[i].event)) {
            *last = i;
        }
    }
    return true;
}

static const char *state_name(int transition, bool locked)
{
    if (transition >= 0 && transitions[transition].final) {
        return transitions[transition].state;
    }
    if (!locked) {
        return "interrupted";
    }
    return transition < 0 ? "running" : transitions[transition].state;
}

static enum qn_status read_state(const char *path, struct qn_run_summary *out,
                                 struct qn_err *err)
{
    int transition = -1;
    char *lock = qn_path_join(path, QN_RUN_LOCK);
    bool locked = qn_lock_is_held(lock);
    free(lock);
    enum qn_status status =
        qn_run_dir_lines(path, QN_EVENTS, follow_event, &transition, err);
    qn_copy_text(out->state, sizeof out->state, state_name(transition, locked));
    return status;
}

/* The last bytes of a file that begin a line; len 0 when it has none. */
static size_t read_tail(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size ? end - (off_t)size : 0;
    ssize_t n = end > 0 ? pread(fd, buf, size, start) : 0;
    (void)close(fd);
    size_t len = n > 0 ? (size_t)n : 0;
    if (start == 0) {
        return len;
    }
    const char *newline = memchr(buf, '\n', len);
    size_t skip = newline != NULL ? (size_t)(newline - buf) + 1 : len;
    memmove(buf, buf + skip, len - skip);
    return len - skip;
}

/* A line of metrics.jsonl; user is an int64_t, the step that was reached. */
static bool follow_step(void *user, const json_t *line)
{
    int64_t *step = user;
    const json_t *value = json_object_get(line, "step");
    if (value == NULL) {
        value = json_object_get(line, "from");
    }
    if (json_is_integer(value)) {
        *step = json_integer_value(value);
    }
    return true;
}

static enum qn_status read_step(const char *path, struct qn_run_summary *out,
                                struct qn_err *err)
{
    char *name = qn_path_join(path, qn_run_file_name(QN_METRICS));
    char *buf = qn_xmalloc(TAIL);
    struct qn_bytes tail = {buf, read_tail(name, buf, TAIL)};
    enum qn_status status = qn_lines_parse(&tail, follow_step, &out->step, err);
    if (status != QN_OK) {
        status = qn_fail(err, status, "%s: has a damaged line", name);
    }
    free(buf);
    free(name);
    return status;
}

static enum qn_status read_best(const char *path, struct qn_run_summary *out,
                                struct qn_err *err)
{
    int64_t step;
    enum qn_status status = qn_run_checkpoint_named(path, "best", &step, err);
    if (status == QN_OK && step >= 0) {
        out->best_step = step;
        struct qn_figures figures = qn_run_checkpoint_figures(path, step);
        out->best_loss = figures.loss;
        out->best_accuracy = figures.accuracy;
    }
    return status;
}

/* A parent.json that cannot be read takes nothing from the run. */
static void read_parent(const char *path, struct qn_run_summary *out)
{
    struct qn_parent parent;
    if (qn_parent_read(path, &parent, NULL) == QN_OK) {
        qn_copy_text(out->parent, sizeof out->parent, parent.run);
    }
}

enum qn_status qn_run_summarise(const char *path, struct qn_run_summary *out,
                                struct qn_err *err)
{
    struct qn_run_summary s = {.best_loss = (double)NAN,
                               .best_accuracy = (double)NAN};
    json_t *spec;
    enum qn_status status = read_spec(path, &spec, err);
    if (status != QN_OK) {
        return status;
    }
    char *name = name_in(spec, path);
    const json_t *data = json_object_get(spec, "data");
    const char *level = json_string_value(json_object_get(data, "level"));
    qn_copy_text(s.id, sizeof s.id, qn_path_base(path));
    qn_copy_text(s.name, sizeof s.name, name);
    const char *task = json_string_value(json_object_get(spec, "task"));
    s.of_labels = task != NULL && qn_str_eq(task, "classify");
    s.of_words = !s.of_labels && level != NULL && qn_str_eq(level, "word");
    free(name);
    json_decref(spec);
    status = read_state(path, &s, err);
    if (status == QN_OK) {
        status = read_step(path, &s, err);
    }
    if (status == QN_OK) {
        status = read_best(path, &s, err);
    }
    if (status == QN_OK) {
        read_parent(path, &s);
        *out = s;
    }
    return status;
}
