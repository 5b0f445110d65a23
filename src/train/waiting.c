/* waiting.c - a run that waits: for a person, or for a disk that takes what
 * must be written. Lines wait in record.c, a checkpoint in saver.c. */
#include "train/trainer_self.h"

#include "base/str.h"

void qn_trainer_pause(struct qn_trainer *t, const char *why)
{
    if (qn_trainer_ended(t) || t->stay_paused) {
        return;
    }
    t->stay_paused = true;
    t->state = QN_RUN_PAUSED;
    qn_trainer_tell(t, QN_NOTE_PAUSE, "pause", "why", why);
    /* Nobody looks at the saver while the run waits. */
    if (!t->waits_for_disk) {
        (void)qn_trainer_await_saver(t, NULL);
    }
}

void qn_trainer_wait_for_disk(struct qn_trainer *t, const char *why)
{
    if (qn_trainer_ended(t) || t->waits_for_disk) {
        return;
    }
    t->waits_for_disk = true;
    t->state = QN_RUN_PAUSED;
    (void)qn_fail(&t->disk, QN_EIO, "%s", why);
    struct qn_str text = {0};
    qn_str_addf(&text, "%s; it is tried again until it works", why);
    qn_trainer_tell(t, QN_NOTE_PAUSE, "pause", "why", text.text);
    qn_str_free(&text);
}

/* The lines that wait. Should there have been too many for memory, say so: the
 * history has a hole then. */
static enum qn_status write_lines(struct qn_trainer *t, struct qn_err *err)
{
    struct qn_err why;
    enum qn_status status = qn_record_flush(t->record, &why);
    if (status != QN_OK) {
        qn_trainer_wait_for_disk(t, why.text);
        return qn_fail(err, status, "%s", why.text);
    }
    int64_t lost = qn_record_take_lost(t->record);
    if (lost > 0) {
        qn_log_write(t->env.log, QN_LOG_WARN,
                     "%lld lines of the run's history are lost: more came "
                     "while the disk was full than memory is given to",
                     (long long)lost);
    }
    return QN_OK;
}

/* All that could not be written when its time was. */
static enum qn_status write_owed(struct qn_trainer *t, struct qn_err *err)
{
    enum qn_status status = write_lines(t, err);
    if (status == QN_OK) {
        status = qn_trainer_settle(t, err);
    }
    if (status == QN_OK && t->checkpoint_owed) {
        status = qn_trainer_save(t, err);
    }
    if (status == QN_OK && t->rollback.owed) {
        status = qn_trainer_roll_back(t, err);
    }
    return status == QN_OK ? write_lines(t, err) : status;
}

static void go_on(struct qn_trainer *t)
{
    t->waits_for_disk = t->stay_paused = false;
    t->state = QN_RUN_ACTIVE;
    qn_trainer_tell(t, QN_NOTE_RESUME, "resume", NULL, NULL);
}

void qn_trainer_unpause(struct qn_trainer *t)
{
    if (t->state != QN_RUN_PAUSED) {
        return;
    }
    struct qn_err err;
    bool waited = t->waits_for_disk;
    if (write_owed(t, &err) == QN_OK) {
        go_on(t);
        return;
    }
    if (waited || !t->waits_for_disk) {
        /* Told before: this answers whoever wants it to go on. */
        struct qn_note still = {.kind = QN_NOTE_PAUSE,
                                .waits = t->waits_for_disk};
        qn_trainer_note(t, &still, err.text);
    }
    t->stay_paused = !t->waits_for_disk;
}

bool qn_trainer_waits_for_disk(const struct qn_trainer *t)
{
    return t->waits_for_disk && t->state == QN_RUN_PAUSED;
}

const char *qn_trainer_disk_trouble(const struct qn_trainer *t)
{
    return t->disk.text;
}

bool qn_trainer_try_disk(struct qn_trainer *t)
{
    if (!t->waits_for_disk || write_owed(t, NULL) != QN_OK) {
        return false;
    }
    t->waits_for_disk = false;
    if (t->stay_paused) {
        return false;
    }
    go_on(t);
    return true;
}
