/* value.c - the types of settings: parse, print, check a range.
 *
 * Fields are reached by offset, so they are copied with memcpy: an enum field
 * may be read as the unsigned that it is stored in (asserted below). */
#include "nn/value.h"

#include "base/assert.h"
#include "nn/fold.h"
#include "nn/period.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(enum qn_activation) == sizeof(unsigned),
               "enum fields are copied as unsigned");

#define EXACT_INTS 9007199254740992.0 /* doubles hold every integer below */

static void *field(const struct qn_schema_key *key, struct qn_spec *spec)
{
    return (char *)spec + key->offset;
}

static const void *field_of(const struct qn_schema_key *key,
                            const struct qn_spec *spec)
{
    return (const char *)spec + key->offset;
}

/* The length of the valid, printable character at s; 0 when there is none. */
static int printable_len(const char *s)
{
    uint32_t code;
    int n = qn_utf8_decode(s, strlen(s), &code);
    bool control = n == 1 && ((unsigned char)*s < 0x20 || *s == 0x7f);
    return control ? 0 : n;
}

const char *qn_value_quote(char buf[QN_VALUE_QUOTED], const char *text)
{
    size_t at = 0;
    buf[at++] = '\'';
    while (*text != '\0' && at + 9 < QN_VALUE_QUOTED) {
        int n = printable_len(text);
        if (n == 0) {
            buf[at++] = '?';
            text++;
            continue;
        }
        memcpy(buf + at, text, (size_t)n);
        at += (size_t)n;
        text += n;
    }
    const char *tail = *text == '\0' ? "'" : "...'";
    memcpy(buf + at, tail, strlen(tail) + 1);
    return buf;
}

/* "model.layers is 'two', must be a whole number 1..64". */
static bool refuse(const struct qn_schema_key *key, const char *text,
                   const char *kind, struct qn_err *err)
{
    char quoted[QN_VALUE_QUOTED];
    const char *range = key->info.range_text;
    bool ranged = range != NULL && *range != '\0';
    (void)qn_fail(err, QN_EUSAGE, "%s is %s, must be %s%s%s%s", key->info.key,
                  qn_value_quote(quoted, text), kind,
                  ranged && *kind != '\0' ? " " : "", ranged ? range : "",
                  key->optional ? ", or none" : "");
    return false;
}

static bool in_range(const struct qn_schema_key *key, double v)
{
    return v >= key->min && v <= key->max &&
           !(key->above_min && v == key->min) &&
           !(key->below_max && v == key->max);
}

static bool out_of_range(const struct qn_schema_key *key, double v,
                         struct qn_err *err)
{
    char number[64];
    (void)qn_fail(err, QN_EUSAGE, "%s is %s, must be %s", key->info.key,
                  qn_format_double(number, sizeof number, v),
                  key->info.range_text);
    return false;
}

/* --- text and paths ----------------------------------------------------- */

static bool is_utf8(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        uint32_t code;
        int n = qn_utf8_decode(text + i, len - i, &code);
        if (n == 0) {
            return false;
        }
        i += (size_t)n;
    }
    return true;
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

/* White space as it stands between words. */
static bool is_word(const char *text)
{
    return *text != '\0' && strpbrk(text, " \t\n\v\f\r") == NULL &&
           !has_control(text);
}

static bool parse_text(const struct qn_schema_key *key, const char *text,
                       struct qn_spec *spec, struct qn_err *err)
{
    size_t len = strlen(text);
    if (len >= key->size) {
        (void)qn_fail(err, QN_EUSAGE, "%s has %zu bytes, must have at most %zu",
                      key->info.key, len, key->size - 1);
        return false;
    }
    if (!is_utf8(text)) {
        return refuse(key, text, "valid UTF-8", err);
    }
    if (key->one_line && has_control(text)) {
        return refuse(key, text, "one line without control characters", err);
    }
    if (key->one_word && !is_word(text)) {
        return refuse(key, text, "one word without white space", err);
    }
    /* The whole field, so that equal specs are equal bytes. */
    memset(field(key, spec), 0, key->size);
    memcpy(field(key, spec), text, len);
    return true;
}

static void set_fraction(const struct qn_schema_key *key, double v,
                         struct qn_spec *spec)
{
    memcpy((char *)spec + key->aux_offset, &v, sizeof v);
}

