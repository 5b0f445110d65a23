/* metrics_fill.h - line by line, the history that metrics.jsonl tells. */
#ifndef QN_TRAIN_METRICS_FILL_H
#define QN_TRAIN_METRICS_FILL_H

#include "train/metrics_read.h"

/* A segment line: of what had been read before it, steps after 'from' do not
 * count. */
struct qn_metrics_cut {
    size_t n_steps, n_evals;
    double from;
};

/* Zero-initialise, or begin with what earlier lines said: m, len, lines and
 * segments. */
struct qn_metrics_fill {
    struct qn_metrics m; /* owned; replaced records are in it until the end */
    size_t step_room, eval_room;
    struct qn_metrics_cut *cut; /* in the order of their lines */
    size_t n_cuts, cut_room;
    uint64_t len;         /* bytes of whole lines */
    uint64_t lines;       /* how many, of all kinds */
    uint64_t segments;    /* lines of segments among them */
    bool torn;            /* the newest lines hold NUL: torn, if none follows */
    struct qn_err damage; /* else the first of them is damaged so */
};

/* Take the lines of these bytes that have a newline; *used says how many bytes
 * they are. QN_EFORMAT names the line. */
enum qn_status qn_metrics_fill_add(struct qn_metrics_fill *f, const char *text,
                                   size_t len, size_t *used,
                                   struct qn_err *err);
/* Leave out what later segments replaced. Nothing is added after it. */
void qn_metrics_fill_end(struct qn_metrics_fill *f);
void qn_metrics_fill_free(struct qn_metrics_fill *f); /* with m */

#endif
