/* lab.h - the facade: every run of this process, for Lua and the screen alike.
 *
 * Script and screen are siblings on this header and see nothing below it but
 * plain records. Runs are named by small integers that are never reused. All
 * functions belong to the UI thread. Trainers run on threads of their own;
 * qn_lab_poll copies what they published into the lab's tables.
 */
#ifndef QN_LAB_LAB_H
#define QN_LAB_LAB_H

#include "base/series.h"
#include "nn/settings.h"
#include "train/event.h"
#include "train/trainer.h"

struct qn_lab;

/* wake fd becomes readable when a trainer has something new. Without a log in
 * env the trainers' notices come through qn_lab_take_log. */
enum qn_status qn_lab_new(const struct qn_train_env *env, struct qn_lab **out,
                          struct qn_err *err);
/* Stops every run (saving when save) and waits for its thread. */
void qn_lab_free(struct qn_lab *lab, bool save); /* NULL is fine */
int qn_lab_fd(const struct qn_lab *lab);
const struct qn_train_env *qn_lab_env(const struct qn_lab *lab);
/* Take in what is new; true when anything was. Never blocks. */
bool qn_lab_poll(struct qn_lab *lab);

typedef int qn_run_id; /* 1, 2, ... */

/* Start a run on its own thread. The data is opened and checked before this
 * returns, so that a mistake is an error here. hold: it waits until
 * qn_lab_release (a script's chunk still sets things up). */
enum qn_status qn_lab_train(struct qn_lab *lab, const struct qn_spec *spec,
                            bool hold, qn_run_id *out, struct qn_err *err);
/* The run keeps its id when this lab has shown or trained it before. */
enum qn_status qn_lab_resume_stored(struct qn_lab *lab, const char *run,
                                    const char *const *changes, int n,
                                    qn_run_id *out, struct qn_err *err);
/* A new run from a checkpoint of another one, "best", "last", "last_good" or a
 * step, with changes "KEY=VALUE" (qn_trainer_fork). The parent may be training:
 * only its folder is read. hold as for qn_lab_train. */
enum qn_status qn_lab_fork(struct qn_lab *lab, qn_run_id parent,
                           const char *from, const char *const *changes, int n,
                           bool hold, qn_run_id *out, struct qn_err *err);
/* A stored run to look at: its history is read, nothing trains. A run that the
 * lab has already keeps its id. */
enum qn_status qn_lab_open_stored(struct qn_lab *lab, const char *run,
                                  qn_run_id *out, struct qn_err *err);
/* All held runs begin. */
void qn_lab_release(struct qn_lab *lab);

enum qn_lab_state {
    QN_LAB_HELD,
    QN_LAB_RUNNING,
    QN_LAB_PAUSED,
    QN_LAB_STOPPING,
    QN_LAB_DONE,
    QN_LAB_STOPPED,
    QN_LAB_FAILED
};
const char *qn_lab_state_name(enum qn_lab_state state); /* "running", ... */
bool qn_lab_state_active(enum qn_lab_state state);      /* held .. stopping */

struct qn_lab_run {
    qn_run_id id;
    const char *name, *dir, *run; /* run = the folder's name */
    enum qn_lab_state state;
    bool waits;        /* paused until the disk has room, by itself */
    const char *error; /* why paused by itself or failed; "" otherwise */
    int64_t step, steps_total, steps_per_epoch;
    double epoch, epochs_total;
    double loss;     /* newest, nats per prediction; NaN before one */
    double accuracy; /* newest, 0 to 1; NaN before one and of texts */
    double lr, grad_norm, tokens_per_s;
    double seconds;      /* of training: steps and what was due after them */
    double seconds_left; /* INFINITY when unknown */
    bool has_best;
    int64_t best_step;
    double best_loss, best_accuracy; /* of the best by checkpoint.metric */
    const struct qn_spec *spec;
    const char *sample; /* the newest sample, "" before one */
};

int qn_lab_n_runs(const struct qn_lab *lab);
qn_run_id qn_lab_run_at(const struct qn_lab *lab, int i); /* in order made */
/* false: no such run. The pointers hold until the next call of qn_lab_poll. */
bool qn_lab_run(const struct qn_lab *lab, qn_run_id id, struct qn_lab_run *out);
int qn_lab_n_active(const struct qn_lab *lab);

