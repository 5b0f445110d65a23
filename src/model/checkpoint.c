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

/* Whether files have it in another order; a window of one step is the same in
 * both. */
static bool is_turned(const struct qn_param *p)
{
    return p->n_dims == 3 && p->dim[1] > 1 && p->dim[2] > 1;
}

static void to_file_order(const struct qn_param *p, float *to,
                          const float *from)
{
    const size_t memory[3] = {p->dim[0], p->dim[2], p->dim[1]};
    swap_inner(to, from, memory);
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

/* Weights on the host. Those that files have in another order stand there a
 * second time, in that one. */
struct qn_weights_copy {
    struct qn_param_list params; /* as the model has them */
    float *memory;               /* [params.count] */
    float *turned;               /* [n_turned], one after the other */
};

static size_t n_turned(const struct qn_param_list *params)
{
    size_t n = 0;
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        n = qn_size_add(n, is_turned(p) ? p->count : 0);
    }
    return n;
}

size_t qn_weights_copy_size(const struct qn_param_list *params)
{
    return qn_size_add(params->count, n_turned(params));
}

enum qn_status qn_weights_copy_new(const struct qn_model *m,
                                   struct qn_weights_copy **out,
                                   struct qn_err *err)
{
    struct qn_weights_copy *c = qn_xcalloc(1, sizeof *c);
    size_t count = m->params.count;
    qn_param_list_init(&c->params, &m->spec, m->vocab);
    QN_ASSERT(c->params.count == count);
    c->memory = qn_try_big(count, sizeof *c->memory);
    c->turned = qn_try_big(n_turned(&c->params), sizeof *c->turned);
    if (c->memory == NULL || c->turned == NULL) {
        size_t size = qn_weights_copy_size(&c->params);
        qn_weights_copy_free(c);
        return no_room("weights", size, err);
    }
    *out = c;
    return QN_OK;
}

void qn_weights_copy_free(struct qn_weights_copy *c)
{
    if (c == NULL) {
        return;
    }
    free(c->turned);
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

/* The weights in the order of files: all that is turned is turned now. */
enum qn_status qn_weights_copy_write(struct qn_weights_copy *c,
                                     const char *path, struct qn_err *err)
{
    const struct qn_param_list *params = &c->params;
    float *turned = c->turned;
    float *zeros = zeros_for_twins(params);
    struct qn_st_tensor *tensors =
        qn_xcalloc(2 * (size_t)params->n, sizeof *tensors);
    size_t n = 0;
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        const float *weights = c->memory + p->offset;
        if (is_turned(p)) {
            to_file_order(p, turned, weights);
            weights = turned;
            turned += p->count;
        }
        tensors[n++] = stored(p, p->name, weights);
        if (p->twin[0] != '\0') {
            tensors[n++] = stored(p, p->twin, zeros);
        }
    }
    enum qn_status status = qn_st_write(path, tensors, n, NULL, 0, err);
    free(tensors);
    free(zeros);
    return status;
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

size_t qn_checkpoint_load_size(const struct qn_param_list *params)
{
    return params->count;
}

/* The values of a parameter can be taken from the file as they stand there. */
static bool is_as_stored(const struct qn_param *p,
                         const struct qn_st_file *file)
{
    return p->twin[0] == '\0' && qn_st_find(file, p->name)->dtype == QN_F32;
}

/* Room for the values of a parameter that are not, and for a row that is
 * turned. */
struct making {
    float *values, *row;
    size_t n_values, n_row;
};

static enum qn_status make_room(struct making *m,
                                const struct qn_param_list *params,
                                const struct qn_st_file *file,
                                struct qn_err *err)
{
    for (int i = 0; i < params->n; i++) {
        const struct qn_param *p = &params->items[i];
        size_t row = is_turned(p) ? p->dim[1] * p->dim[2] : 0;
        size_t values = is_as_stored(p, file) ? 0 : p->count;
        m->n_row = row > m->n_row ? row : m->n_row;
        m->n_values = values > m->n_values ? values : m->n_values;
    }
    m->values = qn_try_big(m->n_values, sizeof *m->values);
    m->row = qn_try_big(m->n_row, sizeof *m->row);
    return m->values != NULL && m->row != NULL
               ? QN_OK
               : no_room("weights", qn_size_add(m->n_values, m->n_row), err);
}

/* Row by row, so that no second copy is needed. */
static void write_turned(struct qn_model *m, int i, const float *values,
                         float *row)
{
    const struct qn_param *p = &m->params.items[i];
    struct qn_tensor all = qn_model_param(m, m->weights, i);
    const size_t one[3] = {1, p->dim[1], p->dim[2]};
    size_t n = one[1] * one[2];
    for (size_t r = 0; r < p->dim[0]; r++) {
        swap_inner(row, values + r * n, one);
        m->be->ops->write(m->be, qn_tensor_part(all, r * n, n), row);
    }
}

/* All weights of a file that fits, a tensor at a time. */
static enum qn_status take_tensors(struct qn_model *m,
                                   const struct qn_st_file *file,
                                   struct qn_err *err)
{
    struct making making = {.n_row = 0};
    enum qn_status status = make_room(&making, &m->params, file, err);
    for (int i = 0; status == QN_OK && i < m->params.n; i++) {
        const struct qn_param *p = &m->params.items[i];
        const float *values = making.values;
        if (is_as_stored(p, file)) {
            values = qn_st_find(file, p->name)->data;
        } else {
            take_values(p, file, making.values);
        }
        if (is_turned(p)) {
            write_turned(m, i, values, making.row);
        } else {
            m->be->ops->write(m->be, qn_model_param(m, m->weights, i), values);
        }
    }
    free(making.row);
    free(making.values);
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
    const struct qn_st_tensor *t = qn_st_find(file, p.name);
    float *made = NULL;
    if (t->dtype == QN_F32) {
        qn_model_set_vectors(m, t->data);
    } else if ((made = qn_try_big(p.count, sizeof *made)) != NULL) {
        take_values(&p, file, made);
        qn_model_set_vectors(m, made);
    } else {
        status = no_room("word vectors", p.count, err);
    }
    free(made);
    qn_st_close(file);
    return status;
}
