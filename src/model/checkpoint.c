/* checkpoint.c - weights between the flat buffer and model.safetensors, word
 * vectors between their table and vectors.safetensors.
 *
 * Only window weights are stored in another order than they are used: files
 * have [G*H, D, n], torch.nn.Conv1d's, memory has [G*H, n, D]. A tensor with a
 * twin stands for the sum of both: the twin is written as zeros. */
#include "model/checkpoint.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "model/private.h"
#include "model/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMBEDDING "embedding.weight"

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

static enum qn_status no_room(const char *what, size_t floats,
                              struct qn_err *err)
{
    char size[32];
    return qn_fail(err, QN_ENOMEM,
                   "a copy of the %s needs %s of memory, which cannot be had",
                   what,
                   qn_format_bytes(size, sizeof size, (double)floats * 4));
}

/* --- saving ------------------------------------------------------------- */

static struct qn_st_tensor stored(const struct qn_param *p, const char *name,
                                  const float *data)
{
    struct qn_st_tensor t = {
        .name = name, .dtype = QN_F32, .n_dims = p->n_dims, .data = data};
    memcpy(t.dim, p->dim, (size_t)p->n_dims * sizeof p->dim[0]);
    return t;
}

/* What every twin is written as: as many zeros as the largest has. */
static float *zeros_for_twins(const struct qn_param_list *params)
{
    size_t most = 0;
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        most = p->twin[0] != '\0' && p->count > most ? p->count : most;
    }
    return most > 0 ? qn_xcalloc(most, sizeof(float)) : NULL;
}

static enum qn_status write_tensors(const struct qn_param_list *params,
                                    const float *weights, const char *path,
                                    struct qn_err *err)
{
    float *zeros = zeros_for_twins(params);
    struct qn_st_tensor *tensors =
        qn_xcalloc(2 * (size_t)params->n, sizeof *tensors);
    size_t n = 0;
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        tensors[n++] = stored(p, p->name, weights + p->offset);
        if (p->twin[0] != '\0') {
            tensors[n++] = stored(p, p->twin, zeros);
        }
    }
    enum qn_status status = qn_st_write(path, tensors, n, NULL, 0, err);
    free(tensors);
    free(zeros);
    return status;
}

/* Weights on the host, in the order of memory and of files. */
struct qn_weights_copy {
    struct qn_param_list params; /* as the model has them */
    float *memory, *file;        /* [params.count] */
};

enum qn_status qn_weights_copy_new(const struct qn_model *m,
                                   struct qn_weights_copy **out,
                                   struct qn_err *err)
{
    struct qn_weights_copy *c = qn_xcalloc(1, sizeof *c);
    size_t count = m->params.count;
    qn_param_list_init(&c->params, &m->spec, m->vocab);
    QN_ASSERT(c->params.count == count);
    c->memory = qn_try_big(count, sizeof *c->memory);
    c->file = qn_try_big(count, sizeof *c->file);
    if (c->memory == NULL || c->file == NULL) {
        qn_weights_copy_free(c);
        return no_room("weights", qn_size_mul(2, count), err);
    }
    *out = c;
    return QN_OK;
}

void qn_weights_copy_free(struct qn_weights_copy *c)
{
    if (c == NULL) {
        return;
    }
    free(c->file);
    free(c->memory);
    qn_param_list_fini(&c->params);
    free(c);
}

enum qn_status qn_weights_copy_take(struct qn_weights_copy *c,
                                    struct qn_model *m, struct qn_err *err)
{
    QN_ASSERT(m->params.count == c->params.count);
    return m->be->ops->read(m->be, m->weights, c->memory, err);
}

enum qn_status qn_weights_copy_write(struct qn_weights_copy *c,
                                     const char *path, struct qn_err *err)
{
    for (int i = 0; i < c->params.n; i++) {
        const struct qn_param *p = &c->params.items[i];
        to_file_order(p, c->file + p->offset, c->memory + p->offset);
    }
    return write_tensors(&c->params, c->file, path, err);
}

