/* measured.h - opening a stored run to measure it, for eval, stats, sample. */
#ifndef QN_APP_MEASURED_H
#define QN_APP_MEASURED_H

#include "app/context.h"

struct qn_measured {
    struct qn_context context;
    char *path;     /* of the run's folder */
    const char *id; /* its last part */
    struct qn_measure *measure;
};

/* words[0] with --checkpoint and KEY=VALUE. To be freed with fini in any case.
 * A signal interrupts the measuring. */
enum qn_status qn_measured_open(struct qn_measured *m,
                                const struct qn_args *args, struct qn_err *err);
void qn_measured_fini(struct qn_measured *m);

/* --split, else valid. */
enum qn_status qn_measured_split(const struct qn_args *args,
                                 enum qn_split *split, struct qn_err *err);
/* The option's value over the setting of spec that it stands for; absent: spec
 * stays. */
enum qn_status qn_measured_option(const struct qn_args *args,
                                  enum qn_option option, struct qn_spec *spec,
                                  struct qn_err *err);

#endif
