/* fuzz_metrics.c - no metrics.jsonl may crash its reader, and the fast way to
 * read a line says what the other one does. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "train/metrics_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* Bytes of their own, so that the sanitizers see a step beyond them. */
static void check_line(const char *text, size_t len)
{
    struct qn_metric_line fast, any;
    char *line = qn_xmalloc(len);
    memcpy(line, text, len);
    if (qn_metric_line_scan(line, len, &fast)) {
        const struct qn_step_record *a = &fast.step, *b = &any.step;
        QN_ASSERT(qn_metric_line_parse(line, len, &any, NULL) == QN_OK);
        QN_ASSERT(fast.kind == QN_METRIC_STEP && any.kind == QN_METRIC_STEP);
        QN_ASSERT(a->step == b->step && same(a->epoch, b->epoch));
        QN_ASSERT(same(a->loss, b->loss) && same(a->accuracy, b->accuracy));
        QN_ASSERT(same(a->lr, b->lr) && same(a->grad_norm, b->grad_norm));
        QN_ASSERT(same(a->tokens_per_s, b->tokens_per_s));
        QN_ASSERT(same(a->seconds, b->seconds));
    }
    free(line);
}

/* A line that is right up to a number, which is this text. */
static void check_number(const char *text, size_t len)
{
    static const char before[] =
        "{\"event\":\"step\",\"step\":1,\"epoch\":0,\"loss\":0,\"lr\":0,"
        "\"grad_norm\":0,\"tokens_per_s\":0,\"seconds\":";
    struct qn_str line = {0};
    qn_str_add(&line, before);
    qn_str_add_bytes(&line, text, len);
    qn_str_add(&line, "}");
    check_line(line.text, line.len);
    qn_str_free(&line);
}

static void check_lines(const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        check_line(text, n);
        check_number(text, n);
        n += end != NULL ? 1 : 0;
        text += n;
        len -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct qn_metrics m = {.n_steps = 0};
    struct qn_err err = {""};
    if (qn_metrics_parse((const char *)bytes, len, &m, &err) == QN_OK) {
        for (size_t i = 0; i < m.n_steps; i++) {
            QN_ASSERT(m.step[i].segment >= 1);
        }
        double seconds = qn_metrics_seconds(&m, 1);
        QN_ASSERT(isfinite(seconds));
    } else {
        QN_ASSERT(m.step == NULL && err.text[0] != '\0');
    }
    qn_metrics_free(&m);
    check_lines((const char *)bytes, len);
    return 0;
}
