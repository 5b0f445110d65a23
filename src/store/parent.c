/* parent.c - parent.json, written once and read with suspicion. */
#include "store/parent.h"

#include "base/str.h"
#include "store/files.h"

#include <string.h>

static const char *const relations[] = {
    [QN_FORK] = "fork",
    [QN_RERUN] = "rerun",
};
#define N_RELATIONS (int)(sizeof relations / sizeof *relations)

const char *qn_relation_name(enum qn_relation relation)
{
    return relations[relation];
}

void qn_parent_json(const struct qn_parent *parent, struct qn_json *out)
{
    qn_json_object(out);
    qn_json_kstring(out, "relation", qn_relation_name(parent->relation));
    qn_json_kstring(out, "run", parent->run);
    qn_json_kstring(out, "name", parent->name);
    qn_json_kint(out, "step", parent->step);
    qn_json_kstring(out, "sha256", parent->sha256);
    qn_json_end_object(out);
}

/* The reader's place: what is wrong is said of 'run'. */
struct reader {
    const char *run;
    const json_t *object;
    struct qn_err *err;
};

static enum qn_status fail_key(const struct reader *r, const char *key,
                               const char *must)
{
    return qn_fail(r->err, QN_EFORMAT,
                   "%s/" QN_RUN_PARENT ": \"%s\" must be %s", r->run, key,
                   must);
}

static const char *text_of(const struct reader *r, const char *key)
{
    return json_string_value(json_object_get(r->object, key));
}

static enum qn_status read_relation(const struct reader *r,
                                    struct qn_parent *out)
{
    const char *name = text_of(r, "relation");
    for (int i = 0; name != NULL && i < N_RELATIONS; i++) {
        if (qn_str_eq(name, relations[i])) {
            out->relation = (enum qn_relation)i;
            return QN_OK;
        }
    }
    return fail_key(r, "relation", "\"fork\" or \"rerun\"");
}

/* An id is looked for in the store and must not lead out of it. */
static enum qn_status read_run(const struct reader *r, struct qn_parent *out)
{
    const char *id = text_of(r, "run");
    if (id == NULL || id[0] == '\0' || id[0] == '.' ||
        strchr(id, '/') != NULL || strlen(id) >= sizeof out->run) {
        return fail_key(r, "run", "the id of a run");
    }
    qn_copy_text(out->run, sizeof out->run, id);
    return QN_OK;
}

static enum qn_status read_name(const struct reader *r, struct qn_parent *out)
{
    const char *name = text_of(r, "name");
    if (name == NULL) {
        return fail_key(r, "name", "a text");
    }
    qn_copy_text(out->name, sizeof out->name, name);
    return QN_OK;
}

static enum qn_status read_step(const struct reader *r, struct qn_parent *out)
{
    const json_t *step = json_object_get(r->object, "step");
    if (!json_is_integer(step) || json_integer_value(step) < 0) {
        return fail_key(r, "step", "a whole number from 0");
    }
    out->step = json_integer_value(step);
    return QN_OK;
}

static enum qn_status read_sha256(const struct reader *r, struct qn_parent *out)
{
    const char *hex = text_of(r, "sha256");
    size_t len = hex != NULL ? strlen(hex) : 1;
    if ((len != 0 && len != sizeof out->sha256 - 1) ||
        strspn(hex, "0123456789abcdef") != len) {
        return fail_key(r, "sha256", "64 hexadecimal digits or \"\"");
    }
    qn_copy_text(out->sha256, sizeof out->sha256, hex);
    return QN_OK;
}

static enum qn_status read_keys(const struct reader *r, struct qn_parent *out)
{
    static enum qn_status (*const read[])(const struct reader *,
                                          struct qn_parent *) = {
        read_relation, read_run, read_name, read_step, read_sha256};
    enum qn_status status = QN_OK;
    for (size_t i = 0; i < sizeof read / sizeof *read && status == QN_OK; i++) {
        status = read[i](r, out);
    }
    return status;
}

enum qn_status qn_parent_read(const char *run_path, struct qn_parent *out,
                              struct qn_err *err)
{
    struct qn_bytes bytes;
    enum qn_status status =
        qn_run_dir_read(run_path, QN_RUN_PARENT, &bytes, err);
    if (status != QN_OK) {
        return status;
    }
    json_error_t why;
    json_t *object = json_loadb(bytes.data, bytes.len, 0, &why);
    qn_bytes_free(&bytes);
    if (!json_is_object(object)) {
        json_decref(object);
        return qn_fail(err, QN_EFORMAT,
                       "%s/" QN_RUN_PARENT ": is no JSON object", run_path);
    }
    struct qn_parent parent = {.step = 0};
    status = read_keys(&(struct reader){run_path, object, err}, &parent);
    json_decref(object);
    if (status == QN_OK) {
        *out = parent;
    }
    return status;
}
