/* worker.c - a trainer on a thread of its own.
 *
 * Threads: the trainer and the writing side of the outlet belong to the
 * worker's thread from start to end; the reading side, post and free belong to
 * the one thread that made the worker. Between them stand the queue, the ring,
 * the box, the list of notes with its private lock, and two atomics.
 */
#include "train/worker.h"

#include "base/assert.h"
#include "base/latest.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/ring.h"
#include "base/str.h"
#include "base/thread.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP_CAPACITY 4096 /* a second of very fast steps */
#define COMMAND_CAPACITY 256

struct note_node {
    struct note_node *next;
    struct qn_note note;
};

/* What a measurement counted: too much for a note, so it waits beside them. */
struct counts_node {
    struct counts_node *next;
    uint64_t ticket;
    struct qn_stats_record *counts; /* owned */
};

struct qn_outlet {
    struct qn_wake *wake; /* borrowed */
    struct qn_ring *steps;
    struct qn_latest *stats;
    pthread_mutex_t lock;
    struct note_node *first, *last; /* by lock */
    struct counts_node *counts;     /* by lock; in no order */
    bool failure_told;              /* worker's thread */
};

/* How much of an end is wanted; only ever raised. */
enum stop_level { STOP_NOT, STOP_SAVE, STOP_DISCARD };

struct qn_worker {
    struct qn_trainer *trainer; /* worker's thread; freed at its end */
    struct qn_outlet *outlet;
    struct qn_queue *commands;
    pthread_t thread;
    bool joined;            /* owner */
    atomic_int stop_wanted; /* enum stop_level; raised by the owner */
    atomic_bool ended;      /* set by the worker's thread, last of all */
    int stop_seen;          /* worker's thread: the level being obeyed */
    bool held;              /* worker's thread: waits for a first resume */
    bool failed;            /* worker's thread */
};

struct qn_outlet *qn_outlet_new(struct qn_wake *wake)
{
    struct qn_outlet *o = qn_xcalloc(1, sizeof *o);
    o->wake = wake;
    o->steps = qn_ring_new(sizeof(struct qn_step_record), STEP_CAPACITY);
    o->stats = qn_latest_new(sizeof(struct qn_stats_record));
    qn_mutex_init(&o->lock);
    return o;
}

void qn_outlet_free(struct qn_outlet *o)
{
    if (o == NULL) {
        return;
    }
    while (o->first != NULL) {
        struct note_node *next = o->first->next;
        free(o->first);
        o->first = next;
    }
    while (o->counts != NULL) {
        struct counts_node *next = o->counts->next;
        free(o->counts->counts);
        free(o->counts);
        o->counts = next;
    }
    qn_mutex_fini(&o->lock);
    qn_latest_free(o->stats);
    qn_ring_free(o->steps);
    free(o);
}

static void put_step(void *user, const struct qn_step_record *r)
{
    struct qn_outlet *o = user;
    /* A full ring drops and counts; metrics.jsonl has the step all the same. */
    (void)qn_ring_put(o->steps, r);
    qn_wake_up(o->wake);
}

static void put_stats(void *user, const struct qn_stats_record *r)
{
    struct qn_outlet *o = user;
    qn_stats_copy(qn_latest_back(o->stats), r);
    qn_latest_publish(o->stats);
    qn_wake_up(o->wake);
}

static void put_note(void *user, const struct qn_note *n)
{
    struct qn_outlet *o = user;
    if (n->kind == QN_NOTE_FAILED) {
        o->failure_told = true;
    }
    struct note_node *node = qn_xmalloc(sizeof *node);
    node->note = *n;
    node->next = NULL;
    qn_lock(&o->lock);
    if (o->last != NULL) {
        o->last->next = node;
    } else {
        o->first = node;
    }
    o->last = node;
    qn_unlock(&o->lock);
    qn_wake_up(o->wake);
}

/* Takes the counts; before the note that tells of them. */
static void put_counts(struct qn_outlet *o, uint64_t ticket,
                       struct qn_stats_record *counts)
{
    struct counts_node *node = qn_xmalloc(sizeof *node);
    node->ticket = ticket;
    node->counts = counts;
    qn_lock(&o->lock);
    node->next = o->counts;
    o->counts = node;
    qn_unlock(&o->lock);
}

