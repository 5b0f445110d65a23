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
    bool is_read[QN_N_SPLITS];    /* the corpus holds it */
    struct qn_backend *be;
    struct qn_vocab *vocab;
    struct qn_corpus *corpus; /* of the splits that were wanted last */
    struct qn_model *model;
};

struct qn_measure {
    struct qn_model *model;
    const struct qn_spec *spec;
    const struct qn_vocab *vocab;
    const struct qn_corpus *corpus; /* NULL: not opened yet */
    int64_t step; /* of the checkpoint; of a live model when it was asked for */
    bool scheduled; /* a live run asks itself: its eval.limit holds */
    struct qn_kept_pass {
        struct qn_pass *pass; /* of this shape; NULL: not wanted yet */
        int batch, steps;
    } whole, one; /* for a split; for one text */
    bool (*asked)(void *user);
    void *asked_user;
    struct qn_stored *own; /* NULL: all of the above is borrowed */
};

/* Make the pass unless one is there for this batch and at least these steps. */
enum qn_status qn_kept_pass_ready(struct qn_kept_pass *kept,
                                  struct qn_model *model, int batch, int steps,
                                  struct qn_err *err);

/* Open the text of a split of a stored run, if that has not been done. */
enum qn_status qn_stored_text(struct qn_measure *m, enum qn_split split,
                              struct qn_err *err);
void qn_stored_free(struct qn_stored *own); /* NULL is fine */

#endif
