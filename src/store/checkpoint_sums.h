/* checkpoint_sums.h - SHA256SUMS of a checkpoint, in the format of sha256sum.
 *
 * A line for every other file of the folder, by name, and at last one for the
 * file "metric": a list that does not end with it was cut short. */
#ifndef QN_STORE_CHECKPOINT_SUMS_H
#define QN_STORE_CHECKPOINT_SUMS_H

#include "base/status.h"

#include <stddef.h>

#define QN_SUMS "SHA256SUMS"
#define QN_METRIC "metric"

/* Of the files that lie in the folder, as they are read back, and of the text
 * that "metric" is going to hold. */
enum qn_status qn_sums_write(const char *folder, const char *metric, size_t len,
                             struct qn_err *err);
/* Whether the files are as they were written: QN_EFORMAT names the first one
 * that is not. A folder without the list, as older programs left it, is
 * believed. */
enum qn_status qn_sums_check(const char *folder, struct qn_err *err);

#endif
