/* record.c - a run's history as JSON lines, none lost while the disk is full.
 */
#include "train/record.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far more than a paused run writes. */
#define MAX_WAITING 10000

struct waiting_line {
    struct waiting_line *next;
    enum qn_run_file file;
    struct qn_json json;
};

struct qn_record {
    struct qn_run_dir *dir;
    struct qn_json line; /* the one being made; its memory is kept */
    struct waiting_line *first, *last;
    int n_waiting;
    int64_t n_lost;        /* beyond those */
    struct qn_err trouble; /* why the first one waits */
};

struct qn_record *qn_record_new(struct qn_run_dir *dir)
{
    struct qn_record *r = qn_xcalloc(1, sizeof *r);
    r->dir = dir;
    /* Room for a step's line before the first step, so that training does not
     * allocate. */
    for (int i = 0; i < 64; i++) {
        qn_str_add(&r->line.text, "        ");
    }
    qn_json_clear(&r->line);
    return r;
}

static void drop_first(struct qn_record *r)
{
    struct waiting_line *w = r->first;
    r->first = w->next;
    if (r->first == NULL) {
        r->last = NULL;
    }
    qn_json_free(&w->json);
    free(w);
    r->n_waiting--;
}

void qn_record_free(struct qn_record *r)
{
    if (r == NULL) {
        return;
    }
    /* Nobody is left to tell: what cannot be written now is lost, as if the
     * process had been killed, and a resume goes on from the checkpoint. */
    (void)qn_record_flush(r, NULL);
    while (r->first != NULL) {
        drop_first(r);
    }
    qn_json_free(&r->line);
    free(r);
}

const char *qn_record_trouble(const struct qn_record *r)
{
    return r->first != NULL ? r->trouble.text : NULL;
}

enum qn_status qn_record_flush(struct qn_record *r, struct qn_err *err)
{
    while (r->first != NULL) {
        enum qn_status status = qn_run_dir_append(r->dir, r->first->file,
                                                  &r->first->json, &r->trouble);
        if (status != QN_OK) {
            return qn_fail(err, status, "%s", r->trouble.text);
        }
        drop_first(r);
    }
    return QN_OK;
}

int64_t qn_record_take_lost(struct qn_record *r)
{
    int64_t n = r->n_lost;
    r->n_lost = 0;
    return n;
}

static void wait_line(struct qn_record *r, enum qn_run_file file)
{
    if (r->n_waiting >= MAX_WAITING) {
        r->n_lost++;
        return;
    }
    struct waiting_line *w = qn_xcalloc(1, sizeof *w);
    w->file = file;
    qn_str_add_bytes(&w->json.text, r->line.text.text, r->line.text.len);
    if (r->last != NULL) {
        r->last->next = w;
    } else {
        r->first = w;
    }
    r->last = w;
    r->n_waiting++;
}

/* Write the line that has been made, behind those that wait. */
static void put(struct qn_record *r, enum qn_run_file file)
{
    if (r->first != NULL ||
        qn_run_dir_append(r->dir, file, &r->line, &r->trouble) != QN_OK) {
        wait_line(r, file);
    }
}

static void begin(struct qn_record *r, const char *event, int64_t step)
{
    qn_json_clear(&r->line);
    qn_json_object(&r->line);
    qn_json_kstring(&r->line, "event", event);
    qn_json_kint(&r->line, "step", step);
}

void qn_record_accuracy(struct qn_json *j, double accuracy)
{
    if (!isnan(accuracy)) {
        qn_json_kdouble(j, "accuracy", accuracy);
    }
}

