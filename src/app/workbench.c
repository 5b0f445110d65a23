/* workbench.c - quern without a command: the screen, or lines without one. */
#include "app/workbench.h"

#include "app/commands.h"
#include "app/out.h"

#include <unistd.h>

int qn_workbench(const struct qn_args *args)
{
    bool asked = args->option[QN_OPT_PRESET] != NULL || args->n_assignments > 0;
    bool tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!tty && asked) {
        return qn_cmd_train(args);
    }
    qn_complain(tty ? "the screen is not built yet"
                    : "the workbench needs a terminal; quern --help lists "
                      "what works without one");
    return QN_EXIT_FAILURE;
}
