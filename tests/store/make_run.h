/* make_run.h - runs in a scratch folder, made short. */
#ifndef QN_TESTS_STORE_MAKE_RUN_H
#define QN_TESTS_STORE_MAKE_RUN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "../base/scratch.h"
#include "base/str.h"
#include "store/run_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static inline struct qn_run_dir *make_run(const char *store, const char *name)
{
    char *spec = qn_xasprintf("{\"name\":\"%s\"}\n", name);
    struct qn_run_files files = {
        .name = name,
        .spec_json = spec,
        .vocab_txt = "a\n",
        .code_json = "{}\n",
    };
    struct qn_run_dir *d = NULL;
    struct qn_err err = {""};
    if (qn_run_dir_create(store, &files, &d, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(spec);
    return d;
}

/* Append {key: step} or, with an event, {"event":event,"step":step}. */
static inline void append(struct qn_run_dir *d, enum qn_run_file file,
                          const char *event, int64_t step)
{
    struct qn_json line = {0};
    qn_json_object(&line);
    if (event != NULL) {
        qn_json_kstring(&line, "event", event);
    }
    qn_json_kint(&line, "step", step);
    qn_json_end_object(&line);
    assert_int_equal(qn_run_dir_append(d, file, &line, NULL), QN_OK);
    qn_json_free(&line);
}

/* Write the text into dir/name, without waiting for the disk. */
static inline void put(const char *dir, const char *name, const char *text)
{
    char *path = qn_path_join(dir, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* Check that dir/name holds the text, or with NULL that it is not there. */
static inline void check_file(const char *dir, const char *name,
                              const char *text)
{
    char *path = qn_path_join(dir, name);
    struct qn_bytes bytes = {0};
    if (text == NULL) {
        assert_false(qn_path_exists(path));
    } else {
        assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
        assert_string_equal(bytes.data, text);
    }
    qn_bytes_free(&bytes);
    free(path);
}

/* Check that the names in dir are these, parted by blanks. */
static inline void check_names(const char *dir, const char *names)
{
    char **list = NULL;
    size_t n = 0;
    struct qn_str found = {0};
    qn_str_add(&found, "");
    assert_int_equal(qn_dir_list(dir, &list, &n, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        qn_str_addf(&found, "%s%s", i > 0 ? " " : "", list[i]);
        free(list[i]);
    }
    free(list);
    assert_string_equal(n > 0 ? found.text : "", names);
    qn_str_free(&found);
}

#endif
