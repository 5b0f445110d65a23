/* lab_log.c - what happened, as lines for a person.
 *
 * Threads: any thread may add a line (a trainer's notices do); the list is
 * guarded by its own lock, under which nothing is called.
 */
#include "lab/tables.h"

#include "base/mem.h"
#include "base/thread.h"
#include "lab/note_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_CAPACITY 4096 /* lines kept for a reader that never comes */

struct log_line {
    struct log_line *next;
    enum qn_log_level level;
    char text[];
};

struct lab_log {
    struct qn_wake *wake; /* borrowed */
    pthread_mutex_t lock;
    struct log_line *first, *last; /* by lock */
    int n;                         /* by lock */
};

struct lab_log *qn_lab_log_new(struct qn_wake *wake)
{
    struct lab_log *log = qn_xcalloc(1, sizeof *log);
    log->wake = wake;
    qn_mutex_init(&log->lock);
    return log;
}

/* With the lock held: unlink the oldest line; NULL when there is none. */
static struct log_line *unlink_first(struct lab_log *log)
{
    struct log_line *line = log->first;
    if (line != NULL) {
        log->first = line->next;
        log->n--;
        if (log->first == NULL) {
            log->last = NULL;
        }
    }
    return line;
}

void qn_lab_log_free(struct lab_log *log)
{
    while (log->first != NULL) {
        free(unlink_first(log));
    }
    qn_mutex_fini(&log->lock);
    free(log);
}

bool qn_lab_log_any(struct lab_log *log)
{
    qn_lock(&log->lock);
    bool any = log->first != NULL;
    qn_unlock(&log->lock);
    return any;
}

void qn_lab_log_add(struct lab_log *log, enum qn_log_level level,
                    const char *text)
{
    size_t size = strlen(text) + 1;
    struct log_line *line = qn_xmalloc(sizeof *line + size);
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, size);

    struct log_line *oldest = NULL;
    qn_lock(&log->lock);
    if (log->n == LOG_CAPACITY) {
        oldest = unlink_first(log);
    }
    if (log->last != NULL) {
        log->last->next = line;
    } else {
        log->first = line;
    }
    log->last = line;
    log->n++;
    qn_unlock(&log->lock);
    free(oldest);
    qn_wake_up(log->wake);
}

bool qn_lab_take_log(struct qn_lab *lab, char *line, size_t size,
                     enum qn_log_level *level)
{
    qn_lock(&lab->log->lock);
    struct log_line *taken = unlink_first(lab->log);
    qn_unlock(&lab->log->lock);
    if (taken == NULL) {
        return false;
    }
    (void)snprintf(line, size, "%s", taken->text);
    if (level != NULL) {
        *level = taken->level;
    }
    free(taken);
    return true;
}

/* With several runs a line says which one it is about: by name, and by number
 * too where another has the same. */
static void add_label(struct qn_str *s, const struct qn_lab *lab,
                      const struct lab_run *run)
{
    bool is_shared = false;
    if (lab->n_runs <= 1) {
        return;
    }
    for (int i = 0; i < lab->n_runs; i++) {
        is_shared |= lab->runs[i] != run &&
                     qn_str_eq(lab->runs[i]->spec.name, run->spec.name);
    }
    qn_str_add(s, run->spec.name[0] != '\0' ? run->spec.name : run->folder);
    if (is_shared) {
        qn_str_addf(s, " (run %d)", run->id);
    }
    qn_str_add(s, ": ");
}

static void add_best(struct qn_str *s, const struct lab_run *run)
{
    char loss[32], reading[64];
    qn_str_addf(s, "  best valid loss %s ",
                qn_number_text(loss, sizeof loss, run->best_loss));
    if (run->spec.task == QN_TASK_CLASSIFY) {
        qn_str_addf(s, " %s ",
                    qn_reading_text(reading, sizeof reading, QN_READ_ACCURACY,
                                    run->best_loss, run->best_accuracy));
    }
    qn_str_addf(s, "at step %lld", (long long)run->best_step);
}

void qn_lab_log_note(struct qn_lab *lab, const struct lab_run *run,
                     const struct qn_note *n)
{
    struct qn_str s = {0};
    add_label(&s, lab, run);
    if (qn_note_text(n, &s)) {
        bool ends = n->kind == QN_NOTE_DONE || n->kind == QN_NOTE_STOPPED;
        if (ends && run->has_best) {
            add_best(&s, run);
        }
        qn_lab_log_add(lab->log, qn_note_level(n), s.text);
    }
    qn_str_free(&s);
}
