/* bandwidth.h - what main memory moves when all workers ask for it at once. */
#ifndef QN_BENCH_BANDWIDTH_H
#define QN_BENCH_BANDWIDTH_H

#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>

/* a = b + 3 c over vectors that no cache holds ("triad"). */
struct qn_triad {
    size_t n; /* of each */
    float *a, *b, *c;
};

/* n 0: the usual length, 64 MB for each of the three. False: no memory. */
bool qn_triad_init(struct qn_triad *t, size_t n);
void qn_triad_fini(struct qn_triad *t);

/* The bytes of all three. */
size_t qn_triad_size(size_t n);

/* Once over all threads of the pool; the seconds it took. */
double qn_triad_run(struct qn_triad *t, struct qn_pool *pool);
/* Read twice and written once. A processor may read what it overwrites, too;
 * that is not counted, as it is not of an operation. */
double qn_triad_bytes(const struct qn_triad *t);

#endif
