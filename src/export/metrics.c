/* metrics.c - the steps and evaluations of an export's run, read once. */
#include "base/mem.h"
#include "export/files.h"

#include <stdlib.h>

enum qn_status qn_export_metrics(struct qn_export_files *x,
                                 const struct qn_metrics **out,
                                 struct qn_err *err)
{
    if (x->metrics == NULL) {
        struct qn_metrics m;
        enum qn_status status = qn_metrics_read(x->run, &m, err);
        if (status != QN_OK) {
            return status;
        }
        x->metrics = qn_xmalloc(sizeof *x->metrics);
        *x->metrics = m;
    }
    *out = x->metrics;
    return QN_OK;
}

void qn_export_free_metrics(struct qn_export_files *x)
{
    if (x->metrics != NULL) {
        qn_metrics_free(x->metrics);
        free(x->metrics);
        x->metrics = NULL;
    }
}
