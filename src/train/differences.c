/* differences.c - what is on record of two runs and may be why they differ. */
#include "train/differences.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "nn/settings.h"
#include "store/line.h"
#include "store/run_dir.h"

#include <stdio.h>
#include <stdlib.h>

#define NOT_SET "not set"
#define NOT_RECORDED "not on record"

void qn_differences_add(struct qn_comparison *c, const char *what,
                        const char *then, const char *now)
{
    c->difference = qn_xrealloc(c->difference, c->n + 1, sizeof *c->difference);
    struct qn_difference *d = &c->difference[c->n++];
    qn_copy_text(d->what, sizeof d->what, what);
    d->then = qn_xstrdup(then);
    d->now = qn_xstrdup(now);
}

/* Decides what a step makes of the one before: not what a run is called, nor
 * when it ends. */
static bool decides(const char *key)
{
    static const char *const apart[] = {"name",   "tags",  "notes",
                                        "epochs", "steps", "stop.after"};
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        if (qn_str_eq(key, apart[i])) {
            return false;
        }
    }
    return true;
}

static enum qn_status read_spec(const char *run, struct qn_spec *out,
                                struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run, "spec.json", &text, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_spec_parse(text.data, text.len, out, err);
    qn_bytes_free(&text);
    if (status != QN_OK) {
        char *path = qn_path_join(run, "spec.json");
        (void)qn_fail_in(err, status, path);
        free(path);
    }
    return status;
}

static void compare_specs(const struct qn_spec *then, const struct qn_spec *now,
                          struct qn_comparison *c)
{
    struct qn_str a = {0}, b = {0};
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        qn_str_clear(&a);
        qn_str_clear(&b);
        qn_spec_text(then, key, &a);
        qn_spec_text(now, key, &b);
        if (decides(key) && !qn_str_eq(a.text, b.text)) {
            qn_differences_add(c, key, a.text, b.text);
        }
    }
    qn_str_free(&a);
    qn_str_free(&b);
}

static enum qn_status compare_settings(const char *then_path,
                                       const char *now_path,
                                       struct qn_comparison *c,
                                       struct qn_err *err)
{
    struct qn_spec then, now;
    enum qn_status status = read_spec(then_path, &then, err);
    if (status == QN_OK) {
        status = read_spec(now_path, &now, err);
    }
    if (status == QN_OK) {
        compare_specs(&then, &now, c);
    }
    return status;
}

/* Changes made by hand that decide something and took effect. */
struct sets {
    int64_t before; /* this step */
    struct set {
        int64_t step;
        char *key, *value;
    } * at;
    size_t n;
};

static void free_sets(struct sets *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->at[i].key);
        free(s->at[i].value);
    }
    free(s->at);
}

/* A change replaces those of its key from its own step on: they were made in a
 * future that did not come. */
static void drop_replaced(struct sets *s, int64_t step, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct set *at = &s->at[i];
        if (at->step >= step && qn_str_eq(at->key, key)) {
            free(at->key);
            free(at->value);
        } else {
            s->at[kept++] = *at;
        }
    }
    s->n = kept;
}

static bool take_set(void *user, const json_t *line)
{
    struct sets *s = user;
    const char *key = qn_line_text(line, "key");
    int64_t step = qn_line_int(line, "step");
    if (!qn_str_eq(qn_line_text(line, "event"), "set") || !decides(key)) {
        return true;
    }
    drop_replaced(s, step, key);
    if (step < s->before) {
        s->at = qn_xrealloc(s->at, s->n + 1, sizeof *s->at);
        s->at[s->n++] = (struct set){step, qn_xstrdup(key),
                                     qn_xstrdup(qn_line_text(line, "value"))};
    }
    return true;
}

static const char *find_set(const struct sets *s, const struct set *like)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].step == like->step && qn_str_eq(s->at[i].key, like->key)) {
            return s->at[i].value;
        }
    }
    return NULL;
}

