/* world.h - what tests of a corpus share: a folder, texts in it, opening. */
#ifndef QN_TESTS_DATA_WORLD_H
#define QN_TESTS_DATA_WORLD_H

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/corpus.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

/* The folder of the running test, and what was logged in it. */
struct world {
    void *folder;
    int n_heard;
    char heard[512];
};

/* cmocka fixtures: *state is a struct world. */
int make_world(void **state);
int end_world(void **state);

#define IN_WORLD(test)                                                         \
    cmocka_unit_test_setup_teardown(test, make_world, end_world)

/* Paths are the caller's to free. */
char *in(const struct world *w, const char *name);
char *put(const struct world *w, const char *name, const char *text);
char *put_gz(const struct world *w, const char *name, const char *text);

struct qn_corpus *opened(struct world *w, struct qn_corpus_spec spec);
void check_refused(struct world *w, struct qn_corpus_spec spec,
                   enum qn_status status, const char *sentence);
/* The same of one file of this text, with "<path>: " before the sentence. */
void check_bad_text(struct world *w, struct qn_corpus_spec spec,
                    const char *text, const char *sentence);
void check_text(const struct qn_corpus *c, enum qn_split split,
                const char *text);
void check_sizes(const struct qn_corpus *c, size_t train, size_t valid,
                 size_t test);

#endif
