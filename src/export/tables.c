/* tables.c - csv: a table of steps, one of evaluations, one of statistics. */
#include "export/csv.h"
#include "export/files.h"
#include "store/line.h"
#include "store/run_dir.h"

#include <math.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* All columns of all kinds of runs, so that tables of several can be put
 * together; what a line lacks is empty. */
static const char *const step_keys[] = {"step",         "epoch",  "loss",
                                        "accuracy",     "lr",     "grad_norm",
                                        "tokens_per_s", "seconds"};
static const char *const eval_keys[] = {"step",        "split",      "loss",
                                        "bpc",         "perplexity", "accuracy",
                                        "predictions", "seconds"};
/* Of a line of stats.jsonl, and of each entry of its layers. */
static const char *const stats_keys[] = {"step", "threshold"};
static const char *const entry_keys[] = {
    "layer", "of",         "negative", "near",       "positive", "zero", "nan",
    "count", "n_negative", "n_near",   "n_positive", "n_zero",   "n_nan"};

struct tables {
    struct qn_new_file *steps, *evals, *stats;
    struct qn_str row; /* the one being made; its memory is kept */
};

/* Write the row that has been made. */
static void put(struct tables *t, struct qn_new_file *file)
{
    qn_csv_end(&t->row);
    qn_new_file_add(file, t->row.text, t->row.len);
    qn_str_clear(&t->row);
}

static void add_names(struct tables *t, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        qn_csv_text(&t->row, keys[i]);
    }
}

static void add_numbers(struct tables *t, const double *number, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        qn_csv_number(&t->row, number[i]);
    }
}

static void add_step(struct tables *t, const struct qn_step_record *r)
{
    const double number[] = {r->epoch,     r->loss,         r->accuracy, r->lr,
                             r->grad_norm, r->tokens_per_s, r->seconds};
    qn_csv_int(&t->row, r->step);
    add_numbers(t, number, N(number));
    put(t, t->steps);
}

static void add_eval(struct tables *t, const struct qn_eval_record *r)
{
    const double none = (double)NAN;
    const double number[] = {
        r->e.loss, r->e.reading == QN_READ_BPC ? r->value : none,
        r->e.reading == QN_READ_PERPLEXITY ? r->value : none, r->e.accuracy};
    qn_csv_int(&t->row, r->step);
    qn_csv_text(&t->row, qn_split_name(r->e.split));
    add_numbers(t, number, N(number));
    qn_csv_int(&t->row, r->e.predictions);
    qn_csv_number(&t->row, r->e.seconds);
    put(t, t->evals);
}

static void add_metrics(struct tables *t, const struct qn_metrics *m)
{
    for (size_t i = 0; i < m->n_steps; i++) {
        add_step(t, &m->step[i]);
    }
    for (size_t i = 0; i < m->n_evals; i++) {
        add_eval(t, &m->eval[i]);
    }
}

static bool add_stats(void *user, const json_t *line)
{
    struct tables *t = user;
    size_t i;
    const json_t *entry;
    if (!qn_str_eq(qn_line_text(line, "event"), "stats")) {
        return true;
    }
    json_array_foreach(json_object_get(line, "layers"), i, entry)
    {
        qn_csv_values(&t->row, line, stats_keys, N(stats_keys));
        qn_csv_values(&t->row, entry, entry_keys, N(entry_keys));
        put(t, t->stats);
    }
    return true;
}

static enum qn_status open_tables(struct tables *t, struct qn_export_files *x,
                                  struct qn_err *err)
{
    enum qn_status status =
        qn_export_add_file(x, "metrics.csv", &t->steps, err);
    if (status == QN_OK) {
        status = qn_export_add_file(x, "evals.csv", &t->evals, err);
    }
    if (status == QN_OK) {
        status = qn_export_add_file(x, "stats.csv", &t->stats, err);
    }
    return status;
}

static void add_heads(struct tables *t)
{
    add_names(t, step_keys, N(step_keys));
    put(t, t->steps);
    add_names(t, eval_keys, N(eval_keys));
    put(t, t->evals);
    add_names(t, stats_keys, N(stats_keys));
    add_names(t, entry_keys, N(entry_keys));
    put(t, t->stats);
}

enum qn_status qn_export_csv(struct qn_export_files *x, struct qn_err *err)
{
    struct tables t = {.steps = NULL};
    const struct qn_metrics *m;
    enum qn_status status = qn_export_metrics(x, &m, err);
    if (status == QN_OK) {
        status = open_tables(&t, x, err);
    }
    if (status == QN_OK) {
        add_heads(&t);
        add_metrics(&t, m);
        status = qn_run_dir_lines(x->run, QN_STATS, add_stats, &t, err);
    }
    qn_str_free(&t.row);
    return status;
}
