/* csv.h - rows of comma-separated values (RFC 4180, with "\n" for an end). */
#ifndef QN_EXPORT_CSV_H
#define QN_EXPORT_CSV_H

#include "base/str.h"

#include <jansson.h>

/* A field behind those that the row has; quoted where it must be. */
void qn_csv_text(struct qn_str *row, const char *text);
/* A number, and an integer; one that is not finite is empty. */
void qn_csv_number(struct qn_str *row, double v);
void qn_csv_int(struct qn_str *row, int64_t v);
/* The same of a value of a line: numbers as they stand there; null, and NULL
 * for none, are empty. */
void qn_csv_value(struct qn_str *row, const json_t *value);
/* What is under these keys, a field each. */
void qn_csv_values(struct qn_str *row, const json_t *object,
                   const char *const *keys, size_t n);
/* End a row that has fields. */
void qn_csv_end(struct qn_str *row);

#endif
