/* thread.h - threads, locks and conditions that abort on misuse. */
#ifndef QN_BASE_THREAD_H
#define QN_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

/* Start a named thread with every signal blocked in it (handlers then run on
 * the threads that want them). Fails only when the system is out of threads. */
enum qn_status qn_thread_start(pthread_t *out, const char *name,
                               void *(*fn)(void *), void *arg,
                               struct qn_err *err);
void qn_thread_join(pthread_t thread);
/* The calling thread computes while a person waits for others of this process:
 * from now on it gets a third of the time of a thread that did not call this,
 * where both want a core. There is no way back. */
void qn_thread_give_way(void);

void qn_mutex_init(pthread_mutex_t *m);
void qn_mutex_fini(pthread_mutex_t *m);
void qn_lock(pthread_mutex_t *m);
void qn_unlock(pthread_mutex_t *m);
void qn_cond_init(pthread_cond_t *c);
void qn_cond_fini(pthread_cond_t *c);
void qn_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
/* The same, no longer than until qn_clock_now() is 'when'; false: it is. */
bool qn_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, double when);
void qn_cond_signal(pthread_cond_t *c);
void qn_cond_broadcast(pthread_cond_t *c);

int qn_n_cores(void); /* that this process may run on, at least 1 */

#endif
