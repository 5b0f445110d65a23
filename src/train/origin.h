/* origin.h - a new run that begins from what another one holds: fork, rerun.
 *
 * Vocabulary, word vectors and text are those of the other run, which is only
 * read and may be training. */
#ifndef QN_TRAIN_ORIGIN_H
#define QN_TRAIN_ORIGIN_H

#include "store/parent.h"
#include "train/history.h"
#include "train/trainer.h"

struct qn_origin {
    const char *run;  /* the other run's folder */
    char *checkpoint; /* a folder of it, owned; NULL: the weights are made from
                         the seed, and the new run begins at step 0 without a
                         checkpoint */
    int64_t step;
    struct qn_spec spec;      /* of the other run at that step */
    struct qn_pending *later; /* its changes after that step; owned */
    struct qn_parent parent;  /* what the new run will say of it */
    bool any_text; /* the text may be another one now, or named otherwise */
};

/* Find where to begin: which is "best", "last", "last_good" or a step; NULL: at
 * step 0 with weights from the seed. Free with fini. *gone: it failed since the
 * checkpoint was removed meanwhile, as a run that trains does with old ones;
 * try again. */
enum qn_status qn_origin_find(const char *run, const char *which,
                              enum qn_relation relation, bool *gone,
                              struct qn_origin *out, struct qn_err *err);
void qn_origin_fini(struct qn_origin *o);

/* Make a new run of this spec that begins there, with a checkpoint of its own
 * of that moment. Moments are kept unless the rule that updates weights is
 * another one. The changes that are left in o->later are made at their steps:
 * they are taken. QN_ESTATE: the settings leave nothing to do. Nothing stays
 * on failure; *gone as above. */
enum qn_status qn_origin_begin(const struct qn_train_env *env,
                               struct qn_origin *o, const struct qn_spec *spec,
                               const struct qn_sink *sink, bool *gone,
                               struct qn_trainer **out, struct qn_err *err);

#endif