enum qn_status qn_checkpoint_save(struct qn_model *m, const char *path,
                                  struct qn_err *err)
{
    struct qn_weights_copy *c;
    enum qn_status status = qn_weights_copy_new(m, &c, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_weights_copy_take(c, m, err);
    if (status == QN_OK) {
        status = qn_weights_copy_write(c, path, err);
    }
    qn_weights_copy_free(c);
    return status;
}

/* The table of word vectors as the one tensor of its file. */
static struct qn_param vectors_param(int vocab, int width)
{
    return (struct qn_param){.name = EMBEDDING,
                             .n_dims = 2,
                             .dim = {(size_t)vocab, (size_t)width},
                             .count =
                                 qn_size_mul((size_t)vocab, (size_t)width)};
}

enum qn_status qn_vectors_save(const char *path, const float *table, int vocab,
                               int width, struct qn_err *err)
{
    struct qn_param p = vectors_param(vocab, width);
    struct qn_st_tensor t = stored(&p, p.name, table);
    return qn_st_write(path, &t, 1, NULL, 0, err);
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

/* Say what is wrong with the tensor 'name' of the shape of p. */
static void check_tensor(const struct qn_param *p, const char *name,
                         const struct qn_st_file *file, struct qn_str *problems)
{
    const struct qn_st_tensor *t = qn_st_find(file, name);
    if (t == NULL) {
        qn_str_addf(problems, "\n%s ", name);
        shape_text(problems, p->n_dims, p->dim);
        qn_str_add(problems, " is missing");
    } else if (t->dtype != QN_F32 && t->dtype != QN_F64) {
        qn_str_addf(problems, "\n%s is not of type F32 or F64", name);
    } else if (!same_shape(p, t)) {
        qn_str_addf(problems, "\n%s is ", name);
        shape_text(problems, t->n_dims, t->dim);
        qn_str_add(problems, " in the file and ");
        shape_text(problems, p->n_dims, p->dim);
        qn_str_add(problems, " in the network");
    }
}

static bool is_known(const struct qn_param_list *params, const char *name)
{
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        if (qn_str_eq(p->name, name) ||
            (p->twin[0] != '\0' && qn_str_eq(p->twin, name))) {
            return true;
        }
    }
    return false;
}

/* Every missing, misshapen and extra tensor, one a line. */
static void compare(const struct qn_param_list *params,
                    const struct qn_st_file *file, struct qn_str *problems)
{
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        check_tensor(p, p->name, file, problems);
        if (p->twin[0] != '\0') {
            check_tensor(p, p->twin, file, problems);
        }
    }
    for (size_t i = 0; i < qn_st_n_tensors(file); i++) {
        const struct qn_st_tensor *t = qn_st_at(file, i);
        if (!is_known(params, t->name)) {
            qn_str_addf(problems, "\n%s ", t->name);
            shape_text(problems, t->n_dims, t->dim);
            qn_str_add(problems, " is in the file and not in the network");
            /* Known to every network but those with vectors of their own. */
            if (qn_str_eq(t->name, EMBEDDING)) {
                qn_str_add(problems,
                           ", whose word vectors vectors.safetensors holds");
            }
        }
    }
}

/* The values of a parameter, in the file's order. */
static void take_values(const struct qn_param *p, const struct qn_st_file *file,
                        float *out)
{
    const struct qn_st_tensor *t = qn_st_find(file, p->name);
    const struct qn_st_tensor *twin =
        p->twin[0] != '\0' ? qn_st_find(file, p->twin) : NULL;
    for (size_t i = 0; i < p->count; i++) {
        double second = twin != NULL ? qn_st_value(twin, i) : 0;
        out[i] = (float)(qn_st_value(t, i) + second);
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
        status = no_room("weights", qn_size_mul(2, count), err);
        goto out;
    }
    for (int i = 0; i < m->params.n; i++) {
        const struct qn_param *p = &m->params.items[i];
        take_values(p, file, values + p->offset);
        to_memory_order(p, memory + p->offset, values + p->offset);
    }
    m->be->ops->write(m->be, m->weights, memory);
out:
    free(values);
    free(memory);
    return status;
}

/* Open a file that holds these tensors and no others; 'what' they are called.
 */
static enum qn_status open_fitting(const char *path, const char *what,
                                   const struct qn_param_list *params,
                                   struct qn_st_file **file, struct qn_err *err)
{
    struct qn_str problems = {0};
    struct qn_st_file *opened;
    enum qn_status status = qn_st_open(path, &opened, err);
    if (status != QN_OK) {
        return status;
    }
    compare(params, opened, &problems);
    if (problems.len == 0) {
        *file = opened;
    } else {
        status =
            qn_fail(err, QN_EFORMAT, "%s does not hold this network's %s:%s",
                    path, what, problems.text);
        qn_st_close(opened);
    }
    qn_str_free(&problems);
    return status;
}

enum qn_status qn_checkpoint_load(struct qn_model *m, const char *path,
                                  struct qn_err *err)
{
    struct qn_st_file *file;
    enum qn_status status =
        open_fitting(path, "weights", &m->params, &file, err);
    if (status == QN_OK) {
        status = take_tensors(m, file, err);
        qn_st_close(file);
    }
    return status;
}

enum qn_status qn_vectors_load(struct qn_model *m, const char *path,
                               struct qn_err *err)
{
    QN_ASSERT(m->vectors.buffer != NULL);
    struct qn_st_file *file;
    struct qn_param p = vectors_param(m->vocab, m->spec.model.embed);
    const struct qn_param_list only = {.items = &p, .n = 1};
    enum qn_status status =
        open_fitting(path, "word vectors", &only, &file, err);
    if (status != QN_OK) {
        return status;
    }
    float *table = qn_try_big(p.count, sizeof *table);
    if (table == NULL) {
        status = no_room("word vectors", p.count, err);
    } else {
        take_values(&p, file, table);
        qn_model_set_vectors(m, table);
    }
    free(table);
    qn_st_close(file);
    return status;
}
