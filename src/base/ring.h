/* ring.h - numbers from one thread to one other, in order, without waiting.
 *
 * Single producer, single consumer. When the ring is full the new record is
 * dropped and counted: the durable history is elsewhere (metrics.jsonl). */
#ifndef QN_BASE_RING_H
#define QN_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qn_ring;

struct qn_ring *qn_ring_new(size_t record_size, size_t capacity);
void qn_ring_free(struct qn_ring *ring);                    /* NULL is fine */
bool qn_ring_put(struct qn_ring *ring, const void *record); /* producer */
bool qn_ring_take(struct qn_ring *ring, void *record);      /* consumer */
uint64_t qn_ring_dropped(const struct qn_ring *ring);       /* either */

#endif
