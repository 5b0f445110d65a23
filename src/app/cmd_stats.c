/* cmd_stats.c - quern stats: how the cell states of a run spread about zero. */
#include "app/commands.h"

#include "app/measured.h"
#include "app/out.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

struct table {
    const char *run;
    enum qn_split split;
    double near;
    struct qn_stats_record *stats;
    struct qn_hist pooled; /* over the layers */
};

static void json_pooled(struct qn_json *j, const struct qn_hist *h)
{
    qn_json_key(j, "pooled");
    qn_json_array(j);
    qn_json_object(j);
    qn_hist_json(h, QN_CELL, j);
    qn_json_end_object(j);
    qn_json_end_array(j);
}

static void print_json(struct qn_out *out, const struct table *t)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", t->run);
    qn_json_kstring(&j, "split", qn_split_name(t->split));
    qn_json_kint(&j, "step", t->stats->step);
    qn_json_kdouble(&j, "threshold", t->near);
    qn_json_key(&j, "layers");
    qn_stats_json(t->stats, &j);
    json_pooled(&j, &t->pooled);
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

static void print_text(struct qn_out *out, const struct table *t)
{
    (void)qn_out_linef(out, "%s  step %lld  c on %s, near zero: |x| < %g",
                       t->run, (long long)t->stats->step,
                       qn_split_name(t->split), t->near);
    (void)qn_out_linef(out, "%-8s %9s %9s %9s %9s %9s %12s", "layer",
                       "negative", "near", "positive", "exact 0", "nan",
                       "count");
    for (int i = 0; i < t->stats->n_layers; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i + 1);
        print_row(out, name, &t->stats->layer[i][QN_CELL]);
    }
    print_row(out, "all", &t->pooled);
}

static void pool(struct table *t)
{
    qn_hist_init(&t->pooled, (float)t->near);
    for (int i = 0; i < t->stats->n_layers; i++) {
        qn_hist_merge(&t->pooled, &t->stats->layer[i][QN_CELL]);
    }
}

/* Measure what the options ask for. */
static enum qn_status fill(struct table *t, struct qn_measured *m,
                           const struct qn_args *args, struct qn_err *err)
{
    const char *of = args->option[QN_OPT_OF];
    enum qn_status status = qn_measured_split(args, &t->split, err);
    if (status == QN_OK && of != NULL && !qn_str_eq(of, "c")) {
        status = qn_fail(err, QN_EUSAGE,
                         "--of is '%s', must be c: the cell states are what "
                         "is counted",
                         of);
    }
    t->run = m->id;
    struct qn_spec spec = *qn_measure_spec(m->measure);
    if (status == QN_OK) {
        status = qn_measured_option(args, QN_OPT_NEAR, &spec, err);
    }
    t->near = spec.stats.near;
    if (status == QN_OK) {
        status = qn_measure_stats(m->measure, t->split, 1u << QN_CELL, t->near,
                                  t->stats, err);
    }
    if (status == QN_OK) {
        pool(t);
    }
    return status;
}

int qn_cmd_stats(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_measured m;
    struct qn_out out = {.failed = false};
    struct table t = {.stats = qn_xcalloc(1, sizeof *t.stats)};
    enum qn_status status = qn_measured_open(&m, args, &err);
    if (status == QN_OK) {
        status = fill(&t, &m, args, &err);
    }
    if (status == QN_OK && args->option[QN_OPT_JSON] != NULL) {
        print_json(&out, &t);
    } else if (status == QN_OK) {
        print_text(&out, &t);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_measured_fini(&m);
    free(t.stats);
    return qn_out_close(&out, result);
}