void qn_record_step(struct qn_record *r, const struct qn_step_record *step)
{
    struct qn_json *j = &r->line;
    begin(r, "step", step->step);
    qn_json_kdouble(j, "epoch", step->epoch);
    qn_json_kdouble(j, "loss", step->loss);
    qn_record_accuracy(j, step->accuracy);
    qn_json_kdouble(j, "lr", step->lr);
    qn_json_kdouble(j, "grad_norm", step->grad_norm);
    qn_json_kdouble(j, "tokens_per_s", step->tokens_per_s);
    qn_json_kdouble(j, "seconds", step->seconds);
    qn_json_end_object(j);
    put(r, QN_METRICS);
}

void qn_record_eval(struct qn_record *r, int64_t step,
                    const struct qn_evaluation *e)
{
    struct qn_json *j = &r->line;
    begin(r, "eval", step);
    qn_json_kstring(j, "split", qn_split_name(e->split));
    qn_json_kdouble(j, "loss", e->loss);
    qn_json_kdouble(j, qn_reading_name(e->reading),
                    qn_reading_value(e->reading, e->loss, e->accuracy));
    qn_json_kint(j, "predictions", e->predictions);
    qn_json_kdouble(j, "seconds", e->seconds);
    qn_json_end_object(j);
    put(r, QN_METRICS);
}

/* One side of the bins as pairs [bin, count]: most bins are empty. */
static void bins_json(struct qn_json *j, const char *key, const uint64_t *bin)
{
    qn_json_key(j, key);
    qn_json_array(j);
    for (int i = 0; i < QN_HIST_BINS; i++) {
        if (bin[i] == 0) {
            continue;
        }
        qn_json_array(j);
        qn_json_int(j, i);
        qn_json_int(j, (int64_t)bin[i]);
        qn_json_end_array(j);
    }
    qn_json_end_array(j);
}

/* Beside the layers, in their order. */
static void all_bins_json(struct qn_json *j, const struct qn_stats_record *r)
{
    qn_json_array(j);
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        for (int i = 0; i < r->n_layers && (r->of >> q & 1u) != 0; i++) {
            const struct qn_hist *h = &r->layer[i][q];
            qn_json_object(j);
            bins_json(j, "negative", h->bin[QN_HIST_NEGATIVE]);
            bins_json(j, "positive", h->bin[QN_HIST_POSITIVE]);
            qn_json_end_object(j);
        }
    }
    qn_json_end_array(j);
}

void qn_record_stats(struct qn_record *r, const struct qn_stats_record *stats)
{
    struct qn_json *j = &r->line;
    begin(r, "stats", stats->step);
    if (stats->n_layers > 0) {
        qn_json_key(j, "threshold");
        qn_json_float(j, (double)stats->layer[0][QN_CELL].threshold);
    }
    qn_json_key(j, "layers");
    qn_stats_json(stats, true, j);
    qn_json_key(j, "bins");
    all_bins_json(j, stats);
    qn_json_end_object(j);
    put(r, QN_STATS);
}

void qn_record_segment(struct qn_record *r, int k, int64_t step,
                       const char *later)
{
    for (int file = 0; file < QN_N_RUN_FILES; file++) {
        qn_json_clear(&r->line);
        qn_json_object(&r->line);
        qn_json_kint(&r->line, "segment", k);
        qn_json_kint(&r->line, "from", step);
        if (file == QN_EVENTS && later != NULL) {
            qn_json_key(&r->line, "later");
            qn_str_add(&r->line.text, later);
        }
        qn_json_end_object(&r->line);
        put(r, (enum qn_run_file)file);
    }
}

struct qn_json *qn_record_begin(struct qn_record *r, const char *event,
                                int64_t step)
{
    begin(r, event, step);
    return &r->line;
}

void qn_record_end(struct qn_record *r)
{
    qn_json_end_object(&r->line);
    put(r, QN_EVENTS);
}

enum qn_status qn_record_end_now(struct qn_record *r, struct qn_err *err)
{
    qn_json_end_object(&r->line);
    enum qn_status status = qn_record_flush(r, err);
    return status == QN_OK ? qn_run_dir_append(r->dir, QN_EVENTS, &r->line, err)
                           : status;
}
