/* workbench.h - the two commands with an interpreter: screen and script. */
#ifndef QN_APP_WORKBENCH_H
#define QN_APP_WORKBENCH_H

struct qn_args;

/* quern [-p PRESET] [KEY=VALUE...]; the exit status. */
int qn_workbench(const struct qn_args *args);
/* quern [-i] [--check] [--set KEY=VALUE]... SCRIPT.lua [ARG...]: words[0] is
 * the script; the exit status. */
int qn_run_script(const struct qn_args *args);

#endif
