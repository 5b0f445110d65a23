/* record.h - a run's history as JSON lines, none lost while the disk is full.
 *
 * Lines are written at once, one write each. One that cannot be written waits
 * in memory, and all later ones behind it, until qn_record_flush succeeds; the
 * trainer pauses meanwhile, so that few come.
 */
#ifndef QN_TRAIN_RECORD_H
#define QN_TRAIN_RECORD_H

#include "store/run_dir.h"
#include "train/event.h"
#include "train/measure.h"

struct qn_record;

struct qn_record *qn_record_new(struct qn_run_dir *dir); /* borrowed */
void qn_record_free(struct qn_record *r); /* tries once more; NULL is fine */

/* What stands in the way of writing, or NULL when all lines are written. */
const char *qn_record_trouble(const struct qn_record *r);
/* Try to write what waits. */
enum qn_status qn_record_flush(struct qn_record *r, struct qn_err *err);
/* Lines that were lost because more waited than memory is given to, since this
 * was asked last. */
int64_t qn_record_take_lost(struct qn_record *r);

/* The accuracy of a classifier, a key of the open object; NaN: none. */
void qn_record_accuracy(struct qn_json *j, double accuracy);

void qn_record_step(struct qn_record *r, const struct qn_step_record *step);
void qn_record_eval(struct qn_record *r, int64_t step,
                    const struct qn_evaluation *e);
void qn_record_stats(struct qn_record *r, const struct qn_stats_record *stats);
/* A line {"segment":k,"from":step} in every file. later: the changes that the
 * run will come to again, a JSON array that goes into the line of the events;
 * NULL: none. */
void qn_record_segment(struct qn_record *r, int k, int64_t step,
                       const char *later);

/* An event: begin gives {"event":name,"step":step with the object still open;
 * add keys, then end. */
struct qn_json *qn_record_begin(struct qn_record *r, const char *event,
                                int64_t step);
void qn_record_end(struct qn_record *r);
/* The same for a line that must be written at once, and those before it: when
 * it cannot be, it does not wait but is given up. */
enum qn_status qn_record_end_now(struct qn_record *r, struct qn_err *err);

#endif
