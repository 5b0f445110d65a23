/* export.h - a run's numbers and weights as files for other people's programs.
 *
 * docs/interchange.md says what is in them. The run is only read; it may be
 * training.
 */
#ifndef QN_EXPORT_EXPORT_H
#define QN_EXPORT_EXPORT_H

#include "base/status.h"

#include <stdbool.h>

enum qn_export_format {
    QN_EXPORT_CSV,
    QN_EXPORT_JSONL,
    QN_EXPORT_SAFETENSORS,
    QN_EXPORT_TFEVENTS,
    QN_EXPORT_SVG,
    QN_EXPORT_PNG,
    QN_N_EXPORT_FORMATS
};
const char *qn_export_format_name(enum qn_export_format format);
/* "csv,jsonl" as a set, bits 1u << format; QN_EUSAGE when it is no list of
 * formats. */
enum qn_status qn_export_formats_parse(const char *list, unsigned *formats,
                                       struct qn_err *err);

/* What was written. */
struct qn_exported {
    char **path; /* each in the folder 'to' */
    int n;
    /* Why there are no weights, "" when there are or were not asked for. */
    struct qn_err no_weights;
};
void qn_exported_free(struct qn_exported *e);

/* Write the formats into the folder 'to', which is made when it is not there;
 * files of the same names are replaced. 0: every format that the run has
 * something for; a format asked for by name must have something. All files are
 * whole before the first one takes its place: on failure the folder is as it
 * was, unless the disk fails at the very renaming. QN_EUSAGE when 'to' lies in
 * a run's folder, whose files have the same names. */
enum qn_status qn_export(const char *run_path, const char *to, unsigned formats,
                         struct qn_exported *out, struct qn_err *err);
/* The same; asked(user) is polled before every file, on this thread, and true
 * ends the export with QN_ESTOPPED and the folder as it was. */
enum qn_status qn_export_until(const char *run_path, const char *to,
                               unsigned formats, bool (*asked)(void *user),
                               void *user, struct qn_exported *out,
                               struct qn_err *err);

#endif
