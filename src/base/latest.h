/* latest.h - hand the newest value from one thread to one other thread.
 *
 * The writer fills a slot and publishes it; the reader takes the newest one.
 * Neither ever waits, and a value that nobody took is overwritten. Use it for
 * state (the histograms as they are now); use a ring for history (each loss).
 *
 * Threads: back and publish belong to the writer, take to the reader.
 * new and free: while no other thread can see the box.
 */
#ifndef QN_BASE_LATEST_H
#define QN_BASE_LATEST_H

#include <stddef.h>

struct qn_latest;

/* Room for three values of 'size' bytes, zeroed. Free with qn_latest_free. */
struct qn_latest *qn_latest_new(size_t size);
void qn_latest_free(struct qn_latest *box); /* NULL is fine */

/* The slot to fill next. It holds some older value: overwrite all of it. */
void *qn_latest_back(struct qn_latest *box);
void qn_latest_publish(struct qn_latest *box);

/* The newest value, or NULL when nothing is new since the last call.
 * The value stays readable and unchanged until the next call. */
const void *qn_latest_take(struct qn_latest *box);

#endif
