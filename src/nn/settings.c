/* settings.c - put a spec together from keys and values; collect mistakes. */
#include "nn/settings.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/thread.h"
#include "nn/schema.h"
#include "nn/value.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qn_settings {
    struct qn_spec spec;
    enum qn_source *source; /* who set each key, by its index */
    struct qn_str problems; /* one a line */
};

/* --- collecting --------------------------------------------------------- */

static void add_problem(struct qn_str *problems, const char *text)
{
    if (problems->len > 0) {
        qn_str_add(problems, "\n");
    }
    qn_str_add(problems, text);
}

static void add_problemf(struct qn_str *problems, const char *fmt, ...)
    QN_PRINTF(2, 3);
static void add_problemv(struct qn_str *problems, const char *fmt, va_list ap)
    QN_PRINTF(2, 0);

static void add_problemv(struct qn_str *problems, const char *fmt, va_list ap)
{
    char text[sizeof(struct qn_err)];
    (void)vsnprintf(text, sizeof text, fmt, ap); /* cut when too long */
    add_problem(problems, text);
}

static void add_problemf(struct qn_str *problems, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_problemv(problems, fmt, ap);
    va_end(ap);
}

void qn_settings_complain(struct qn_settings *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_problemv(&s->problems, fmt, ap);
    va_end(ap);
}

static void set_default(const struct qn_schema_key *key, struct qn_spec *spec)
{
    struct qn_err err;
    if (!qn_value_parse(key, key->info.default_text, spec, &err)) {
        qn_die(err.text);
    }
}

struct qn_settings *qn_settings_new(void)
{
    struct qn_settings *s = qn_xcalloc(1, sizeof *s);
    s->source = qn_xcalloc((size_t)qn_n_keys(), sizeof *s->source);
    for (int i = 0; i < qn_n_keys(); i++) {
        set_default(qn_schema_at(i), &s->spec);
    }
    return s;
}

void qn_settings_free(struct qn_settings *s)
{
    if (s == NULL) {
        return;
    }
    qn_str_free(&s->problems);
    free(s->source);
    free(s);
}

/* "unknown setting 'model.hiden' (did you mean 'model.hidden'?)". */
static void unknown_key(const char *key, struct qn_err *err)
{
    char quoted[QN_VALUE_QUOTED];
    const char *near = qn_schema_nearest(key);
    (void)qn_fail(err, QN_EUSAGE, "unknown setting %s%s%s%s",
                  qn_value_quote(quoted, key),
                  near == NULL ? "" : " (did you mean '",
                  near == NULL ? "" : near, near == NULL ? "" : "'?)");
}

/* Set key i and unset what it excludes; -1 or that key's index. */
static bool set_value(int i, const char *value, struct qn_spec *spec,
                      int *unset, struct qn_err *err)
{
    const struct qn_schema_key *key = qn_schema_at(i);
    *unset = -1;
    if (!qn_value_parse(key, value, spec, err)) {
        return false;
    }
    if (key->excludes != NULL && !qn_value_is_unset(key, spec)) {
        *unset = qn_schema_index(key->excludes);
        return qn_value_parse(qn_schema_at(*unset), "none", spec, err);
    }
    return true;
}

void qn_settings_set(struct qn_settings *s, const char *key, const char *value,
                     enum qn_source source)
{
    struct qn_err err;
    int i = qn_schema_index(key);
    int unset;
    if (i < 0) {
        unknown_key(key, &err);
        add_problem(&s->problems, err.text);
        return;
    }
    if (!set_value(i, value, &s->spec, &unset, &err)) {
        add_problem(&s->problems, err.text);
        return;
    }
    s->source[i] = source;
    if (unset >= 0) {
        s->source[unset] = source;
    }
}

void qn_settings_assign(struct qn_settings *s, const char *assignment,
                        enum qn_source source)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment) {
        char quoted[QN_VALUE_QUOTED];
        qn_settings_complain(s, "%s is not of the form KEY=VALUE",
                             qn_value_quote(quoted, assignment));
        return;
    }
    char *key = qn_xstrndup(assignment, (size_t)(equals - assignment));
    qn_settings_set(s, key, equals + 1, source);
    free(key);
}

