/* shapes.c - what the model's list of parameters says, without the model. */
#include "train/shapes.h"

#include "base/mem.h"
#include "model/params.h"

#include <stdlib.h>
#include <string.h>

void qn_shapes_init(struct qn_shapes *s, const struct qn_spec *spec,
                    int symbols)
{
    struct qn_param_list list;
    qn_param_list_init(&list, spec, symbols);
    *s = (struct qn_shapes){
        .n = list.n, .all = list.all, .trainable = list.trainable};
    s->items = qn_xcalloc((size_t)list.n, sizeof *s->items);
    for (int i = 0; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        struct qn_shape *shape = &s->items[i];
        memcpy(shape->name, p->name, sizeof shape->name);
        memcpy(shape->dim, p->dim, sizeof shape->dim);
        shape->n_dims = p->n_dims;
        shape->count = p->count;
    }
    qn_param_list_fini(&list);
}

void qn_shapes_fini(struct qn_shapes *s)
{
    free(s->items);
    s->items = NULL;
}
