/* subject.h - the program under test and its folders, seen from outside.
 *
 * All of it runs in the folder of app/shell.h, whose store is "store". */
#ifndef QN_FAULTS_SUBJECT_H
#define QN_FAULTS_SUBJECT_H

#include "../app/shell.h"

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Sentences in words of a small language, by a seed; reviews in the form label
 * TAB rating TAB text, whose words lean to their label. */
void write_sentences(const char *name, int n, uint64_t seed);
void write_reviews(const char *name, int n, uint64_t seed);

/* The path of the only run in a store, NULL when there is none; fails on more.
 * What has a dot in front is no run. The caller frees it. */
char *only_run(const char *store);
/* The state that "quern runs" tells of it; the caller frees it. */
char *run_state(const char *store);
/* Content of a file, "" when it is missing; the caller frees it. */
char *file_text(const char *format, ...) QN_PRINTF(1, 2);

/* "quern <format>" that must end within a minute by itself: a test fails that
 * waits longer, that sees a signal, or a status other than 0 and 1. */
struct outcome tried(const char *format, ...) QN_PRINTF(1, 2);
/* The same, whatever the status: 124 when it did not end. */
struct outcome tried_any(const char *format, ...) QN_PRINTF(1, 2);
/* Whether it is one line that begins with "quern: " and steers no terminal. */
bool is_one_sentence(const char *text);
/* The same, in which the word stands; else the test fails. */
void check_sentence(const struct outcome *o, const char *word);

/* A line "path kind size sha256" for everything below a folder, in the order of
 * the names, but what has this path below it (NULL: nothing is left out). */
char *tree(const char *folder, const char *but);
void same_bytes(const char *a, const char *b); /* files, or the test fails */

/* What a run's lines say once lines that a resume replaced are left out, and
 * without what a clock wrote. */
struct view {
    struct qn_str steps; /* a line for each: step loss accuracy lr grad_norm */
    struct qn_str evals; /* step split loss predictions */
    struct qn_str stats, samples;
    int n_steps; /* fails unless they are 1, 2, 3, ... */
};
struct view view_of(const char *run);
void view_free(struct view *v);
/* Fails and says the first line that differs. */
void same_text(const char *what, const struct qn_str *a,
               const struct qn_str *b);
/* The same steps, evaluations, statistics and samples. */
void same_view(const struct view *a, const struct view *b);

int n_lines(const char *text); /* NULL is fine */
/* How many lines of a are none of b's. */
int n_missing(const struct qn_str *a, const struct qn_str *b);

/* Whether the program is built without sanitizers, which
 * want to be loaded before any other library. */
bool can_preload(void);

#endif
