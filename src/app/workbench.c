/* workbench.c - quern without a command: the screen, or lines without one. */
#include "app/workbench.h"

#include "app/commands.h"
#include "app/context.h"
#include "app/desk.h"
#include "app/out.h"
#include "tui/term.h"

#include <unistd.h>

int qn_workbench(const struct qn_args *args)
{
    bool asked = args->option[QN_OPT_PRESET] != NULL || args->n_assignments > 0;
    struct qn_err err;
    enum qn_status st = qn_term_check(&err);
    if (st != QN_OK && !asked)
        return qn_give_up(st, &err);
    if (st != QN_OK) {
        if (isatty(STDOUT_FILENO))
            qn_complain(err.text); /* and go on in lines */
        return qn_cmd_train(args);
    }
    struct qn_spec spec;
    if (asked)
        st = qn_context_spec(args, &spec, &err);
    if (st != QN_OK)
        return qn_give_up(st, &err);
    struct qn_context c;
    qn_context_init(&c, args);
    struct qn_desk_options options = {.env = c.env,
                                      .store = args->option[QN_OPT_STORE],
                                      .data = args->option[QN_OPT_DATA],
                                      .spec = asked ? &spec : NULL};
    int code = qn_desk_run(&options);
    qn_context_fini(&c);
    return code;
}