struct qn_sink qn_outlet_sink(struct qn_outlet *o)
{
    return (struct qn_sink){
        .user = o, .step = put_step, .stats = put_stats, .note = put_note};
}

/* An end is wanted that is not being obeyed yet: long work stops early. */
static bool stop_asked(void *user)
{
    struct qn_worker *w = user;
    return atomic_load(&w->stop_wanted) > w->stop_seen;
}

static struct qn_note blank_note(const struct qn_worker *w,
                                 enum qn_note_kind kind)
{
    struct qn_note n = {
        .kind = kind,
        .step = qn_trainer_step_count(w->trainer),
        .reading = qn_spec_reading(qn_trainer_spec(w->trainer)),
        .accuracy = (double)NAN,
    };
    int64_t per_epoch = qn_trainer_steps_per_epoch(w->trainer);
    if (per_epoch > 0) {
        n.epoch = (double)n.step / (double)per_epoch;
    }
    return n;
}

void qn_note_set_text(struct qn_note *n, const char *text)
{
    qn_copy_text(n->text, sizeof n->text, text);
}

static void fail(struct qn_worker *w, const struct qn_err *err)
{
    w->failed = true;
    if (w->outlet->failure_told) {
        return; /* by the trainer itself */
    }
    struct qn_note n = blank_note(w, QN_NOTE_FAILED);
    qn_note_set_text(&n, err->text);
    put_note(w->outlet, &n);
}

/* Answer a command; n holds what it asked for. */
static void reply(struct qn_worker *w, const struct qn_command *c,
                  struct qn_note *n, enum qn_status status,
                  const struct qn_err *err)
{
    if (c->ticket == 0) {
        return;
    }
    n->ticket = c->ticket;
    n->on_request = true;
    n->status = (int)status;
    if (status != QN_OK) {
        qn_note_set_text(n, err->text);
    }
    put_note(w->outlet, n);
}

static void evaluate(struct qn_worker *w, const struct qn_command *c)
{
    struct qn_note n = blank_note(w, QN_NOTE_REPLY);
    struct qn_measure *m = qn_trainer_measure(w->trainer);
    struct qn_evaluation e = {.split = c->split, .accuracy = (double)NAN};
    struct qn_err err = {""};
    qn_measure_set_interrupt(m, stop_asked, w);
    enum qn_status status = qn_measure_evaluate(m, c->split, &e, &err);
    n.split = c->split;
    n.loss = e.loss;
    n.accuracy = e.accuracy;
    n.predictions = e.predictions;
    n.seconds = e.seconds;
    reply(w, c, &n, status, &err);
}

static void sample(struct qn_worker *w, const struct qn_command *c)
{
    struct qn_note n = blank_note(w, QN_NOTE_REPLY);
    struct qn_measure *m = qn_trainer_measure(w->trainer);
    struct qn_text_request request = {.prompt = c->own_prompt ? NULL : c->text,
                                      .length = c->length,
                                      .temperature = c->temperature,
                                      .seed = c->seed};
    struct qn_str text = {0};
    struct qn_err err = {""};
    qn_measure_set_interrupt(m, stop_asked, w);
    enum qn_status status = qn_measure_sample(m, &request, &text, &err);
    if (status == QN_OK && text.text != NULL) {
        qn_note_set_text(&n, text.text);
    }
    qn_str_free(&text);
    reply(w, c, &n, status, &err);
}

static void measure(struct qn_worker *w, const struct qn_command *c)
{
    struct qn_note n = blank_note(w, QN_NOTE_REPLY);
    struct qn_measure *m = qn_trainer_measure(w->trainer);
    struct qn_stats_record *counts = qn_xcalloc(1, sizeof *counts);
    struct qn_err err = {""};
    qn_measure_set_interrupt(m, stop_asked, w);
    enum qn_status status =
        qn_measure_stats(m, c->split, c->of, c->near, counts, &err);
    n.split = c->split;
    if (status == QN_OK && c->ticket != 0) {
        put_counts(w->outlet, c->ticket, counts);
    } else {
        free(counts);
    }
    reply(w, c, &n, status, &err);
}

