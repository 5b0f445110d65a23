/* changes.c - the changes of a run by their steps, read from its events. */
#include "train/history.h"

#include "base/mem.h"
#include "base/str.h"
#include "nn/schema.h"
#include "store/line.h"
#include "store/run_dir.h"

#include <stdlib.h>
#include <string.h>

static void change_fini(struct qn_change *c)
{
    free(c->key);
    free(c->value);
}

void qn_pending_free(struct qn_pending *p)
{
    if (p == NULL) {
        return;
    }
    for (int i = 0; i < p->n; i++) {
        change_fini(&p->change[i]);
    }
    free(p->change);
    free(p);
}

/* Take out number i; what it holds is the caller's. */
static struct qn_change take(struct qn_pending *p, int i)
{
    struct qn_change taken = p->change[i];
    p->n--;
    memmove(p->change + i, p->change + i + 1,
            (size_t)(p->n - i) * sizeof *p->change);
    return taken;
}

static void drop(struct qn_pending *p, int i)
{
    struct qn_change taken = take(p, i);
    change_fini(&taken);
}

/* Put in behind all that are not after it. */
static void insert(struct qn_pending *p, int64_t step, const char *key,
                   const char *value, bool again)
{
    int i = p->n;
    while (i > 0 && p->change[i - 1].step > step) {
        i--;
    }
    p->change = qn_xrealloc(p->change, (size_t)p->n + 1, sizeof *p->change);
    memmove(p->change + i + 1, p->change + i,
            (size_t)(p->n - i) * sizeof *p->change);
    p->change[i] =
        (struct qn_change){step, qn_xstrdup(key), qn_xstrdup(value), again};
    p->n++;
}

static bool replaces(const char *key, const char *other)
{
    int i = qn_schema_index(key);
    const char *excludes = i < 0 ? NULL : qn_schema_at(i)->excludes;
    return qn_str_eq(key, other) ||
           (excludes != NULL && qn_str_eq(excludes, other));
}

void qn_pending_cancel(struct qn_pending *p, int64_t step, const char *key)
{
    for (int i = p == NULL ? 0 : p->n; i-- > 0;) {
        if (p->change[i].step > step && replaces(key, p->change[i].key)) {
            drop(p, i);
        }
    }
}

enum qn_status qn_pending_apply(struct qn_pending *p, int64_t step,
                                struct qn_spec *spec, struct qn_err *err)
{
    struct qn_change c;
    enum qn_status status = QN_OK;
    while (status == QN_OK && qn_pending_take(p, step, &c)) {
        status = qn_settings_change(spec, c.key, c.value, err);
        if (c.again) {
            status = QN_OK; /* it was told, and the run went on without it */
        }
        change_fini(&c);
    }
    return status;
}

bool qn_pending_take(struct qn_pending *p, int64_t step, struct qn_change *out)
{
    if (p == NULL || p->n == 0 || p->change[0].step > step) {
        return false;
    }
    *out = take(p, 0);
    return true;
}

void qn_pending_json(const struct qn_pending *p, struct qn_json *out)
{
    qn_json_array(out);
    for (int i = 0; i < p->n; i++) {
        qn_json_object(out);
        qn_json_kint(out, "step", p->change[i].step);
        qn_json_kstring(out, "key", p->change[i].key);
        qn_json_kstring(out, "value", p->change[i].value);
        qn_json_end_object(out);
    }
    qn_json_end_array(out);
}

/* The start, a resume or a rollback: what waited before it does no longer, but
 * what it says itself. */
static void read_beginning(struct qn_pending *p, const json_t *line)
{
    const json_t *later = json_object_get(line, "later");
    for (int i = p->n; i-- > 0;) {
        if (p->change[i].again) {
            drop(p, i);
        }
    }
    for (size_t i = 0; i < json_array_size(later); i++) {
        const json_t *c = json_array_get(later, i);
        insert(p, qn_line_int(c, "step"), qn_line_text(c, "key"),
               qn_line_text(c, "value"), true);
    }
}

/* One that had waited is in the records twice once it has been made. False: it
 * is a new one. */
static bool drop_waiting(struct qn_pending *p, int64_t step, const char *key,
                         const char *value)
{
    for (int i = 0; i < p->n; i++) {
        const struct qn_change *c = &p->change[i];
        if (c->again && c->step == step && qn_str_eq(c->key, key) &&
            qn_str_eq(c->value, value)) {
            drop(p, i);
            return true;
        }
    }
    return false;
}

static bool read_line(void *user, const json_t *line)
{
    struct qn_pending *p = user;
    const char *event = qn_line_text(line, "event");
    if (json_object_get(line, "segment") != NULL || qn_str_eq(event, "start")) {
        read_beginning(p, line);
    } else if (qn_str_eq(event, "set")) {
        int64_t step = qn_line_int(line, "step");
        const char *key = qn_line_text(line, "key");
        const char *value = qn_line_text(line, "value");
        if (!drop_waiting(p, step, key, value)) {
            qn_pending_cancel(p, step, key);
        }
        insert(p, step, key, value, false);
    }
    return true;
}

enum qn_status qn_history_changes(const char *run_path, struct qn_pending **out,
                                  struct qn_err *err)
{
    struct qn_pending *p = qn_xcalloc(1, sizeof *p);
    enum qn_status status =
        qn_run_dir_lines(run_path, QN_EVENTS, read_line, p, err);
    if (status != QN_OK) {
        qn_pending_free(p);
        return status;
    }
    *out = p;
    return QN_OK;
}
