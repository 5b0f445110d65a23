/* saver.c - checkpoints that are written beside training.
 *
 * Threads: the lock guards the stage and nothing else. While a checkpoint is on
 * its way, copy and outcome belong to the saver's thread, otherwise to the
 * trainer's; what is borrowed of model, optimiser and pass is the trainer's
 * always. The run's folder takes a checkpoint beside lines (run_dir.h). */
#include "train/saver.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "model/checkpoint.h"

#include <stdlib.h>

enum stage {
    IDLE,    /* nothing to do; the thread sleeps */
    WRITING, /* on its way */
    ENDED,   /* not told yet */
    LEAVING  /* the thread ends */
};

struct qn_saver {
    struct qn_model *model; /* all borrowed */
    const struct qn_optim *optim;
    struct qn_pass *pass;
    struct qn_run_dir *dir;
    bool gives_way;

    struct qn_weights_copy *weights;
    struct qn_state_copy *state;
    struct qn_saving what;
    struct qn_saved saved;
    bool owes; /* trainer's thread: told that it failed, and kept */

    pthread_t thread;
    bool has_thread; /* trainer's thread */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum stage stage; /* by lock */
};

/* --- the saver's thread ------------------------------------------------- */

static enum qn_status write_files(struct qn_saver *s, const char *folder,
                                  struct qn_err *err)
{
    char *model = qn_path_join(folder, "model.safetensors");
    char *state = qn_path_join(folder, "state.safetensors");
    enum qn_status status = qn_weights_copy_write(s->weights, model, err);
    if (status == QN_OK) {
        status = qn_state_copy_write(s->state, state, err);
    }
    free(model);
    free(state);
    return status;
}

/* Write and commit what was copied. */
static void write_copy(struct qn_saver *s)
{
    const struct qn_saving *what = &s->what;
    struct qn_saved *saved = &s->saved;
    int64_t step = what->at.step;
    *saved = (struct qn_saved){.step = step, .is_best = what->is_best};
    enum qn_status status =
        qn_run_dir_checkpoint(s->dir, step, &saved->folder, &saved->err);
    if (status == QN_OK) {
        status = write_files(s, saved->folder, &saved->err);
    }
    if (status == QN_OK) {
        status = qn_run_dir_commit(s->dir, step, what->is_best, &what->figures,
                                   what->keep, &saved->err);
    }
    if (status != QN_OK) {
        free(saved->folder);
        saved->folder = NULL;
    }
    saved->status = status;
}

/* Sleep until there is something to do; false: nothing ever will be. */
static bool next_copy(struct qn_saver *s)
{
    qn_lock(&s->lock);
    while (s->stage != WRITING && s->stage != LEAVING) {
        qn_cond_wait(&s->changed, &s->lock);
    }
    bool any = s->stage == WRITING;
    qn_unlock(&s->lock);
    return any;
}

static void go_to(struct qn_saver *s, enum stage stage)
{
    qn_lock(&s->lock);
    s->stage = stage;
    qn_cond_broadcast(&s->changed);
    qn_unlock(&s->lock);
}

static void *work(void *arg)
{
    struct qn_saver *s = arg;
    if (s->gives_way) {
        qn_thread_give_way();
    }
    while (next_copy(s)) {
        write_copy(s);
        go_to(s, ENDED);
    }
    return NULL;
}

/* --- the trainer's thread ----------------------------------------------- */

static enum stage stage_of(struct qn_saver *s)
{
    qn_lock(&s->lock);
    enum stage stage = s->stage;
    qn_unlock(&s->lock);
    return stage;
}

static enum qn_status take_memory(struct qn_saver *s, struct qn_err *err)
{
    enum qn_status status = qn_weights_copy_new(s->model, &s->weights, err);
    return status == QN_OK
               ? qn_state_copy_new(s->optim, s->pass, &s->state, err)
               : status;
}

enum qn_status qn_saver_new(struct qn_model *model,
                            const struct qn_optim *optim, struct qn_pass *pass,
                            struct qn_run_dir *dir, bool gives_way,
                            struct qn_saver **out, struct qn_err *err)
{
    struct qn_saver *s = qn_xcalloc(1, sizeof *s);
    s->model = model;
    s->optim = optim;
    s->pass = pass;
    s->dir = dir;
    s->gives_way = gives_way;
    qn_mutex_init(&s->lock);
    qn_cond_init(&s->changed);
    enum qn_status status = take_memory(s, err);
    if (status == QN_OK) {
        status = qn_thread_start(&s->thread, "saver", work, s, err);
        s->has_thread = status == QN_OK;
    }
    if (status != QN_OK) {
        qn_saver_free(s);
        return status;
    }
    *out = s;
    return QN_OK;
}

void qn_saver_free(struct qn_saver *s)
{
    if (s == NULL) {
        return;
    }
    if (s->has_thread) {
        struct qn_saved untold;
        if (qn_saver_wait(s, &untold)) {
            free(untold.folder);
        }
        go_to(s, LEAVING);
        qn_thread_join(s->thread);
    }
    qn_cond_fini(&s->changed);
    qn_mutex_fini(&s->lock);
    qn_state_copy_free(s->state);
    qn_weights_copy_free(s->weights);
    free(s);
}

enum qn_status qn_saver_begin(struct qn_saver *s, const struct qn_saving *what,
                              struct qn_err *err)
{
    if (s->owes || stage_of(s) != IDLE) {
        return qn_fail(err, QN_ESTATE,
                       "the checkpoint of step %lld is not written yet",
                       (long long)s->what.at.step);
    }
    enum qn_status status = qn_weights_copy_take(s->weights, s->model, err);
    if (status == QN_OK) {
        status =
            qn_state_copy_take(s->state, &what->at, s->optim, s->pass, err);
    }
    if (status == QN_OK) {
        s->what = *what;
        go_to(s, WRITING);
    }
    return status;
}

/* Hand over the outcome of what has ended. */
static void tell(struct qn_saver *s, struct qn_saved *out)
{
    *out = s->saved;
    s->saved.folder = NULL;
    s->owes = out->status != QN_OK;
    go_to(s, IDLE);
}

bool qn_saver_poll(struct qn_saver *s, struct qn_saved *out)
{
    bool ended = stage_of(s) == ENDED;
    if (ended) {
        tell(s, out);
    }
    return ended;
}

bool qn_saver_wait(struct qn_saver *s, struct qn_saved *out)
{
    qn_lock(&s->lock);
    while (s->stage == WRITING) {
        qn_cond_wait(&s->changed, &s->lock);
    }
    qn_unlock(&s->lock);
    return qn_saver_poll(s, out);
}

bool qn_saver_owes(const struct qn_saver *s)
{
    return s->owes;
}

void qn_saver_retry(struct qn_saver *s)
{
    QN_ASSERT(s->owes);
    s->owes = false;
    go_to(s, WRITING);
}
