/* tables.h - what the lab's own files share: runs, requests, log.
 *
 * Private to src/lab. All of it belongs to the UI thread, except the log, which
 * any thread may write (qn_lab_log_add).
 */
#ifndef QN_LAB_TABLES_H
#define QN_LAB_TABLES_H

#include "base/wake.h"
#include "lab/lab.h"
#include "train/worker.h"

enum lab_metric {
    LAB_TRAIN_LOSS,
    LAB_VALID_LOSS,
    LAB_TEST_LOSS,
    LAB_TRAIN_ACCURACY,
    LAB_VALID_ACCURACY,
    LAB_TEST_ACCURACY,
    LAB_LR,
    LAB_GRAD_NORM,
    LAB_TOKENS_PER_S,
    LAB_N_METRICS
};

struct lab_run {
    qn_run_id id;
    char *dir;
    const char *folder; /* the last part of dir */
    struct qn_spec spec;
    struct qn_worker *worker; /* NULL: it has ended, or is only looked at */
    enum qn_lab_state state;
    bool hold_paused; /* a person paused it while it was held */
    bool waits;       /* paused by the disk: goes on by itself */
    char error[4096];

    int64_t steps_total, steps_per_epoch;
    struct qn_step_record newest; /* step 0: none yet, NaN in its loss */
    int64_t segment_begin; /* the first step that came of the newest's segment
                            */
    bool has_best;
    int64_t best_step;
    double best_loss, best_accuracy;
    struct qn_series *series[LAB_N_METRICS];
    struct qn_stats_record *stats; /* NULL before the first */
    char *sample;                  /* owned */

    uint64_t dropped_seen; /* steps the ring dropped, already made good */
    double train_seconds;  /* of training so far, as the trainer counts */
    double rate;           /* steps per second, moving; 0 = unknown */
    double rate_time;      /* when the rate was last looked at; 0 = anew */
    int64_t rate_step;
};

/* A question, from asking to answer. */
enum lab_ask_state {
    LAB_ASK_POSTED,  /* its worker has it */
    LAB_ASK_WAITING, /* for the helper thread */
    LAB_ASK_WORKING, /* the helper thread has it */
    LAB_ASK_ANSWERED
};
struct lab_ask {
    qn_run_id run;
    enum lab_ask_state state;
    struct qn_command command; /* with a document of its own */
    char checkpoint[32];       /* of the folder; "": the weights as they are */
    struct qn_note answer;
    struct qn_stats_record *counts; /* of a measurement; owned, or NULL */
};

struct lab_job; /* a question to an ended run, on a thread of its own */
struct lab_log;

struct qn_lab {
    struct qn_train_env env;
    struct qn_wake *wake;
    struct qn_log *notices; /* made by the lab; NULL when env had a log */
    struct lab_log *log;
    struct lab_run **runs;
    int n_runs;
    struct lab_ask **asks;
    int n_asks;
    uint64_t last_ticket;
    struct lab_job *job; /* the one at work, or NULL */
};

/* lab.c */
struct lab_run *qn_lab_find(const struct qn_lab *lab, qn_run_id id);
struct lab_run *qn_lab_find_dir(const struct qn_lab *lab, const char *dir);
/* A new row; the spec is copied. */
struct lab_run *qn_lab_add_run(struct qn_lab *lab, const char *dir,
                               const struct qn_spec *spec);
void qn_lab_drop_last_run(struct qn_lab *lab);
/* No step and no best one yet. */
void qn_lab_reset_progress(struct lab_run *run);

/* lab_intake.c: records into tables. */
bool qn_lab_intake(struct qn_lab *lab, struct lab_run *run);
void qn_lab_intake_step(struct lab_run *run, const struct qn_step_record *r);
/* Of e: split, loss, accuracy. */
void qn_lab_intake_eval(struct lab_run *run, int64_t step,
                        const struct qn_evaluation *e);
/* The evaluation is the best one if it is better than that. */
void qn_lab_take_best(struct lab_run *run, int64_t step,
                      const struct qn_evaluation *e);
/* What was counted of a step, unless that step has been replaced meanwhile. */
void qn_lab_intake_stats(struct lab_run *run,
                         const struct qn_stats_record *stats);
void qn_lab_set_sample(struct lab_run *run, const char *text);

/* lab_segments.c: a segment of the history begins with this step: steps from
 * there on are replaced, and so is what was counted of them; */
void qn_lab_begin_segment(struct lab_run *run, int segment, int64_t step);
/* a note tells of a rollback, evaluations with it. */
void qn_lab_take_rollback(struct lab_run *run, const struct qn_note *n);

/* lab_stored.c */
enum qn_status qn_lab_read_history(struct lab_run *run, struct qn_err *err);
/* Steps after the newest one that metrics.jsonl knows. */
void qn_lab_refill(struct lab_run *run);

/* lab_asks.c: an answer has come (QN_NOTE_REPLY), with what was counted or
 * NULL, which it takes. */
void qn_lab_take_reply(struct qn_lab *lab, const struct qn_note *reply,
                       struct qn_stats_record *counts);
/* The run's worker is gone: what it left unanswered is asked of its folder. */
void qn_lab_reroute_asks(struct qn_lab *lab, qn_run_id run);
void qn_lab_free_asks(struct qn_lab *lab);
/* A new question in the table; the command's ticket is set, and its document
 * taken. */
struct lab_ask *qn_lab_new_ask(struct qn_lab *lab, qn_run_id run,
                               const struct qn_command *command);
struct lab_ask *qn_lab_find_ask(const struct qn_lab *lab, qn_ticket ticket);
void qn_lab_drop_ask(struct qn_lab *lab, qn_ticket ticket);
/* A copy that has its own document, the caller's to free. */
struct qn_command qn_lab_copy_command(const struct qn_command *c);

/* lab_jobs.c: the helper thread; true when an answer was taken. */
bool qn_lab_poll_jobs(struct qn_lab *lab);
void qn_lab_end_job(struct qn_lab *lab); /* interrupts and joins it */
void qn_lab_cancel_job(struct qn_lab *lab, qn_ticket ticket);

/* lab_log.c */
struct lab_log *qn_lab_log_new(struct qn_wake *wake);
void qn_lab_log_free(struct lab_log *log);
bool qn_lab_log_any(struct lab_log *log);
void qn_lab_log_add(struct lab_log *log, enum qn_log_level level,
                    const char *line);
void qn_lab_log_note(struct qn_lab *lab, const struct lab_run *run,
                     const struct qn_note *n);

#endif
