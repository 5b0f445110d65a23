/* tiny.h - a model so small that files of its weights and state are short. */
#ifndef QN_FUZZ_TINY_H
#define QN_FUZZ_TINY_H

#include "model/model.h"
#include "train/optim.h"

/* Settings of a network of 3 symbols: what seeds/ was made with. */
struct qn_spec fuzz_tiny_spec(void);

struct fuzz_tiny {
    struct qn_backend *be;
    struct qn_model *model;
    struct qn_pass *pass;
    struct qn_optim optim;
};
struct fuzz_tiny fuzz_tiny_new(const struct qn_spec *spec, int vocab);
void fuzz_tiny_free(struct fuzz_tiny *t);

/* The one of fuzz_tiny_spec, all zeros; borrowed. It is made at the first call
 * and kept, since making it takes longer than reading a file. */
struct fuzz_tiny *fuzz_tiny_zeroed(void);

#endif
