/* status.h - errors as values: a code to branch on and a sentence to show. */
#ifndef QN_BASE_STATUS_H
#define QN_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

enum qn_status {
    QN_OK,
    QN_EUSAGE,    /* the person asked for something that cannot be */
    QN_ENOTFOUND, /* no such run, file, preset, checkpoint */
    QN_EIO,       /* the world failed: disk, permission, end of space */
    QN_EFORMAT,   /* a file is not what it should be */
    QN_ENOMEM,    /* a large allocation failed or would not fit */
    QN_ESTATE,    /* the run is not in a state that allows this */
    QN_ESTOPPED,  /* interrupted or asked to stop */
    QN_N_STATUS
};

/* The sentence: lower case, no full stop, naming the thing and the value, as in
 * "spec.json: hidden is -3, must be 1..8192". Several problems at once stand on
 * lines of their own. Long texts are cut, never overrun. */
struct qn_err {
    char text[2048];
};

#define QN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Store the sentence in err (NULL is fine) and return status, so that a failure
 * is one expression: return qn_fail(err, QN_EIO, "%s: %s", path, why). */
enum qn_status qn_fail(struct qn_err *err, enum qn_status status,
                       const char *fmt, ...) QN_PRINTF(3, 4);

/* Put "prefix: " in front of the sentence that err holds; returns status. */
enum qn_status qn_fail_in(struct qn_err *err, enum qn_status status,
                          const char *prefix);

/* "ok", "usage", "not_found", "io", ... - the code that Lua and JSON show. */
const char *qn_status_name(enum qn_status status);

#endif
