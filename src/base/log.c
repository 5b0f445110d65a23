/* log.c - lines from any thread to one sink, one at a time. */
#include "base/log.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>

struct qn_log {
    pthread_mutex_t lock; /* held while the sink runs */
    qn_log_fn sink;
    void *user;
};

struct qn_log *qn_log_new(qn_log_fn sink, void *user)
{
    struct qn_log *log = qn_xmalloc(sizeof *log);
    log->sink = sink;
    log->user = user;
    qn_mutex_init(&log->lock);
    return log;
}

void qn_log_free(struct qn_log *log)
{
    if (log != NULL) {
        qn_mutex_fini(&log->lock);
        free(log);
    }
}

void qn_log_write(struct qn_log *log, enum qn_log_level level, const char *fmt,
                  ...)
{
    if (log == NULL) {
        return;
    }
    char line[2048];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    for (char *p = line; *p != '\0'; p++) {
        *p = *p == '\n' || *p == '\r' ? ' ' : *p;
    }
    qn_blunt_controls(line);
    qn_lock(&log->lock);
    log->sink(log->user, level, line);
    qn_unlock(&log->lock);
}
