/* end_runs.h - what still trains when the program ends is saved. */
#ifndef QN_APP_END_RUNS_H
#define QN_APP_END_RUNS_H

#include "lab/lab.h"

/* Who wants them to end. */
struct qn_end_runs {
    void *user;
    void (*pump)(void *user); /* until something happens; polls the lab */
    void (*say)(void *user, const struct qn_lab_run *run); /* of each */
};

/* Save and end what still trains or waits, side by side, then say of each how
 * it ended. false: one could not be saved, as on a full disk; it is
 * QN_LAB_FAILED. */
bool qn_end_runs(struct qn_lab *lab, const struct qn_end_runs *how);

#endif
