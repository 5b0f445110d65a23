/* cmd_import.c - quern import: a run from weights trained elsewhere. */
#include "app/commands.h"

#include "app/context.h"
#include "app/out.h"
#include "train/import.h"

#include <stdlib.h>

static void print(struct qn_out *out, bool json, const char *id)
{
    if (!json) {
        (void)qn_out_linef(out, "run %s", id);
        return;
    }
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", id);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

int qn_cmd_import(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_spec spec;
    struct qn_context c;
    char *id = NULL;
    struct qn_out out = {.failed = false};
    enum qn_status status = qn_context_spec(args, &spec, &err);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    qn_context_init(&c, args);
    status = qn_import_check(args->words[0], &spec, args->assignments,
                             args->n_assignments, &err);
    if (status == QN_OK) {
        status = qn_import(&c.env, args->words[0], &spec, &id, &err);
    }
    if (status == QN_OK) {
        print(&out, args->option[QN_OPT_JSON] != NULL, id);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    free(id);
    qn_context_fini(&c);
    return qn_out_close(&out, result);
}
