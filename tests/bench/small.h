/* small.h - shapes that train in no time. */
#ifndef QN_TESTS_BENCH_SMALL_H
#define QN_TESTS_BENCH_SMALL_H

#include "bench/sweep.h"

/* A preset's network of 2 layers of 8 units over 3 streams of 5 symbols, and
 * settings over that (NULL at the end, or no list). A mistake fails the test.
 */
static inline struct qn_shape small_shape(const char *preset,
                                          const char *const *settings)
{
    static const char *const small[] = {"batch=3", "model.layers=2",
                                        "model.hidden=8", "model.embed=4",
                                        "threads=2"};
    struct qn_bench_source source = {preset, small,
                                     (int)(sizeof small / sizeof small[0])};
    struct qn_shape shape;
    struct qn_err err;
    if (qn_bench_shape(&source, settings, &shape, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    shape.steps = 5;
    return shape;
}

static inline struct qn_backend *small_backend(void)
{
    struct qn_backend *be = NULL;
    struct qn_err err;
    if (qn_backend_new("cpu", NULL, 2, &be, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return be;
}

#endif
