/* make_checkpoint.h - checkpoints of a run whose model is a word. */
#ifndef QN_TESTS_STORE_MAKE_CHECKPOINT_H
#define QN_TESTS_STORE_MAKE_CHECKPOINT_H

#include "make_run.h"

#include <math.h>

static const struct qn_keep keep_all = {100, 100};

/* Write and commit a checkpoint whose file holds 'text'. */
static inline void checkpoint(struct qn_run_dir *d, int64_t step,
                              const char *text, bool is_best, double metric,
                              struct qn_keep keep)
{
    char *folder;
    struct qn_err err = {""};
    assert_int_equal(qn_run_dir_checkpoint(d, step, &folder, &err), QN_OK);
    put(folder, "model.safetensors", text);
    struct qn_figures figures = {metric, metric, (double)NAN};
    if (qn_run_dir_commit(d, step, is_best, &figures, keep, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(folder);
}

/* The checkpoint that 'which' means is this step's and holds 'text'. */
static inline void check_found(const char *run, const char *which, int64_t step,
                               const char *text)
{
    char *folder = NULL;
    int64_t found;
    struct qn_err err = {""};
    if (qn_run_dir_find_checkpoint(run, which, &folder, &found, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(found, step);
    check_file(folder, "model.safetensors", text);
    free(folder);
}

static inline void check_steps(const char *run, const char *names)
{
    char *folder = qn_path_join(run, "checkpoints");
    check_names(folder, names);
    free(folder);
}

/* Close the run as a crash would and open it again. */
static inline struct qn_run_dir *reopened(struct qn_run_dir *d)
{
    char *path = qn_xstrdup(qn_run_dir_path(d));
    struct qn_run_dir *again = NULL;
    struct qn_err err = {""};
    qn_run_dir_close(d);
    if (qn_run_dir_open(path, &again, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(path);
    return again;
}

static inline void check_not_found(const char *run, const char *which,
                                   const char *sentence)
{
    struct qn_err err;
    char *folder = NULL;
    int64_t step;
    char *whole = qn_xasprintf("%s: %s", qn_path_base(run), sentence);
    assert_int_equal(
        qn_run_dir_find_checkpoint(run, which, &folder, &step, &err),
        QN_ENOTFOUND);
    assert_string_equal(err.text, whole);
    assert_null(folder);
    free(whole);
}

#endif
