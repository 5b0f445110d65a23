/* schema.h - the table of settings: one line describes one key for everybody.
 *
 * Inside nn only. A new setting is a field in struct qn_spec and a line in
 * schema.c; parsing, checking, printing and JSON follow from the line. */
#ifndef QN_NN_SCHEMA_H
#define QN_NN_SCHEMA_H

#include "nn/settings.h"

struct qn_schema_key {
    struct qn_key_info info;
    size_t offset, size; /* of the field in struct qn_spec, bytes */
    /* A second field: the fraction beside a path, the length of a list. */
    size_t aux_offset;
    double min, max;      /* numbers, and each entry of a list */
    bool above_min;       /* min itself is not allowed */
    bool below_max;       /* max itself is not allowed */
    bool optional;        /* "none" unsets */
    bool one_line;        /* text without control characters */
    bool one_word;        /* text without white space, and not empty */
    bool no_evals;        /* a period that cannot count evaluations */
    const char *excludes; /* setting this key unsets that one */
    const char *when;     /* the enum or bool key that decides if it applies */
    const char *when_choice[4]; /* and the choices under which it does */
};

/* In reading order, keys of one group together; qn_n_keys() of them. */
const struct qn_schema_key *qn_schema_at(int i);
int qn_schema_index(const char *key); /* -1: no such key */

/* Whether the key has a meaning under the spec's other choices: its decider has
 * one and is as 'when_choice' wants. */
bool qn_schema_applies(const struct qn_schema_key *key,
                       const struct qn_spec *spec);

/* The name of the key whose name is nearest, or NULL: for "did you mean". A
 * last part alone ("lr") finds its key. */
const char *qn_schema_nearest(const char *key);
/* As qn_nearest, but capitals count as small letters. */
int qn_schema_nearest_of(const char *word, const char *const *names, int n);

#endif
