/* cmd_runs.c - quern runs: what the store holds, oldest first. */
#include "app/commands.h"

#include "app/out.h"
#include "base/str.h"
#include "lab/note_text.h"
#include "store/store.h"

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
        if (r->of_labels) {
            qn_json_kdouble(&j, "accuracy", r->best_accuracy);
        }
        qn_json_end_object(&j);
    } else {
        qn_json_null(&j);
    }
    qn_json_kstring(&j, "parent", r->parent[0] != '\0' ? r->parent : NULL);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

/* Of the columns that are as wide as what stands in them. */
struct widths {
    int name, id;
};

/* Characters of text, as the screen counts most of them. */
static int n_characters(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static void add_cell(struct qn_str *s, const char *text, int width)
{
    int fill = width - n_characters(text);
    qn_str_addf(s, "%s%*s  ", text, fill > 0 ? fill : 0, "");
}

static enum qn_reading reading_of(const struct qn_run_summary *r)
{
    if (r->of_labels) {
        return QN_READ_ACCURACY;
    }
    return r->of_words ? QN_READ_PERPLEXITY : QN_READ_BPC;
}

/* What the person calls the run's parent: its name while it is in the store.
 */
static const char *parent_name(const struct qn_run_summary *r,
                               const struct qn_run_summary *runs, int n)
{
    for (int i = 0; i < n; i++) {
        if (qn_str_eq(runs[i].id, r->parent)) {
            return runs[i].name;
        }
    }
    return r->parent;
}

static void print_row(struct qn_out *out, const struct widths *w,
                      const struct qn_run_summary *r, const char *parent)
{
    struct qn_str s = {0};
    add_cell(&s, r->name, w->name);
    add_cell(&s, r->id, w->id);
    qn_str_addf(&s, "%-11s  %9lld  ", r->state, (long long)r->step);
    if (r->best_step > 0) {
        char loss[32], reading[64];
        qn_str_addf(&s, "%s (%s) at step %lld",
                    qn_number_text(loss, sizeof loss, r->best_loss),
                    qn_reading_text(reading, sizeof reading, reading_of(r),
                                    r->best_loss, r->best_accuracy),
                    (long long)r->best_step);
    } else {
        qn_str_add(&s, "-");
    }
    if (parent[0] != '\0') {
        qn_str_addf(&s, "  from %s", parent);
    }
    /* Names come from the folders, whoever made them. */
    qn_blunt_controls(s.text);
    (void)qn_out_line(out, s.text);
    qn_str_free(&s);
}

static void print_table(struct qn_out *out, const struct qn_run_summary *runs,
                        int n)
{
    struct widths w = {n_characters("name"), n_characters("run")};
    for (int i = 0; i < n; i++) {
        int name = n_characters(runs[i].name);
        int id = n_characters(runs[i].id);
        w.name = name > w.name ? name : w.name;
        w.id = id > w.id ? id : w.id;
    }
    (void)qn_out_linef(out, "%-*s  %-*s  %-11s  %9s  %s", w.name, "name", w.id,
                       "run", "state", "step", "best valid loss");
    for (int i = 0; i < n; i++) {
        print_row(out, &w, &runs[i], parent_name(&runs[i], runs, n));
    }
}

static void complain_of_bad(const struct qn_bad_runs *bad)
{
    struct qn_str s = {0};
    if (bad->n == 0) {
        return;
    }
    qn_str_addf(&s, "%s", bad->first.text);
    if (bad->n > 1) {
        qn_str_addf(&s, "; %d more %s cannot be read", bad->n - 1,
                    bad->n == 2 ? "run" : "runs");
    }
    qn_complain(s.text);
    qn_str_free(&s);
}

int qn_cmd_runs(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_out out = {.failed = false};
    struct qn_run_summary *runs = NULL;
    int n = 0;
    struct qn_bad_runs bad = {.n = 0};
    bool json = args->option[QN_OPT_JSON] != NULL;
    char *store = qn_store_dir(args->option[QN_OPT_STORE]);
    enum qn_status status = qn_store_list(store, &runs, &n, &bad, &err);
    for (int i = 0; json && i < n; i++) {
        print_json(&out, &runs[i]);
    }
    if (!json && n > 0) {
        print_table(&out, runs, n);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    if (status == QN_OK && n == 0 && !json) {
        (void)qn_out_linef(&out, "no runs in %s", store);
    }
    complain_of_bad(&bad);
    free(runs);
    free(store);
    return qn_out_close(&out, result);
}
