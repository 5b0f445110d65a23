/* labelled.h - documents whose label one of their words tells, and vectors. */
#ifndef QN_TRAIN_LABELLED_H
#define QN_TRAIN_LABELLED_H

#include "fixture.h"

struct labelled {
    struct fixture *f;
    char *train, *test, *vectors; /* paths of the files */
};

/* cmocka's setup and teardown; the state is a struct labelled. 200 documents to
 * train with and 12 to test, of 3 to 10 words, and vectors of 6 numbers for all
 * words but "zork". */
int labelled_setup(void **state);
int labelled_teardown(void **state);

/* A small classifier of them: these assignments (NULL at the end) over settings
 * that suit it. */
struct qn_spec labelled_spec(struct labelled *l,
                             const char *const *assignments);
struct qn_trainer *labelled_create(struct labelled *l,
                                   const char *const *assignments);

#endif
