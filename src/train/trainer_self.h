/* trainer_self.h - inside of a trainer, for the files that share it: build.c
 * puts one together, begin.c makes its folder, trainer.c steps it, after.c does
 * what is due after a step, resume.c, fork.c and import.c start from what a
 * folder or a file holds, replay.c makes recorded changes again, trouble.c and
 * rollback.c deal with steps that are not applied, save.c hands checkpoints to
 * saver.c, which writes them beside training, waiting.c pauses and waits for a
 * disk. */
#ifndef QN_TRAIN_TRAINER_SELF_H
#define QN_TRAIN_TRAINER_SELF_H

#include "data/feed.h"
#include "model/model.h"
#include "store/parent.h"
#include "train/code.h"
#include "train/optim.h"
#include "train/record.h"
#include "train/saver.h"
#include "train/schedule.h"
#include "train/state.h"
#include "train/trainer.h"

struct qn_trainer {
    struct qn_train_env env; /* pool, log and strings borrowed */
    struct qn_sink sink;
    struct qn_spec spec; /* live keys as they are now */
    enum qn_trainer_state state;

    struct qn_backend *be;
    struct qn_vocab *fixed_vocab; /* of a resumed run; the corpus borrows it */
    struct qn_corpus *corpus;
    struct qn_model *model;
    struct qn_pass *pass;
    struct qn_optim optim;
    struct qn_feed *feed;
    struct qn_measure *measure;
    struct qn_memory_plan plan;

    struct qn_run_dir *dir;
    struct qn_record *record;
    struct qn_saver *saver;
    struct qn_pending *pending; /* changes to be made again; NULL: none */
    bool left_out; /* what was due after this step is due before the next */
    int segment;   /* 1, 2, ...: see struct qn_step_record */
    struct {
        bool owed;     /* before the run goes on; no checkpoint until then */
        int64_t from;  /* the step that was not applied */
        char why[128]; /* and what was wrong with it */
    } rollback;

    struct qn_progress at; /* what checkpoints hold */
    /* The newest evaluation, of whatever occasion; its step is -1 before one.
     */
    struct {
        int64_t step;
        double loss, accuracy;
    } measured;
    int own_evals;            /* of stops: at.evals does not count them */
    int64_t checkpoint_step;  /* of the newest one, which may be on its way; -1
                                 = none */
    int64_t checkpoint_evals; /* evaluations before it, stops' own with them */
    bool checkpoint_owed;     /* one of this step could not be handed over and
                                 must be before going on */
    bool waits_for_disk;      /* paused, and tried again */
    struct qn_err disk;       /* why */
    bool stay_paused; /* by a person or trouble, whatever the disk does */
    struct qn_moment before; /* when due things were last looked at */
    double seconds;          /* of training: the time inside steps */
    struct qn_speed speed;
    struct qn_stats_record stats; /* of the newest step that took them */
};

/* All but folder and weights. vocab: a run's fixed one, taken (also on
 * failure), or NULL. */
enum qn_status qn_trainer_build(const struct qn_train_env *env,
                                const struct qn_spec *spec,
                                const struct qn_sink *sink,
                                struct qn_vocab *vocab, struct qn_trainer **out,
                                struct qn_err *err);
/* begin.c: how a new run begins, all borrowed. */
struct qn_beginning {
    const struct qn_parent *parent; /* the run that it comes from; NULL: none */
    const struct qn_pending *later; /* changes that it will make; NULL: none */
    bool saved; /* with a checkpoint of this moment, not from its seed */
    bool over;  /* with nothing to do until a person wants more steps */
};
/* Make the folder of a new run, with its first lines and checkpoint. */
enum qn_status qn_trainer_make_dir(struct qn_trainer *t,
                                   const struct qn_beginning *how,
                                   struct qn_err *err);
/* Take this folder, also on failure, and all that writes to it. */
enum qn_status qn_trainer_take_dir(struct qn_trainer *t, struct qn_run_dir *dir,
                                   struct qn_err *err);
struct qn_code qn_trainer_code(const struct qn_trainer *t);

/* Whether the spec's prompt can be read; a classifier has none. */
enum qn_status qn_trainer_check_prompt(const struct qn_trainer *t,
                                       const struct qn_spec *spec,
                                       struct qn_err *err);

/* Where the run stands, in all units. */
struct qn_moment qn_trainer_moment(const struct qn_trainer *t);
/* A note of this kind at this step and epoch, with the text cut to fit; */
void qn_trainer_note(struct qn_trainer *t, struct qn_note *note,
                     const char *text);
/* of an earlier step. */
void qn_trainer_note_of(struct qn_trainer *t, int64_t step,
                        struct qn_note *note, const char *text);
/* An event without more to it than a text under a key (NULL: none), recorded
 * and told. */
void qn_trainer_tell(struct qn_trainer *t, enum qn_note_kind kind,
                     const char *event, const char *key, const char *text);
