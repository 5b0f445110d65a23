/* ring.c - a lock-free ring with one producer and one consumer.
 *
 * n_put and n_taken only grow; a record's slot is its number modulo the
 * capacity. Each side releases its own count after touching the slot and
 * acquires the other's before: a slot is never in two hands. */
#include "base/ring.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct qn_ring {
    size_t record_size, capacity;
    _Atomic uint64_t n_put;     /* written by the producer */
    _Atomic uint64_t n_dropped; /* written by the producer */
    _Atomic uint64_t n_taken;   /* written by the consumer */
    char *records;              /* [capacity][record_size] */
};

struct qn_ring *qn_ring_new(size_t record_size, size_t capacity)
{
    QN_ASSERT(record_size > 0 && capacity > 0);
    struct qn_ring *ring = qn_xcalloc(1, sizeof *ring);
    ring->record_size = record_size;
    ring->capacity = capacity;
    ring->records = qn_xcalloc(capacity, record_size);
    return ring;
}

void qn_ring_free(struct qn_ring *ring)
{
    if (ring != NULL) {
        free(ring->records);
        free(ring);
    }
}

static char *slot(const struct qn_ring *ring, uint64_t number)
{
    return ring->records + number % ring->capacity * ring->record_size;
}

bool qn_ring_put(struct qn_ring *ring, const void *record)
{
    uint64_t put = atomic_load_explicit(&ring->n_put, memory_order_relaxed);
    uint64_t taken = atomic_load_explicit(&ring->n_taken, memory_order_acquire);
    if (put - taken == ring->capacity) {
        atomic_fetch_add_explicit(&ring->n_dropped, 1, memory_order_relaxed);
        return false;
    }
    memcpy(slot(ring, put), record, ring->record_size);
    atomic_store_explicit(&ring->n_put, put + 1, memory_order_release);
    return true;
}

bool qn_ring_take(struct qn_ring *ring, void *record)
{
    uint64_t taken = atomic_load_explicit(&ring->n_taken, memory_order_relaxed);
    uint64_t put = atomic_load_explicit(&ring->n_put, memory_order_acquire);
    if (put == taken) {
        return false;
    }
    memcpy(record, slot(ring, taken), ring->record_size);
    atomic_store_explicit(&ring->n_taken, taken + 1, memory_order_release);
    return true;
}

uint64_t qn_ring_dropped(const struct qn_ring *ring)
{
    return atomic_load_explicit(&ring->n_dropped, memory_order_relaxed);
}
