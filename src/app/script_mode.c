/* script_mode.c - quern SCRIPT.lua: a script without a screen. */
#include "app/workbench.h"

#include "app/out.h"

int qn_run_script(const struct qn_args *args)
{
    (void)args;
    qn_complain("scripts are not built yet");
    return QN_EXIT_FAILURE;
}
