/* fixture.c - a store in a temporary folder, a tiny text, and runs over it. */
#include "fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "train/trainer_self.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above before it. */
#include <cmocka.h>

static void take_line(void *user, enum qn_log_level level, const char *line)
{
    struct fixture *f = user;
    (void)level;
    qn_str_add(&f->lines, line);
    qn_str_add(&f->lines, "\n");
}

static void take_step(void *user, const struct qn_step_record *r)
{
    struct told *told = user;
    if (told->n_steps < FIXTURE_STEPS) {
        told->step[told->n_steps++] = *r;
    }
}

static void take_stats(void *user, const struct qn_stats_record *r)
{
    struct told *told = user;
    told->stats = *r;
    told->n_stats++;
}

static void take_note(void *user, const struct qn_note *n)
{
    struct told *told = user;
    if (told->n_notes < FIXTURE_NOTES) {
        told->note[told->n_notes++] = *n;
    }
}

/* A text that repeats itself and can thus be learnt. */
static char *repetitive_text(void)
{
    struct qn_str text = {0};
    for (int i = 0; i < 60; i++) {
        qn_str_add(&text, "the cat sat on the mat; ");
    }
    return qn_str_take(&text);
}

int fixture_setup(void **state)
{
    struct fixture *f = qn_xcalloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    f->folder = qn_xasprintf("%s/quern-train-XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(f->folder) == NULL) {
        return -1;
    }
    char *text = repetitive_text();
    f->text = fixture_write(f, "text.txt", text);
    free(text);
    f->store = qn_path_join(f->folder, "store");
    f->log = qn_log_new(take_line, f);
    f->env = (struct qn_train_env){
        .store = f->store, .backend = "ref", .log = f->log};
    f->sink = (struct qn_sink){&f->told, take_step, take_stats, take_note};
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    (void)qn_remove_tree(f->folder, NULL);
    qn_log_free(f->log);
    qn_str_free(&f->lines);
    free(f->folder);
    free(f->text);
    free(f->store);
    free(f);
    return 0;
}

char *fixture_write(struct fixture *f, const char *name, const char *text)
{
    char *path = qn_path_join(f->folder, name);
    struct qn_err err;
    if (qn_file_write(path, text, strlen(text), &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return path;
}

struct qn_spec fixture_settled(struct qn_settings *s, const char *const *base,
                               const char *const *assignments)
{
    for (const char *const *a = base; *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_PRESET);
    }
    for (const char *const *a = assignments; a && *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_USER);
    }
    struct qn_spec spec;
    struct qn_err err;
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_settings_free(s);
    return spec;
}

