/* run_state.h - whether a run has ended. */
#ifndef QN_APP_RUN_STATE_H
#define QN_APP_RUN_STATE_H

#include <stdbool.h>

/* The run in this folder is done, stopped or failed, and nobody trains it. */
bool qn_run_has_ended(const char *store, const char *path);

#endif
