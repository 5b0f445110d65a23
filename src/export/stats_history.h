/* stats_history.h - all statistics of a run, thinned so that they can be drawn.
 *
 * The newest record is kept as it is. Of all of them together, columns: each is
 * the sum of as many neighbouring records as it takes for there to be at most
 * QN_HISTORY_COLUMNS, fewer where there are many layers, in bands of |x| on
 * each side of zero.
 */
#ifndef QN_EXPORT_STATS_HISTORY_H
#define QN_EXPORT_STATS_HISTORY_H

#include "train/event.h"

#define QN_HISTORY_COLUMNS 256
/* 8 to a decade from 1e-5 to 1e3; values beyond are in the last. */
#define QN_HISTORY_BANDS ((QN_HIST_EDGES - 1) / 2)

/* How the values of one quantity of one layer spread over a column. */
struct qn_history_bands {
    double zero;                      /* |x| < 1e-5, 0 included */
    double side[2][QN_HISTORY_BANDS]; /* by enum qn_hist_side, from zero */
};

struct qn_history_column {
    int64_t first, last; /* steps of its records */
    int n_records;
    /* [layers * QN_N_QUANTITIES], NULL where nothing was counted. */
    struct qn_history_bands **bands;
};

struct qn_stats_history {
    int n_layers;
    unsigned of; /* all quantities that were ever counted, as bits */
    struct qn_history_column column[QN_HISTORY_COLUMNS];
    int n_columns;
    int per_column;                 /* records of a full one */
    struct qn_stats_record *newest; /* NULL: none */
};

/* A missing or empty stats.jsonl is an empty history. 'near' is the threshold
 * where a line names none. */
enum qn_status qn_stats_history_read(const char *run_path, double near,
                                     struct qn_stats_history *out,
                                     struct qn_err *err);
void qn_stats_history_free(struct qn_stats_history *h);

/* What is in a column about a layer from 0; NULL: nothing. */
const struct qn_history_bands *
qn_stats_history_bands(const struct qn_stats_history *h, int column, int layer,
                       enum qn_quantity of);

#endif
