/* log.h - notes for a person: never to the terminal behind the screen's back.
 *
 * A log is an object; whoever runs the program decides where its lines go. Any
 * thread may write; the sink is called with the lock held and must be quick. */
#ifndef QN_BASE_LOG_H
#define QN_BASE_LOG_H

#include "base/status.h"

enum qn_log_level { QN_LOG_INFO, QN_LOG_WARN, QN_LOG_ERROR };

typedef void (*qn_log_fn)(void *user, enum qn_log_level level,
                          const char *line);

struct qn_log;
struct qn_log *qn_log_new(qn_log_fn sink, void *user);
void qn_log_free(struct qn_log *log); /* NULL is fine */
/* One line; a NULL log drops it. */
void qn_log_write(struct qn_log *log, enum qn_log_level level, const char *fmt,
                  ...) QN_PRINTF(3, 4);

#endif
