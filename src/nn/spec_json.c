/* spec_json.c - a spec to and from the JSON of spec.json, key by key.
 *
 * Objects nest by the dots of the keys. Reading goes through the text of each
 * value, so that a file is checked exactly as a command line is. */
#include "nn/settings.h"

#include "base/mem.h"
#include "base/str.h"
#include "nn/schema.h"
#include "nn/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define KEY_LEN 128

/* --- writing ------------------------------------------------------------ */

static void write_number(struct qn_json *out, const char *text, bool whole)
{
    int64_t i = 0;
    double v = 0;
    if (whole && qn_parse_int(text, &i)) {
        qn_json_int(out, i);
    } else if (qn_parse_double(text, &v)) {
        qn_json_double(out, v);
    } else {
        qn_json_string(out, text);
    }
}

static void write_list(struct qn_json *out, const char *text, bool whole)
{
    qn_json_array(out);
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, ",");
        char *entry = qn_xstrndup(at, len);
        if (whole) {
            write_number(out, entry, true);
        } else {
            qn_json_string(out, entry);
        }
        free(entry);
        at += len + (at[len] == ',' ? 1 : 0);
    }
    qn_json_end_array(out);
}

static void write_value(const struct qn_schema_key *key,
                        const struct qn_spec *spec, struct qn_json *out)
{
    struct qn_str text = {0};
    if (qn_value_is_unset(key, spec)) {
        qn_json_null(out);
        return;
    }
    qn_value_text(key, spec, &text);
    switch (key->info.type) {
    case QN_KEY_INT:
        write_number(out, text.text, true);
        break;
    case QN_KEY_DOUBLE:
    case QN_KEY_PATH_OR_FRACTION:
        write_number(out, text.text, false);
        break;
    case QN_KEY_BOOL:
        qn_json_bool(out, qn_str_eq(text.text, "true"));
        break;
    case QN_KEY_INT_LIST:
    case QN_KEY_SET:
        write_list(out, text.text, key->info.type == QN_KEY_INT_LIST);
        break;
    case QN_KEY_TEXT:
    case QN_KEY_PATH:
    case QN_KEY_ENUM:
    case QN_KEY_PERIOD:
    case QN_KEY_DURATION:
    case QN_KEY_FOLD:
        qn_json_string(out, text.text);
        break;
    }
    qn_str_free(&text);
}

/* How many groups deep a key lies: its dots. */
static int depth_of(const char *key)
{
    int n = 0;
    for (; *key != '\0'; key++) {
        n += *key == '.';
    }
    return n;
}

/* How many groups two keys share. */
static int shared_depth(const char *a, const char *b)
{
    int n = 0;
    for (; *a != '\0' && *a == *b; a++, b++) {
        n += *a == '.';
    }
    return n;
}

/* Open the groups of key below depth 'from' and write its last part's name. */
static void open_groups(const char *key, int from, struct qn_json *out)
{
    for (int depth = 0;; depth++) {
        size_t len = strcspn(key, ".");
        char part[KEY_LEN];
        memcpy(part, key, len);
        part[len] = '\0';
        if (key[len] == '\0') {
            qn_json_key(out, part);
            return;
        }
        if (depth >= from) {
            qn_json_key(out, part);
            qn_json_object(out);
        }
        key += len + 1;
    }
}

void qn_spec_json(const struct qn_spec *spec, struct qn_json *out)
{
    const char *before = "";
    int open = 0;
    qn_json_object(out);
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_schema_key *key = qn_schema_at(i);
        int shared = shared_depth(before, key->info.key);
        for (; open > shared; open--) {
            qn_json_end_object(out);
        }
        open_groups(key->info.key, shared, out);
        open = depth_of(key->info.key);
        write_value(key, spec, out);
        before = key->info.key;
    }
    for (; open > 0; open--) {
        qn_json_end_object(out);
    }
    qn_json_end_object(out);
}

/* --- reading ------------------------------------------------------------ */

/* The text of a value that is no container; false for an object. */
static bool leaf_text(const json_t *v, struct qn_str *out)
{
    char number[64];
    switch (json_typeof(v)) {
    case JSON_STRING:
        qn_str_add(out, json_string_value(v));
        return true;
    case JSON_INTEGER:
        qn_str_addf(out, "%lld", (long long)json_integer_value(v));
        return true;
    case JSON_REAL:
        qn_str_add(out,
                   qn_format_double(number, sizeof number, json_real_value(v)));
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        qn_str_add(out, json_is_true(v) ? "true" : "false");
        return true;
    case JSON_NULL:
        qn_str_add(out, "none");
        return true;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return false;
    }
    return false;
}

static bool array_text(const json_t *v, struct qn_str *out)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        qn_str_add(out, i == 0 ? "" : ",");
        if (!leaf_text(json_array_get(v, i), out)) {
            return false;
        }
    }
    return true;
}

static void read_leaf(struct qn_settings *s, const char *key, const json_t *v)
{
    struct qn_str text = {0};
    qn_str_add(&text, ""); /* an empty list is an empty text, not NULL */
    bool ok = json_is_array(v) ? array_text(v, &text) : leaf_text(v, &text);
    if (ok) {
        qn_settings_set(s, key, text.text, QN_FROM_PRESET);
    } else {
        qn_settings_complain(s, "%s holds a list of lists or objects", key);
    }
    qn_str_free(&text);
}

/* A key deeper than any of ours is unknown, whatever it holds. */
static void read_group(struct qn_settings *s, const char *group, json_t *object)
{
    const char *name;
    json_t *v;
    json_object_foreach(object, name, v)
    {
        struct qn_str key = {0};
        qn_str_addf(&key, "%s%s%s", group, *group == '\0' ? "" : ".", name);
        if (json_is_object(v) && key.len < KEY_LEN) {
            read_group(s, key.text, v);
        } else if (json_is_object(v)) {
            qn_settings_set(s, key.text, "", QN_FROM_PRESET);
        } else {
            read_leaf(s, key.text, v);
        }
        qn_str_free(&key);
    }
}

enum qn_status qn_spec_parse(const char *json, size_t len, struct qn_spec *out,
                             struct qn_err *err)
{
    json_error_t why;
    json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &why);
    if (root == NULL) {
        return qn_fail(err, QN_EFORMAT, "not valid JSON: line %d: %s", why.line,
                       why.text);
    }
    enum qn_status status;
    if (!json_is_object(root)) {
        status = qn_fail(err, QN_EFORMAT, "the settings are no JSON object");
    } else {
        struct qn_settings *s = qn_settings_new();
        read_group(s, "", root);
        status = qn_settings_finish(s, out, err);
        qn_settings_free(s);
    }
    json_decref(root);
    return status;
}
