/* queue.h - commands from any thread to one: bounded, in order, copied.
 *
 * Messages are 'size' bytes of plain data. Mutex and condition are private and
 * nothing is called while they are held. */
#ifndef QN_BASE_QUEUE_H
#define QN_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct qn_queue;

struct qn_queue *qn_queue_new(size_t message_size, size_t capacity);
void qn_queue_free(struct qn_queue *q); /* NULL is fine */

bool qn_queue_post(struct qn_queue *q, const void *message); /* false: full */
bool qn_queue_take(struct qn_queue *q, void *message);       /* false: empty */
void qn_queue_wait(struct qn_queue *q, void *message); /* sleeps until one */
/* Sleeps until there is one, so many seconds at most; false: none came. */
bool qn_queue_wait_for(struct qn_queue *q, void *message, double seconds);

#endif
