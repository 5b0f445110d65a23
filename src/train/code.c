/* code.c - code.json: which program made a run, from which bytes. */
#include "train/code.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "store/run_dir.h"

#include <string.h>

void qn_code_json(const struct qn_code *code, struct qn_json *out)
{
    qn_json_object(out);
    qn_json_kstring(out, "quern", QN_VERSION);
    qn_json_kstring(out, "commit", qn_code_commit);
    qn_json_kbool(out, "dirty", qn_code_dirty);
    qn_json_kstring(out, "backend", code->backend);
    qn_json_kstring(out, "blas_kernel", qn_backend_blas_kernel());
    qn_json_kint(out, "threads", code->threads);
    qn_json_key(out, "data");
    qn_json_object(out);
    for (int s = 0; s < QN_N_SPLITS; s++) {
        qn_json_kstring(out, qn_split_name((enum qn_split)s),
                        qn_corpus_sha256(code->corpus, (enum qn_split)s));
    }
    if (code->n_vectors > 0) {
        char sha256[65];
        qn_sha256_hex(code->vectors, code->n_vectors * sizeof(float), sha256);
        qn_json_kstring(out, "vectors", sha256);
    }
    qn_json_end_object(out);
    qn_json_end_object(out);
}

enum qn_status qn_code_read(const char *run_path, json_t **out,
                            struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run_path, "code.json", &text, err);
    if (status != QN_OK) {
        return status;
    }
    json_error_t why;
    json_t *code = json_loadb(text.data, text.len, 0, &why);
    qn_bytes_free(&text);
    if (code == NULL) {
        return qn_fail(err, QN_EFORMAT, "%s/code.json: line %d: %s", run_path,
                       why.line, why.text);
    }
    *out = code;
    return QN_OK;
}

enum qn_status qn_code_check_data(const char *run_path,
                                  const struct qn_corpus *corpus,
                                  const bool skip[QN_N_SPLITS],
                                  struct qn_err *err)
{
    json_t *code;
    enum qn_status status = qn_code_read(run_path, &code, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_str problems = {0};
    const json_t *data = json_object_get(code, "data");
    for (int s = 0; s < QN_N_SPLITS; s++) {
        const char *name = qn_split_name((enum qn_split)s);
        const char *then = json_string_value(json_object_get(data, name));
        const char *now = qn_corpus_sha256(corpus, (enum qn_split)s);
        if (skip[s] || then == NULL || now == NULL || strcmp(then, now) == 0) {
            continue;
        }
        qn_str_addf(&problems,
                    "%sdata.%s: %s has changed since the run was made "
                    "(SHA-256 was %.12s..., is %.12s...)",
                    problems.len ? "\n" : "", name,
                    qn_corpus_path(corpus, (enum qn_split)s), then, now);
    }
    if (problems.len > 0) {
        status = qn_fail(err, QN_ESTATE, "%s", problems.text);
    }
    qn_str_free(&problems);
    json_decref(code);
    return status;
}

/* Of the numbers in the file's only tensor. */
static enum qn_status hash_vectors(const char *path, char sha256[65],
                                   struct qn_err *err)
{
    struct qn_st_file *file;
    enum qn_status status = qn_st_open(path, &file, err);
    if (status != QN_OK) {
        return status;
    }
    const struct qn_st_tensor *t = qn_st_at(file, 0);
    qn_sha256_hex(t->data, qn_st_count(t) * qn_dtype_size(t->dtype), sha256);
    qn_st_close(file);
    return QN_OK;
}

enum qn_status qn_code_check_vectors(const char *run_path, const char *path,
                                     struct qn_err *err)
{
    json_t *code;
    char now[65];
    if (qn_code_read(run_path, &code, NULL) != QN_OK) {
        return QN_OK; /* whether that matters others decide */
    }
    const json_t *data = json_object_get(code, "data");
    const char *then = json_string_value(json_object_get(data, "vectors"));
    enum qn_status status = then ? hash_vectors(path, now, err) : QN_OK;
    if (status == QN_OK && then && !qn_str_eq(then, now)) {
        status = qn_fail(err, QN_ESTATE,
                         "%s has changed since the run was made (SHA-256 of "
                         "its numbers was %.12s..., is %.12s...)",
                         path, then, now);
    }
    json_decref(code);
    return status;
}

static void notice_text(struct qn_log *log, const json_t *code, const char *key,
                        const char *now)
{
    const char *then = json_string_value(json_object_get(code, key));
    if (then && now && strcmp(then, now) != 0) {
        qn_log_write(log, QN_LOG_WARN,
                     "the run was made with %s %s, this is %s: results may "
                     "differ in the last digits",
                     key, then, now);
    }
}

void qn_code_notice(const char *run_path, const struct qn_code *code,
                    struct qn_log *log)
{
    json_t *made;
    if (qn_code_read(run_path, &made, NULL) != QN_OK) {
        return;
    }
    notice_text(log, made, "quern", QN_VERSION);
    notice_text(log, made, "backend", code->backend);
    notice_text(log, made, "blas_kernel", qn_backend_blas_kernel());
    json_decref(made);
}
