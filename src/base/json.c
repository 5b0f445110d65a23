/* json.c - write JSON in order, keeping commas and quotes right. */
#include "base/json.h"

#include <math.h>
#include <string.h>

void qn_json_free(struct qn_json *j)
{
    qn_str_free(&j->text);
    j->comma = false;
}

void qn_json_clear(struct qn_json *j)
{
    qn_str_clear(&j->text);
    j->comma = false;
}

/* A value of the current container, already in JSON. */
static void put(struct qn_json *j, const char *text)
{
    if (j->comma) {
        qn_str_add(&j->text, ",");
    }
    qn_str_add(&j->text, text);
    j->comma = true;
}

static void open_with(struct qn_json *j, const char *bracket)
{
    put(j, bracket);
    j->comma = false;
}

static void close_with(struct qn_json *j, const char *bracket)
{
    j->comma = false;
    put(j, bracket);
}

void qn_json_object(struct qn_json *j)
{
    open_with(j, "{");
}

void qn_json_end_object(struct qn_json *j)
{
    close_with(j, "}");
}

void qn_json_array(struct qn_json *j)
{
    open_with(j, "[");
}

void qn_json_end_array(struct qn_json *j)
{
    close_with(j, "]");
}

static void add_ascii(struct qn_str *s, unsigned char c)
{
    static const char *const short_escape[128] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
    };
    if (short_escape[c] != NULL) {
        qn_str_add(s, short_escape[c]);
    } else if (c < 0x20) {
        qn_str_addf(s, "\\u%04x", (unsigned)c);
    } else {
        qn_str_add_bytes(s, &c, 1);
    }
}

/* Bytes that are not UTF-8 become U+FFFD: JSON has no other way to hold them.
 */
static void add_quoted(struct qn_str *s, const char *text)
{
    size_t len = strlen(text);
    qn_str_add(s, "\"");
    for (size_t i = 0; i < len;) {
        uint32_t code;
        int n = qn_utf8_decode(text + i, len - i, &code);
        if (n == 1) {
            add_ascii(s, (unsigned char)text[i]);
        } else if (n > 1) {
            qn_str_add_bytes(s, text + i, (size_t)n);
        } else {
            qn_str_add(s, "\xef\xbf\xbd");
        }
        i += n > 0 ? (size_t)n : 1;
    }
    qn_str_add(s, "\"");
}

void qn_json_key(struct qn_json *j, const char *key)
{
    put(j, "");
    add_quoted(&j->text, key);
    qn_str_add(&j->text, ":");
    j->comma = false;
}

void qn_json_string(struct qn_json *j, const char *s)
{
    if (s == NULL) {
        qn_json_null(j);
        return;
    }
    put(j, "");
    add_quoted(&j->text, s);
}

/* A line of statistics holds hundreds of whole numbers: printf would take most
 * of its time. */
void qn_json_int(struct qn_json *j, int64_t v)
{
    char text[24] = "";
    char *first = text + sizeof text - 1;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (v < 0) {
        *--first = '-';
    }
    put(j, first);
}

void qn_json_double(struct qn_json *j, double v)
{
    char buf[32];
    put(j, isfinite(v) ? qn_format_double(buf, sizeof buf, v) : "null");
}

void qn_json_float(struct qn_json *j, double v)
{
    char buf[32];
    put(j, isfinite(v) ? qn_format_float(buf, sizeof buf, v) : "null");
}

void qn_json_bool(struct qn_json *j, bool v)
{
    put(j, v ? "true" : "false");
}

void qn_json_null(struct qn_json *j)
{
    put(j, "null");
}

void qn_json_kstring(struct qn_json *j, const char *key, const char *s)
{
    qn_json_key(j, key);
    qn_json_string(j, s);
}

void qn_json_kint(struct qn_json *j, const char *key, int64_t v)
{
    qn_json_key(j, key);
    qn_json_int(j, v);
}

void qn_json_kdouble(struct qn_json *j, const char *key, double v)
{
    qn_json_key(j, key);
    qn_json_double(j, v);
}

void qn_json_kbool(struct qn_json *j, const char *key, bool v)
{
    qn_json_key(j, key);
    qn_json_bool(j, v);
}
