/* period.c - periods and durations to and from text. */
#include "nn/period.h"

#include <math.h>
#include <string.h>

#define AMOUNT_LEN 64
#define MAX_AMOUNT 1e12
#define DIGITS "0123456789"

/* Any of the names stands for 'factor' of the unit. */
static const struct unit_name {
    const char *name;
    enum qn_unit unit;
    double factor;
} unit_names[] = {
    {"step", QN_UNIT_STEPS, 1},       {"steps", QN_UNIT_STEPS, 1},
    {"epoch", QN_UNIT_EPOCHS, 1},     {"epochs", QN_UNIT_EPOCHS, 1},
    {"s", QN_UNIT_SECONDS, 1},        {"second", QN_UNIT_SECONDS, 1},
    {"seconds", QN_UNIT_SECONDS, 1},  {"min", QN_UNIT_SECONDS, 60},
    {"minute", QN_UNIT_SECONDS, 60},  {"minutes", QN_UNIT_SECONDS, 60},
    {"h", QN_UNIT_SECONDS, 3600},     {"hour", QN_UNIT_SECONDS, 3600},
    {"hours", QN_UNIT_SECONDS, 3600}, {"day", QN_UNIT_SECONDS, 86400},
    {"days", QN_UNIT_SECONDS, 86400}, {"eval", QN_UNIT_EVALS, 1},
    {"evals", QN_UNIT_EVALS, 1},
};

static const struct unit_name *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof unit_names / sizeof unit_names[0]; i++) {
        if (strcmp(unit_names[i].name, name) == 0) {
            return &unit_names[i];
        }
    }
    return NULL;
}

/* The bytes of the number that text begins with, an exponent included. */
static size_t number_len(const char *text)
{
    size_t len = strspn(text, DIGITS ".");
    if (text[len] == 'e') {
        size_t sign = strspn(text + len + 1, "+-");
        size_t digits = strspn(text + len + 1 + sign, DIGITS);
        len += sign <= 1 && digits > 0 ? 1 + sign + digits : 0;
    }
    return len;
}

/* Split "2.5 epochs" into a positive number and the rest. */
static bool split_amount(const char *text, double *amount, const char **unit)
{
    size_t len = number_len(text);
    char number[AMOUNT_LEN];
    if (len == 0 || len >= sizeof number) {
        return false;
    }
    memcpy(number, text, len);
    number[len] = '\0';
    double value;
    if (!qn_parse_double(number, &value) || value <= 0 || value > MAX_AMOUNT) {
        return false;
    }
    *amount = value;
    *unit = text + len + strspn(text + len, " ");
    return true;
}

bool qn_period_parse(const char *text, struct qn_period *out, const char **why)
{
    struct qn_period period = {0, QN_UNIT_STEPS};
    *why = "a period such as 50 steps, 1 epoch, 5 minutes, 3 evals, or none";
    if (strcmp(text, "none") == 0) {
        *out = period;
        return true;
    }
    const char *unit;
    if (!split_amount(text, &period.amount, &unit)) {
        return false;
    }
    if (*unit != '\0') {
        const struct unit_name *found = find_unit(unit);
        if (found == NULL) {
            return false;
        }
        period.unit = found->unit;
        period.amount *= found->factor;
    }
    bool whole = period.unit == QN_UNIT_STEPS || period.unit == QN_UNIT_EVALS;
    if (whole && floor(period.amount) != period.amount) {
        *why = "a whole number of steps or evals";
        return false;
    }
    *out = period;
    return true;
}

static void amount_text(double amount, const char *one, const char *many,
                        struct qn_str *out)
{
    char number[AMOUNT_LEN];
    qn_format_double(number, sizeof number, amount);
    qn_str_addf(out, "%s %s", number, amount == 1 ? one : many);
}

void qn_duration_text(double seconds, struct qn_str *out)
{
    if (seconds <= 0) {
        qn_str_add(out, "none");
    } else if (fmod(seconds, 3600) == 0) {
        amount_text(seconds / 3600, "hour", "hours", out);
    } else if (fmod(seconds, 60) == 0) {
        amount_text(seconds / 60, "minute", "minutes", out);
    } else {
        amount_text(seconds, "s", "s", out);
    }
}

void qn_period_text(struct qn_period period, struct qn_str *out)
{
    if (period.amount <= 0) {
        qn_str_add(out, "none");
        return;
    }
    switch (period.unit) {
    case QN_UNIT_STEPS:
        amount_text(period.amount, "step", "steps", out);
        break;
    case QN_UNIT_EPOCHS:
        amount_text(period.amount, "epoch", "epochs", out);
        break;
    case QN_UNIT_SECONDS:
        qn_duration_text(period.amount, out);
        break;
    case QN_UNIT_EVALS:
        amount_text(period.amount, "eval", "evals", out);
        break;
    }
}

bool qn_duration_parse(const char *text, double *seconds, const char **why)
{
    struct qn_period period;
    double amount;
    const char *unit;
    bool bare = split_amount(text, &amount, &unit) && *unit == '\0';
    bool ok = !bare && qn_period_parse(text, &period, why) &&
              (period.amount == 0 || period.unit == QN_UNIT_SECONDS);
    *why = "a time such as 100 minutes, 2 hours, 30 s, or none";
    if (ok) {
        *seconds = period.amount;
    }
    return ok;
}
