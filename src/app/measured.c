/* measured.c - opening a stored run to measure it, for eval, stats, sample. */
#include "app/measured.h"

#include "app/interrupt.h"
#include "base/file.h"
#include "base/str.h"

#include <stdlib.h>

enum qn_status qn_measured_open(struct qn_measured *m,
                                const struct qn_args *args, struct qn_err *err)
{
    const char *which = args->option[QN_OPT_CHECKPOINT];
    *m = (struct qn_measured){.path = NULL};
    qn_context_init(&m->context, args);
    enum qn_status status = qn_context_run(&m->context, args, &m->path, err);
    if (status != QN_OK) {
        return status;
    }
    m->id = qn_path_base(m->path);
    status = qn_measure_open(&m->context.env, m->path,
                             which != NULL ? which : "best", args->assignments,
                             args->n_assignments, &m->measure, err);
    if (status == QN_OK) {
        qn_interrupt_catch();
        qn_measure_set_interrupt(m->measure, qn_interrupt_asked, NULL);
    }
    return status;
}

void qn_measured_fini(struct qn_measured *m)
{
    qn_measure_free(m->measure);
    free(m->path);
    qn_context_fini(&m->context);
}

enum qn_status qn_measured_split(const struct qn_args *args,
                                 enum qn_split *split, struct qn_err *err)
{
    const char *name = args->option[QN_OPT_SPLIT];
    *split = QN_VALID;
    if (name != NULL && !qn_split_parse(name, split)) {
        return qn_fail(err, QN_EUSAGE,
                       "--split is '%s', must be train, valid or test", name);
    }
    return QN_OK;
}

enum qn_status qn_measured_option(const struct qn_args *args,
                                  enum qn_option option, struct qn_spec *spec,
                                  struct qn_err *err)
{
    const struct qn_option_info *o = qn_option_info(option);
    if (args->option[option] == NULL) {
        return QN_OK;
    }
    enum qn_status status =
        qn_settings_change(spec, o->key, args->option[option], err);
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, o->name);
}
