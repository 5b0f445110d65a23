/* cmd_stats.c - quern stats: how the values inside a run's layers spread about
 * zero. */
#include "app/commands.h"

#include "app/measured.h"
#include "app/out.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was asked, and what was counted by the first of the thresholds. */
struct question {
    const char *run;
    enum qn_split split;
    double *near; /* [n_near], owned */
    int n_near;
    struct qn_stats_record *stats; /* owned */
};

/* --near, thresholds with commas between, else the run's own. Each is checked
 * as the setting that it stands for. */
static enum qn_status read_thresholds(struct question *q, const char *list,
                                      const struct qn_spec *spec,
                                      struct qn_err *err)
{
    size_t most = list != NULL ? strlen(list) + 1 : 1;
    q->near = qn_xcalloc(most, sizeof *q->near);
    if (list == NULL) {
        q->near[q->n_near++] = spec->stats.near;
        return QN_OK;
    }
    enum qn_status status = QN_OK;
    for (const char *at = list; at != NULL && status == QN_OK;) {
        size_t len = strcspn(at, ",");
        char *item = qn_xstrndup(at, len);
        struct qn_spec one = *spec;
        status = qn_settings_change(&one, "stats.near", item, err);
        q->near[q->n_near++] = one.stats.near;
        at = at[len] == ',' ? at + len + 1 : NULL;
        free(item);
    }
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, "--near");
}

static bool is_edge(float t)
{
    for (int i = 0; i < QN_HIST_EDGES; i++) {
        if (qn_hist_edge(i) == t) {
            return true;
        }
    }
    return false;
}

/* Whether the shares by t are what a count would give: t is the threshold that
 * was counted by, or an edge of the bins. */
static bool is_exact(const struct question *q, double t)
{
    return (float)t == (float)q->near[0] || is_edge((float)t);
}

/* The same values by another threshold, from their bins: numbers of values, and
 * where the bins do not tell exactly, the nearest ones. */
static void turn(struct qn_hist *h, double t)
{
    struct qn_shares s = qn_hist_shares_at(h, t);
    uint64_t real = s.count - h->n_nan;
    h->n_negative = (uint64_t)llround(s.negative * (double)s.count);
    h->n_positive = (uint64_t)llround(s.positive * (double)s.count);
    /* Both may have been rounded up. */
    if (h->n_positive > real - h->n_negative) {
        h->n_positive = real - h->n_negative;
    }
    h->n_near = real - h->n_negative - h->n_positive;
    h->threshold = (float)t;
}

static void turn_all(struct qn_stats_record *r, double t)
{
    for (int i = 0; i < r->n_layers; i++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if (r->layer[i][of].threshold != (float)t) {
                turn(&r->layer[i][of], t);
            }
        }
    }
}

static bool counted(const struct qn_stats_record *r, int of)
{
    return (r->of >> of & 1u) != 0;
}

static void json_pooled(struct qn_json *j, const struct qn_stats_record *r,
                        bool exact)
{
    qn_json_array(j);
    for (int of = 0; of < QN_N_QUANTITIES; of++) {
        if (counted(r, of)) {
            struct qn_hist pooled;
            qn_stats_pool(r, (enum qn_quantity)of, &pooled);
            qn_json_object(j);
            qn_hist_json(&pooled, (enum qn_quantity)of, exact, j);
            qn_json_end_object(j);
        }
    }
    qn_json_end_array(j);
}

/* r: the statistics by threshold t. */
static void print_json(struct qn_out *out, const struct question *q, double t,
                       const struct qn_stats_record *r)
{
    struct qn_json j = {.comma = false};
    bool exact = is_exact(q, t);
    qn_json_object(&j);
    qn_json_kstring(&j, "run", q->run);
    qn_json_kstring(&j, "split", qn_split_name(q->split));
    qn_json_kint(&j, "step", r->step);
    qn_json_kdouble(&j, "threshold", t);
    qn_json_kbool(&j, "exact", exact);
    qn_json_key(&j, "layers");
    qn_stats_json(r, exact, &j);
    qn_json_key(&j, "pooled");
    json_pooled(&j, r, exact);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print_row(struct qn_out *out, const char *name,
                      const struct qn_hist *h)
{
    struct qn_shares s = qn_hist_shares(h);
    (void)qn_out_linef(out, "%-8s %9.4f %9.4f %9.4f %9.4f %9.4f %12llu", name,
                       s.negative, s.near, s.positive, s.zero, s.nan,
                       (unsigned long long)s.count);
}

static void print_table(struct qn_out *out, const struct question *q, double t,
                        const struct qn_stats_record *r, enum qn_quantity of)
{
    struct qn_hist pooled;
    qn_stats_pool(r, of, &pooled);
    (void)qn_out_linef(out, "%s  step %lld  %s on %s, near zero: |x| < %g%s",
                       q->run, (long long)r->step, qn_quantity_name(of),
                       qn_split_name(q->split), t,
                       is_exact(q, t) ? "" : " (interpolated)");
    (void)qn_out_linef(out, "%-8s %9s %9s %9s %9s %9s %12s", "layer",
                       "negative", "near", "positive", "exact 0", "nan",
                       "count");
    for (int i = 0; i < r->n_layers; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i + 1);
        print_row(out, name, &r->layer[i][of]);
    }
    print_row(out, "all", &pooled);
}

static void print_tables(struct qn_out *out, const struct question *q, double t,
                         const struct qn_stats_record *r)
{
    for (int of = 0; of < QN_N_QUANTITIES; of++) {
        if (counted(r, of)) {
            print_table(out, q, t, r, (enum qn_quantity)of);
        }
    }
}

/* By every threshold in its turn. */
static void print(struct qn_out *out, const struct question *q, bool json)
{
    struct qn_stats_record *turned = qn_xcalloc(1, sizeof *turned);
    for (int i = 0; i < q->n_near; i++) {
        qn_stats_copy(turned, q->stats);
        turn_all(turned, q->near[i]);
        if (json) {
            print_json(out, q, q->near[i], turned);
        } else {
            print_tables(out, q, q->near[i], turned);
        }
    }
    free(turned);
}

/* Measure what the options ask for. */
static enum qn_status ask(struct question *q, struct qn_measured *m,
                          const struct qn_args *args, struct qn_err *err)
{
    struct qn_spec spec = *qn_measure_spec(m->measure);
    q->run = m->id;
    enum qn_status status = qn_measured_split(args, &q->split, err);
    if (status == QN_OK) {
        status = qn_measured_option(args, QN_OPT_OF, &spec, err);
    }
    if (status == QN_OK) {
        status = read_thresholds(q, args->option[QN_OPT_NEAR], &spec, err);
    }
    if (status == QN_OK) {
        status = qn_measure_stats(m->measure, q->split, spec.stats.of,
                                  q->near[0], q->stats, err);
    }
    return status;
}

int qn_cmd_stats(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_measured m;
    struct qn_out out = {.failed = false};
    struct question q = {.stats = qn_xcalloc(1, sizeof *q.stats)};
    enum qn_status status = qn_measured_open(&m, args, &err);
    if (status == QN_OK) {
        status = ask(&q, &m, args, &err);
    }
    if (status == QN_OK) {
        print(&out, &q, args->option[QN_OPT_JSON] != NULL);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_measured_fini(&m);
    free(q.near);
    free(q.stats);
    return qn_out_close(&out, result);
}
