/* checkpoint.c - weights between the flat buffer and model.safetensors.
 *
 * Only window weights are stored in another order than they are used: files
 * have [G*H, D, n], torch.nn.Conv1d's, memory has [G*H, n, D]. */
#include "model/checkpoint.h"

#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "model/private.h"
#include "model/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Swap the inner two of three dimensions: to[i][k][j] = from[i][j][k]. */
static void swap_inner(float *to, const float *from, const size_t dim[3])
{
    for (size_t i = 0; i < dim[0]; i++) {
        size_t row = i * dim[1] * dim[2];
        for (size_t j = 0; j < dim[1]; j++) {
            for (size_t k = 0; k < dim[2]; k++) {
                to[row + k * dim[1] + j] = from[row + j * dim[2] + k];
            }
        }
    }
}

static void to_file_order(const struct qn_param *p, float *to,
                          const float *from)
{
    if (p->n_dims == 3) {
        const size_t memory[3] = {p->dim[0], p->dim[2], p->dim[1]};
        swap_inner(to, from, memory);
    } else {
        memcpy(to, from, p->count * sizeof *to);
    }
}

static void to_memory_order(const struct qn_param *p, float *to,
                            const float *from)
{
    if (p->n_dims == 3) {
        swap_inner(to, from, p->dim);
    } else {
        memcpy(to, from, p->count * sizeof *to);
    }
}

static enum qn_status no_room(size_t floats, struct qn_err *err)
{
    char size[32];
    return qn_fail(err, QN_ENOMEM,
                   "a copy of the weights needs %s of memory, which cannot be "
                   "had",
                   qn_format_bytes(size, sizeof size, (double)floats * 4));
}

/* --- saving ------------------------------------------------------------- */

static enum qn_status write_tensors(const struct qn_param_list *params,
                                    const float *weights, const char *path,
                                    struct qn_err *err)
{
    struct qn_st_tensor *tensors =
        qn_xcalloc((size_t)params->n, sizeof *tensors);
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        tensors[i] = (struct qn_st_tensor){.name = p->name,
                                           .dtype = QN_F32,
                                           .n_dims = p->n_dims,
                                           .data = weights + p->offset};
        memcpy(tensors[i].dim, p->dim, (size_t)p->n_dims * sizeof p->dim[0]);
    }
    enum qn_status status =
        qn_st_write(path, tensors, (size_t)params->n, NULL, 0, err);
    free(tensors);
    return status;
}

enum qn_status qn_checkpoint_save(struct qn_model *m, const char *path,
                                  struct qn_err *err)
{
    size_t count = m->params.count;
    float *memory = qn_try_big(count, sizeof *memory);
    float *file = qn_try_big(count, sizeof *file);
    enum qn_status status;
    if (memory == NULL || file == NULL) {
        status = no_room(qn_size_mul(2, count), err);
        goto out;
    }
    status = m->be->ops->read(m->be, m->weights, memory, err);
    if (status != QN_OK) {
        goto out;
    }
    for (int i = 0; i < m->params.n; i++) {
        const struct qn_param *p = &m->params.items[i];
        to_file_order(p, file + p->offset, memory + p->offset);
    }
    status = write_tensors(&m->params, file, path, err);
out:
    free(file);
    free(memory);
    return status;
}

/* --- loading ------------------------------------------------------------ */

static void shape_text(struct qn_str *out, int n_dims, const size_t *dim)
{
    qn_str_add(out, "[");
    for (int i = 0; i < n_dims; i++) {
        qn_str_addf(out, "%s%zu", i == 0 ? "" : ", ", dim[i]);
    }
    qn_str_add(out, "]");
}

static bool same_shape(const struct qn_param *p, const struct qn_st_tensor *t)
{
    return p->n_dims == t->n_dims &&
           memcmp(p->dim, t->dim, (size_t)p->n_dims * sizeof p->dim[0]) == 0;
}

static void check_tensor(const struct qn_param *p, const struct qn_st_tensor *t,
                         struct qn_str *problems)
{
    if (t == NULL) {
        qn_str_addf(problems, "\n%s ", p->name);
        shape_text(problems, p->n_dims, p->dim);
        qn_str_add(problems, " is missing");
    } else if (t->dtype != QN_F32 && t->dtype != QN_F64) {
        qn_str_addf(problems, "\n%s is not of type F32 or F64", p->name);
    } else if (!same_shape(p, t)) {
        qn_str_addf(problems, "\n%s is ", p->name);
        shape_text(problems, t->n_dims, t->dim);
        qn_str_add(problems, " in the file and ");
        shape_text(problems, p->n_dims, p->dim);
        qn_str_add(problems, " in the network");
    }
}

/* Every missing, misshapen and extra tensor, one a line. */
static void compare(const struct qn_param_list *params,
                    const struct qn_st_file *file, struct qn_str *problems)
{
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        check_tensor(p, qn_st_find(file, p->name), problems);
    }
    for (size_t i = 0; i < qn_st_n_tensors(file); i++) {
        const struct qn_st_tensor *t = qn_st_at(file, i);
        if (qn_param_find(params, t->name) == NULL) {
            qn_str_addf(problems, "\n%s ", t->name);
            shape_text(problems, t->n_dims, t->dim);
            qn_str_add(problems, " is in the file and not in the network");
        }
    }
}

