/* cmd_runs.c - quern runs: what the store holds, oldest first. */
#include "app/commands.h"

#include "app/out.h"
#include "store/store.h"
#include "train/event.h"

#include <stdio.h>
#include <stdlib.h>

static void print_json(struct qn_out *out, const struct qn_run_summary *r)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", r->id);
    qn_json_kstring(&j, "name", r->name);
    qn_json_kstring(&j, "state", r->state);
    qn_json_kint(&j, "step", r->step);
    qn_json_key(&j, "best");
    if (r->best_step > 0) {
        qn_json_object(&j);
        qn_json_kint(&j, "step", r->best_step);
        qn_json_kdouble(&j, "loss", r->best_loss);
        qn_json_end_object(&j);
    } else {
        qn_json_null(&j);
    }
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print_text(struct qn_out *out, const struct qn_run_summary *r)
{
    char best[64] = "";
    if (r->best_step > 0) {
        (void)snprintf(best, sizeof best, "best %.4f (%.4f bpc) at %lld",
                       r->best_loss, qn_bpc(r->best_loss),
                       (long long)r->best_step);
    }
    (void)qn_out_linef(out, "%s  %-11s step %-8lld %s", r->id, r->state,
                       (long long)r->step, best);
}

int qn_cmd_runs(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_out out = {.failed = false};
    struct qn_run_summary *runs = NULL;
    int n = 0;
    int n_bad = 0;
    bool json = args->option[QN_OPT_JSON] != NULL;
    char *store = qn_store_dir(args->option[QN_OPT_STORE]);
    enum qn_status status = qn_store_list(store, &runs, &n, &n_bad, &err);
    for (int i = 0; status == QN_OK && i < n; i++) {
        if (json) {
            print_json(&out, &runs[i]);
        } else {
            print_text(&out, &runs[i]);
        }
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    if (status == QN_OK && n == 0 && !json) {
        (void)qn_out_linef(&out, "no runs in %s", store);
    }
    if (n_bad > 0) {
        (void)fprintf(stderr, "quern: %d folder%s of %s cannot be read\n",
                      n_bad, n_bad > 1 ? "s" : "", store);
    }
    free(runs);
    free(store);
    return qn_out_close(&out, result);
}
