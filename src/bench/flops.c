/* flops.c - the products that a network cannot do without. */
#include "bench/flops.h"

#include "base/str.h"
#include "model/params.h"

/* Weights that multiply word vectors which are not trained: of layer 0 all of
 * them, in a dense stack as many columns of every layer. */
static double weights_of_vectors(const struct qn_param_list *list,
                                 const struct qn_spec *spec)
{
    double n = 0;
    for (int i = list->first_layer; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        bool of_input = qn_ends_with(p->name, ".conv.weight") ||
                        qn_ends_with(p->name, ".lstm.weight_ih");
        bool meets = i < list->per_layer || spec->model.dense;
        if (of_input && meets) {
            n += (double)p->count / (double)p->dim[1] * spec->model.embed;
        }
    }
    return n;
}

double qn_flops_per_token(const struct qn_spec *spec, int vocab)
{
    struct qn_param_list list;
    qn_param_list_init(&list, spec, vocab);
    double n = 0;
    for (int i = list.first_layer; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        bool of_step = p->n_dims == 2 && qn_ends_with(p->name, ".bias");
        size_t met = of_step ? p->dim[1] : p->count;
        n += p->fixed ? 0 : (double)met;
    }
    bool frozen = list.first_layer == 0;
    double idle = frozen ? weights_of_vectors(&list, spec) : 0;
    qn_param_list_fini(&list);
    return 6 * n - 2 * idle;
}
