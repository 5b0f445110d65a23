/* trouble.c - a step that is not applied: what was wrong, and what is done. */
#include "train/trainer_self.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

/* The loss of a step counts so much less with every applied step after it. */
#define USUAL_DECAY 0.99

/* The weights of all applied steps, the newest's being 1 - USUAL_DECAY. */
static double usual_weights(int64_t updates)
{
    return 1 - pow(USUAL_DECAY, (double)updates);
}

/* The mean loss of applied steps, the newest ones above all; NaN: not known. */
static double usual_loss(const struct qn_trainer *t)
{
    return t->at.updates > 0 ? t->at.usual_loss / usual_weights(t->at.updates)
                             : (double)NAN;
}

double qn_trainer_most_loss(const struct qn_trainer *t)
{
    double most = t->spec.stop.spike * usual_loss(t);
    return most > 0 ? most : 0;
}

bool qn_step_applied(const struct qn_step_result *result)
{
    return result->finite && !result->spike;
}

void qn_trainer_count_update(struct qn_trainer *t,
                             const struct qn_step_result *result)
{
    struct qn_progress *at = &t->at;
    double usual = usual_loss(t);
    /* A step without predictions leaves the mean as it is. */
    double loss = result->count > 0 ? result->loss_sum / result->count : usual;
    at->updates++;
    /* The first one, also of a state that an older program saved or of an
     * optimiser that begins anew, stands for all before it. */
    at->usual_loss =
        isnan(usual) ? loss * usual_weights(at->updates)
                     : USUAL_DECAY * at->usual_loss + (1 - USUAL_DECAY) * loss;
}

/* What was wrong, for a person. */
static void describe(const struct qn_trainer *t, const struct qn_step_result *r,
                     char *out, size_t size)
{
    double loss = r->loss_sum / r->count;
    double usual = usual_loss(t);
    if (!r->finite) {
        (void)snprintf(out, size, "the %s is not finite",
                       isfinite(r->loss_sum) ? "gradient" : "loss");
    } else {
        (void)snprintf(out, size, "a loss of %.4g is %.3g times the usual %.4g",
                       loss, loss / usual, usual);
    }
}

static void tell_spike(struct qn_trainer *t, const struct qn_step_result *r,
                       const char *text)
{
    double loss = r->loss_sum / r->count;
    struct qn_json *line = qn_record_begin(t->record, "spike", t->at.step);
    qn_json_kdouble(line, "loss", loss);
    qn_json_kdouble(line, "usual", usual_loss(t));
    qn_json_kstring(line, "text", text);
    qn_record_end(t->record);
    struct qn_note note = {
        .kind = QN_NOTE_SPIKE, .loss = loss, .seconds = t->seconds};
    qn_trainer_note(t, &note, text);
}

void qn_trainer_note_trouble(struct qn_trainer *t,
                             const struct qn_step_result *result)
{
    if (qn_step_applied(result)) {
        return;
    }
    char text[sizeof t->rollback.why];
    describe(t, result, text, sizeof text);
    if (result->spike) {
        tell_spike(t, result, text);
    } else {
        qn_trainer_tell(t, QN_NOTE_NAN, "nan", "text", text);
    }
    if (t->spec.stop.nan == QN_NAN_ROLLBACK) {
        t->rollback.owed = true;
        t->rollback.from = t->at.step;
        memcpy(t->rollback.why, text, sizeof text);
    }
}

void qn_trainer_react(struct qn_trainer *t, const struct qn_step_result *result)
{
    char text[sizeof t->rollback.why];
    enum qn_status status;
    if (qn_step_applied(result)) {
        return;
    }
    switch (t->spec.stop.nan) {
    case QN_NAN_PAUSE:
        describe(t, result, text, sizeof text);
        qn_trainer_pause(t, text);
        break;
    case QN_NAN_STOP:
        /* A checkpoint that fails has paused the run and was told; room on the
         * disk alone does not let it train on. */
        status = qn_trainer_stop(t, true, NULL);
        if (status != QN_OK && status != QN_ESTOPPED) {
            describe(t, result, text, sizeof text);
            qn_trainer_pause(t, text);
        }
        break;
    case QN_NAN_ROLLBACK:
        /* What stands in its way has paused the run and was told. */
        (void)qn_trainer_roll_back(t, NULL);
        break;
    case QN_NAN_IGNORE:
        break;
    }
}
