/* desk.h - the workbench at work: terminal, screen, prompt, Lua and lab in one
 * loop. */
#ifndef QN_APP_DESK_H
#define QN_APP_DESK_H

#include "lab/lab.h"
#include "script/script.h"

struct qn_desk_options {
    struct qn_train_env env;
    const char *store, *data;   /* the options as given, for hints, or NULL */
    const struct qn_spec *spec; /* a run to start with, or NULL */
    const char *script;         /* a file to run first (quern -i), or NULL */
    const char *const *script_args;
    int n_script_args;
    struct qn_script_options script_options;
};

/* Until the person quits; the exit status. Says on stderr why it cannot begin,
 * and afterwards which runs were saved. */
int qn_desk_run(const struct qn_desk_options *options);

#endif
