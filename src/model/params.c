/* params.c - lay all parameter tensors of a spec out in one flat buffer. */
#include "model/params.h"

#include "base/assert.h"
#include "base/mem.h"
#include "model/layout.h"
#include "model/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tensors begin at multiples of 16 floats, a cache line; the gaps stay 0. */
#define ALIGN_FLOATS ((size_t)16)

/* Embedding before the layers, decoder's weight and bias after them. */
#define N_OUTSIDE 3

static void add_param(struct qn_param_list *list, struct qn_param param)
{
    param.count = 1;
    for (int i = 0; i < param.n_dims; i++) {
        param.count = qn_size_mul(param.count, param.dim[i]);
    }
    list->items[list->n++] = param;
    list->all = qn_size_add(list->all, param.count);
    if (!param.fixed) {
        list->trainable = qn_size_add(list->trainable, param.count);
    }
}

static void add_layer(struct qn_param_list *list,
                      const struct qn_layer_place *place)
{
    struct qn_layer_param own[QN_LAYER_MAX_PARAMS];
    int n = qn_layer_ops(place->spec)->params(place, own);
    list->per_layer = n;
    if (place->spec->task == QN_TASK_CLASSIFY) {
        size_t state = qn_layer_ops(place->spec)->state(place);
        list->all = qn_size_add(list->all, state);
    }
    for (int i = 0; i < n; i++) {
        struct qn_param param = {.n_dims = own[i].n_dims,
                                 .blocks = own[i].blocks,
                                 .drawn = own[i].drawn,
                                 .fixed = own[i].fixed};
        (void)snprintf(param.name, sizeof param.name, "layers.%d.%s",
                       place->index, own[i].name);
        if (own[i].twin != NULL) {
            (void)snprintf(param.twin, sizeof param.twin, "layers.%d.%s",
                           place->index, own[i].twin);
        }
        memcpy(param.dim, own[i].dim, sizeof param.dim);
        memcpy(param.value, own[i].value, sizeof param.value);
        add_param(list, param);
    }
}

/* Give those that are fixed, or those that are not, their places behind what
 * has one. */
static void place_params(struct qn_param_list *list, bool fixed)
{
    for (int i = 0; i < list->n; i++) {
        struct qn_param *param = &list->items[i];
        if (param->fixed != fixed) {
            continue;
        }
        param->offset = list->count;
        size_t end = qn_size_add(list->count, param->count);
        size_t gap = (ALIGN_FLOATS - end % ALIGN_FLOATS) % ALIGN_FLOATS;
        list->count = qn_size_add(end, gap);
    }
}

void qn_param_list_init(struct qn_param_list *list, const struct qn_spec *spec,
                        int vocab)
{
    QN_ASSERT(vocab >= 1);
    int layers = spec->model.layers;
    size_t symbols = (size_t)vocab;
    size_t outputs = (size_t)qn_layout_outputs(spec, vocab);
    size_t hidden = (size_t)spec->model.hidden;
    size_t embed = (size_t)spec->model.embed;
    size_t room = (size_t)layers * QN_LAYER_MAX_PARAMS + N_OUTSIDE;
    *list =
        (struct qn_param_list){.items = qn_xcalloc(room, sizeof *list->items)};
    if (spec->data.vectors[0] == '\0') {
        add_param(list, (struct qn_param){.name = "embedding.weight",
                                          .n_dims = 2,
                                          .dim = {symbols, embed},
                                          .blocks = 1,
                                          .drawn = true});
    }
    list->first_layer = list->n;
    for (int k = 0; k < layers; k++) {
        struct qn_layer_place place = {spec, k, qn_layout_width(spec, k)};
        add_layer(list, &place);
    }
    add_param(list, (struct qn_param){.name = "decoder.weight",
                                      .n_dims = 2,
                                      .dim = {outputs, hidden},
                                      .blocks = 1,
                                      .drawn = true});
    add_param(list, (struct qn_param){
                        .name = "decoder.bias", .n_dims = 1, .dim = {outputs}});
    place_params(list, false);
    list->trained = list->count;
    place_params(list, true);
}

size_t qn_param_table(const struct qn_param_list *list,
                      const struct qn_spec *spec, int vocab)
{
    bool learnt = list->first_layer > 0;
    return learnt ? 0 : qn_size_mul((size_t)vocab, (size_t)spec->model.embed);
}

void qn_param_list_fini(struct qn_param_list *list)
{
    free(list->items);
    *list = (struct qn_param_list){0};
}

const struct qn_param *qn_param_find(const struct qn_param_list *list,
                                     const char *name)
{
    for (int i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}
