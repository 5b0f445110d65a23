/* note_text.c - a note of a trainer as a line for a person. */
#include "lab/note_text.h"

#include "nn/settings.h"

#include <math.h>
#include <stdio.h>

const char *qn_number_text(char *buf, size_t size, double v)
{
    /* The sign of what is no number says nothing. */
    (void)snprintf(buf, size, fabs(v) < 1e5 ? "%.4f" : "%.4g",
                   isnan(v) ? (double)NAN : v);
    return buf;
}

const char *qn_reading_text(char *buf, size_t size, enum qn_reading reading,
                            double loss, double accuracy)
{
    char number[32];
    double value = qn_reading_value(reading, loss, accuracy);
    const char *name = qn_reading_name(reading);
    switch (reading) {
    case QN_READ_BPC:
        (void)qn_number_text(number, sizeof number, value);
        (void)snprintf(buf, size, "%s %s", number, name);
        break;
    case QN_READ_PERPLEXITY:
        (void)qn_number_text(number, sizeof number, value);
        (void)snprintf(buf, size, "%s %s", name, number);
        break;
    case QN_READ_ACCURACY:
        (void)snprintf(buf, size, "%s %.2f %%", name, 100 * value);
        break;
    }
    return buf;
}

/* Text on one line: control characters become spaces. */
static void add_flat(struct qn_str *s, const char *text)
{
    size_t from = s->len;
    qn_str_add(s, text);
    for (size_t i = from; i < s->len; i++) {
        if ((unsigned char)s->text[i] < ' ') {
            s->text[i] = ' ';
        }
    }
}

/* "what at step 500", and ": text" when there is one. */
static void add_moment(struct qn_str *s, const char *what,
                       const struct qn_note *n, const char *text)
{
    qn_str_addf(s, "%s at step %lld%s", what, (long long)n->step,
                text[0] != '\0' ? ": " : "");
    add_flat(s, text);
}

static void add_eval(struct qn_str *s, const struct qn_note *n)
{
    char loss[32];
    char reading[64];
    qn_str_addf(s, "step %lld  %s loss %s  %s%s", (long long)n->step,
                qn_split_name(n->split),
                qn_number_text(loss, sizeof loss, n->loss),
                qn_reading_text(reading, sizeof reading, n->reading, n->loss,
                                n->accuracy),
                n->on_request ? "  (asked for)" : "");
}

/* "step 500  optim.lr = 0.01": a quantity with the digits that matter. */
static void add_setting(struct qn_str *s, const struct qn_note *n)
{
    const struct qn_key_info *info = qn_key_find(n->key);
    double v;
    qn_str_addf(s, "step %lld  %s = ", (long long)n->step, n->key);
    if (info != NULL && info->type == QN_KEY_DOUBLE &&
        qn_parse_double(n->text, &v)) {
        qn_str_addf(s, "%.6g", v);
    } else {
        add_flat(s, n->text);
    }
}

bool qn_note_text(const struct qn_note *n, struct qn_str *s)
{
    switch (n->kind) {
    case QN_NOTE_EVAL:
        add_eval(s, n);
        return true;
    case QN_NOTE_CHECKPOINT:
        add_moment(s, "checkpoint", n, "");
        qn_str_add(s, n->is_best ? " (best)" : "");
        return true;
    case QN_NOTE_SAMPLE:
        qn_str_addf(s, "step %lld  sample: ", (long long)n->step);
        add_flat(s, n->text);
        return true;
    case QN_NOTE_SET:
        add_setting(s, n);
        return true;
    case QN_NOTE_PAUSE:
        add_moment(s, "paused", n, n->text);
        return true;
    case QN_NOTE_RESUME:
        add_moment(s, "resumed", n, "");
        return true;
    case QN_NOTE_NAN:
    case QN_NOTE_SPIKE:
    case QN_NOTE_ROLLBACK:
        qn_str_addf(s, "step %lld  ", (long long)n->step);
        add_flat(s, n->text);
        return true;
    case QN_NOTE_DONE:
        add_moment(s, "done", n, "");
        return true;
    case QN_NOTE_STOPPED:
        add_moment(s, "stopped", n, "");
        return true;
    case QN_NOTE_FAILED:
        add_moment(s, "failed", n, n->text);
        return true;
    case QN_NOTE_REPLY:
        break;
    }
    return false;
}

enum qn_log_level qn_note_level(const struct qn_note *n)
{
    if (n->kind == QN_NOTE_FAILED) {
        return QN_LOG_ERROR;
    }
    /* A pause with a reason is one that nobody asked for. */
    bool by_itself = n->kind == QN_NOTE_PAUSE && n->text[0] != '\0';
    bool trouble = n->kind == QN_NOTE_NAN || n->kind == QN_NOTE_SPIKE ||
                   n->kind == QN_NOTE_ROLLBACK;
    return by_itself || trouble ? QN_LOG_WARN : QN_LOG_INFO;
}
