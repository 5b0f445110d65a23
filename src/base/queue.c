/* queue.c - a bounded first-in, first-out queue of copied messages. */
#include "base/queue.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

struct qn_queue {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    size_t message_size, capacity;
    size_t first, len; /* by lock */
    char *messages;    /* by lock: [capacity][message_size], circular */
};

struct qn_queue *qn_queue_new(size_t message_size, size_t capacity)
{
    QN_ASSERT(message_size > 0 && capacity > 0);
    struct qn_queue *q = qn_xcalloc(1, sizeof *q);
    q->message_size = message_size;
    q->capacity = capacity;
    q->messages = qn_xcalloc(capacity, message_size);
    qn_mutex_init(&q->lock);
    qn_cond_init(&q->posted);
    return q;
}

void qn_queue_free(struct qn_queue *q)
{
    if (q == NULL) {
        return;
    }
    qn_cond_fini(&q->posted);
    qn_mutex_fini(&q->lock);
    free(q->messages);
    free(q);
}

bool qn_queue_post(struct qn_queue *q, const void *message)
{
    qn_lock(&q->lock);
    bool room = q->len < q->capacity;
    if (room) {
        size_t slot = (q->first + q->len) % q->capacity;
        memcpy(q->messages + slot * q->message_size, message, q->message_size);
        q->len++;
        qn_cond_signal(&q->posted);
    }
    qn_unlock(&q->lock);
    return room;
}

/* With the lock held, the queue not empty. */
static void take_first(struct qn_queue *q, void *message)
{
    memcpy(message, q->messages + q->first * q->message_size, q->message_size);
    q->first = (q->first + 1) % q->capacity;
    q->len--;
}

bool qn_queue_take(struct qn_queue *q, void *message)
{
    qn_lock(&q->lock);
    bool any = q->len > 0;
    if (any) {
        take_first(q, message);
    }
    qn_unlock(&q->lock);
    return any;
}

void qn_queue_wait(struct qn_queue *q, void *message)
{
    qn_lock(&q->lock);
    while (q->len == 0) {
        qn_cond_wait(&q->posted, &q->lock);
    }
    take_first(q, message);
    qn_unlock(&q->lock);
}

bool qn_queue_wait_for(struct qn_queue *q, void *message, double seconds)
{
    double end = qn_clock_now() + seconds;
    bool in_time = true;
    qn_lock(&q->lock);
    while (q->len == 0 && in_time) {
        in_time = qn_cond_wait_until(&q->posted, &q->lock, end);
    }
    bool any = q->len > 0;
    if (any) {
        take_first(q, message);
    }
    qn_unlock(&q->lock);
    return any;
}
