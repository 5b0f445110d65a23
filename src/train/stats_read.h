/* stats_read.h - statistics back from a line of stats.jsonl. */
#ifndef QN_TRAIN_STATS_READ_H
#define QN_TRAIN_STATS_READ_H

#include "train/event.h"

#include <jansson.h>

/* The histograms that the line has, their bins included; 'near' is their
 * threshold where the line names none that can be one. What of a damaged line
 * makes no sense is left out. */
void qn_stats_read(struct qn_stats_record *out, const json_t *line,
                   double near);

#endif
