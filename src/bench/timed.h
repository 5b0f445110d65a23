/* timed.h - a backend that hands every operation to another one and notes how
 * long it took and what it had to do.
 *
 * Models do not know the difference. Operations of a backend that only submits
 * would take no time here; ref and cpu have done their work when they return.
 */
#ifndef QN_BENCH_TIMED_H
#define QN_BENCH_TIMED_H

#include "bench/work.h"

struct qn_call {
    const char *op; /* "qrnn_grad", as the member of the table is called */
    struct qn_work work;
    double seconds;
};

/* inner is freed with it. Memory (alloc, release, reserve) and questions about
 * workspace are handed on and not noted. */
struct qn_backend *qn_timed_new(struct qn_backend *inner);

/* The operations since the last qn_timed_clear, in their order. */
void qn_timed_clear(struct qn_backend *timed);
const struct qn_call *qn_timed_calls(const struct qn_backend *timed, int *n);

#endif
