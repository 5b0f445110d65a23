/* tfevents.h - event files as TensorBoard reads them.
 *
 * A file is a row of records: length (u64), masked CRC-32C of it, an Event
 * message of Protocol Buffers, masked CRC-32C of that; all little-endian. Only
 * the messages and fields that scalars and histograms need are written:
 *
 * - Event: 1 wall_time (double), 2 step (int64), 3 file_version, 5 summary
 * - Summary: 1 value
 * - Value: 1 tag, 2 simple_value (float), 5 histo
 * - HistogramProto: 1 min, 2 max, 3 num, 4 sum, 5 sum_squares (doubles),
 *   6 bucket_limit, 7 bucket (packed doubles)
 *
 * from tensorflow/core/util/event.proto and framework/summary.proto. */
#ifndef QN_EXPORT_TFEVENTS_H
#define QN_EXPORT_TFEVENTS_H

#include "base/hist.h"
#include "base/str.h"

/* What every record of a file begins with; bytes are appended to out. */
void qn_tf_begin(struct qn_str *out, double wall_time);
/* value may be any double: TensorBoard shows NaN and infinity apart. */
void qn_tf_scalar(struct qn_str *out, double wall_time, int64_t step,
                  const char *tag, double value);
/* The bins of a histogram, zeros in one of their own. Sums are those of the
 * bins' middles, since the values themselves are gone; NaN are left out. */
void qn_tf_histogram(struct qn_str *out, double wall_time, int64_t step,
                     const char *tag, const struct qn_hist *h);

/* CRC-32C (Castagnoli): 0xe3069283 for "123456789". */
uint32_t qn_crc32c(const void *data, size_t len);

#endif