/* Record a 'set' that has been made. */
void qn_trainer_tell_set(struct qn_trainer *t, const char *key,
                         const char *value);

bool qn_trainer_ended(const struct qn_trainer *t);

/* Evaluate on the split for the schedule: recorded, told, compared with the
 * best. QN_ESTOPPED when interrupted; anything else that goes wrong pauses the
 * run. */
enum qn_status qn_trainer_evaluate(struct qn_trainer *t, struct qn_err *err);
/* The same because the run is stopped here: at.evals and what at holds of the
 * last evaluation stay, so that a resume goes on as if there had been no stop;
 * only the best may be another. */
enum qn_status qn_trainer_evaluate_own(struct qn_trainer *t,
                                       struct qn_err *err);

/* What checkpoint.metric looks at, turned so that less is better. A network
 * whose output is not a number is right about documents of one label by chance:
 * its accuracy does not count. */
double qn_trainer_metric(const struct qn_trainer *t, double loss,
                         double accuracy);

/* save.c: write a checkpoint of this moment into a folder that will be the
 * run's; no saver is there yet. */
enum qn_status qn_trainer_save_in(struct qn_trainer *t, const char *run,
                                  struct qn_err *err);
/* Tell of it, once it is the run's. */
enum qn_status qn_trainer_take_saved(struct qn_trainer *t, struct qn_err *err);
/* Hand a checkpoint of this moment to the saver, after the one on its
 * way. A failure pauses the run, and the checkpoint is owed. */
enum qn_status qn_trainer_begin_save(struct qn_trainer *t, struct qn_err *err);
/* The same, and wait until it is committed. */
enum qn_status qn_trainer_save(struct qn_trainer *t, struct qn_err *err);
/* The same unless this moment has one. */
enum qn_status qn_trainer_save_once(struct qn_trainer *t, struct qn_err *err);
/* Tell of a checkpoint that has been committed or has failed, if one has. A
 * failure pauses the run; the copy is kept. */
void qn_trainer_poll_saver(struct qn_trainer *t);
/* The same, waiting for the one on its way. What this returns is its error. */
enum qn_status qn_trainer_await_saver(struct qn_trainer *t, struct qn_err *err);
/* And write one again that failed before: QN_OK when all are committed. */
enum qn_status qn_trainer_settle(struct qn_trainer *t, struct qn_err *err);

/* waiting.c: pause until what could not be written, for this reason, can. */
void qn_trainer_wait_for_disk(struct qn_trainer *t, const char *why);

/* Evaluation, sample and checkpoint if due after this step. */
void qn_trainer_do_due(struct qn_trainer *t);

/* trouble.c: the mean loss above which the next step is a spike; 0: none is. */
double qn_trainer_most_loss(const struct qn_trainer *t);
/* It is finite and no spike. */
bool qn_step_applied(const struct qn_step_result *result);
/* Count a step that was applied. */
void qn_trainer_count_update(struct qn_trainer *t,
                             const struct qn_step_result *result);
/* Tell that a step was not applied, if it was not; a rollback is owed then if
 * stop.nan wants one. */
void qn_trainer_note_trouble(struct qn_trainer *t,
                             const struct qn_step_result *result);
/* And do what stop.nan wants, after what is due. */
void qn_trainer_react(struct qn_trainer *t,
                      const struct qn_step_result *result);

/* rollback.c: go back to the last good checkpoint, with half the learning rate.
 * What stands in the way pauses the run: a disk until it works, with the
 * rollback owed; that there is nothing to go back to, or that it was done too
 * often. */
enum qn_status qn_trainer_roll_back(struct qn_trainer *t, struct qn_err *err);

/* resume.c: weights, moments, counters and carried state of this checkpoint
 * into the trainer, whose step must be 'step'. folder NULL: weights from the
 * seed and all else as in a new run. */
enum qn_status qn_trainer_load(struct qn_trainer *t, const char *folder,
                               int64_t step, struct qn_err *err);
/* replay.c: make the changes that were recorded for this moment, before the
 * next step, in a run that comes to it again, after what was due at this step
 * and left out. QN_ESTOPPED: that was interrupted again. */
enum qn_status qn_trainer_replay(struct qn_trainer *t, struct qn_err *err);
/* Whether the run was stopped before it made an evaluation that was due. */
void qn_trainer_find_left_out(struct qn_trainer *t);
/* A new segment of the history from this step on, with the changes that were
 * made later (taken; NULL: none), which will be made again. */
void qn_trainer_begin_segment(struct qn_trainer *t, int64_t from,
                              struct qn_pending *later);
/* The same for a run that goes back by itself: the settings become those of
 * this step. Before anything is recorded for it. */
enum qn_status qn_trainer_rewind(struct qn_trainer *t, int64_t step,
                                 struct qn_err *err);

#endif
