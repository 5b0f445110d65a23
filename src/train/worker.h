/* worker.h - a trainer on a thread of its own: commands in, records out.
 *
 * The only file pair that knows both a trainer and a thread. Commands take
 * effect between steps; step records go through a ring, statistics through a
 * newest-value box, notes through a list that never drops; all of them share
 * one coalesced wake-up.
 */
#ifndef QN_TRAIN_WORKER_H
#define QN_TRAIN_WORKER_H

#include "base/wake.h"
#include "train/trainer.h"

struct qn_worker;

enum qn_command_kind {
    QN_CMD_PAUSE,
    QN_CMD_RESUME,
    QN_CMD_STOP,       /* save */
    QN_CMD_SET,        /* key, text = value */
    QN_CMD_CHECKPOINT, /* answered */
    QN_CMD_EVALUATE,   /* split; answered */
    QN_CMD_SAMPLE,     /* text = prompt, length, temperature, seed; answered */
    QN_CMD_MEASURE,    /* split, of, near; answered, counts apart */
    QN_CMD_CLASSIFY    /* document; answered */
};

struct qn_command {
    enum qn_command_kind kind;
    bool save;
    enum qn_split split;
    unsigned of; /* set of enum qn_quantity: bits 1u << quantity */
    double near;
    int length;
    double temperature;
    int64_t seed;
    uint64_t ticket; /* echoed in the QN_NOTE_REPLY; 0 wants no reply */
    char key[64];
    char text[1024];
    bool own_prompt; /* of a sample: the run's, not text */
    /* Of a classification, from malloc: a review is longer than text. Whoever
     * posts the command gives it away, even when the post fails. */
    char *document;
    size_t document_len;
};

/* Where a trainer on a thread puts its records. Make it first, give its sink to
 * the trainer, then start the worker with both. wake is borrowed. */
struct qn_outlet;
struct qn_outlet *qn_outlet_new(struct qn_wake *wake);
void qn_outlet_free(struct qn_outlet *o); /* only when no worker took it */
struct qn_sink qn_outlet_sink(struct qn_outlet *o);

/* Take trainer and outlet and start training; on failure the caller still owns
 * both. paused: wait for a resume first. */
enum qn_status qn_worker_start(struct qn_trainer *t, struct qn_outlet *o,
                               bool paused, struct qn_worker **out,
                               struct qn_err *err);

/* Ask for an end without saving beyond the last checkpoint (save = false) or
 * after a checkpoint, wait for the thread, free everything. NULL is fine. */
void qn_worker_free(struct qn_worker *w, bool save);

/* false: the command will not be obeyed, the thread has ended or has too much
 * to do. Its document is taken in any case. */
bool qn_worker_post(struct qn_worker *w, const struct qn_command *c);
/* The thread has ended (the run is done, stopped or failed). */
bool qn_worker_ended(struct qn_worker *w);
/* Wait for that: soon, once a note has told the end; else it takes a run. */
void qn_worker_join(struct qn_worker *w);

/* UI thread: take what is new. */
bool qn_worker_take_step(struct qn_worker *w, struct qn_step_record *out);
bool qn_worker_take_note(struct qn_worker *w, struct qn_note *out);
const struct qn_stats_record *qn_worker_take_stats(struct qn_worker *w);
/* The counts that the reply to this ticket tells of: the caller frees them.
 * NULL for any other ticket, and once they were taken. */
struct qn_stats_record *qn_worker_take_counts(struct qn_worker *w,
                                              uint64_t ticket);
uint64_t qn_worker_dropped_steps(const struct qn_worker *w);

/* Put as much of text into the note as fits, cut between code points. */
void qn_note_set_text(struct qn_note *n, const char *text);

#endif
