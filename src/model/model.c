/* model.c - parameters and their gradients: made, initialised, handed out. */
#include "model/private.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/size.h"
#include "nn/init.h"

#include <stdlib.h>

static bool get_tensor(struct qn_backend *be, size_t count,
                       struct qn_tensor *out)
{
    struct qn_buffer *buffer =
        count == SIZE_MAX ? NULL : be->ops->alloc(be, count);
    *out = (struct qn_tensor){buffer, 0, count};
    return buffer != NULL;
}

enum qn_status qn_model_new(struct qn_backend *be, const struct qn_spec *spec,
                            int vocab, struct qn_model **out,
                            struct qn_err *err)
{
    struct qn_model *m = qn_xcalloc(1, sizeof *m);
    m->be = be;
    m->spec = *spec;
    m->vocab = vocab;
    qn_param_list_init(&m->params, &m->spec, vocab);
    size_t count = m->params.count;
    size_t trained = m->params.trained;
    size_t table = qn_param_table(&m->params, spec, vocab);
    if (!get_tensor(be, count, &m->weights) ||
        !get_tensor(be, trained, &m->grads) ||
        (table > 0 && !get_tensor(be, table, &m->vectors))) {
        char size[32];
        size_t trainable = m->params.trainable;
        double floats = (double)count + (double)trained + (double)table;
        double bytes = floats * sizeof(float);
        qn_model_free(m);
        return qn_fail(err, QN_ENOMEM,
                       "%zu parameters%s need %s of memory, which cannot be "
                       "had",
                       trainable,
                       table > 0 ? ", their gradients and the word vectors"
                                 : " and their gradients",
                       qn_format_bytes(size, sizeof size, bytes));
    }
    *out = m;
    return QN_OK;
}

void qn_model_free(struct qn_model *m)
{
    if (m == NULL) {
        return;
    }
    if (m->weights.buffer != NULL) {
        m->be->ops->release(m->be, m->weights.buffer);
    }
    if (m->grads.buffer != NULL) {
        m->be->ops->release(m->be, m->grads.buffer);
    }
    if (m->vectors.buffer != NULL) {
        m->be->ops->release(m->be, m->vectors.buffer);
    }
    qn_param_list_fini(&m->params);
    free(m);
}

/* Initial weights of one tensor, block by block: [rows, fan-in] each, every
 * block from a key of its own. */
static void draw_param(struct qn_model *m, int i, uint64_t seed)
{
    const struct qn_param *param = &m->params.items[i];
    const struct qn_init init = {
        m->spec.model.init.kind, m->spec.model.init.std,
        m->spec.model.init.range, m->spec.model.init.gain};
    size_t block = param->count / (size_t)param->blocks;
    size_t rows = param->dim[0] / (size_t)param->blocks;
    float *w = qn_xcalloc(block, sizeof *w);
    uint64_t key = qn_rng_key(seed, 0, (uint64_t)i, QN_RNG_INIT);
    for (int g = 0; g < param->blocks; g++) {
        qn_init_fill(&init, w, (int)rows, (int)(block / rows),
                     key + (uint64_t)g);
        struct qn_tensor to = qn_tensor_part(
            m->weights, param->offset + (size_t)g * block, block);
        m->be->ops->write(m->be, to, w);
    }
    free(w);
}

/* The constant of each block of a tensor that is not drawn. */
static void fill_param(struct qn_model *m, const struct qn_param *param)
{
    int blocks = param->blocks > 0 ? param->blocks : 1;
    size_t block = param->count / (size_t)blocks;
    for (int g = 0; g < blocks; g++) {
        struct qn_tensor to = qn_tensor_part(
            m->weights, param->offset + (size_t)g * block, block);
        m->be->ops->fill(m->be, to, param->value[g]);
    }
}

void qn_model_init(struct qn_model *m, uint64_t seed)
{
    m->be->ops->fill(m->be, m->weights, 0.0f);
    for (int i = 0; i < m->params.n; i++) {
        if (m->params.items[i].drawn) {
            draw_param(m, i, seed);
        } else {
            fill_param(m, &m->params.items[i]);
        }
    }
}

struct qn_tensor qn_model_vectors(const struct qn_model *m)
{
    return m->vectors;
}

void qn_model_set_vectors(struct qn_model *m, const float *table)
{
    QN_ASSERT(m->vectors.buffer != NULL);
    m->be->ops->write(m->be, m->vectors, table);
}

size_t qn_model_n_params(const struct qn_model *m)
{
    return m->params.count;
}

struct qn_tensor qn_model_weights(const struct qn_model *m)
{
    return m->weights;
}

struct qn_tensor qn_model_param(const struct qn_model *m, struct qn_tensor flat,
                                int i)
{
    const struct qn_param *param = &m->params.items[i];
    return qn_tensor_part(flat, param->offset, param->count);
}

struct qn_tensor qn_model_trained(const struct qn_model *m)
{
    return qn_tensor_part(m->weights, 0, m->params.trained);
}

struct qn_tensor qn_model_grads(const struct qn_model *m)
{
    return m->grads;
}

static void add_l2_of(struct qn_model *m, const struct qn_param *param,
                      double k)
{
    struct qn_tensor w =
        qn_tensor_part(m->weights, param->offset, param->count);
    struct qn_tensor g = qn_tensor_part(m->grads, param->offset, param->count);
    m->be->ops->combine(m->be, g, w, k, 1);
}

void qn_model_add_l2(struct qn_model *m, double k, enum qn_l2_on on)
{
    const struct qn_param_list *params = &m->params;
    switch (on) {
    case QN_L2_ALL:
        m->be->ops->combine(m->be, m->grads, qn_model_trained(m), k, 1);
        break;
    case QN_L2_WEIGHTS:
        for (int i = 0; i < params->n; i++) {
            if (params->items[i].drawn) {
                add_l2_of(m, &params->items[i], k);
            }
        }
        break;
    case QN_L2_LAST:
        add_l2_of(m, qn_param_find(params, "decoder.weight"), k);
        break;
    }
}

struct qn_backend *qn_model_backend(const struct qn_model *m)
{
    return m->be;
}

const struct qn_spec *qn_model_spec(const struct qn_model *m)
{
    return &m->spec;
}

int qn_model_vocab(const struct qn_model *m)
{
    return m->vocab;
}

void qn_model_set_spec(struct qn_model *m, const struct qn_spec *spec)
{
    struct qn_param_list now;
    qn_param_list_init(&now, spec, m->vocab);
    QN_ASSERT(now.count == m->params.count && now.n == m->params.n);
    QN_ASSERT(spec->task == m->spec.task);
    QN_ASSERT(now.first_layer == m->params.first_layer);
    QN_ASSERT(spec->model.cell == m->spec.model.cell);
    QN_ASSERT(spec->model.dense == m->spec.model.dense);
    QN_ASSERT(spec->model.batch_norm == m->spec.model.batch_norm);
    QN_ASSERT(spec->model.bias == m->spec.model.bias);
    QN_ASSERT(spec->model.activation == m->spec.model.activation);
    QN_ASSERT(spec->model.pooling == m->spec.model.pooling);
    qn_param_list_fini(&now);
    m->spec = *spec;
}

unsigned qn_model_quantities(const struct qn_spec *spec, unsigned of)
{
    const struct qn_layer_ops *ops = qn_layer_ops(spec);
    const struct qn_layer_place place = {spec, 0, spec->model.embed};
    unsigned has = 0;
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        if (ops->has(&place, (enum qn_quantity)i)) {
            has |= 1u << i;
        }
    }
    return of & has;
}
