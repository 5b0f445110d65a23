/* latest.c - a triple buffer: one slot each for writer and reader, one between.
 *
 * Publishing swaps the writer's slot with the one between and marks it fresh;
 * taking swaps the reader's slot with it when it is. Every slot is in exactly
 * one of three hands, so nobody waits and no value is torn. */
#include "base/latest.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define FRESH 4u /* beside a slot's number 0..2 */

struct qn_latest {
    size_t stride;       /* bytes from slot to slot */
    unsigned back;       /* the writer's slot */
    unsigned front;      /* the reader's slot */
    atomic_uint between; /* by both: slot number, and FRESH */
    char *slots;         /* [3][stride] */
};

struct qn_latest *qn_latest_new(size_t size)
{
    QN_ASSERT(size > 0 && size < SIZE_MAX / 4);
    struct qn_latest *box = qn_xmalloc(sizeof *box);
    /* Whole cache lines, so that writer and reader do not share one. */
    box->stride = (size + 63) / 64 * 64;
    box->back = 0;
    box->front = 1;
    atomic_init(&box->between, 2);
    box->slots = qn_xcalloc(3, box->stride);
    return box;
}

void qn_latest_free(struct qn_latest *box)
{
    if (box != NULL) {
        free(box->slots);
        free(box);
    }
}

void *qn_latest_back(struct qn_latest *box)
{
    return box->slots + box->back * box->stride;
}

void qn_latest_publish(struct qn_latest *box)
{
    box->back = atomic_exchange_explicit(&box->between, box->back | FRESH,
                                         memory_order_acq_rel) &
                ~FRESH;
}

const void *qn_latest_take(struct qn_latest *box)
{
    if (!(atomic_load_explicit(&box->between, memory_order_relaxed) & FRESH)) {
        return NULL;
    }
    box->front = atomic_exchange_explicit(&box->between, box->front,
                                          memory_order_acq_rel) &
                 ~FRESH;
    return box->slots + box->front * box->stride;
}