/* All weights of a file that fits, in one write. */
static enum qn_status take_tensors(struct qn_model *m,
                                   const struct qn_st_file *file,
                                   struct qn_err *err)
{
    size_t count = m->params.count;
    float *memory = qn_try_big(count, sizeof *memory);
    float *values = qn_try_big(count, sizeof *values);
    enum qn_status status = QN_OK;
    if (memory == NULL || values == NULL) {
        status = no_room(qn_size_mul(2, count), err);
        goto out;
    }
    for (int i = 0; i < m->params.n; i++) {
        const struct qn_param *p = &m->params.items[i];
        const struct qn_st_tensor *t = qn_st_find(file, p->name);
        for (size_t j = 0; j < p->count; j++) {
            values[p->offset + j] = (float)qn_st_value(t, j);
        }
        to_memory_order(p, memory + p->offset, values + p->offset);
    }
    m->be->ops->write(m->be, m->weights, memory);
out:
    free(values);
    free(memory);
    return status;
}

enum qn_status qn_checkpoint_load(struct qn_model *m, const char *path,
                                  struct qn_err *err)
{
    struct qn_st_file *file;
    struct qn_str problems = {0};
    enum qn_status status = qn_st_open(path, &file, err);
    if (status != QN_OK) {
        return status;
    }
    compare(&m->params, file, &problems);
    if (problems.len > 0) {
        status = qn_fail(err, QN_EFORMAT,
                         "%s does not hold this network's weights:%s", path,
                         problems.text);
    } else {
        status = take_tensors(m, file, err);
    }
    qn_str_free(&problems);
    qn_st_close(file);
    return status;
}

/* --- sizes from a file -------------------------------------------------- */

static const struct qn_st_tensor *conv_weight(const struct qn_st_file *file,
                                              int layer)
{
    char name[64];
    (void)snprintf(name, sizeof name, "layers.%d.conv.weight", layer);
    return qn_st_find(file, name);
}

/* A tensor of n_dims, dimension i from 1 to max[i], or why not. */
static bool has_dims(const struct qn_st_tensor *t, const char *name, int n_dims,
                     const size_t *max, struct qn_err *err)
{
    if (t == NULL) {
        (void)qn_fail(err, QN_EFORMAT, "%s is missing", name);
        return false;
    }
    if (t->n_dims != n_dims) {
        (void)qn_fail(err, QN_EFORMAT, "%s has %d dimensions, must have %d",
                      name, t->n_dims, n_dims);
        return false;
    }
    for (int i = 0; i < n_dims; i++) {
        if (t->dim[i] < 1 || t->dim[i] > max[i]) {
            (void)qn_fail(err, QN_EFORMAT,
                          "%s has %zu in dimension %d, must have 1..%zu", name,
                          t->dim[i], i, max[i]);
            return false;
        }
    }
    return true;
}

#define MAX_VOCAB 10000000
#define MAX_ROWS ((size_t)5 * QN_MAX_WIDTH) /* z+, z-, f, o, i */
static const size_t max_table[] = {MAX_VOCAB, QN_MAX_WIDTH};
static const size_t max_conv[] = {MAX_ROWS, QN_MAX_WIDTH, QN_MAX_WINDOW};

/* Windows of the layers that the file has, up to the first that is missing. */
static bool infer_layers(const struct qn_st_file *file, struct qn_spec *spec,
                         struct qn_err *err)
{
    int gates = qn_n_gates(spec->model.activation, spec->model.pooling);
    size_t hidden = (size_t)spec->model.hidden;
    int n = 0;
    memset(spec->model.window, 0, sizeof spec->model.window);
    for (; n < QN_MAX_LAYERS; n++) {
        const struct qn_st_tensor *t = conv_weight(file, n);
        if (t == NULL) {
            break;
        }
        if (!has_dims(t, t->name, 3, max_conv, err)) {
            return false;
        }
        if (t->dim[0] != (size_t)gates * hidden) {
            (void)qn_fail(err, QN_EFORMAT,
                          "%s has %zu rows, not %d gate blocks of %zu: "
                          "activation or pooling is another",
                          t->name, t->dim[0], gates, hidden);
            return false;
        }
        spec->model.window[n] = (int)t->dim[2];
    }
    if (n == 0) {
        (void)qn_fail(err, QN_EFORMAT, "layers.0.conv.weight is missing");
        return false;
    }
    spec->model.layers = n;
    spec->model.n_window = n;
    return true;
}

static bool infer_all(const struct qn_st_file *file, struct qn_spec *spec,
                      int *vocab, struct qn_err *err)
{
    const struct qn_st_tensor *embedding = qn_st_find(file, "embedding.weight");
    const struct qn_st_tensor *decoder = qn_st_find(file, "decoder.weight");
    if (!has_dims(embedding, "embedding.weight", 2, max_table, err) ||
        !has_dims(decoder, "decoder.weight", 2, max_table, err)) {
        return false;
    }
    spec->model.embed = (int)embedding->dim[1];
    spec->model.hidden = (int)decoder->dim[1];
    if (!infer_layers(file, spec, err)) {
        return false;
    }
    *vocab = (int)embedding->dim[0];
    return true;
}

enum qn_status qn_checkpoint_infer(const char *path, struct qn_spec *spec,
                                   int *vocab, struct qn_err *err)
{
    struct qn_st_file *file;
    struct qn_spec found = *spec;
    enum qn_status status = qn_st_open(path, &file, err);
    if (status != QN_OK) {
        return status;
    }
    if (infer_all(file, &found, vocab, err)) {
        *spec = found;
    } else {
        status = qn_fail_in(err, QN_EFORMAT, path);
    }
    qn_st_close(file);
    return status;
}