static enum qn_status no_preset(const char *name, struct qn_err *err)
{
    int n = qn_n_presets();
    const char **names = qn_xcalloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; i++) {
        names[i] = qn_preset_at(i)->name;
    }
    char quoted[QN_VALUE_QUOTED];
    int near = qn_schema_nearest_of(name, names, n);
    enum qn_status status =
        qn_fail(err, QN_ENOTFOUND, "no preset is called %s%s%s%s",
                qn_value_quote(quoted, name),
                near < 0 ? "" : " (did you mean '", near < 0 ? "" : names[near],
                near < 0 ? "; quern presets lists them" : "'?)");
    free(names);
    return status;
}

enum qn_status qn_settings_preset(struct qn_settings *s, const char *preset,
                                  struct qn_err *err)
{
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        if (!qn_str_eq(p->name, preset)) {
            continue;
        }
        for (const char *const *a = p->assignments; *a != NULL; a++) {
            qn_settings_assign(s, *a, QN_FROM_PRESET);
        }
        char *name = qn_xasprintf("%s-*", preset);
        qn_settings_set(s, "name", name, QN_FROM_PRESET);
        free(name);
        return QN_OK;
    }
    return no_preset(preset, err);
}

void qn_settings_take(struct qn_settings *s, const struct qn_spec *spec)
{
    struct qn_str value = {0};
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        qn_str_clear(&value);
        qn_spec_text(spec, key, &value);
        /* They exclude each other: unsetting one must not touch the other. */
        bool pair = qn_str_eq(key, "steps") || qn_str_eq(key, "epochs");
        if (!pair || !qn_str_eq(value.text, "none")) {
            qn_settings_set(s, key, value.text, QN_FROM_PRESET);
        }
    }
    qn_str_free(&value);
}

/* --- combinations ------------------------------------------------------- */

/* What a key is called inside the group that it shares with another. */
static const char *without_group(const char *key, const char *beside)
{
    const char *tail = key;
    for (size_t i = 0; key[i] != '\0' && key[i] == beside[i]; i++) {
        if (key[i] == '.') {
            tail = key + i + 1;
        }
    }
    return tail;
}

/* The key, or the one that it depends on, whose own decider has a meaning and
 * denies it. */
static const struct qn_schema_key *
denied_by_choice(const struct qn_schema_key *key, const struct qn_spec *spec)
{
    const struct qn_schema_key *decider =
        qn_schema_at(qn_schema_index(key->when));
    while (!qn_schema_applies(decider, spec)) {
        key = decider;
        decider = qn_schema_at(qn_schema_index(key->when));
    }
    return key;
}

/* "model.alpha applies to activation elu or delu, not drelu", "model.bias
 * applies when model.batch_norm is false". */
static void does_not_apply(const struct qn_schema_key *key,
                           const struct qn_spec *spec, struct qn_str *problems)
{
    const struct qn_schema_key *denied = denied_by_choice(key, spec);
    struct qn_str text = {0};
    qn_str_addf(&text, "%s applies ", key->info.key);
    if (qn_key_find(denied->when)->type == QN_KEY_BOOL) {
        qn_str_addf(&text, "when %s is %s", denied->when,
                    denied->when_choice[0]);
    } else {
        qn_str_addf(&text, "to %s ",
                    without_group(denied->when, key->info.key));
        for (int i = 0; i < 4 && denied->when_choice[i] != NULL; i++) {
            qn_str_addf(&text, "%s%s", i == 0 ? "" : " or ",
                        denied->when_choice[i]);
        }
        qn_str_add(&text, ", not ");
        qn_spec_text(spec, denied->when, &text);
    }
    add_problem(problems, text.text);
    qn_str_free(&text);
}

/* A key without meaning here is the person's mistake, or else forgotten. */
static void check_applies(struct qn_settings *s)
{
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_schema_key *key = qn_schema_at(i);
        if (qn_schema_applies(key, &s->spec)) {
            continue;
        }
        if (s->source[i] == QN_FROM_USER) {
            does_not_apply(key, &s->spec, &s->problems);
        } else {
            set_default(key, &s->spec);
        }
    }
}

