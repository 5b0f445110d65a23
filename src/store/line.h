/* line.h - what a line of a run's .jsonl files says under a key. */
#ifndef QN_STORE_LINE_H
#define QN_STORE_LINE_H

#include <jansson.h>
#include <stdint.h>

/* NaN where the line has no number: what was not finite is null in it. */
double qn_line_number(const json_t *object, const char *key);
int64_t qn_line_int(const json_t *object, const char *key); /* 0: none */
/* "" when there is none; valid as long as the object. */
const char *qn_line_text(const json_t *object, const char *key);

#endif
