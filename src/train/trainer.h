/* trainer.h - one run as a plain object: step it, and it trains.
 *
 * The trainer owns the model, its place in the data, the optimiser's moments
 * and the run's folder, and writes the run's history itself. It has no thread:
 * tests, quern train and later MPI ranks call qn_trainer_step directly; only
 * train/worker.c puts one on a thread.
 *
 * A step: segment -> forward -> loss -> backward -> norm -> update -> metrics,
 * then what is due after it: statistics, evaluation, sample, checkpoint.
 */
#ifndef QN_TRAIN_TRAINER_H
#define QN_TRAIN_TRAINER_H

#include "base/log.h"
#include "base/pool.h"
#include "nn/settings.h"
#include "store/run_dir.h"
#include "train/event.h"
#include "train/measure.h"

struct qn_trainer;

/* What trainers of a process share; all borrowed. */
struct qn_train_env {
    struct qn_pool *pool;
    const char *store;    /* the store's folder */
    const char *data_dir; /* NULL: the default */
    const char *backend;  /* "cpu" or "ref" */
    struct qn_log *log;   /* notices for a person; NULL drops them */
    /* Threads that are started to compute give way (qn_thread_give_way): a
     * person sits at another one. The pool's are told by who makes it. */
    bool gives_way;
};

enum qn_trainer_state {
    QN_RUN_ACTIVE, /* has steps to do */
    QN_RUN_PAUSED, /* the trainer itself wants to wait: NaN, no room on disk */
    QN_RUN_DONE,
    QN_RUN_STOPPED,
    QN_RUN_FAILED
};

/* A new run of this spec: opens the data, checks that memory suffices, makes
 * the run's folder, initialises the weights. Nothing stays on failure. */
enum qn_status qn_trainer_create(const struct qn_train_env *env,
                                 const struct qn_spec *spec,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err);

/* Go on with a run from its last checkpoint. Recorded 'set' events up to there
 * are in effect again; 'changes' (n assignments "KEY=VALUE", live keys and
 * steps/epochs) are made and recorded. A run that is done and gets nothing more
 * to do: QN_ESTATE. A run that never had a checkpoint begins anew. */
enum qn_status qn_trainer_resume(const struct qn_train_env *env,
                                 const char *run_path,
                                 const char *const *changes, int n,
                                 const struct qn_sink *sink,
                                 struct qn_trainer **out, struct qn_err *err);

/* A new run that goes on from a checkpoint of another one ("best", "last",
 * "last_good" or a step) with changed settings: n assignments "KEY=VALUE" of
 * any keys but those that decide how the data is cut (task, data, batch, seq)
 * or the parameters' shapes. Its name is the parent's with "/fork-*" unless
 * changed. Moments are kept unless optim.kind changes. The new run keeps its
 * parent in parent.json, and the checkpoint that it began from. The parent is
 * only read and may be training. */
enum qn_status qn_trainer_fork(const struct qn_train_env *env,
                               const char *parent_path, const char *from,
                               const char *const *changes, int n,
                               const struct qn_sink *sink,
                               struct qn_trainer **out, struct qn_err *err);

/* A new run that does again what a stored one did: its settings with n
 * assignments over them, its recorded changes at their steps, from where it
 * began. The parent is only read. */
enum qn_status qn_trainer_rerun(const struct qn_train_env *env,
                                const char *parent_path,
                                const char *const *changes, int n,
                                const struct qn_sink *sink,
                                struct qn_trainer **out, struct qn_err *err);

/* Waits for a checkpoint on its way, closes the folder; what the last
 * checkpoint does not hold is lost, so finish first. NULL is fine. */
void qn_trainer_free(struct qn_trainer *t);

/* One step and all that is due after it. On QN_OK look at the state: it is
 * QN_RUN_DONE after the last step's evaluation and checkpoint. A failing disk
 * pauses the run with a note; only what cannot go on is an error (the state is
 * then QN_RUN_FAILED). */
enum qn_status qn_trainer_step(struct qn_trainer *t, struct qn_err *err);

/* End now. save: checkpoint, evaluate, state stopped. The evaluation is not one
 * of those that periods are given in ("2 evals"), so that a resume goes on as
 * if there had been no stop; but it may become the best. Not save: no
 * checkpoint but one that is on its way, state stopped. */
enum qn_status qn_trainer_stop(struct qn_trainer *t, bool save,
                               struct qn_err *err);
/* A checkpoint of this moment, committed when this returns. */
enum qn_status qn_trainer_checkpoint(struct qn_trainer *t, struct qn_err *err);
/* Record that a person paused or resumed, and change the state so. */
void qn_trainer_pause(struct qn_trainer *t, const char *why);
void qn_trainer_unpause(struct qn_trainer *t);
/* The run is paused by a disk that does not take what must be written. Nothing
 * is lost: lines and checkpoint wait in memory. */
bool qn_trainer_waits_for_disk(const struct qn_trainer *t);
/* What is in the way: the sentence, while it waits. */
const char *qn_trainer_disk_trouble(const struct qn_trainer *t);
/* Try again, every so often; true: all is written and the run goes on. Also
 * when all is written it does not if a person or a number that is not finite
 * has paused it besides. */
#define QN_DISK_TRY_SECONDS 2.0
bool qn_trainer_try_disk(struct qn_trainer *t);
/* Change a live key before the next step; recorded. */
enum qn_status qn_trainer_set(struct qn_trainer *t, const char *key,
                              const char *value, struct qn_err *err);

/* Where long work may stop early: polled between the segments of an evaluation
 * and the symbols of a sample. One that the schedule wanted is then left out;
 * qn_trainer_stop and a measure return QN_ESTOPPED. NULL = never. */
void qn_trainer_set_interrupt(struct qn_trainer *t, bool (*asked)(void *user),
                              void *user);

enum qn_trainer_state qn_trainer_state(const struct qn_trainer *t);
const struct qn_spec *qn_trainer_spec(const struct qn_trainer *t);
const char *qn_trainer_dir(const struct qn_trainer *t);
const char *qn_trainer_id(const struct qn_trainer *t);
const struct qn_train_env *qn_trainer_env(const struct qn_trainer *t);
int64_t qn_trainer_step_count(const struct qn_trainer *t);
int64_t qn_trainer_steps_total(const struct qn_trainer *t);
int64_t qn_trainer_steps_per_epoch(const struct qn_trainer *t);
/* Bytes that the process will hold at most while this run is its only one, as
 * planned before the first step. */
size_t qn_trainer_memory(const struct qn_trainer *t);
/* The same as text, "812 MB (activations 500 MB, ...)"; alone: without what the
 * program and other runs held already. */
void qn_trainer_memory_text(const struct qn_trainer *t, bool alone,
                            struct qn_str *out);
double qn_trainer_seconds(const struct qn_trainer *t); /* of training so far */
/* The best evaluation so far by checkpoint.metric; false when there was none.
 */
struct qn_best {
    int64_t step;
    double loss, accuracy; /* accuracy: NaN of a language model */
};
bool qn_trainer_best(const struct qn_trainer *t, struct qn_best *out);

/* Evaluate, sample: on the weights as they are now, without disturbing the
 * training pass. */
struct qn_measure *qn_trainer_measure(struct qn_trainer *t);

#endif
