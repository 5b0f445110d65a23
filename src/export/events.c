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

/* When a step was done, in seconds of training. */
struct moment {
    int64_t step;
    double seconds;
};

struct events {
    struct qn_new_file *file;
    struct qn_str bytes;   /* waiting to be written; their memory is kept */
    double start;          /* of the run, seconds since 1970 */
    struct moment *moment; /* of every step, as they came */
    size_t n, room;
    struct qn_stats_record *stats; /* the line that is being read */
};

static void flush(struct events *e)
{
    qn_new_file_add(e->file, e->bytes.text, e->bytes.len);
    qn_str_clear(&e->bytes);
}

/* The wall clock of training: its pauses are left out. */
static double wall_time(const struct events *e, int64_t step)
{
    size_t from = 0, to = e->n; /* the first later step is in from..to */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (e->moment[middle].step <= step) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return e->start + (from > 0 ? e->moment[from - 1].seconds : 0);
}

static void note_moment(struct events *e, const json_t *line)
{
    double seconds = qn_line_number(line, "seconds");
    double before = e->n > 0 ? e->moment[e->n - 1].seconds : 0;
    if (e->n == e->room) {
        e->room = e->room > 0 ? 2 * e->room : 1024;
        e->moment = qn_xrealloc(e->moment, e->room, sizeof *e->moment);
    }
    e->moment[e->n++] = (struct moment){qn_line_int(line, "step"),
                                        isfinite(seconds) ? seconds : before};
}

/* A number of the line under "group/key"; null is a number that was not finite,
 * and what is missing has no event. */
static void add_scalar(struct events *e, const char *group, const char *key,
                       const json_t *line)
{
    if (json_object_get(line, key) == NULL) {
        return;
    }
    int64_t step = qn_line_int(line, "step");
    char *tag = qn_xasprintf("%s/%s", group, key);
    qn_tf_scalar(&e->bytes, wall_time(e, step), step, tag,
                 qn_line_number(line, key));
    free(tag);
}

static bool add_metric(void *user, const json_t *line)
{
    static const char *const of_step[] = {"loss", "accuracy", "lr", "grad_norm",
                                          "tokens_per_s"};
    static const char *const of_eval[] = {"loss", "bpc", "perplexity",
                                          "accuracy"};
    struct events *e = user;
    const char *event = qn_line_text(line, "event");
    if (qn_str_eq(event, "step")) {
        note_moment(e, line);
        for (size_t i = 0; i < sizeof of_step / sizeof of_step[0]; i++) {
            add_scalar(e, "train", of_step[i], line);
        }
    } else if (qn_str_eq(event, "eval")) {
        const char *split = qn_line_text(line, "split");
        for (size_t i = 0; i < sizeof of_eval / sizeof of_eval[0]; i++) {
            add_scalar(e, split, of_eval[i], line);
        }
    }
    flush(e);
    return true;
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
    enum qn_status status = qn_export_add_file(x, FILE_NAME, &e.file, err);
    if (status != QN_OK) {
        return status;
    }
    e.stats = qn_xcalloc(1, sizeof *e.stats);
    qn_tf_begin(&e.bytes, e.start);
    flush(&e);
    status = qn_run_dir_lines(x->run, QN_METRICS, add_metric, &e, err);
    if (status == QN_OK) {
        status = qn_run_dir_lines(x->run, QN_STATS, add_stats, &e, err);
    }
    qn_str_free(&e.bytes);
    free(e.moment);
    free(e.stats);
    return status;
}
