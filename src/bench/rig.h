/* rig.h - a network of a spec that trains on random symbols.
 *
 * It makes the same step as a trainer, without text, run or statistics. A
 * seeded stream of random symbols stands for a text, rows of them, all real,
 * for documents. */
#ifndef QN_BENCH_RIG_H
#define QN_BENCH_RIG_H

#include "model/model.h"
#include "train/optim.h"

/* Symbols where data.vocab_size names no number: about those of a text. */
#define QN_RIG_SYMBOLS 50
/* Words of a document, about what a review has. */
#define QN_RIG_DOCUMENT 256

struct qn_rig {
    struct qn_spec spec;
    int steps; /* symbols of a stream, words of a document, in one step */
    struct qn_backend *be;
    struct qn_model *model;
    struct qn_pass *pass;
    struct qn_optim optim;
    int32_t *ids;     /* [batch, steps] */
    int32_t *targets; /* the same, or the labels [batch] of documents */
    int64_t t;        /* steps done */
    struct qn_step_result result; /* of the last of them */
};

/* What a spec says of the step: seq, or the length of a document. */
int qn_rig_steps(const struct qn_spec *spec);
int qn_rig_symbols(const struct qn_spec *spec);

/* QN_ENOMEM with what it needs when a rig of this shape has no room beside so
 * many bytes that somebody else will take. */
enum qn_status qn_rig_check(struct qn_backend *be, const struct qn_spec *spec,
                            int steps, size_t beside, struct qn_err *err);

/* The backend becomes the rig's, also when this fails; fini in any case.
 * QN_ENOMEM before anything is taken when there is not enough. */
enum qn_status qn_rig_init(struct qn_rig *r, struct qn_backend *be,
                           const struct qn_spec *spec, int steps,
                           struct qn_err *err);
void qn_rig_fini(struct qn_rig *r); /* a zeroed one is fine */

/* Forward, backward, norm, update; documents start anew after it. QN_ESTATE
 * when the loss or the gradient's norm is no number any more: what is measured
 * then is not training. */
enum qn_status qn_rig_step(struct qn_rig *r, struct qn_err *err);

#endif