/* One window per layer: the last one given holds for the layers that follow.
 * Entries past the layers are 0, so that equal specs are equal bytes. */
static void resolve_windows(struct qn_settings *s)
{
    struct qn_spec *spec = &s->spec;
    int layers = spec->model.layers;
    int *window = spec->model.window;
    bool user = s->source[qn_schema_index("model.window")] == QN_FROM_USER;
    if (spec->model.n_window > layers && user) {
        qn_settings_complain(s, "model.window has %d entries for %d layer%s",
                             spec->model.n_window, layers,
                             layers == 1 ? "" : "s");
        return;
    }
    if (spec->model.n_window > layers) {
        spec->model.n_window = layers;
    }
    int n = spec->model.n_window;
    for (int k = n; k < QN_MAX_LAYERS; k++) {
        window[k] = k < layers ? window[n - 1] : 0;
    }
}

static void check_product(const char *name, int batch, const char *length,
                          int steps, struct qn_str *problems)
{
    if ((int64_t)batch * steps > INT_MAX) {
        add_problemf(problems,
                     "%s %d times %s %d is more than %d symbols in one step",
                     name, batch, length, steps, INT_MAX);
    }
}

static bool is_from_user(const struct qn_settings *s, const char *key)
{
    return s->source[qn_schema_index(key)] == QN_FROM_USER;
}

/* Documents are validated by a file of their own or by a fold, never by the end
 * of train; a person's word wins over a preset's. What is void is cleared, so
 * that equal specs are equal bytes. */
static void resolve_validation(struct qn_settings *s)
{
    struct qn_spec *spec = &s->spec;
    bool has_path = spec->data.valid[0] != '\0';
    bool has_fold = spec->data.fold.n > 0;
    bool path_given = is_from_user(s, "data.valid");
    bool fold_given = has_fold && is_from_user(s, "data.fold");
    if (path_given && spec->data.valid_fraction > 0) {
        qn_settings_complain(s, "data.valid must be a path with task = "
                                "classify, where data.fold says which part of "
                                "data.train validates");
    }
    if (has_path && path_given && fold_given) {
        qn_settings_complain(s, "data.valid and data.fold are both set: one "
                                "of them says what validates");
    }
    spec->data.valid_fraction = 0;
    if (has_path && fold_given) {
        memset(spec->data.valid, 0, sizeof spec->data.valid);
    } else if (has_path) {
        spec->data.fold = (struct qn_fold){0};
    }
}

/* A choice that the task does not have is the person's mistake, or else goes
 * back to its default, as in check_applies. */
static void drop_choice(struct qn_settings *s, const char *key, const char *why)
{
    if (is_from_user(s, key)) {
        struct qn_str value = {0};
        qn_spec_text(&s->spec, key, &value);
        qn_settings_complain(s, "%s = %s has no meaning with %s", key,
                             value.text, why);
        qn_str_free(&value);
    } else {
        set_default(qn_schema_at(qn_schema_index(key)), &s->spec);
    }
}

static void resolve_task(struct qn_settings *s)
{
    const struct qn_spec *spec = &s->spec;
    bool lm = spec->task == QN_TASK_LM;
    if (lm && spec->checkpoint.metric == QN_VALID_ACCURACY) {
        drop_choice(s, "checkpoint.metric", "task = lm");
    }
    if (!lm && spec->model.bias == QN_BIAS_STEP) {
        drop_choice(s, "model.bias",
                    "task = classify: documents have no common length");
    }
    if (!lm) {
        resolve_validation(s);
    }
}

/* One value is its own mean: all that would be left of it is the shift. */
static void check_norm(const struct qn_spec *spec, struct qn_str *problems)
{
    if (spec->model.batch_norm && spec->task == QN_TASK_LM &&
        spec->batch == 1 && spec->seq == 1) {
        add_problem(problems,
                    "model.batch_norm has nothing to normalise with batch 1 "
                    "and seq 1: every channel is its own mean");
    }
}

