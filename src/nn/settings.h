/* settings.h - set, check and show a spec by its dotted keys.
 *
 * One table (nn/schema.c) gives each key its type, default, range, condition,
 * whether it may change in a live run, and a line of help. Everything else is
 * derived from it: parsing, errors with the nearest name, --help, completion,
 * spec.json, the reference page. Order of precedence is the order of calls:
 * defaults < preset < script < command line.
 *
 * Problems are collected, not returned one by one: a qn_settings remembers who
 * set each key and every mistake, and qn_settings_finish says them all, each on
 * its own line with its key and, for a wrong name, the nearest one. */
#ifndef QN_NN_SETTINGS_H
#define QN_NN_SETTINGS_H

#include "base/json.h"
#include "nn/spec.h"

enum qn_key_type {
    QN_KEY_TEXT,
    QN_KEY_PATH,
    QN_KEY_PATH_OR_FRACTION,
    QN_KEY_INT,
    QN_KEY_DOUBLE,
    QN_KEY_BOOL,
    QN_KEY_ENUM,
    QN_KEY_SET,      /* stats.of: some of the choices, in any order */
    QN_KEY_INT_LIST, /* model.window */
    QN_KEY_PERIOD,
    QN_KEY_DURATION, /* "100 minutes"; seconds inside */
    QN_KEY_FOLD      /* "1 of 5" */
};

/* What the outside may know of a key. */
struct qn_key_info {
    const char *key; /* "model.hidden" */
    enum qn_key_type type;
    const char *default_text;   /* as a person would type it; "none" = unset */
    const char *range_text;     /* "1..8192", "tanh, relu, ...", or "" */
    const char *const *choices; /* QN_KEY_ENUM, _SET: NULL at the end */
    bool live;                  /* may change while the run trains */
    const char *help;           /* one line */
};

int qn_n_keys(void);
const struct qn_key_info *qn_key_at(int i);             /* in reading order */
const struct qn_key_info *qn_key_find(const char *key); /* or NULL */

enum qn_source { QN_FROM_DEFAULT, QN_FROM_PRESET, QN_FROM_USER };

struct qn_settings; /* a spec being put together */

/* All defaults. */
struct qn_settings *qn_settings_new(void);
void qn_settings_free(struct qn_settings *s); /* NULL is fine */

/* Set one key from text ("none" unsets). Mistakes are remembered. Setting
 * steps unsets epochs and the other way round. */
void qn_settings_set(struct qn_settings *s, const char *key, const char *value,
                     enum qn_source source);
/* "KEY=VALUE" of a command line. */
void qn_settings_assign(struct qn_settings *s, const char *assignment,
                        enum qn_source source);
/* Remember a mistake that a caller found (a Lua value of the wrong type). */
void qn_settings_complain(struct qn_settings *s, const char *fmt, ...)
    QN_PRINTF(2, 3);
/* Take a preset's keys; QN_ENOTFOUND names the nearest preset. */
enum qn_status qn_settings_preset(struct qn_settings *s, const char *preset,
                                  struct qn_err *err);

/* Take every key of a spec as a preset's: what is set after it is checked as on
 * any spec. */
void qn_settings_take(struct qn_settings *s, const struct qn_spec *spec);

/* Ranges and combinations; on success the resolved spec (windows per layer,
 * threads, a name when none was given stays ""). QN_EUSAGE with all problems.
 */
enum qn_status qn_settings_finish(struct qn_settings *s, struct qn_spec *out,
                                  struct qn_err *err);

/* Change one key of a live run: QN_EUSAGE when the value is wrong or the key is
 * fixed once a run exists. *spec is untouched on failure. */
enum qn_status qn_settings_change(struct qn_spec *spec, const char *key,
                                  const char *value, struct qn_err *err);

/* The value of a key as text, as qn_settings_set would take it. */
void qn_spec_text(const struct qn_spec *spec, const char *key,
                  struct qn_str *out);
/* The whole spec as a JSON object, nested by the dots: spec.json. Reading it
 * back gives an equal spec. */
void qn_spec_json(const struct qn_spec *spec, struct qn_json *out);
enum qn_status qn_spec_parse(const char *json, size_t len, struct qn_spec *out,
                             struct qn_err *err);

/* Presets, by name. */
struct qn_preset_info {
    const char *name;
    const char *help;               /* one line */
    const char *const *assignments; /* "KEY=VALUE", NULL at the end */
};
int qn_n_presets(void);
const struct qn_preset_info *qn_preset_at(int i);

#endif
