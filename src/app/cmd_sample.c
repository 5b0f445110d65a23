/* cmd_sample.c - quern sample: let a run's weights write. */
#include "app/commands.h"

#include "app/measured.h"
#include "app/out.h"

static enum qn_status write_text(struct qn_measured *m,
                                 const struct qn_args *args,
                                 struct qn_str *text, struct qn_err *err)
{
    struct qn_spec spec = *qn_measure_spec(m->measure);
    enum qn_status status = qn_measured_option(args, QN_OPT_LENGTH, &spec, err);
    if (status == QN_OK) {
        status = qn_measured_option(args, QN_OPT_TEMPERATURE, &spec, err);
    }
    if (status != QN_OK) {
        return status;
    }
    struct qn_text_request request = {.prompt = args->option[QN_OPT_PROMPT],
                                      .length = spec.sample.length,
                                      .temperature = spec.sample.temperature,
                                      .seed = spec.sample.seed};
    return qn_measure_sample(m->measure, &request, text, err);
}

static void print_json(struct qn_out *out, const struct qn_measured *m,
                       const struct qn_str *text)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", m->id);
    qn_json_kint(&j, "step", qn_measure_checkpoint_step(m->measure));
    qn_json_kstring(&j, "text", text->text);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

int qn_cmd_sample(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_measured m;
    struct qn_str text = {0};
    struct qn_out out = {.failed = false};
    enum qn_status status = qn_measured_open(&m, args, &err);
    if (status == QN_OK) {
        status = write_text(&m, args, &text, &err);
    }
    if (status == QN_OK && args->option[QN_OPT_JSON] != NULL) {
        print_json(&out, &m, &text);
    } else if (status == QN_OK) {
        qn_str_add(&text, "\n");
        (void)qn_out_text(&out, text.text, text.len);
    }
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_str_free(&text);
    qn_measured_fini(&m);
    return qn_out_close(&out, result);
}
