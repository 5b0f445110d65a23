/* golden.c - read the cases of tests/golden. */
#include "support/golden.h"

#include "base/mem.h"
#include "base/str.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

/* Arrays handed out of one case; a language model's has about eighty. */
#define MAX_ARRAYS 512

struct qn_golden {
    char *name;
    struct qn_st_file *file;
    void *arrays[MAX_ARRAYS];
    size_t n_arrays;
};

struct qn_golden *qn_golden_open(const char *name)
{
    struct qn_golden *g = qn_xcalloc(1, sizeof *g);
    g->name = qn_xstrdup(name);
    char *path = qn_xasprintf("%s/golden/%s.safetensors", QN_TESTS_DIR, name);
    struct qn_err err;
    enum qn_status st = qn_st_open(path, &g->file, &err);
    free(path);
    if (st != QN_OK)
        fail_msg("%s", err.text);
    return g;
}

void qn_golden_close(struct qn_golden *g)
{
    for (size_t i = 0; i < g->n_arrays; i++)
        free(g->arrays[i]);
    qn_st_close(g->file);
    free(g->name);
    free(g);
}

const char *qn_golden_meta(const struct qn_golden *g, const char *key)
{
    const char *value = qn_st_meta(g->file, key);
    if (!value)
        fail_msg("%s: no metadata \"%s\"", g->name, key);
    return value;
}

double qn_golden_double(const struct qn_golden *g, const char *key)
{
    double value = 0.0;
    if (!qn_parse_double(qn_golden_meta(g, key), &value))
        fail_msg("%s: \"%s\" is not a number", g->name, key);
    return value;
}

int qn_golden_int(const struct qn_golden *g, const char *key)
{
    int64_t value = 0;
    if (!qn_parse_int(qn_golden_meta(g, key), &value))
        fail_msg("%s: \"%s\" is not a whole number", g->name, key);
    return (int)value;
}

bool qn_golden_bool(const struct qn_golden *g, const char *key)
{
    return qn_str_eq(qn_golden_meta(g, key), "True");
}

bool qn_golden_has(const struct qn_golden *g, const char *tensor)
{
    return qn_st_find(g->file, tensor);
}

static const struct qn_st_tensor *find(const struct qn_golden *g,
                                       const char *tensor)
{
    const struct qn_st_tensor *t = qn_st_find(g->file, tensor);
    if (!t)
        fail_msg("%s: no tensor \"%s\"", g->name, tensor);
    return t;
}

size_t qn_golden_count(const struct qn_golden *g, const char *tensor)
{
    return qn_st_count(find(g, tensor));
}

int qn_golden_dim(const struct qn_golden *g, const char *tensor, int dim)
{
    const struct qn_st_tensor *t = find(g, tensor);
    if (dim >= t->n_dims)
        fail_msg("%s: \"%s\" has %d dimensions", g->name, tensor, t->n_dims);
    return (int)t->dim[dim];
}

static void *keep(struct qn_golden *g, void *array)
{
    if (g->n_arrays == MAX_ARRAYS)
        fail_msg("%s: more than %d arrays", g->name, MAX_ARRAYS);
    g->arrays[g->n_arrays++] = array;
    return array;
}

/* [a, b, rest] -> [b, a, rest] (batch-major) or [a, b, c] -> [a, c, b]: both
 * are [outer, rows, cols, inner] -> [outer, cols, rows, inner]. */
const double *qn_golden_values(struct qn_golden *g, const char *tensor,
                               enum qn_golden_layout layout)
{
    const struct qn_st_tensor *t = find(g, tensor);
    size_t count = qn_st_count(t);
    double *values = keep(g, qn_xcalloc(count, sizeof *values));
    size_t outer = layout == QN_TAPS_FIRST ? t->dim[0] : 1;
    size_t first = layout == QN_TAPS_FIRST ? 1 : 0;
    size_t rows = 1;
    size_t cols = 1;
    if (layout != QN_AS_STORED) {
        rows = t->dim[first];
        cols = t->dim[first + 1];
    }
    size_t matrix = outer * rows * cols;
    size_t inner = matrix ? count / matrix : 0;
    size_t at = 0;
    for (size_t o = 0; o < outer; o++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                for (size_t i = 0; i < inner; i++) {
                    size_t to = ((o * cols + c) * rows + r) * inner + i;
                    values[to] = qn_st_value(t, at++);
                }
    return values;
}

const float *qn_golden_floats(struct qn_golden *g, const char *tensor,
                              enum qn_golden_layout layout)
{
    const double *values = qn_golden_values(g, tensor, layout);
    size_t count = qn_golden_count(g, tensor);
    float *floats = keep(g, qn_xcalloc(count, sizeof *floats));
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)values[i];
    return floats;
}

const int32_t *qn_golden_ids(struct qn_golden *g, const char *tensor,
                             enum qn_golden_layout layout)
{
    const double *values = qn_golden_values(g, tensor, layout);
    size_t count = qn_golden_count(g, tensor);
    int32_t *ids = keep(g, qn_xcalloc(count, sizeof *ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)values[i];
    return ids;
}

double qn_golden_error(struct qn_golden *g, const char *tensor,
                       enum qn_golden_layout layout, const float *ours)
{
    return qn_max_error(ours, qn_golden_values(g, tensor, layout),
                        qn_golden_count(g, tensor));
}

void qn_golden_check(struct qn_golden *g, const char *tensor,
                     enum qn_golden_layout layout, const float *ours)
{
    double error = qn_golden_error(g, tensor, layout, ours);
    if (!(error <= QN_GOLDEN_BOUND))
        fail_msg("%s: %s is off by %g, may be by %g", g->name, tensor, error,
                 QN_GOLDEN_BOUND);
}
