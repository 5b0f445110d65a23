/* metrics_fill.c - line by line, the history that metrics.jsonl tells. */
#include "train/metrics_fill.h"

#include "base/mem.h"
#include "train/metrics_line.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more in an array of n that doubles. */
static void *grow(void *items, size_t n, size_t *room, size_t size)
{
    if (n < *room) {
        return items;
    }
    *room = n >= 32 ? 2 * n : 64;
    return qn_xrealloc(items, *room, size);
}

static void add_step(struct qn_metrics_fill *f, const struct qn_step_record *r)
{
    struct qn_metrics *m = &f->m;
    m->step = grow(m->step, m->n_steps, &f->step_room, sizeof *m->step);
    m->step[m->n_steps] = *r;
    m->step[m->n_steps++].segment =
        f->segments < INT_MAX ? 1 + (int)f->segments : INT_MAX;
}

static void add_eval(struct qn_metrics_fill *f, const struct qn_eval_record *r)
{
    struct qn_metrics *m = &f->m;
    m->eval = grow(m->eval, m->n_evals, &f->eval_room, sizeof *m->eval);
    m->eval[m->n_evals++] = *r;
}

static void add_cut(struct qn_metrics_fill *f, double from)
{
    f->cut = grow(f->cut, f->n_cuts, &f->cut_room, sizeof *f->cut);
    f->cut[f->n_cuts++] =
        (struct qn_metrics_cut){f->m.n_steps, f->m.n_evals, from};
    f->segments++;
}

static void add_record(struct qn_metrics_fill *f,
                       const struct qn_metric_line *line)
{
    switch (line->kind) {
    case QN_METRIC_STEP:
        add_step(f, &line->step);
        break;
    case QN_METRIC_EVAL:
        add_eval(f, &line->eval);
        break;
    case QN_METRIC_SEGMENT:
        add_cut(f, line->from);
        break;
    case QN_METRIC_OTHER:
        break;
    }
}

/* By the rule of qn_whole_lines, a line with NUL is damage only once another
 * one follows. */
static enum qn_status add_line(struct qn_metrics_fill *f, const char *text,
                               size_t len, struct qn_err *err)
{
    struct qn_metric_line line;
    struct qn_err why;
    enum qn_status status = qn_metric_line(text, len, &line, &why);
    bool has_nul = status != QN_OK && memchr(text, '\0', len) != NULL;
    if (status != QN_OK && !f->torn) {
        (void)qn_fail(&f->damage, status, "line %llu is no JSON object: %s",
                      (unsigned long long)f->lines + 1, why.text);
    }
    f->torn = f->torn || has_nul;
    if (has_nul) {
        return QN_OK;
    }
    if (f->torn || status != QN_OK) {
        return qn_fail(err, QN_EFORMAT, "%s", f->damage.text);
    }
    add_record(f, &line);
    f->lines++;
    f->len += len + 1;
    return QN_OK;
}

enum qn_status qn_metrics_fill_add(struct qn_metrics_fill *f, const char *text,
                                   size_t len, size_t *used, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    size_t at = 0;
    while (at < len && status == QN_OK) {
        const char *end = memchr(text + at, '\n', len - at);
        if (end == NULL) {
            break;
        }
        status = add_line(f, text + at, (size_t)(end - text) - at, err);
        at = (size_t)(end - text) + 1;
    }
    *used = at;
    return status;
}

/* Let 'from' of each cut be the least of its own and all later ones. */
static void keep_least(struct qn_metrics_fill *f)
{
    for (size_t i = f->n_cuts; i > 1; i--) {
        f->cut[i - 2].from = fmin(f->cut[i - 2].from, f->cut[i - 1].from);
    }
}

static void cut_steps(struct qn_metrics_fill *f)
{
    struct qn_metrics *m = &f->m;
    size_t n = 0, cut = 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        while (cut < f->n_cuts && f->cut[cut].n_steps <= i) {
            cut++;
        }
        if (cut == f->n_cuts || (double)m->step[i].step <= f->cut[cut].from) {
            m->step[n++] = m->step[i];
        }
    }
    m->n_steps = n;
}

static void cut_evals(struct qn_metrics_fill *f)
{
    struct qn_metrics *m = &f->m;
    size_t n = 0, cut = 0;
    for (size_t i = 0; i < m->n_evals; i++) {
        while (cut < f->n_cuts && f->cut[cut].n_evals <= i) {
            cut++;
        }
        if (cut == f->n_cuts || (double)m->eval[i].step <= f->cut[cut].from) {
            m->eval[n++] = m->eval[i];
        }
    }
    m->n_evals = n;
}

void qn_metrics_fill_end(struct qn_metrics_fill *f)
{
    if (f->n_cuts > 0) {
        keep_least(f);
        cut_steps(f);
        cut_evals(f);
        f->n_cuts = 0;
    }
}

void qn_metrics_fill_free(struct qn_metrics_fill *f)
{
    qn_metrics_free(&f->m);
    free(f->cut);
    *f = (struct qn_metrics_fill){.cut = NULL};
}
