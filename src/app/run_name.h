/* run_name.h - what a run is called, and whether it has ended. */
#ifndef QN_APP_RUN_NAME_H
#define QN_APP_RUN_NAME_H

#include "nn/spec.h"

/* A spec without a name gets the preset's ("run" without a preset) and the
 * first number that no run of the store has: "demo-3". */
void qn_name_run(const char *store, const char *preset, struct qn_spec *spec);

/* The run in this folder is done, stopped or failed. */
bool qn_run_has_ended(const char *store, const char *path);

#endif
