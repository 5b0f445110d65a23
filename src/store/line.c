/* line.c - what a line of a run's .jsonl files says under a key. */
#include "store/line.h"

#include <math.h>
#include <stddef.h>

double qn_line_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

int64_t qn_line_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

const char *qn_line_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}
