/* stats_history.c - all statistics of a run, thinned so that they can be
 * drawn. */
#include "export/stats_history.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/line.h"
#include "store/run_dir.h"
#include "train/stats_read.h"

#include <stdlib.h>

struct reader {
    struct qn_stats_history *out;
    struct qn_stats_record *record; /* the line that is being read */
    double near;
};

/* Every column has room for the most layers: pointers only. */
static size_t bands_room(void)
{
    return (size_t)QN_MAX_LAYERS * QN_N_QUANTITIES;
}

static void free_column(struct qn_history_column *c)
{
    for (size_t i = 0; c->bands != NULL && i < bands_room(); i++) {
        free(c->bands[i]);
    }
    free(c->bands);
    *c = (struct qn_history_column){.n_records = 0};
}

void qn_stats_history_free(struct qn_stats_history *h)
{
    for (int i = 0; i < h->n_columns; i++) {
        free_column(&h->column[i]);
    }
    free(h->newest);
    *h = (struct qn_stats_history){.n_layers = 0};
}

static void add_bands(struct qn_history_bands *to,
                      const struct qn_history_bands *from)
{
    to->zero += from->zero;
    for (int i = 0; i < QN_HISTORY_BANDS; i++) {
        to->side[0][i] += from->side[0][i];
        to->side[1][i] += from->side[1][i];
    }
}

/* What b holds goes to a, and b is freed. */
static void merge_columns(struct qn_history_column *a,
                          struct qn_history_column *b)
{
    for (size_t i = 0; i < bands_room(); i++) {
        if (a->bands[i] == NULL) {
            a->bands[i] = b->bands[i];
            b->bands[i] = NULL;
        } else if (b->bands[i] != NULL) {
            add_bands(a->bands[i], b->bands[i]);
        }
    }
    a->last = b->last;
    a->n_records += b->n_records;
    free_column(b);
}

/* Half as many columns, each of twice the records. Where their number is odd,
 * as when a later record has more layers, the last one waits for more. */
static void thin(struct qn_stats_history *h)
{
    for (int i = 0; i < h->n_columns; i += 2) {
        struct qn_history_column merged = h->column[i];
        if (i + 1 < h->n_columns) {
            merge_columns(&merged, &h->column[i + 1]);
        }
        h->column[i / 2] = merged;
    }
    h->n_columns = (h->n_columns + 1) / 2;
    h->per_column *= 2;
}

/* Many layers have narrow panels. */
static int most_columns(const struct qn_stats_history *h)
{
    int shared = 16 * QN_HISTORY_COLUMNS / (h->n_layers > 0 ? h->n_layers : 1);
    shared -= shared % 2; /* they are merged in pairs */
    return shared < QN_HISTORY_COLUMNS ? shared : QN_HISTORY_COLUMNS;
}

static struct qn_history_column *column_for(struct qn_stats_history *h,
                                            int64_t step)
{
    struct qn_history_column *c =
        h->n_columns > 0 ? &h->column[h->n_columns - 1] : NULL;
    if (c != NULL && c->n_records < h->per_column) {
        return c;
    }
    while (h->n_columns >= most_columns(h)) {
        thin(h);
        c = &h->column[h->n_columns - 1];
        if (c->n_records < h->per_column) {
            return c;
        }
    }
    c = &h->column[h->n_columns++];
    *c = (struct qn_history_column){
        .first = step,
        .bands = qn_xcalloc(bands_room(), sizeof(struct qn_history_bands *))};
    return c;
}

/* Bins 1 to 128 are two to a band; bin 0 and zeros are the middle, and what is
 * beyond the last edge is in the last band. */
static void count_bands(struct qn_history_bands *b, const struct qn_hist *h)
{
    b->zero += (double)h->n_zero;
    for (int side = 0; side < 2; side++) {
        b->zero += (double)h->bin[side][0];
        for (int i = 1; i < QN_HIST_BINS; i++) {
            int band = (i - 1) / 2;
            band = band < QN_HISTORY_BANDS ? band : QN_HISTORY_BANDS - 1;
            b->side[side][band] += (double)h->bin[side][i];
        }
    }
}

static void take_record(struct qn_stats_history *h,
                        const struct qn_stats_record *r)
{
    struct qn_history_column *c = column_for(h, r->step);
    for (int layer = 0; layer < r->n_layers; layer++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if ((r->of & 1u << of) == 0) {
                continue;
            }
            int at = layer * QN_N_QUANTITIES + of;
            if (c->bands[at] == NULL) {
                c->bands[at] = qn_xcalloc(1, sizeof *c->bands[at]);
            }
            count_bands(c->bands[at], &r->layer[layer][of]);
        }
    }
    c->last = r->step;
    c->n_records++;
    h->of |= r->of;
    h->n_layers = r->n_layers > h->n_layers ? r->n_layers : h->n_layers;
}

static bool take_line(void *user, const json_t *line)
{
    struct reader *r = user;
    if (!qn_str_eq(qn_line_text(line, "event"), "stats")) {
        return true;
    }
    qn_stats_read(r->record, line, r->near);
    if (r->record->n_layers > 0) {
        take_record(r->out, r->record);
        /* The newest is kept by trading places with the one before. */
        struct qn_stats_record *before = r->out->newest;
        r->out->newest = r->record;
        r->record = before != NULL ? before : qn_xcalloc(1, sizeof *r->record);
    }
    return true;
}

enum qn_status qn_stats_history_read(const char *run_path, double near,
                                     struct qn_stats_history *out,
                                     struct qn_err *err)
{
    struct qn_stats_history made = {.per_column = 1};
    struct reader r = {
        .out = &made, .record = qn_xcalloc(1, sizeof *r.record), .near = near};
    enum qn_status status =
        qn_run_dir_lines(run_path, QN_STATS, take_line, &r, err);
    free(r.record);
    if (status == QN_OK) {
        *out = made;
    } else {
        qn_stats_history_free(&made);
    }
    return status;
}

const struct qn_history_bands *
qn_stats_history_bands(const struct qn_stats_history *h, int column, int layer,
                       enum qn_quantity of)
{
    return h->column[column].bands[layer * QN_N_QUANTITIES + (int)of];
}