/* A number is the fraction, "none" the fraction 0, all else a path. */
static bool parse_path_or_fraction(const struct qn_schema_key *key,
                                   const char *text, struct qn_spec *spec,
                                   struct qn_err *err)
{
    double v = 0;
    if (!qn_parse_double(text, &v) && !qn_str_eq(text, "none")) {
        if (*text == '\0') {
            return refuse(key, text, "", err);
        }
        if (!parse_text(key, text, spec, err)) {
            return false;
        }
        set_fraction(key, 0, spec);
        return true;
    }
    if (!in_range(key, v)) {
        return out_of_range(key, v, err);
    }
    memset(field(key, spec), 0, key->size);
    set_fraction(key, v, spec);
    return true;
}

/* --- numbers ------------------------------------------------------------ */

/* "64", and also "1e5" where that is a whole number. */
static bool whole_number(const char *text, int64_t *out)
{
    double v;
    if (qn_parse_int(text, out)) {
        return true;
    }
    if (!qn_parse_double(text, &v) || floor(v) != v || fabs(v) > EXACT_INTS) {
        return false;
    }
    *out = (int64_t)v;
    return true;
}

static bool checked_int(const struct qn_schema_key *key, const char *text,
                        int64_t *out, struct qn_err *err)
{
    int64_t v;
    double real;
    if (!whole_number(text, &v)) {
        /* A number all the same: say how large, not that it is no number. */
        if (qn_parse_double(text, &real) && !in_range(key, real)) {
            return out_of_range(key, real, err);
        }
        return refuse(key, text, "a whole number", err);
    }
    if (!in_range(key, (double)v)) {
        return out_of_range(key, (double)v, err);
    }
    *out = v;
    return true;
}

static void store_int(void *at, size_t size, int64_t v)
{
    int narrow = (int)v;
    QN_ASSERT(size == sizeof v || size == sizeof narrow);
    memcpy(at, size == sizeof v ? (const void *)&v : (const void *)&narrow,
           size);
}