static void add_set(struct qn_comparison *c, const struct set *set,
                    const char *then, const char *now)
{
    char *what =
        qn_xasprintf("%s after step %lld", set->key, (long long)set->step);
    qn_differences_add(c, what, then, now);
    free(what);
}

static enum qn_status compare_sets(const char *then_path, const char *now_path,
                                   int64_t before, struct qn_comparison *c,
                                   struct qn_err *err)
{
    struct sets then = {.before = before}, now = {.before = before};
    enum qn_status status =
        qn_run_dir_lines(then_path, QN_EVENTS, take_set, &then, err);
    if (status == QN_OK) {
        status = qn_run_dir_lines(now_path, QN_EVENTS, take_set, &now, err);
    }
    for (size_t i = 0; status == QN_OK && i < then.n; i++) {
        const char *value = find_set(&now, &then.at[i]);
        if (value == NULL || !qn_str_eq(value, then.at[i].value)) {
            add_set(c, &then.at[i], then.at[i].value, value ? value : NOT_SET);
        }
    }
    for (size_t i = 0; status == QN_OK && i < now.n; i++) {
        if (find_set(&then, &now.at[i]) == NULL) {
            add_set(c, &now.at[i], NOT_SET, now.at[i].value);
        }
    }
    free_sets(&then);
    free_sets(&now);
    return status;
}

/* code.json; NULL when the run, an older one or one by hand, has none. */
static enum qn_status read_code(const char *run, json_t **out,
                                struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run, "code.json", &text, err);
    if (status != QN_OK) {
        *out = NULL;
        return status == QN_ENOTFOUND ? QN_OK : status;
    }
    json_error_t why;
    *out = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &why);
    qn_bytes_free(&text);
    return *out != NULL ? QN_OK
                        : qn_fail(err, QN_EFORMAT, "%s/code.json: line %d: %s",
                                  run, why.line, why.text);
}

/* A text, number or truth as text; the caller frees it. */
static char *value_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        return qn_xstrdup(json_string_value(value));
    }
    if (json_is_boolean(value)) {
        return qn_xstrdup(json_is_true(value) ? "true" : "false");
    }
    if (json_is_integer(value)) {
        return qn_xasprintf("%lld", (long long)json_integer_value(value));
    }
    return qn_xstrdup(NOT_RECORDED);
}

static void compare_value(const json_t *then, const json_t *now,
                          const char *key, const char *what,
                          struct qn_comparison *c)
{
    char *a = value_text(then, key), *b = value_text(now, key);
    if (!qn_str_eq(a, b)) {
        qn_differences_add(c, what, a, b);
    }
    free(a);
    free(b);
}

/* 'threads' is a setting, too, and compared as one. */
static void compare_programs(const json_t *then, const json_t *now,
                             struct qn_comparison *c)
{
    static const char *const keys[] = {"quern", "commit", "dirty", "backend",
                                       "blas_kernel"};
    static const char *const data[] = {"train", "valid", "test", "vectors"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        compare_value(then, now, keys[i], keys[i], c);
    }
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
        char what[64];
        (void)snprintf(what, sizeof what, "SHA-256 of data.%s", data[i]);
        compare_value(json_object_get(then, "data"),
                      json_object_get(now, "data"), data[i], what, c);
    }
}

static enum qn_status compare_code(const char *then_path, const char *now_path,
                                   struct qn_comparison *c, struct qn_err *err)
{
    json_t *then = NULL, *now = NULL;
    enum qn_status status = read_code(then_path, &then, err);
    if (status == QN_OK) {
        status = read_code(now_path, &now, err);
    }
    if (status == QN_OK) {
        compare_programs(then, now, c);
    }
    json_decref(then);
    json_decref(now);
    return status;
}

enum qn_status qn_differences_read(const char *then_path, const char *now_path,
                                   int64_t before_step, struct qn_comparison *c,
                                   struct qn_err *err)
{
    enum qn_status status = compare_settings(then_path, now_path, c, err);
    if (status == QN_OK) {
        status = compare_sets(then_path, now_path, before_step, c, err);
    }
    return status == QN_OK ? compare_code(then_path, now_path, c, err) : status;
}
