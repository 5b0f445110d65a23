/* measure_self.h - inside of a measure, for the files that share it. */
#ifndef QN_TRAIN_MEASURE_SELF_H
#define QN_TRAIN_MEASURE_SELF_H

#include "model/model.h"
#include "train/measure.h"
#include "train/trainer.h"

/* What a measure of a stored run owns. */
struct qn_stored {
    struct qn_train_env env; /* pool, log and strings borrowed */
    struct qn_spec spec;
    char *run_path;
    bool other_text[QN_N_SPLITS]; /* a change names another text */
    struct qn_backend *be;
    struct qn_vocab *vocab;
    struct qn_corpus *corpus; /* opened when first wanted */
    struct qn_model *model;
};

struct qn_measure {
    struct qn_model *model;
    const struct qn_spec *spec;
    const struct qn_vocab *vocab;
    const struct qn_corpus *corpus; /* NULL: not opened yet */
    int64_t step; /* of the checkpoint; of a live model when it was asked for */
    /* A pass of this shape, made when first wanted. */
    struct qn_pass *pass;
    int batch, steps;
    bool (*asked)(void *user);
    void *asked_user;
    struct qn_stored *own; /* NULL: all of the above is borrowed */
};

/* Open the text of a stored run if that has not been done. */
enum qn_status qn_stored_text(struct qn_measure *m, struct qn_err *err);
void qn_stored_free(struct qn_stored *own); /* NULL is fine */

#endif
