/* cmd_presets.c - quern presets: ready-made runs and what they set. */
#include "app/commands.h"

#include "app/out.h"
#include "nn/settings.h"

static void print_json(struct qn_out *out)
{
    struct qn_json j = {.comma = false};
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        qn_json_object(&j);
        qn_json_kstring(&j, "preset", p->name);
        qn_json_kstring(&j, "help", p->help);
        qn_json_key(&j, "settings");
        qn_json_array(&j);
        for (int a = 0; p->assignments[a] != NULL; a++) {
            qn_json_string(&j, p->assignments[a]);
        }
        qn_json_end_array(&j);
        qn_json_end_object(&j);
        (void)qn_out_json(out, &j);
    }
    qn_json_free(&j);
}

int qn_cmd_presets(const struct qn_args *args)
{
    struct qn_out out = {.failed = false};
    if (args->option[QN_OPT_JSON] != NULL) {
        print_json(&out);
        return qn_out_close(&out, QN_EXIT_OK);
    }
    for (int i = 0; i < qn_n_presets(); i++) {
        (void)qn_out_linef(&out, "%-27s %s", qn_preset_at(i)->name,
                           qn_preset_at(i)->help);
    }
    return qn_out_close(&out, QN_EXIT_OK);
}
