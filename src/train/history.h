/* history.h - what a run's own records say when it is taken up again. */
#ifndef QN_TRAIN_HISTORY_H
#define QN_TRAIN_HISTORY_H

#include "base/log.h"
#include "nn/settings.h"

struct qn_history {
    char end[16];   /* "done", "stop", "failed"; "" = none of them */
    int segments;   /* so far: 1 + resumes */
    double seconds; /* of training up to the step asked for */
};

/* The spec of a run as it was after 'step' steps: spec.json and then every
 * recorded 'set' up to there. Later ones are no longer in effect; the log (NULL
 * is fine) says which. */
enum qn_status qn_history_spec(const char *run_path, int64_t step,
                               struct qn_spec *out, struct qn_log *log,
                               struct qn_err *err);

enum qn_status qn_history_read(const char *run_path, int64_t step,
                               struct qn_history *out, struct qn_err *err);

#endif
