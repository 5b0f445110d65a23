/* lines.c - jsonl: a run's lines as if it had never been interrupted. */
#include "base/json.h"
#include "export/files.h"
#include "store/run_dir.h"

#include <stdint.h>

struct copy {
    struct qn_new_file *file;
    struct qn_json line; /* the one being made; its memory is kept */
};

static void copy_value(struct qn_json *to, const json_t *value);

static void copy_object(struct qn_json *to, const json_t *value)
{
    const char *key;
    json_t *member;
    qn_json_object(to);
    /* jansson iterates over what it will not change. */
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        qn_json_key(to, key);
        copy_value(to, member);
    }
    qn_json_end_object(to);
}

static void copy_array(struct qn_json *to, const json_t *value)
{
    size_t i;
    const json_t *item;
    qn_json_array(to);
    json_array_foreach(value, i, item)
    {
        copy_value(to, item);
    }
    qn_json_end_array(to);
}

/* What quern wrote comes out byte for byte: members stay in order, and numbers
 * have the shortest text that is exact. */
static void copy_value(struct qn_json *to, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        copy_object(to, value);
        break;
    case JSON_ARRAY:
        copy_array(to, value);
        break;
    case JSON_STRING:
        qn_json_string(to, json_string_value(value));
        break;
    case JSON_INTEGER:
        qn_json_int(to, json_integer_value(value));
        break;
    case JSON_REAL:
        qn_json_double(to, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        qn_json_bool(to, json_is_true(value));
        break;
    case JSON_NULL:
        qn_json_null(to);
        break;
    }
}

static bool copy_line(void *user, const json_t *line)
{
    struct copy *c = user;
    if (json_object_get(line, "segment") != NULL) {
        return true; /* a resume's mark */
    }
    qn_json_clear(&c->line);
    copy_value(&c->line, line);
    qn_new_file_add(c->file, c->line.text.text, c->line.text.len);
    qn_new_file_add(c->file, "\n", 1);
    return true;
}

enum qn_status qn_export_jsonl(struct qn_export_files *x, struct qn_err *err)
{
    static const char *const names[QN_N_RUN_FILES] = {
        [QN_METRICS] = "metrics.jsonl",
        [QN_EVENTS] = "events.jsonl",
        [QN_STATS] = "stats.jsonl",
    };
    struct copy c = {.file = NULL};
    enum qn_status status = QN_OK;
    for (int f = 0; f < QN_N_RUN_FILES && status == QN_OK; f++) {
        status = qn_export_add_file(x, names[f], &c.file, err);
        if (status == QN_OK) {
            status = qn_run_dir_lines(x->run, (enum qn_run_file)f, copy_line,
                                      &c, err);
        }
    }
    qn_json_free(&c.line);
    return status;
}