static void classify(struct qn_worker *w, const struct qn_command *c)
{
    struct qn_note n = blank_note(w, QN_NOTE_REPLY);
    struct qn_measure *m = qn_trainer_measure(w->trainer);
    struct qn_err err = {""};
    enum qn_status status = qn_measure_classify(m, c->document, c->document_len,
                                                &n.judgement, &err);
    reply(w, c, &n, status, &err);
}

static void resume(struct qn_worker *w)
{
    w->held = false;
    if (qn_trainer_state(w->trainer) == QN_RUN_PAUSED) {
        qn_trainer_unpause(w->trainer);
    }
}

static void obey(struct qn_worker *w, const struct qn_command *c)
{
    struct qn_note n = blank_note(w, QN_NOTE_REPLY);
    struct qn_err err = {""};
    enum qn_status status = QN_OK;
    switch (c->kind) {
    case QN_CMD_PAUSE:
        qn_trainer_pause(w->trainer, "");
        break;
    case QN_CMD_RESUME:
        resume(w);
        break;
    case QN_CMD_STOP:
        break; /* stop_wanted says it already; see work() */
    case QN_CMD_SET:
        status = qn_trainer_set(w->trainer, c->key, c->text, &err);
        break;
    case QN_CMD_CHECKPOINT:
        status = qn_trainer_checkpoint(w->trainer, &err);
        break;
    case QN_CMD_EVALUATE:
        evaluate(w, c);
        return;
    case QN_CMD_SAMPLE:
        sample(w, c);
        return;
    case QN_CMD_MEASURE:
        measure(w, c);
        return;
    case QN_CMD_CLASSIFY:
        classify(w, c);
        return;
    }
    reply(w, c, &n, status, &err);
}

static void stop(struct qn_worker *w)
{
    struct qn_err err = {""};
    w->stop_seen = atomic_load(&w->stop_wanted);
    enum qn_status status =
        qn_trainer_stop(w->trainer, w->stop_seen == STOP_SAVE, &err);
    /* Saving may itself be cut short by a wish to end without. */
    if (status != QN_OK && !(status == QN_ESTOPPED && stop_asked(w))) {
        fail(w, &err);
    }
}

static void step(struct qn_worker *w)
{
    struct qn_err err = {""};
    enum qn_status status = qn_trainer_step(w->trainer, &err);
    if (status != QN_OK && !(status == QN_ESTOPPED && stop_asked(w))) {
        fail(w, &err);
    }
}

static bool alive(const struct qn_worker *w)
{
    enum qn_trainer_state state = qn_trainer_state(w->trainer);
    return !w->failed && (state == QN_RUN_ACTIVE || state == QN_RUN_PAUSED);
}

/* The next command. While the run waits, sleep until there is one: an end that
 * is asked for comes through the queue as well, unless that is full, and then
 * there is something to take. While it waits for a disk, false in between. */
static bool next_command(struct qn_worker *w, struct qn_command *c)
{
    bool waits = w->held || qn_trainer_state(w->trainer) == QN_RUN_PAUSED;
    if (!waits || stop_asked(w)) {
        return qn_queue_take(w->commands, c);
    }
    if (qn_trainer_waits_for_disk(w->trainer)) {
        return qn_queue_wait_for(w->commands, c, QN_DISK_TRY_SECONDS);
    }
    qn_queue_wait(w->commands, c);
    return true;
}

/* Commands that came too late to be obeyed. */
static void refuse_rest(struct qn_worker *w)
{
    struct qn_command c;
    struct qn_err err;
    (void)qn_fail(&err, QN_ESTATE, "run %s has ended",
                  qn_trainer_id(w->trainer));
    while (qn_queue_take(w->commands, &c)) {
        struct qn_note n = blank_note(w, QN_NOTE_REPLY);
        bool moot = c.kind == QN_CMD_STOP || c.kind == QN_CMD_PAUSE;
        reply(w, &c, &n, moot ? QN_OK : QN_ESTATE, &err);
        free(c.document);
    }
}

static void *work(void *arg)
{
    struct qn_worker *w = arg;
    if (qn_trainer_env(w->trainer)->gives_way) {
        qn_thread_give_way();
    }
    while (alive(w)) {
        struct qn_command c;
        if (next_command(w, &c)) {
            obey(w, &c);
            free(c.document);
        } else if (stop_asked(w)) {
            stop(w);
        } else if (qn_trainer_waits_for_disk(w->trainer)) {
            (void)qn_trainer_try_disk(w->trainer);
        } else {
            step(w);
        }
    }
    refuse_rest(w);
    qn_trainer_free(w->trainer); /* unlocks the run's folder */
    atomic_store(&w->ended, true);
    qn_wake_up(w->outlet->wake);
    return NULL;
}

