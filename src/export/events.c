/* events.c - tfevents: a run's curves and histograms for TensorBoard. */
#include "base/clock.h"
#include "base/mem.h"
#include "export/files.h"
#include "export/tfevents.h"
#include "nn/spec.h"
#include "store/line.h"
#include "store/run_dir.h"
#include "train/stats_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* One name whatever the run: a second export takes the place of the first, and
 * TensorBoard puts all event files of a folder together. */
#define FILE_NAME "events.out.tfevents.quern"

struct events {
    struct qn_new_file *file;
    struct qn_str bytes; /* waiting to be written; their memory is kept */
    double start;        /* of the run, seconds since 1970 */
    const struct qn_metrics *metrics; /* borrowed */
    struct qn_stats_record *stats;    /* the line that is being read */
};

static void flush(struct events *e)
{
    qn_new_file_add(e->file, e->bytes.text, e->bytes.len);
    qn_str_clear(&e->bytes);
}

/* The wall clock of training: its pauses are left out. */
static double wall_time(const struct events *e, int64_t step)
{
    return e->start + qn_metrics_seconds(e->metrics, step);
}

/* A number under "group/key"; one that was not finite is NaN. */
static void add_scalar(struct events *e, const char *group, const char *key,
                       int64_t step, double wall, double v)
{
    char tag[64];
    (void)snprintf(tag, sizeof tag, "%s/%s", group, key);
    qn_tf_scalar(&e->bytes, wall, step, tag, v);
}

static void add_step(struct events *e, const struct qn_step_record *r)
{
    double wall = wall_time(e, r->step);
    add_scalar(e, "train", "loss", r->step, wall, r->loss);
    if (!isnan(r->accuracy)) { /* as of a language model */
        add_scalar(e, "train", "accuracy", r->step, wall, r->accuracy);
    }
    add_scalar(e, "train", "lr", r->step, wall, r->lr);
    add_scalar(e, "train", "grad_norm", r->step, wall, r->grad_norm);
    add_scalar(e, "train", "tokens_per_s", r->step, wall, r->tokens_per_s);
    flush(e);
}

static void add_eval(struct events *e, const struct qn_eval_record *r)
{
    const char *split = qn_split_name(r->e.split);
    double wall = wall_time(e, r->step);
    add_scalar(e, split, "loss", r->step, wall, r->e.loss);
    if (!isnan(r->value) || isnan(r->e.loss)) { /* else the line has none */
        add_scalar(e, split, qn_reading_name(r->e.reading), r->step, wall,
                   r->value);
    }
    flush(e);
}

static void add_metrics(struct events *e)
{
    for (size_t i = 0; i < e->metrics->n_steps; i++) {
        add_step(e, &e->metrics->step[i]);
    }
    for (size_t i = 0; i < e->metrics->n_evals; i++) {
        add_eval(e, &e->metrics->eval[i]);
    }
}

static bool is_empty(const struct qn_hist *h)
{
    return h->n_negative + h->n_near + h->n_positive == 0;
}

static bool add_stats(void *user, const json_t *line)
{
    struct events *e = user;
    if (!qn_str_eq(qn_line_text(line, "event"), "stats")) {
        return true;
    }
    /* Any threshold will do: the bins do not depend on it. */
    qn_stats_read(e->stats, line, 0.1);
    int64_t step = e->stats->step;
    for (int of = 0; of < QN_N_QUANTITIES; of++) {
        for (int i = 0; i < e->stats->n_layers; i++) {
            const struct qn_hist *h = &e->stats->layer[i][of];
            char tag[64];
            (void)snprintf(tag, sizeof tag, "%s/layer %d",
                           qn_quantity_name((enum qn_quantity)of), i + 1);
            if (!is_empty(h)) {
                qn_tf_histogram(&e->bytes, wall_time(e, step), step, tag, h);
            }
        }
    }
    flush(e);
    return true;
}

/* The time that the folder's name says, else that of spec.json, which is
 * written once. */
static double start_of(const char *run)
{
    double wall = 0;
    struct stat st;
    if (qn_clock_read_stamp(qn_path_base(run), &wall)) {
        return wall;
    }
    char *spec = qn_path_join(run, "spec.json");
    if (stat(spec, &st) == 0) {
        wall = (double)st.st_mtime;
    }
    free(spec);
    return wall;
}

enum qn_status qn_export_events(struct qn_export_files *x, struct qn_err *err)
{
    struct events e = {.start = start_of(x->run)};
    enum qn_status status = qn_export_metrics(x, &e.metrics, err);
    if (status == QN_OK) {
        status = qn_export_add_file(x, FILE_NAME, &e.file, err);
    }
    if (status != QN_OK) {
        return status;
    }
    e.stats = qn_xcalloc(1, sizeof *e.stats);
    qn_tf_begin(&e.bytes, e.start);
    flush(&e);
    add_metrics(&e);
    status = qn_run_dir_lines(x->run, QN_STATS, add_stats, &e, err);
    qn_str_free(&e.bytes);
    free(e.stats);
    return status;
}