static int64_t load_int(const void *at, size_t size)
{
    int64_t v;
    int narrow;
    if (size == sizeof v) {
        memcpy(&v, at, sizeof v);
        return v;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static bool parse_int(const struct qn_schema_key *key, const char *text,
                      struct qn_spec *spec, struct qn_err *err)
{
    int64_t v;
    if (!checked_int(key, text, &v, err)) {
        return false;
    }
    store_int(field(key, spec), key->size, v);
    return true;
}

static bool parse_double(const struct qn_schema_key *key, const char *text,
                         struct qn_spec *spec, struct qn_err *err)
{
    double v;
    if (!qn_parse_double(text, &v)) {
        return refuse(key, text, "a number", err);
    }
    if (!in_range(key, v)) {
        return out_of_range(key, v, err);
    }
    memcpy(field(key, spec), &v, sizeof v);
    return true;
}

static bool parse_bool(const struct qn_schema_key *key, const char *text,
                       struct qn_spec *spec, struct qn_err *err)
{
    bool v = qn_str_eq(text, "true");
    if (!v && !qn_str_eq(text, "false")) {
        return refuse(key, text, "true or false", err);
    }
    memcpy(field(key, spec), &v, sizeof v);
    return true;
}

/* --- choices ------------------------------------------------------------ */

static int n_choices(const struct qn_schema_key *key)
{
    int n = 0;
    while (key->info.choices[n] != NULL) {
        n++;
    }
    return n;
}

/* The index of the choice of that name; -1 with the sentence. */
static int find_choice(const struct qn_schema_key *key, const char *text,
                       struct qn_err *err)
{
    int n = n_choices(key);
    for (int i = 0; i < n; i++) {
        if (qn_str_eq(key->info.choices[i], text)) {
            return i;
        }
    }
    char quoted[QN_VALUE_QUOTED];
    /* In a set of single letters any is as near as another. */
    int near = key->info.type == QN_KEY_SET
                   ? -1
                   : qn_schema_nearest_of(text, key->info.choices, n);
    (void)qn_fail(err, QN_EUSAGE, "%s: %s is %s%s%s%s%s", key->info.key,
                  qn_value_quote(quoted, text), n == 1 ? "not " : "none of ",
                  key->info.range_text, near < 0 ? "" : " (did you mean '",
                  near < 0 ? "" : key->info.choices[near],
                  near < 0 ? "" : "'?)");
    return -1;
}

static bool parse_enum(const struct qn_schema_key *key, const char *text,
                       struct qn_spec *spec, struct qn_err *err)
{
    int i = find_choice(key, text, err);
    if (i < 0) {
        return false;
    }
    unsigned v = (unsigned)i;
    memcpy(field(key, spec), &v, sizeof v);
    return true;
}

/* --- lists -------------------------------------------------------------- */

/* Copy the entry that text begins with, without blanks; the rest follows its
 * comma, NULL at the end. False when it is too long for a number or name. */
static bool next_entry(const char **text, char entry[32])
{
    const char *from = *text + strspn(*text, " ");
    size_t len = strcspn(from, ",");
    *text = from[len] == ',' ? from + len + 1 : NULL;
    while (len > 0 && from[len - 1] == ' ') {
        len--;
    }
    if (len >= 32) {
        return false;
    }
    memcpy(entry, from, len);
    entry[len] = '\0';
    return true;
}

static bool parse_list(const struct qn_schema_key *key, const char *text,
                       struct qn_spec *spec, struct qn_err *err)
{
    int values[QN_MAX_LAYERS] = {0};
    int n = 0;
    for (const char *rest = text; rest != NULL; n++) {
        char entry[32];
        int64_t v;
        if (n == QN_MAX_LAYERS || !next_entry(&rest, entry)) {
            return refuse(key, text, "at most 64 whole numbers", err);
        }
        if (!checked_int(key, entry, &v, err)) {
            return false;
        }
        values[n] = (int)v;
    }
    QN_ASSERT(key->size == sizeof values);
    memcpy(field(key, spec), values, sizeof values);
    memcpy((char *)spec + key->aux_offset, &n, sizeof n);
    return true;
}

static void list_text(const struct qn_schema_key *key,
                      const struct qn_spec *spec, struct qn_str *out)
{
    int n;
    memcpy(&n, (const char *)spec + key->aux_offset, sizeof n);
    for (int i = 0; i < n; i++) {
        int v;
        memcpy(&v, (const char *)field_of(key, spec) + (size_t)i * sizeof v,
               sizeof v);
        qn_str_addf(out, "%s%d", i == 0 ? "" : ",", v);
    }
}

/* Named twice is named: it is a set. */
static bool parse_set(const struct qn_schema_key *key, const char *text,
                      struct qn_spec *spec, struct qn_err *err)
{
    unsigned set = 0;
    for (const char *rest = text; rest != NULL;) {
        char entry[32];
        if (!next_entry(&rest, entry)) {
            return refuse(key, text, "a list of", err);
        }
        int i = find_choice(key, entry, err);
        if (i < 0) {
            return false;
        }
        set |= 1u << i;
    }
    QN_ASSERT(key->size == sizeof set);
    memcpy(field(key, spec), &set, sizeof set);
    return true;
}

static void set_text(const struct qn_schema_key *key,
                     const struct qn_spec *spec, struct qn_str *out)
{
    unsigned set;
    const char *comma = "";
    memcpy(&set, field_of(key, spec), sizeof set);
    for (int i = 0; i < n_choices(key); i++) {
        if ((set & 1u << i) != 0) {
            qn_str_addf(out, "%s%s", comma, key->info.choices[i]);
            comma = ",";
        }
    }
}

/* --- times -------------------------------------------------------------- */

static bool parse_period(const struct qn_schema_key *key, const char *text,
                         struct qn_spec *spec, struct qn_err *err)
{
    struct qn_period v;
    const char *why;
    char quoted[QN_VALUE_QUOTED];
    bool ok = qn_period_parse(text, &v, &why);
    if (ok && key->no_evals && v.amount > 0 && v.unit == QN_UNIT_EVALS) {
        why = "a number of steps, epochs or seconds";
        ok = false;
    }
    if (!ok) {
        (void)qn_fail(err, QN_EUSAGE, "%s is %s, must be %s", key->info.key,
                      qn_value_quote(quoted, text), why);
        return false;
    }
    memcpy(field(key, spec), &v, sizeof v);
    return true;
}

static bool parse_duration(const struct qn_schema_key *key, const char *text,
                           struct qn_spec *spec, struct qn_err *err)
{
    double v;
    const char *why;
    char quoted[QN_VALUE_QUOTED];
    if (!qn_duration_parse(text, &v, &why)) {
        (void)qn_fail(err, QN_EUSAGE, "%s is %s, must be %s", key->info.key,
                      qn_value_quote(quoted, text), why);
        return false;
    }
    memcpy(field(key, spec), &v, sizeof v);
    return true;
}

static bool parse_fold(const struct qn_schema_key *key, const char *text,
                       struct qn_spec *spec, struct qn_err *err)
{
    struct qn_fold fold;
    const char *why;
    if (!qn_fold_parse(text, &fold, &why)) {
        return refuse(key, text, why, err);
    }
    memcpy(field(key, spec), &fold, sizeof fold);
    return true;
}

/* --- any type ----------------------------------------------------------- */

/* All types are unset by zero bytes: 0, 0.0, "", the period of amount 0. */
static void unset(const struct qn_schema_key *key, struct qn_spec *spec)
{
    memset(field(key, spec), 0, key->size);
}

bool qn_value_parse(const struct qn_schema_key *key, const char *text,
                    struct qn_spec *spec, struct qn_err *err)
{
    if (key->optional && qn_str_eq(text, "none")) {
        unset(key, spec);
        return true;
    }
    switch (key->info.type) {
    case QN_KEY_TEXT:
    case QN_KEY_PATH:
        return parse_text(key, text, spec, err);
    case QN_KEY_PATH_OR_FRACTION:
        return parse_path_or_fraction(key, text, spec, err);
    case QN_KEY_INT:
        return parse_int(key, text, spec, err);
    case QN_KEY_DOUBLE:
        return parse_double(key, text, spec, err);
    case QN_KEY_BOOL:
        return parse_bool(key, text, spec, err);
    case QN_KEY_ENUM:
        return parse_enum(key, text, spec, err);
    case QN_KEY_SET:
        return parse_set(key, text, spec, err);
    case QN_KEY_INT_LIST:
        return parse_list(key, text, spec, err);
    case QN_KEY_PERIOD:
        return parse_period(key, text, spec, err);
    case QN_KEY_DURATION:
        return parse_duration(key, text, spec, err);
    case QN_KEY_FOLD:
        return parse_fold(key, text, spec, err);
    }
    return false;
}

bool qn_value_is_unset(const struct qn_schema_key *key,
                       const struct qn_spec *spec)
{
    double v;
    if (!key->optional) {
        return false;
    }
    switch (key->info.type) {
    case QN_KEY_TEXT:
    case QN_KEY_PATH:
        return *(const char *)field_of(key, spec) == '\0';
    case QN_KEY_INT:
        return load_int(field_of(key, spec), key->size) == 0;
    case QN_KEY_DOUBLE:
    case QN_KEY_PERIOD: /* begins with its amount */
    case QN_KEY_DURATION:
        memcpy(&v, field_of(key, spec), sizeof v);
        return v == 0;
    case QN_KEY_FOLD: /* begins with k, which is 1 at least */
        return load_int(field_of(key, spec), sizeof(int)) == 0;
    case QN_KEY_PATH_OR_FRACTION:
    case QN_KEY_BOOL:
    case QN_KEY_ENUM:
    case QN_KEY_SET:
    case QN_KEY_INT_LIST:
        return false;
    }
    return false;
}

static void double_text(const void *at, struct qn_str *out)
{
    char number[64];
    double v;
    memcpy(&v, at, sizeof v);
    qn_str_add(out, qn_format_double(number, sizeof number, v));
}

static void enum_text(const struct qn_schema_key *key,
                      const struct qn_spec *spec, struct qn_str *out)
{
    unsigned v;
    memcpy(&v, field_of(key, spec), sizeof v);
    QN_ASSERT(v < (unsigned)n_choices(key));
    qn_str_add(out, key->info.choices[v]);
}

void qn_value_text(const struct qn_schema_key *key, const struct qn_spec *spec,
                   struct qn_str *out)
{
    const void *at = field_of(key, spec);
    struct qn_period period;
    struct qn_fold fold;
    double seconds;
    if (qn_value_is_unset(key, spec)) {
        qn_str_add(out, "none");
        return;
    }
    switch (key->info.type) {
    case QN_KEY_TEXT:
    case QN_KEY_PATH:
        qn_str_add(out, at);
        break;
    case QN_KEY_PATH_OR_FRACTION:
        if (*(const char *)at != '\0') {
            qn_str_add(out, at);
        } else {
            double_text((const char *)spec + key->aux_offset, out);
        }
        break;
    case QN_KEY_INT:
        qn_str_addf(out, "%lld", (long long)load_int(at, key->size));
        break;
    case QN_KEY_DOUBLE:
        double_text(at, out);
        break;
    case QN_KEY_BOOL:
        qn_str_add(out, *(const bool *)at ? "true" : "false");
        break;
    case QN_KEY_ENUM:
        enum_text(key, spec, out);
        break;
    case QN_KEY_SET:
        set_text(key, spec, out);
        break;
    case QN_KEY_INT_LIST:
        list_text(key, spec, out);
        break;
    case QN_KEY_PERIOD:
        memcpy(&period, at, sizeof period);
        qn_period_text(period, out);
        break;
    case QN_KEY_DURATION:
        memcpy(&seconds, at, sizeof seconds);
        qn_duration_text(seconds, out);
        break;
    case QN_KEY_FOLD:
        memcpy(&fold, at, sizeof fold);
        qn_fold_text(fold, out);
        break;
    }
}
