/* params.h - every parameter tensor of a spec: name, shape, place.
 *
 * Names are those of the checkpoint (design of the run folder): they follow
 * PyTorch's, layers counted from 0 here and only here. In memory a window
 * weight is [G*H, n, D]; in files it is [G*H, D, n], torch.nn.Conv1d's order,
 * last tap on the current input.
 */
#ifndef QN_MODEL_PARAMS_H
#define QN_MODEL_PARAMS_H

#include "nn/layer.h"

#include <stddef.h>

struct qn_param {
    char name[64]; /* "layers.0.conv.weight" */
    char twin[64]; /* a second tensor in files (nn/layer.h); "" = none */
    int n_dims;
    size_t dim[3]; /* as in the file */
    size_t offset; /* floats, in the flat buffers */
    size_t count;
    /* Stacked along dim[0]: each drawn by itself, or value[block]. */
    int blocks;
    bool drawn;
    float value[QN_MAX_BLOCKS];
    bool fixed; /* not trained; behind all that are */
};

/* In the order embedding.weight (unless vectors take its place), the layers'
 * tensors, decoder.weight, decoder.bias. */
struct qn_param_list {
    struct qn_param *items;
    int n;
    int per_layer;    /* tensors of each layer */
    int first_layer;  /* the item where layer 0's begin: 1, or 0 */
    size_t count;     /* floats of the flat buffer */
    size_t trained;   /* its first floats, which have gradients */
    size_t all;       /* as the paper counts: of a classifier with the layers'
                         initial states, which its authors store as zeros */
    size_t trainable; /* the plain count */
};

void qn_param_list_init(struct qn_param_list *list, const struct qn_spec *spec,
                        int vocab);
/* Floats of the word vectors that take the place of an embedding, or 0. */
size_t qn_param_table(const struct qn_param_list *list,
                      const struct qn_spec *spec, int vocab);
void qn_param_list_fini(struct qn_param_list *list);
const struct qn_param *qn_param_find(const struct qn_param_list *list,
                                     const char *name); /* or NULL */

#endif
