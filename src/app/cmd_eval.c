/* cmd_eval.c - quern eval: the loss of a run's weights, or labels for texts. */
#include "app/commands.h"

#include "app/classify.h"
#include "app/measured.h"
#include "app/out.h"
#include "lab/note_text.h"

static void print_json(struct qn_out *out, const struct qn_measured *m,
                       const struct qn_evaluation *e)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", m->id);
    qn_json_kstring(&j, "split", qn_split_name(e->split));
    qn_json_kint(&j, "step", qn_measure_checkpoint_step(m->measure));
    qn_json_kdouble(&j, "loss", e->loss);
    qn_json_kdouble(&j, qn_reading_name(e->reading),
                    qn_reading_value(e->reading, e->loss, e->accuracy));
    qn_json_kint(&j, "predictions", e->predictions);
    qn_json_kdouble(&j, "seconds", e->seconds);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print_text(struct qn_out *out, const struct qn_measured *m,
                       const struct qn_evaluation *e)
{
    char loss[32], reading[64];
    (void)qn_out_linef(
        out, "%s  step %lld  %s loss %s  %s  %lld prediction%s in %.1f s",
        m->id, (long long)qn_measure_checkpoint_step(m->measure),
        qn_split_name(e->split), qn_number_text(loss, sizeof loss, e->loss),
        qn_reading_text(reading, sizeof reading, e->reading, e->loss,
                        e->accuracy),
        (long long)e->predictions, e->predictions == 1 ? "" : "s", e->seconds);
}

static int evaluate(struct qn_measured *m, const struct qn_args *args,
                    struct qn_out *out)
{
    struct qn_err err;
    struct qn_evaluation e;
    enum qn_split split = QN_VALID;
    enum qn_status status = qn_measured_split(args, &split, &err);
    if (status == QN_OK) {
        status = qn_measure_evaluate(m->measure, split, &e, &err);
    }
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    if (args->option[QN_OPT_JSON] != NULL) {
        print_json(out, m, &e);
    } else {
        print_text(out, m, &e);
    }
    return QN_EXIT_OK;
}

int qn_cmd_eval(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_measured m;
    struct qn_out out = {.failed = false};
    int result;
    enum qn_status status = qn_measured_open(&m, args, &err);
    if (status != QN_OK) {
        result = qn_give_up(status, &err);
    } else if (args->option[QN_OPT_TEXT] != NULL) {
        result = qn_classify_lines(&m, args, &out);
    } else {
        result = evaluate(&m, args, &out);
    }
    qn_measured_fini(&m);
    return qn_out_close(&out, result);
}
