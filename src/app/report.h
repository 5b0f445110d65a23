/* report.h - a trainer's records on standard output: lines or JSON Lines. */
#ifndef QN_APP_REPORT_H
#define QN_APP_REPORT_H

#include "app/out.h"
#include "train/schedule.h"
#include "train/trainer.h"

struct qn_report {
    struct qn_out out;
    bool json;
    struct qn_json line;
    const struct qn_trainer *trainer; /* borrowed; set once it exists */
    int64_t first_step;      /* before the first step of this process */
    struct qn_moment before; /* of the newest line about a step */
    int64_t evals;
    struct qn_stats_record *stats; /* the newest; step 0 = none to be told */
    struct qn_str held; /* lines that came before the one of the start */
    char why[4096];     /* of the newest pause, failure or step not applied */
    int64_t trouble;    /* the newest step that was not applied; -1 */
};

void qn_report_init(struct qn_report *r, bool json);
void qn_report_fini(struct qn_report *r);
struct qn_sink qn_report_sink(struct qn_report *r);

/* The trainer is there: say which run this is. resumed: not from its start. */
void qn_report_start(struct qn_report *r, const struct qn_trainer *t,
                     bool resumed);
/* It is done. */
void qn_report_done(struct qn_report *r);
/* {"event":"error","text":...}; a person reads standard error. */
void qn_report_error(struct qn_report *r, const char *text);

#endif
