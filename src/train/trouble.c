/* trouble.c - a step that is not applied: what was wrong, and what is done. */
#include "train/trainer_self.h"

#include <math.h>

/* What was not finite, for a person. */
static const char *sentence(const struct qn_step_result *r)
{
    return isfinite(r->loss_sum) ? "the gradient is not finite"
                                 : "the loss is not finite";
}

void qn_trainer_note_trouble(struct qn_trainer *t,
                             const struct qn_step_result *result)
{
    if (!result->finite) {
        qn_trainer_tell(t, QN_NOTE_NAN, "nan", "text", sentence(result));
    }
}

enum qn_status qn_trainer_react(struct qn_trainer *t,
                                const struct qn_step_result *result,
                                struct qn_err *err)
{
    (void)err;
    if (result->finite) {
        return QN_OK;
    }
    switch (t->spec.stop.nan) {
    case QN_NAN_PAUSE:
        qn_trainer_pause(t, sentence(result));
        break;
    case QN_NAN_STOP:
        /* A checkpoint that fails has paused the run and was told. */
        (void)qn_trainer_stop(t, true, NULL);
        break;
    case QN_NAN_ROLLBACK:
    case QN_NAN_IGNORE:
        break;
    }
    return QN_OK;
}
