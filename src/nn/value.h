/* value.h - one setting's value to and from text, by the line of its key. */
#ifndef QN_NN_VALUE_H
#define QN_NN_VALUE_H

#include "nn/schema.h"

/* Write the field of spec that key describes. False when text does not fit:
 * err holds the sentence and spec is as it was. */
bool qn_value_parse(const struct qn_schema_key *key, const char *text,
                    struct qn_spec *spec, struct qn_err *err);
/* The text that qn_value_parse reads back as the same value. */
void qn_value_text(const struct qn_schema_key *key, const struct qn_spec *spec,
                   struct qn_str *out);
bool qn_value_is_unset(const struct qn_schema_key *key,
                       const struct qn_spec *spec);

/* A value as it can stand in a sentence: quoted, printable, not too long. */
#define QN_VALUE_QUOTED 64
const char *qn_value_quote(char buf[QN_VALUE_QUOTED], const char *text);

#endif