struct qn_trainer *fixture_create_of(struct fixture *f,
                                     const struct qn_spec *spec)
{
    struct qn_trainer *t = NULL;
    struct qn_err err;
    if (qn_trainer_create(&f->env, spec, &f->sink, &t, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}

struct qn_spec fixture_spec(struct fixture *f, const char *const *assignments)
{
    /* 1440 symbols: 72 are cut for each of valid and test; 4 streams of 323
     * pairs are 40 segments of 8. */
    static const char *const base[] = {
        "batch=4",           "seq=8",
        "threads=2",         "model.layers=2",
        "model.hidden=12",   "model.embed=6",
        "model.dropout=0.1", "optim.lr=0.01",
        "optim.clip_norm=1", "eval.every=none",
        "stats.every=none",  "checkpoint.every=none",
        "steps=20",          NULL,
    };
    struct qn_settings *s = qn_settings_new();
    qn_settings_set(s, "data.train", f->text, QN_FROM_PRESET);
    return fixture_settled(s, base, assignments);
}

struct qn_trainer *fixture_create(struct fixture *f,
                                  const char *const *assignments)
{
    struct qn_spec spec = fixture_spec(f, assignments);
    return fixture_create_of(f, &spec);
}

struct qn_trainer *fixture_resume(struct fixture *f, const char *run,
                                  const char *const *changes, int n)
{
    struct qn_trainer *t = NULL;
    struct qn_err err;
    if (qn_trainer_resume(&f->env, run, changes, n, &f->sink, &t, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}

void fixture_run(struct qn_trainer *t, int64_t step)
{
    struct qn_err err;
    while (qn_trainer_state(t) == QN_RUN_ACTIVE &&
           qn_trainer_step_count(t) < step) {
        if (qn_trainer_step(t, &err) != QN_OK) {
            fail_msg("%s", err.text);
        }
    }
}

void fixture_settle(struct qn_trainer *t)
{
    struct qn_err err;
    if (qn_trainer_await_saver(t, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
}

char *fixture_finish(struct qn_trainer *t)
{
    fixture_run(t, INT64_MAX);
    assert_int_equal(qn_trainer_state(t), QN_RUN_DONE);
    char *dir = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    return dir;
}

int fixture_notes(const struct fixture *f, enum qn_note_kind kind)
{
    int n = 0;
    for (int i = 0; i < f->told.n_notes; i++) {
        n += f->told.note[i].kind == kind;
    }
    return n;
}

bool fixture_noted(const struct fixture *f, enum qn_note_kind kind,
                   int64_t step)
{
    bool any = false;
    for (int i = 0; i < f->told.n_notes; i++) {
        any |= f->told.note[i].kind == kind && f->told.note[i].step == step;
    }
    return any;
}

const struct qn_note *fixture_note(const struct fixture *f,
                                   enum qn_note_kind kind)
{
    for (int i = f->told.n_notes; i-- > 0;) {
        if (f->told.note[i].kind == kind) {
            return &f->told.note[i];
        }
    }
    fail_msg("no note of kind %d", (int)kind);
    return NULL;
}

static struct qn_bytes read_file(const char *run, int64_t step,
                                 const char *file)
{
    struct qn_bytes bytes;
    struct qn_err err;
    char *path = qn_xasprintf("%s/checkpoints/%" PRId64 "/%s", run, step, file);
    if (qn_file_read(path, &bytes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(path);
    return bytes;
}

void assert_same_file(const char *run_a, const char *run_b, int64_t step,
                      const char *file)
{
    struct qn_bytes a = read_file(run_a, step, file);
    struct qn_bytes b = read_file(run_b, step, file);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    qn_bytes_free(&a);
    qn_bytes_free(&b);
}

void assert_same_training(const char *run_a, const char *run_b, int64_t step)
{
    double *a = qn_xcalloc(FIXTURE_STEPS, sizeof *a);
    double *b = qn_xcalloc(FIXTURE_STEPS, sizeof *b);
    int n = recorded_losses(run_a, a, FIXTURE_STEPS);
    assert_int_equal(n, step);
    assert_int_equal(recorded_losses(run_b, b, FIXTURE_STEPS), step);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    free(a);
    free(b);
    assert_same_file(run_a, run_b, step, "model.safetensors");
    assert_same_file(run_a, run_b, step, "state.safetensors");
}

void assert_same_arrays(const char *run, int64_t from, int64_t to)
{
    static const char *const files[] = {"model", "state"};
    for (int i = 0; i < 2; i++) {
        struct qn_st_file *a, *b;
        struct qn_err err;
        char *path = qn_xasprintf("%s/checkpoints/%" PRId64 "/%s.safetensors",
                                  run, from, files[i]);
        assert_int_equal(qn_st_open(path, &a, &err), QN_OK);
        free(path);
        path = qn_xasprintf("%s/checkpoints/%" PRId64 "/%s.safetensors", run,
                            to, files[i]);
        assert_int_equal(qn_st_open(path, &b, &err), QN_OK);
        free(path);
        for (size_t k = 0; k < qn_st_n_tensors(a); k++) {
            const struct qn_st_tensor *x = qn_st_at(a, k);
            const struct qn_st_tensor *y = qn_st_find(b, x->name);
            size_t n = qn_st_count(x);
            assert_non_null(y);
            assert_int_equal(qn_st_count(y), n);
            for (size_t e = 0; n > 1 && e < n; e++) {
                assert_true(qn_st_value(x, e) == qn_st_value(y, e));
            }
        }
        qn_st_close(a);
        qn_st_close(b);
    }
}

rlim_t fixture_limit_files(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN); /* a write then fails with EFBIG */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

struct losses {
    double *loss;
    int n, max;
};

static bool take_loss(void *user, const json_t *line)
{
    struct losses *l = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    if (event == NULL || strcmp(event, "step") != 0) {
        return true;
    }
    assert_int_equal(json_integer_value(json_object_get(line, "step")),
                     l->n + 1);
    if (l->n < l->max) {
        l->loss[l->n] = json_number_value(json_object_get(line, "loss"));
    }
    l->n++;
    return true;
}

int recorded_losses(const char *run, double *loss, int n)
{
    struct losses l = {loss, 0, n};
    struct qn_err err;
    if (qn_run_dir_lines(run, QN_METRICS, take_loss, &l, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return l.n;
}

struct tally {
    const char *event;
    int n;
};

static bool count_event(void *user, const json_t *line)
{
    struct tally *tally = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    tally->n += event != NULL && strcmp(event, tally->event) == 0;
    return true;
}

int recorded_events(const char *run, const char *event)
{
    struct tally tally = {event, 0};
    struct qn_err err;
    if (qn_run_dir_lines(run, QN_EVENTS, count_event, &tally, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return tally.n;
}

/* A line of a run's events that has this event. */
struct wanted {
    const char *event;
    json_t *found; /* a copy of the newest one */
};

static bool take_event(void *user, const json_t *line)
{
    struct wanted *w = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    if (event != NULL && strcmp(event, w->event) == 0) {
        json_decref(w->found);
        w->found = json_deep_copy(line);
    }
    return true;
}

json_t *recorded_event(const char *run, const char *event)
{
    struct wanted w = {event, NULL};
    struct qn_err err;
    assert_int_equal(qn_run_dir_lines(run, QN_EVENTS, take_event, &w, &err),
                     QN_OK);
    assert_non_null(w.found);
    return w.found;
}

double recorded_number(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}
