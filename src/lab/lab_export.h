/* lab_export.h - exporting a run on a thread of its own.
 *
 * An export reads all of a run's files, which may take seconds, so it never
 * happens on the UI thread. It uses nothing of the lab's once it has begun.
 */
#ifndef QN_LAB_LAB_EXPORT_H
#define QN_LAB_LAB_EXPORT_H

#include "lab/lab.h"

struct qn_lab_export;

/* Begin to write the formats ("csv,svg"; NULL: all that the run has something
 * for) into the folder 'to'. QN_EUSAGE for no list of formats. */
enum qn_status qn_lab_export_start(const struct qn_lab *lab, qn_run_id id,
                                   const char *to, const char *formats,
                                   struct qn_lab_export **out,
                                   struct qn_err *err);
bool qn_lab_export_done(const struct qn_lab_export *x);
/* How it ended; only once it is done. The files' paths hold until it is freed;
 * there are none on failure. */
enum qn_status qn_lab_export_result(const struct qn_lab_export *x,
                                    const char *const **files, int *n,
                                    struct qn_err *err);
/* One that is not done is asked to end, which it does before its next file, and
 * waited for. */
void qn_lab_export_free(struct qn_lab_export *x); /* NULL is fine */

#endif
