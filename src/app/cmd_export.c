/* cmd_export.c - quern export: a run's numbers and weights as other files. */
#include "app/commands.h"

#include "app/context.h"
#include "app/out.h"
#include "base/file.h"
#include "export/export.h"

#include <stdlib.h>

static void print_json(struct qn_out *out, const char *run,
                       const struct qn_exported *e)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", qn_path_base(run));
    qn_json_key(&j, "files");
    qn_json_array(&j);
    for (int i = 0; i < e->n; i++) {
        qn_json_string(&j, e->path[i]);
    }
    qn_json_end_array(&j);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print(struct qn_out *out, bool json, const char *run,
                  const struct qn_exported *e)
{
    if (e->no_weights.text[0] != '\0') {
        qn_complain(e->no_weights.text);
    }
    if (json) {
        print_json(out, run, e);
        return;
    }
    for (int i = 0; i < e->n; i++) {
        (void)qn_out_line(out, e->path[i]);
    }
}

/* --to and --formats; no formats are 0, all that there is. */
static enum qn_status read_options(const struct qn_args *args, const char **to,
                                   unsigned *formats, struct qn_err *err)
{
    const char *list = args->option[QN_OPT_FORMATS];
    *to = args->option[QN_OPT_TO];
    *formats = 0;
    if (*to == NULL || (*to)[0] == '\0') {
        return qn_fail(err, QN_EUSAGE,
                       "export needs a folder to write into: --to DIR");
    }
    if (list == NULL) {
        return QN_OK;
    }
    enum qn_status status = qn_export_formats_parse(list, formats, err);
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, "--formats");
}

int qn_cmd_export(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_context c;
    struct qn_exported files = {.n = 0};
    struct qn_out out = {.failed = false};
    const char *to;
    unsigned formats;
    char *run = NULL;
    enum qn_status status = read_options(args, &to, &formats, &err);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    qn_context_init(&c, args);
    status = qn_context_run(&c, args, &run, &err);
    if (status == QN_OK) {
        status = qn_export(run, to, formats, &files, &err);
    }
    if (status == QN_OK) {
        print(&out, args->option[QN_OPT_JSON] != NULL, run, &files);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_exported_free(&files);
    free(run);
    qn_context_fini(&c);
    return qn_out_close(&out, result);
}
