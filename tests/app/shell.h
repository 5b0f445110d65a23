/* shell.h - the program in a folder of its own: run it, look at what it says.
 *
 * Store, data, home and caches lie in a temporary folder that is removed at the
 * end; the folder holds text.txt, a text that can be learnt. */
#ifndef QN_APP_SHELL_H
#define QN_APP_SHELL_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Settings of a run that takes no time. */
#define TINY                                                                   \
    "data.train=text.txt batch=4 seq=8 threads=2 model.layers=2 "              \
    "model.hidden=12 model.embed=6 optim.lr=0.01 eval.every=none "             \
    "stats.every=none checkpoint.every=none "

/* cmocka's setup and teardown of each test. */
int shell_setup(void **state);
int shell_teardown(void **state);

struct outcome {
    int status; /* of the exit; 128 + number for a signal */
    char *out, *err;
};

/* "quern <format>" by /bin/sh in the folder; redirections are the caller's. */
struct outcome quern(const char *format, ...) QN_PRINTF(1, 2);
void outcome_free(struct outcome *o);
/* The same, which must end well; the caller frees what it printed. */
char *quern_out(const char *format, ...) QN_PRINTF(1, 2);
/* Any command in the folder; its exit status. */
int sh(const char *format, ...) QN_PRINTF(1, 2);

/* A program that runs while the test reads its output. */
struct child {
    FILE *out;
    pid_t pid;
};
struct child child_start(const char *format, ...) QN_PRINTF(1, 2);
/* The next line as JSON; NULL at the end. The caller frees it. */
json_t *child_line(struct child *c);
/* Read until a step event of this step or a later one; false at the end. */
bool child_reach(struct child *c, int step);
/* Read the rest; the exit status. */
int child_end(struct child *c);

/* A file of the folder; the caller frees its path. */
void write_file(const char *name, const void *data, size_t len);
/* The value of a JSON text, which must be one. */
json_t *parse(const char *text);
double number(const json_t *object, const char *key); /* must be there */
const char *string(const json_t *object, const char *key);

#endif
