/* differences.c - what is on record of two runs and may be why they differ. */
#include "train/differences.h"

#include "base/mem.h"
#include "base/str.h"
#include "nn/settings.h"
#include "train/code.h"
#include "train/history.h"

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

/* As they were when the runs were made. */
static enum qn_status compare_settings(const char *then_path,
                                       const char *now_path,
                                       struct qn_comparison *c,
                                       struct qn_err *err)
{
    struct qn_spec then, now;
    enum qn_status status = qn_history_spec(then_path, -1, &then, NULL, err);
    if (status == QN_OK) {
        status = qn_history_spec(now_path, -1, &now, NULL, err);
    }
    if (status == QN_OK) {
        compare_specs(&then, &now, c);
    }
    return status;
}

/* The value that a run's setting was given at this step, the last one if there
 * were several; NULL: none. */
static const char *value_at(const struct qn_pending *p, int64_t step,
                            const char *key)
{
    const char *value = NULL;
    for (int i = 0; i < p->n; i++) {
        if (p->change[i].step == step && qn_str_eq(p->change[i].key, key)) {
            value = p->change[i].value;
        }
    }
    return value;
}

/* A change that decides something and took effect, and is the last of its key
 * at its step. */
static bool is_told(const struct qn_pending *p, const struct qn_change *c,
                    int64_t before)
{
    return c->step < before && decides(c->key) &&
           value_at(p, c->step, c->key) == c->value;
}

static void add_change(struct qn_comparison *c, const struct qn_change *change,
                       const char *then, const char *now)
{
    char *what = qn_xasprintf("%s after step %lld", change->key,
                              (long long)change->step);
    qn_differences_add(c, what, then != NULL ? then : NOT_SET,
                       now != NULL ? now : NOT_SET);
    free(what);
}

static void compare_pending(const struct qn_pending *then,
                            const struct qn_pending *now, int64_t before,
                            struct qn_comparison *out)
{
    for (int i = 0; i < then->n; i++) {
        const struct qn_change *c = &then->change[i];
        const char *value = value_at(now, c->step, c->key);
        if (is_told(then, c, before) &&
            (value == NULL || !qn_str_eq(value, c->value))) {
            add_change(out, c, c->value, value);
        }
    }
    for (int i = 0; i < now->n; i++) {
        const struct qn_change *c = &now->change[i];
        if (is_told(now, c, before) &&
            value_at(then, c->step, c->key) == NULL) {
            add_change(out, c, NULL, c->value);
        }
    }
}

/* Changes made by hand. */
static enum qn_status compare_changes(const char *then_path,
                                      const char *now_path, int64_t before,
                                      struct qn_comparison *c,
                                      struct qn_err *err)
{
    struct qn_pending *then = NULL, *now = NULL;
    enum qn_status status = qn_history_changes(then_path, &then, err);
    if (status == QN_OK) {
        status = qn_history_changes(now_path, &now, err);
    }
    if (status == QN_OK) {
        compare_pending(then, now, before, c);
    }
    qn_pending_free(then);
    qn_pending_free(now);
    return status;
}

/* code.json; NULL when the run, an older one or one by hand, has none. */
static enum qn_status read_code(const char *run, json_t **out,
                                struct qn_err *err)
{
    enum qn_status status = qn_code_read(run, out, err);
    return status == QN_ENOTFOUND ? QN_OK : status;
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
        status = compare_changes(then_path, now_path, before_step, c, err);
    }
    return status == QN_OK ? compare_code(then_path, now_path, c, err) : status;
}
