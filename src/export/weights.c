/* weights.c - safetensors: the best weights, and what they are weights of. */
#include "base/mem.h"
#include "export/files.h"
#include "store/run_dir.h"

#include <stdlib.h>

#define MODEL "model.safetensors"

/* Whoever trains the run may remove the best checkpoint once there is a better
 * one: so often that one is looked for. */
#define MOST_TRIES 50

static enum qn_status copy_file(struct qn_export_files *x, const char *folder,
                                const char *name, struct qn_err *err)
{
    struct qn_bytes bytes = {0};
    struct qn_new_file *file;
    enum qn_status status = qn_run_dir_read(folder, name, &bytes, err);
    if (status == QN_OK) {
        status = qn_export_add_file(x, name, &file, err);
    }
    if (status == QN_OK) {
        qn_new_file_add(file, bytes.data, bytes.len);
    }
    qn_bytes_free(&bytes);
    return status;
}

/* The weights of the checkpoint in *folder or, when that is gone, of the best
 * one that there is now. */
static enum qn_status copy_model(struct qn_export_files *x, char **folder,
                                 struct qn_err *err)
{
    struct qn_bytes bytes = {0};
    struct qn_new_file *file;
    int64_t step;
    enum qn_status status = qn_export_add_file(x, MODEL, &file, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_run_dir_read(*folder, MODEL, &bytes, err);
    for (int i = 1; status == QN_ENOTFOUND && i < MOST_TRIES; i++) {
        free(*folder);
        *folder = NULL;
        status = qn_run_dir_find_checkpoint(x->run, "best", folder, &step, err);
        if (status == QN_OK) {
            status = qn_run_dir_read(*folder, MODEL, &bytes, err);
        }
    }
    if (status == QN_OK) {
        qn_new_file_add(file, bytes.data, bytes.len);
    }
    qn_bytes_free(&bytes);
    return status;
}

static bool has_vectors(const char *run)
{
    char *path = qn_path_join(run, "vectors.safetensors");
    bool has = qn_path_exists(path);
    free(path);
    return has;
}

enum qn_status qn_export_weights(struct qn_export_files *x, struct qn_err *err)
{
    char *folder = NULL;
    int64_t step;
    enum qn_status status =
        qn_run_dir_find_checkpoint(x->run, "best", &folder, &step, err);
    if (status != QN_OK) {
        return status;
    }
    status = copy_model(x, &folder, err);
    if (status == QN_OK && has_vectors(x->run)) {
        status = copy_file(x, x->run, "vectors.safetensors", err);
    }
    if (status == QN_OK) {
        status = copy_file(x, x->run, "spec.json", err);
    }
    if (status == QN_OK) {
        status = copy_file(x, x->run, "vocab.txt", err);
    }
    free(folder);
    /* A file that a whole run lacks is damage, not "no checkpoint yet". */
    return status == QN_ENOTFOUND ? QN_EIO : status;
}
