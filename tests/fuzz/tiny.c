/* tiny.c - a model so small that files of its weights and state are short. */
#include "tiny.h"

#include "base/assert.h"
#include "base/mem.h"
#include "nn/settings.h"

#include <stdlib.h>

struct qn_spec fuzz_tiny_spec(void)
{
    static const char *const assignments[] = {
        "data.train=x",   "batch=2",       "seq=2",         "threads=1",
        "model.layers=1", "model.embed=2", "model.hidden=2"};
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++) {
        qn_settings_assign(s, assignments[i], QN_FROM_USER);
    }
    QN_ASSERT(qn_settings_finish(s, &spec, &err) == QN_OK);
    qn_settings_free(s);
    return spec;
}

struct fuzz_tiny fuzz_tiny_new(const struct qn_spec *spec, int vocab)
{
    struct fuzz_tiny t;
    struct qn_err err;
    QN_ASSERT(qn_backend_new("ref", NULL, 1, &t.be, &err) == QN_OK);
    QN_ASSERT(qn_model_new(t.be, spec, vocab, &t.model, &err) == QN_OK);
    QN_ASSERT(qn_pass_new(t.model, spec->batch, spec->seq, true, &t.pass,
                          &err) == QN_OK);
    QN_ASSERT(qn_optim_init(&t.optim, t.be, spec,
                            qn_model_trained(t.model).count, &err) == QN_OK);
    return t;
}

void fuzz_tiny_free(struct fuzz_tiny *t)
{
    qn_optim_fini(&t->optim);
    qn_pass_free(t->pass);
    qn_model_free(t->model);
    qn_backend_free(t->be);
}

struct fuzz_tiny *fuzz_tiny_zeroed(void)
{
    static struct fuzz_tiny kept;
    if (kept.be == NULL) {
        struct qn_spec spec = fuzz_tiny_spec();
        kept = fuzz_tiny_new(&spec, 3);
    }
    size_t n_moment = kept.optim.m.count;
    size_t n_state = qn_pass_state_len(kept.pass);
    float *zeros = qn_xcalloc(n_moment + n_state, sizeof *zeros);
    kept.be->ops->fill(kept.be, qn_model_weights(kept.model), 0);
    qn_optim_write(&kept.optim, zeros, zeros);
    qn_pass_write_state(kept.pass, zeros);
    free(zeros);
    return &kept;
}
