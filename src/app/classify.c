/* classify.c - quern eval --text: what a run's weights say of one's own texts.
 */
#include "app/classify.h"

#include "app/interrupt.h"
#include "app/input.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define EXCERPT 56 /* characters, so that a plain line fits 80 columns */

static const char *label_name(const struct qn_judgement *j)
{
    return j->label == 1 ? "positive" : "negative";
}

static void print_json(struct qn_out *out, const char *run, int64_t number,
                       const struct qn_judgement *judged)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "run", run);
    qn_json_kint(&j, "text", number);
    qn_json_kstring(&j, "label", label_name(judged));
    qn_json_kdouble(&j, "probability", judged->probability);
    qn_json_kint(&j, "words", judged->words);
    qn_json_kint(&j, "known", judged->known);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

/* The front of a text of valid UTF-8, controls as spaces. */
static void add_excerpt(struct qn_str *s, const struct qn_str *text)
{
    size_t at = 0;
    for (int n = 0; n < EXCERPT && at < text->len; n++) {
        uint32_t code = 0;
        int bytes = qn_utf8_decode(text->text + at, text->len - at, &code);
        bool blunt = qn_is_control(code);
        qn_str_add_bytes(s, blunt ? " " : text->text + at,
                         blunt ? 1 : (size_t)bytes);
        at += (size_t)bytes;
    }
    qn_str_add(s, at < text->len ? " ..." : "");
}

/* The share is the label's that stands before it. */
static void print_text(struct qn_out *out, const struct qn_judgement *j,
                       const struct qn_str *text)
{
    double share = j->label == 1 ? j->probability : 1 - j->probability;
    struct qn_str s = {0};
    qn_str_addf(&s, "%s %5.1f %%  ", label_name(j), 100 * share);
    add_excerpt(&s, text);
    if (j->known < j->words) {
        qn_str_addf(&s, "  (%d of %d words read)", j->known, j->words);
    }
    (void)qn_out_line(out, s.text);
    qn_str_free(&s);
}

/* The newest line; QN_EUSAGE when it is no text that can be judged. */
static enum qn_status judge(const struct qn_measured *m,
                            const struct qn_input *l, struct qn_judgement *out,
                            struct qn_err *err)
{
    if (l->cut) {
        return qn_fail(err, QN_EUSAGE, "the text has more than %zu bytes",
                       QN_INPUT_MAX);
    }
    return qn_measure_classify(m->measure, l->line.text, l->line.len, out, err);
}

/* "reviews.txt: line 3: the text has no words" */
static void add_place(struct qn_err *err, enum qn_status status,
                      const struct qn_input *l)
{
    char *place = qn_xasprintf("%s: line %lld", l->path, (long long)l->number);
    (void)qn_fail_in(err, status, place);
    free(place);
}

/* The newest line, judged and printed; *good turns false when it was no text
 * for the network, which is said here. Other failures end the work. */
static enum qn_status take_line(const struct qn_measured *m, bool json,
                                const struct qn_input *l, struct qn_out *out,
                                bool *good, struct qn_err *err)
{
    struct qn_judgement judged;
    if (memchr(l->line.text, '\0', l->line.len) != NULL) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: line %lld holds a zero byte: this is no text",
                       l->path, (long long)l->number);
    }
    enum qn_status status = judge(m, l, &judged, err);
    if (status == QN_EUSAGE) {
        add_place(err, status, l);
        qn_complain(err->text);
        *good = false;
        return QN_OK;
    }
    if (status == QN_OK && json) {
        print_json(out, m->id, l->number, &judged);
    } else if (status == QN_OK) {
        print_text(out, &judged, &l->line);
    }
    return status;
}

static enum qn_status take_lines(const struct qn_measured *m, bool json,
                                 struct qn_input *l, struct qn_out *out,
                                 bool *good, struct qn_err *err)
{
    bool more = true;
    enum qn_status status = qn_input_next(l, &more, err);
    while (status == QN_OK && more && !out->failed) {
        status = take_line(m, json, l, out, good, err);
        if (status == QN_OK) {
            status = qn_input_next(l, &more, err);
        }
    }
    if (status == QN_OK && l->number == 0) {
        status = qn_fail(err, QN_EFORMAT, "%s: is empty", l->path);
    }
    return status;
}

static enum qn_status check(const struct qn_measured *m,
                            const struct qn_args *args, struct qn_err *err)
{
    if (qn_measure_spec(m->measure)->task != QN_TASK_CLASSIFY) {
        return qn_fail(err, QN_EUSAGE,
                       "%s is a language model, which has no labels for texts "
                       "(quern sample lets it write; quern eval without --text "
                       "tells its loss)",
                       m->id);
    }
    if (args->option[QN_OPT_SPLIT] != NULL) {
        return qn_fail(err, QN_EUSAGE,
                       "--text and --split: the texts are the file's, or the "
                       "run's");
    }
    if (args->option[QN_OPT_TEXT][0] == '\0') {
        return qn_fail(err, QN_EUSAGE,
                       "--text is empty, must be a file, or - for standard "
                       "input");
    }
    return QN_OK;
}

int qn_classify_lines(const struct qn_measured *m, const struct qn_args *args,
                      struct qn_out *out)
{
    struct qn_err err;
    bool json = args->option[QN_OPT_JSON] != NULL;
    bool good = true;
    struct qn_input *input = qn_xcalloc(1, sizeof *input);
    enum qn_status status = check(m, args, &err);
    if (status == QN_OK) {
        status = qn_input_open(input, args->option[QN_OPT_TEXT], &err);
        if (status == QN_OK) {
            status = take_lines(m, json, input, out, &good, &err);
            qn_input_close(input);
        }
    }
    free(input);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    return good ? QN_EXIT_OK : QN_EXIT_FAILURE;
}