static void check_train(const struct qn_spec *spec, struct qn_str *problems)
{
    bool lm = spec->task == QN_TASK_LM;
    if (spec->data.train[0] == '\0') {
        add_problem(problems,
                    lm ? "data.train is not set: give the path of a text, or "
                         "builtin:kjv"
                       : "data.train is not set: give the path of a folder of "
                         "pos and neg, or of a file of labelled lines");
    } else if (!lm && strncmp(spec->data.train, "builtin:", 8) == 0) {
        char quoted[QN_VALUE_QUOTED];
        add_problemf(problems,
                     "data.train is %s, a text without labels; task = classify "
                     "wants a folder of pos and neg, or a file of labelled "
                     "lines",
                     qn_value_quote(quoted, spec->data.train));
    }
}

/* Segments of a text have seq symbols, documents max_words at most. */
static void check_products(const struct qn_spec *spec, struct qn_str *problems)
{
    bool lm = spec->task == QN_TASK_LM;
    const char *length = lm ? "seq" : "data.max_words";
    int steps = lm ? spec->seq : spec->data.max_words;
    check_product("batch", spec->batch, length, steps, problems);
    check_product("eval.batch", spec->eval.batch, length, steps, problems);
}

static void check_combinations(const struct qn_spec *spec,
                               struct qn_str *problems)
{
    check_train(spec, problems);
    if (spec->epochs == 0 && spec->steps == 0) {
        add_problem(problems, "epochs and steps are both none: set one, so "
                              "that the run has an end");
    }
    if (spec->data.valid_fraction + spec->data.test_fraction >= 1) {
        add_problem(problems, "data.valid and data.test leave nothing of "
                              "data.train to train on");
    }
    if (spec->data.level == QN_LEVEL_WORD &&
        qn_str_eq(spec->data.eos, spec->data.unk)) {
        char quoted[QN_VALUE_QUOTED];
        add_problemf(problems, "data.eos and data.unk are both %s",
                     qn_value_quote(quoted, spec->data.eos));
    }
    check_norm(spec, problems);
    check_products(spec, problems);
}

enum qn_status qn_settings_finish(struct qn_settings *s, struct qn_spec *out,
                                  struct qn_err *err)
{
    check_applies(s);
    resolve_windows(s);
    resolve_task(s);
    check_combinations(&s->spec, &s->problems);
    if (s->problems.len > 0) {
        return qn_fail(err, QN_EUSAGE, "%s", s->problems.text);
    }
    if (s->spec.threads == 0) {
        int max = (int)qn_schema_at(qn_schema_index("threads"))->max;
        int cores = qn_n_cores();
        s->spec.threads = cores < max ? cores : max;
    }
    *out = s->spec;
    return QN_OK;
}

/* --- a spec that exists ------------------------------------------------- */

enum qn_status qn_settings_change(struct qn_spec *spec, const char *key,
                                  const char *value, struct qn_err *err)
{
    struct qn_spec changed = *spec;
    struct qn_err why;
    struct qn_str problems = {0};
    int i = qn_schema_index(key);
    int unset;
    if (i < 0) {
        unknown_key(key, &why);
        return qn_fail(err, QN_EUSAGE, "%s", why.text);
    }
    const struct qn_schema_key *line = qn_schema_at(i);
    if (!line->info.live) {
        return qn_fail(err, QN_EUSAGE, "%s is fixed once a run exists", key);
    }
    if (!set_value(i, value, &changed, &unset, &why)) {
        return qn_fail(err, QN_EUSAGE, "%s", why.text);
    }
    if (!qn_schema_applies(line, &changed)) {
        does_not_apply(line, &changed, &problems);
    }
    check_combinations(&changed, &problems);
    enum qn_status status = QN_OK;
    if (problems.len > 0) {
        status = qn_fail(err, QN_EUSAGE, "%s", problems.text);
    } else {
        *spec = changed;
    }
    qn_str_free(&problems);
    return status;
}

void qn_spec_text(const struct qn_spec *spec, const char *key,
                  struct qn_str *out)
{
    int i = qn_schema_index(key);
    QN_ASSERT(i >= 0);
    qn_value_text(qn_schema_at(i), spec, out);
}
