/* safetensors_write.c - the same tensors as the same bytes, every time. */
#include "base/safetensors.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static size_t n_bytes(const struct qn_st_tensor *t)
{
    size_t count = qn_st_count(t), size = qn_dtype_size(t->dtype);
    QN_ASSERT(count <= SIZE_MAX / size);
    return count * size;
}

static int by_name(const void *a, const void *b)
{
    const struct qn_st_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Large elements first, so that every tensor is aligned in the file. */
static int by_size_and_name(const void *a, const void *b)
{
    const struct qn_st_tensor *const *x = a, *const *y = b;
    size_t p = qn_dtype_size((*x)->dtype), q = qn_dtype_size((*y)->dtype);
    return p != q ? (p > q ? -1 : 1) : by_name(a, b);
}

/* The tensors in the order of the file; two of one name are a bug. The caller
 * frees the array. */
static const struct qn_st_tensor **in_order(const struct qn_st_tensor *tensors,
                                            size_t n)
{
    const struct qn_st_tensor **order = qn_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        QN_ASSERT(tensors[i].n_dims >= 0 &&
                  tensors[i].n_dims <= QN_ST_MAX_DIMS);
        QN_ASSERT(strcmp(tensors[i].name, "__metadata__") != 0);
        order[i] = &tensors[i];
    }
    qsort(order, n, sizeof *order, by_name);
    for (size_t i = 1; i < n; i++) {
        QN_ASSERT(by_name(&order[i - 1], &order[i]) != 0);
    }
    qsort(order, n, sizeof *order, by_size_and_name);
    return order;
}

static void add_meta(struct qn_json *j, const char *const *meta, size_t n_meta)
{
    if (n_meta == 0) {
        return;
    }
    qn_json_key(j, "__metadata__");
    qn_json_object(j);
    for (size_t i = 0; i < n_meta; i++) {
        for (size_t k = 0; k < i; k++) {
            QN_ASSERT(strcmp(meta[2 * i], meta[2 * k]) != 0);
        }
        qn_json_kstring(j, meta[2 * i], meta[2 * i + 1]);
    }
    qn_json_end_object(j);
}

/* Describe t, whose data begins at 'begin'; returns where it ends. */
static size_t add_tensor(struct qn_json *j, const struct qn_st_tensor *t,
                         size_t begin)
{
    size_t end = begin + n_bytes(t);
    QN_ASSERT(end >= begin && end <= INT64_MAX);
    qn_json_key(j, t->name);
    qn_json_object(j);
    qn_json_kstring(j, "dtype", qn_dtype_name(t->dtype));
    qn_json_key(j, "shape");
    qn_json_array(j);
    for (int k = 0; k < t->n_dims; k++) {
        qn_json_int(j, (int64_t)t->dim[k]);
    }
    qn_json_end_array(j);
    qn_json_key(j, "data_offsets");
    qn_json_array(j);
    qn_json_int(j, (int64_t)begin);
    qn_json_int(j, (int64_t)end);
    qn_json_end_array(j);
    qn_json_end_object(j);
    return end;
}

enum qn_status qn_st_write(const char *path, const struct qn_st_tensor *tensors,
                           size_t n, const char *const *meta, size_t n_meta,
                           struct qn_err *err)
{
    const struct qn_st_tensor **order = in_order(tensors, n);
    struct qn_span *parts = qn_xcalloc(n + 2, sizeof *parts);
    struct qn_json j = {0};
    size_t end = 0;
    qn_json_object(&j);
    add_meta(&j, meta, n_meta);
    for (size_t i = 0; i < n; i++) {
        end = add_tensor(&j, order[i], end);
        parts[i + 2] = (struct qn_span){order[i]->data, n_bytes(order[i])};
    }
    qn_json_end_object(&j);
    while (j.text.len % 8 != 0) {
        qn_str_add(&j.text, " ");
    }
    uint64_t len = j.text.len;
    enum qn_status status;
    if (len > QN_ST_MAX_HEADER) {
        status = qn_fail(err, QN_EUSAGE,
                         "%s: a header of %zu bytes, at most "
                         "%d can be",
                         path, j.text.len, QN_ST_MAX_HEADER);
    } else {
        parts[0] = (struct qn_span){&len, sizeof len};
        parts[1] = (struct qn_span){j.text.text, j.text.len};
        status = qn_file_write_parts(path, parts, n + 2, err);
    }
    qn_json_free(&j);
    free(parts);
    free(order);
    return status;
}