/* "train.loss", "valid.loss", "test.loss", "train.accuracy", "valid.accuracy",
 * "test.accuracy" (of classifiers, else without points), "lr", "grad_norm",
 * "tokens_per_s"; NULL for another name or run. Borrowed; grows with
 * qn_lab_poll. */
const struct qn_series *qn_lab_series(const struct qn_lab *lab, qn_run_id id,
                                      const char *metric);
const char *const *qn_lab_metric_names(void); /* NULL at the end */
/* Whether such a run can have points of it: a language model has no accuracy.
 */
bool qn_lab_has_metric(const struct qn_spec *spec, const char *metric);
/* "cell states c", "forget gates f", ... */
const char *qn_lab_quantity_title(enum qn_quantity what);
/* The newest statistics, or NULL before the first. */
const struct qn_stats_record *qn_lab_stats(const struct qn_lab *lab,
                                           qn_run_id id);

/* Commands: they take effect between steps. QN_ESTATE when the run has ended.
 * Repeats are harmless. */
enum qn_status qn_lab_pause(struct qn_lab *lab, qn_run_id id,
                            struct qn_err *err);
enum qn_status qn_lab_unpause(struct qn_lab *lab, qn_run_id id,
                              struct qn_err *err);
enum qn_status qn_lab_stop(struct qn_lab *lab, qn_run_id id, bool save,
                           struct qn_err *err);
/* The value is checked at once; it holds from the next step. */
enum qn_status qn_lab_set(struct qn_lab *lab, qn_run_id id, const char *key,
                          const char *value, struct qn_err *err);

/* Questions: asked now, answered when the trainer comes to it (also while it is
 * paused; a run that has ended is opened from its folder on a thread of its
 * own). Take the answer with qn_lab_answer. */
typedef uint64_t qn_ticket;
enum qn_status qn_lab_evaluate(struct qn_lab *lab, qn_run_id id,
                               enum qn_split split, qn_ticket *out,
                               struct qn_err *err);
/* The same with the weights of a checkpoint of the folder ("best", "last", a
 * step), also while the run trains; "" is as they are, or of an ended run the
 * best. */
enum qn_status qn_lab_evaluate_at(struct qn_lab *lab, qn_run_id id,
                                  enum qn_split split, const char *checkpoint,
                                  qn_ticket *out, struct qn_err *err);
/* Statistics of a whole split, in evaluation; taken with qn_lab_counts. */
struct qn_lab_measurement {
    enum qn_split split;
    const char *checkpoint; /* as for qn_lab_evaluate_at */
    unsigned of;            /* set of enum qn_quantity: bits 1u << quantity */
    double near;            /* the threshold */
};
enum qn_status qn_lab_measure(struct qn_lab *lab, qn_run_id id,
                              const struct qn_lab_measurement *what,
                              qn_ticket *out, struct qn_err *err);
enum qn_status qn_lab_sample(struct qn_lab *lab, qn_run_id id,
                             const struct qn_text_request *request,
                             qn_ticket *out, struct qn_err *err);
/* What a classifier says of a text (train/measure.h): note->judgement. The text
 * is copied. QN_EUSAGE when the run is a language model, as qn_lab_sample says
 * of a classifier. */
enum qn_status qn_lab_classify(struct qn_lab *lab, qn_run_id id,
                               const char *text, size_t len, qn_ticket *out,
                               struct qn_err *err);
/* true: answered; *note holds it (note->status, note->text on failure), once.
 * A ticket that was taken or forgotten is answered with QN_ENOTFOUND. A sample
 * longer than note->text is cut. */
bool qn_lab_answer(struct qn_lab *lab, qn_ticket ticket, struct qn_note *note);
/* The same for a measurement: on success *counts is the caller's to free, else
 * NULL. */
bool qn_lab_counts(struct qn_lab *lab, qn_ticket ticket, struct qn_note *note,
                   struct qn_stats_record **counts);
void qn_lab_forget(struct qn_lab *lab, qn_ticket ticket);

/* Log lines (notices, evaluations, checkpoints, errors) since the last call, a
 * line each, in order; false when there is none left. */
bool qn_lab_take_log(struct qn_lab *lab, char *line, size_t size,
                     enum qn_log_level *level);

#endif
