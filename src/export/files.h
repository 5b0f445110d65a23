/* files.h - the files of one export, which take their places together, and the
 * formats that fill them. */
#ifndef QN_EXPORT_FILES_H
#define QN_EXPORT_FILES_H

#include "base/file.h"
#include "train/metrics_read.h"

struct qn_figure_list;

struct qn_export_files {
    const char *run; /* the folder of the run; borrowed */
    const char *to;  /* the folder that is written into; borrowed */
    char **path;
    struct qn_new_file **file;
    int n, room;
    struct qn_metrics *metrics; /* owned; NULL until somebody asks for it */
    bool (*asked)(void *user);  /* whether to end early; NULL: never */
    void *user;
    struct qn_figure_list *figures; /* owned; NULL until they are drawn */
};

/* A file named so in 'to', owned by x. */
enum qn_status qn_export_add_file(struct qn_export_files *x, const char *name,
                                  struct qn_new_file **out, struct qn_err *err);

/* The run's steps and evaluations, read once for all formats; borrowed. */
enum qn_status qn_export_metrics(struct qn_export_files *x,
                                 const struct qn_metrics **out,
                                 struct qn_err *err);
void qn_export_free_metrics(struct qn_export_files *x);

/* One for each format: add its files and fill them. */
enum qn_status qn_export_csv(struct qn_export_files *x, struct qn_err *err);
enum qn_status qn_export_jsonl(struct qn_export_files *x, struct qn_err *err);
/* QN_ENOTFOUND when the run has no checkpoint, before a file was added. */
enum qn_status qn_export_weights(struct qn_export_files *x, struct qn_err *err);
enum qn_status qn_export_events(struct qn_export_files *x, struct qn_err *err);
/* QN_ENOTFOUND when there is nothing to draw, QN_ESTATE when this build cannot
 * write PNG; both before a file was added. */
enum qn_status qn_export_svg(struct qn_export_files *x, struct qn_err *err);
enum qn_status qn_export_png(struct qn_export_files *x, struct qn_err *err);

#endif
