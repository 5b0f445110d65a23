/* json.h - write JSON: one value into a string, in order, without a tree.
 *
 * Reading is jansson's job. Commas and quotes are kept by the writer; keys and
 * values come in the order of the calls. Numbers are locale-free and round-trip
 * (floats with the digits of a float); NaN and infinities become null. */
#ifndef QN_BASE_JSON_H
#define QN_BASE_JSON_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise. text.text is the JSON so far. */
struct qn_json {
    struct qn_str text;
    bool comma; /* the next value in this container needs one */
};

void qn_json_free(struct qn_json *j);
void qn_json_clear(struct qn_json *j);

void qn_json_object(struct qn_json *j); /* { */
void qn_json_end_object(struct qn_json *j);
void qn_json_array(struct qn_json *j); /* [ */
void qn_json_end_array(struct qn_json *j);
void qn_json_key(struct qn_json *j, const char *key);

void qn_json_string(struct qn_json *j, const char *s);
void qn_json_int(struct qn_json *j, int64_t v);
void qn_json_double(struct qn_json *j, double v); /* shortest exact text */
void qn_json_float(struct qn_json *j, double v);  /* of a float */
void qn_json_bool(struct qn_json *j, bool v);
void qn_json_null(struct qn_json *j);

/* key and value in one. */
void qn_json_kstring(struct qn_json *j, const char *key, const char *s);
void qn_json_kint(struct qn_json *j, const char *key, int64_t v);
void qn_json_kdouble(struct qn_json *j, const char *key, double v);
void qn_json_kbool(struct qn_json *j, const char *key, bool v);

#endif