enum qn_status qn_worker_start(struct qn_trainer *t, struct qn_outlet *o,
                               bool paused, struct qn_worker **out,
                               struct qn_err *err)
{
    struct qn_worker *w = qn_xcalloc(1, sizeof *w);
    w->trainer = t;
    w->outlet = o;
    w->held = paused;
    w->commands = qn_queue_new(sizeof(struct qn_command), COMMAND_CAPACITY);
    atomic_init(&w->stop_wanted, STOP_NOT);
    atomic_init(&w->ended, false);
    qn_trainer_set_interrupt(t, stop_asked, w);
    enum qn_status status =
        qn_thread_start(&w->thread, "trainer", work, w, err);
    if (status != QN_OK) {
        qn_trainer_set_interrupt(t, NULL, NULL);
        qn_queue_free(w->commands);
        free(w);
        return status;
    }
    *out = w;
    return QN_OK;
}

static void raise_stop(struct qn_worker *w, bool save)
{
    int level = save ? STOP_SAVE : STOP_DISCARD;
    if (atomic_load(&w->stop_wanted) < level) {
        atomic_store(&w->stop_wanted, level); /* only the owner raises it */
    }
}

bool qn_worker_post(struct qn_worker *w, const struct qn_command *c)
{
    bool ended = qn_worker_ended(w);
    if (c->kind == QN_CMD_STOP && !ended) {
        raise_stop(w, c->save);
    }
    bool posted = !ended && qn_queue_post(w->commands, c);
    if (!posted) {
        free(c->document);
    }
    return posted || (c->kind == QN_CMD_STOP && !ended);
}

/* What was posted while the thread was ending, after it had looked for the last
 * time. */
static void drop_commands(struct qn_worker *w)
{
    struct qn_command c;
    while (qn_queue_take(w->commands, &c)) {
        free(c.document);
    }
}

void qn_worker_free(struct qn_worker *w, bool save)
{
    if (w == NULL) {
        return;
    }
    struct qn_command c = {.kind = QN_CMD_STOP, .save = save};
    (void)qn_worker_post(w, &c); /* false when it has ended already */
    qn_worker_join(w);
    drop_commands(w);
    qn_queue_free(w->commands);
    qn_outlet_free(w->outlet);
    free(w);
}

bool qn_worker_ended(struct qn_worker *w)
{
    return atomic_load(&w->ended);
}

void qn_worker_join(struct qn_worker *w)
{
    if (!w->joined) {
        qn_thread_join(w->thread);
        w->joined = true;
    }
}

bool qn_worker_take_step(struct qn_worker *w, struct qn_step_record *out)
{
    return qn_ring_take(w->outlet->steps, out);
}

bool qn_worker_take_note(struct qn_worker *w, struct qn_note *out)
{
    struct qn_outlet *o = w->outlet;
    qn_lock(&o->lock);
    struct note_node *node = o->first;
    if (node != NULL) {
        o->first = node->next;
        if (o->first == NULL) {
            o->last = NULL;
        }
    }
    qn_unlock(&o->lock);
    if (node == NULL) {
        return false;
    }
    *out = node->note;
    free(node);
    return true;
}

struct qn_stats_record *qn_worker_take_counts(struct qn_worker *w,
                                              uint64_t ticket)
{
    struct qn_outlet *o = w->outlet;
    qn_lock(&o->lock);
    struct counts_node **at = &o->counts;
    while (*at != NULL && (*at)->ticket != ticket) {
        at = &(*at)->next;
    }
    struct counts_node *node = *at;
    if (node != NULL) {
        *at = node->next;
    }
    qn_unlock(&o->lock);
    struct qn_stats_record *counts = node != NULL ? node->counts : NULL;
    free(node);
    return counts;
}

const struct qn_stats_record *qn_worker_take_stats(struct qn_worker *w)
{
    return qn_latest_take(w->outlet->stats);
}

uint64_t qn_worker_dropped_steps(const struct qn_worker *w)
{
    return qn_ring_dropped(w->outlet->steps);
}
