/* metrics_line.c - what one line of metrics.jsonl says. */
#include "train/metrics_line.h"

#include "base/scan.h"
#include "base/str.h"
#include "store/line.h"

#include <math.h>

#define TEXT(literal) literal, sizeof(literal) - 1

/* Integers up to here are doubles, each its own. */
#define MOST_EXACT 9007199254740992.0

/* A key of the line, then its number; null is NaN. */
static bool scan_number(struct qn_scan *s, const char *key, size_t len,
                        double *out)
{
    if (!qn_scan_text(s, key, len)) {
        return false;
    }
    if (qn_scan_text(s, TEXT("null"))) {
        *out = (double)NAN;
        return true;
    }
    return qn_scan_number(s, out);
}

static bool scan_step(struct qn_scan *s, int64_t *out)
{
    const char *start = s->at;
    double v;
    if (!qn_scan_number(s, &v) || !(fabs(v) < MOST_EXACT)) {
        return false;
    }
    for (const char *p = start; p < s->at; p++) {
        if (*p < '0' || *p > '9') {
            return false; /* "5.0" is no integer, "-5" is none of ours */
        }
    }
    *out = (int64_t)v;
    return true;
}

bool qn_metric_line_scan(const char *text, size_t len,
                         struct qn_metric_line *out)
{
    struct qn_scan s = {text, text + len};
    struct qn_step_record r = {.accuracy = (double)NAN};
    bool is = qn_scan_text(&s, TEXT("{\"event\":\"step\",\"step\":")) &&
              scan_step(&s, &r.step) &&
              scan_number(&s, TEXT(",\"epoch\":"), &r.epoch) &&
              scan_number(&s, TEXT(",\"loss\":"), &r.loss);
    if (!is) {
        return false;
    }
    /* Of a classifier; what is no number is found out by the next key. */
    (void)scan_number(&s, TEXT(",\"accuracy\":"), &r.accuracy);
    is = scan_number(&s, TEXT(",\"lr\":"), &r.lr) &&
         scan_number(&s, TEXT(",\"grad_norm\":"), &r.grad_norm) &&
         scan_number(&s, TEXT(",\"tokens_per_s\":"), &r.tokens_per_s) &&
         scan_number(&s, TEXT(",\"seconds\":"), &r.seconds) &&
         qn_scan_text(&s, TEXT("}")) && s.at == s.end;
    if (is) {
        *out = (struct qn_metric_line){.kind = QN_METRIC_STEP, .step = r};
    }
    return is;
}

static struct qn_step_record read_step(const json_t *line)
{
    return (struct qn_step_record){
        .step = qn_line_int(line, "step"),
        .epoch = qn_line_number(line, "epoch"),
        .loss = qn_line_number(line, "loss"),
        .accuracy = qn_line_number(line, "accuracy"),
        .lr = qn_line_number(line, "lr"),
        .grad_norm = qn_line_number(line, "grad_norm"),
        .tokens_per_s = qn_line_number(line, "tokens_per_s"),
        .seconds = qn_line_number(line, "seconds"),
    };
}

/* Which figure the line has, and what it says. */
static enum qn_reading read_value(const json_t *line, double *value)
{
    static const enum qn_reading all[] = {QN_READ_BPC, QN_READ_PERPLEXITY,
                                          QN_READ_ACCURACY};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *key = qn_reading_name(all[i]);
        if (json_object_get(line, key) != NULL) {
            *value = qn_line_number(line, key);
            return all[i];
        }
    }
    *value = (double)NAN;
    return QN_READ_BPC;
}

static bool read_eval(const json_t *line, struct qn_eval_record *out)
{
    struct qn_eval_record r = {
        .step = qn_line_int(line, "step"),
        .e = {.loss = qn_line_number(line, "loss"),
              .accuracy = qn_line_number(line, "accuracy"),
              .predictions = qn_line_int(line, "predictions"),
              .seconds = qn_line_number(line, "seconds")},
    };
    r.e.reading = read_value(line, &r.value);
    bool is = qn_split_parse(qn_line_text(line, "split"), &r.e.split);
    if (is) {
        *out = r;
    }
    return is;
}

void qn_metric_line_read(const json_t *line, struct qn_metric_line *out)
{
    const char *event = qn_line_text(line, "event");
    bool has_step = json_is_integer(json_object_get(line, "step"));
    *out = (struct qn_metric_line){.kind = QN_METRIC_OTHER};
    out->from = qn_line_number(line, "from");
    if (!isnan(out->from) &&
        json_is_integer(json_object_get(line, "segment"))) {
        out->kind = QN_METRIC_SEGMENT;
    } else if (has_step && qn_str_eq(event, "step")) {
        out->kind = QN_METRIC_STEP;
        out->step = read_step(line);
    } else if (has_step && qn_str_eq(event, "eval") &&
               read_eval(line, &out->eval)) {
        out->kind = QN_METRIC_EVAL;
    }
}

enum qn_status qn_metric_line_parse(const char *text, size_t len,
                                    struct qn_metric_line *out,
                                    struct qn_err *err)
{
    json_error_t why;
    json_t *object = json_loadb(text, len, JSON_ALLOW_NUL, &why);
    if (!json_is_object(object)) {
        const char *reason = object == NULL ? why.text : "it is an array";
        json_decref(object);
        return qn_fail(err, QN_EFORMAT, "%s", reason);
    }
    qn_metric_line_read(object, out);
    json_decref(object);
    return QN_OK;
}

enum qn_status qn_metric_line(const char *text, size_t len,
                              struct qn_metric_line *out, struct qn_err *err)
{
    return qn_metric_line_scan(text, len, out)
               ? QN_OK
               : qn_metric_line_parse(text, len, out, err);
}
