/* end_runs.c - what still trains when the program ends is saved. */
#include "app/end_runs.h"

#include "base/mem.h"

#include <stdlib.h>

bool qn_end_runs(struct qn_lab *lab, const struct qn_end_runs *how)
{
    int n = qn_lab_n_runs(lab);
    bool *asked = qn_xcalloc((size_t)n + 1, sizeof *asked);
    bool saved = true;
    struct qn_lab_run run;
    struct qn_err err;
    for (int i = 0; i < n; i++) {
        qn_run_id id = qn_lab_run_at(lab, i);
        /* A stop is refused only by a run that has ended by itself. */
        asked[i] = qn_lab_run(lab, id, &run) &&
                   qn_lab_state_active(run.state) &&
                   qn_lab_stop(lab, id, true, &err) == QN_OK;
    }
    while (qn_lab_n_active(lab) > 0) {
        how->pump(how->user);
    }
    for (int i = 0; i < n; i++) {
        if (asked[i] && qn_lab_run(lab, qn_lab_run_at(lab, i), &run)) {
            how->say(how->user, &run);
            saved = saved && run.state != QN_LAB_FAILED;
        }
    }
    free(asked);
    return saved;
}
