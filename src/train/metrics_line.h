/* metrics_line.h - what one line of metrics.jsonl says. */
#ifndef QN_TRAIN_METRICS_LINE_H
#define QN_TRAIN_METRICS_LINE_H

#include "train/metrics_read.h"

#include <jansson.h>

enum qn_metric_kind {
    QN_METRIC_OTHER, /* an object that is none of these */
    QN_METRIC_STEP,
    QN_METRIC_EVAL,
    QN_METRIC_SEGMENT
};
struct qn_metric_line {
    enum qn_metric_kind kind;
    struct qn_step_record step; /* without its segment */
    struct qn_eval_record eval;
    double from; /* what a segment line leaves */
};

/* A line without its newline. QN_EFORMAT says why it is no JSON object. */
enum qn_status qn_metric_line(const char *text, size_t len,
                              struct qn_metric_line *out, struct qn_err *err);

/* The same of an object. A step or an evaluation whose 'step' is no integer is
 * nowhere in the history: QN_METRIC_OTHER. */
void qn_metric_line_read(const json_t *line, struct qn_metric_line *out);

/* The two ways of qn_metric_line: a step's line in exactly the form that
 * record.c writes, many times as fast (false: it is none), and any line. */
bool qn_metric_line_scan(const char *text, size_t len,
                         struct qn_metric_line *out);
enum qn_status qn_metric_line_parse(const char *text, size_t len,
                                    struct qn_metric_line *out,
                                    struct qn_err *err);

#endif
