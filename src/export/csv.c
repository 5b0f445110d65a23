/* csv.c - rows of comma-separated values (RFC 4180, with "\n" for an end). */
#include "export/csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Every field has its comma behind it; the last one becomes the row's end. */
void qn_csv_text(struct qn_str *row, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        qn_str_addf(row, "%s,", text);
        return;
    }
    qn_str_add(row, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        qn_str_add_bytes(row, "\"", *p == '"');
        qn_str_add_bytes(row, p, 1);
    }
    qn_str_add(row, "\",");
}

void qn_csv_number(struct qn_str *row, double v)
{
    char number[64];
    if (isfinite(v)) {
        qn_str_add(row, qn_format_double(number, sizeof number, v));
    }
    qn_str_add_bytes(row, ",", 1);
}

void qn_csv_int(struct qn_str *row, int64_t v)
{
    qn_str_addf(row, "%" PRId64 ",", v);
}

void qn_csv_value(struct qn_str *row, const json_t *value)
{
    if (json_is_string(value)) {
        qn_csv_text(row, json_string_value(value));
    } else if (json_is_integer(value)) {
        qn_csv_int(row, json_integer_value(value));
    } else if (json_is_real(value)) {
        qn_csv_number(row, json_real_value(value));
    } else if (json_is_boolean(value)) {
        qn_str_add(row, json_is_true(value) ? "true," : "false,");
    } else {
        qn_str_add(row, ",");
    }
}

void qn_csv_values(struct qn_str *row, const json_t *object,
                   const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        qn_csv_value(row, json_object_get(object, keys[i]));
    }
}

void qn_csv_end(struct qn_str *row)
{
    row->text[row->len - 1] = '\n';
}
