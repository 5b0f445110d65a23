/* safetensors.c - read tensors from a file that nobody vouches for. */
#include "base/safetensors.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are used as they lie in the file, which is little-endian"
#endif

#define META "__metadata__"

struct entry {
    struct qn_st_tensor tensor;
    size_t begin, end; /* within the data */
    void *copy;        /* of data that lay unaligned, or NULL */
};

struct qn_st_file {
    struct qn_bytes bytes; /* the whole file */
    json_t *header;        /* owns the names and the metadata */
    struct entry *entries; /* by begin */
    size_t n;
};

/* What the checks share: where we are and whom to tell. */
struct reader {
    const char *path;
    const char *data; /* after the header */
    size_t data_len;
    struct qn_err *err;
};

static const struct {
    const char *name;
    size_t size;
} dtypes[QN_N_DTYPES] = {
    [QN_F32] = {"F32", 4}, [QN_F64] = {"F64", 8}, [QN_I32] = {"I32", 4},
    [QN_I64] = {"I64", 8}, [QN_U8] = {"U8", 1},   [QN_U64] = {"U64", 8},
};

size_t qn_dtype_size(enum qn_dtype dtype)
{
    QN_ASSERT((unsigned)dtype < QN_N_DTYPES);
    return dtypes[dtype].size;
}

const char *qn_dtype_name(enum qn_dtype dtype)
{
    QN_ASSERT((unsigned)dtype < QN_N_DTYPES);
    return dtypes[dtype].name;
}

/* into * by, or false when that overflows. */
static bool multiply(size_t *into, size_t by)
{
    if (by != 0 && *into > SIZE_MAX / by) {
        return false;
    }
    *into *= by;
    return true;
}

size_t qn_st_count(const struct qn_st_tensor *t)
{
    size_t count = 1;
    for (int k = 0; k < t->n_dims; k++) {
        QN_ASSERT(multiply(&count, t->dim[k]));
    }
    return count;
}

/* "path: tensor name: why". A name may be long; the reason must not be cut off
 * behind it. */
QN_PRINTF(3, 4)
static enum qn_status fail_tensor(const struct reader *r, const char *name,
                                  const char *fmt, ...)
{
    char why[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return qn_fail(r->err, QN_EFORMAT, "%s: tensor %.200s: %s", r->path, name,
                   why);
}

static bool as_size(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (unsigned long long)json_integer_value(value) > SIZE_MAX) {
        return false;
    }
    *out = (size_t)json_integer_value(value);
    return true;
}

static enum qn_status read_dtype(const struct reader *r, const json_t *info,
                                 struct qn_st_tensor *t)
{
    const char *name = json_string_value(json_object_get(info, "dtype"));
    if (name == NULL) {
        return fail_tensor(r, t->name, "has no dtype");
    }
    for (int k = 0; k < QN_N_DTYPES; k++) {
        if (qn_str_eq(name, dtypes[k].name)) {
            t->dtype = (enum qn_dtype)k;
            return QN_OK;
        }
    }
    return fail_tensor(r, t->name,
                       "dtype is %.20s, must be F32, F64, I32, I64, U8 or U64",
                       name);
}

/* The shape, and in *size the bytes it asks for. */
static enum qn_status read_shape(const struct reader *r, const json_t *info,
                                 struct qn_st_tensor *t, size_t *size)
{
    const json_t *shape = json_object_get(info, "shape");
    if (!json_is_array(shape)) {
        return fail_tensor(r, t->name, "has no shape");
    }
    if (json_array_size(shape) > QN_ST_MAX_DIMS) {
        return fail_tensor(r, t->name, "has %zu dimensions, at most %d can be",
                           json_array_size(shape), QN_ST_MAX_DIMS);
    }
    t->n_dims = (int)json_array_size(shape);
    *size = qn_dtype_size(t->dtype);
    for (int k = 0; k < t->n_dims; k++) {
        if (!as_size(json_array_get(shape, (size_t)k), &t->dim[k])) {
            return fail_tensor(r, t->name,
                               "dimension %d is not a whole number from 0", k);
        }
        if (!multiply(size, t->dim[k])) {
            return fail_tensor(r, t->name, "its shape overflows");
        }
    }
    return QN_OK;
}

static enum qn_status read_offsets(const struct reader *r, const json_t *info,
                                   struct entry *e, size_t size)
{
    const char *name = e->tensor.name;
    const json_t *pair = json_object_get(info, "data_offsets");
    if (json_array_size(pair) != 2 ||
        !as_size(json_array_get(pair, 0), &e->begin) ||
        !as_size(json_array_get(pair, 1), &e->end)) {
        return fail_tensor(r, name, "data_offsets are not two whole numbers");
    }
    if (e->begin > e->end || e->end > r->data_len) {
        return fail_tensor(r, name,
                           "data is at %zu..%zu, but the file has %zu bytes "
                           "of data",
                           e->begin, e->end, r->data_len);
    }
    if (e->end - e->begin != size) {
        return fail_tensor(r, name,
                           "has %zu bytes of data, its shape needs %zu",
                           e->end - e->begin, size);
    }
    return QN_OK;
}

static enum qn_status read_entry(const struct reader *r, const char *name,
                                 const json_t *info, struct entry *e)
{
    e->tensor.name = name;
    if (!json_is_object(info)) {
        return fail_tensor(r, name, "is not described by an object");
    }
    size_t size = 0;
    enum qn_status status = read_dtype(r, info, &e->tensor);
    if (status == QN_OK) {
        status = read_shape(r, info, &e->tensor, &size);
    }
    if (status == QN_OK) {
        status = read_offsets(r, info, e, size);
    }
    if (status == QN_OK && json_object_size(info) != 3) {
        return fail_tensor(r, name,
                           "has more than dtype, shape and "
                           "data_offsets");
    }
    return status;
}

static enum qn_status check_meta(const struct reader *r, json_t *meta)
{
    if (!json_is_object(meta)) {
        return qn_fail(r->err, QN_EFORMAT, "%s: " META " is not an object",
                       r->path);
    }
    const char *key;
    json_t *value;
    json_object_foreach(meta, key, value)
    {
        if (!json_is_string(value)) {
            return qn_fail(r->err, QN_EFORMAT,
                           "%s: " META " value of %.200s is not a string",
                           r->path, key);
        }
    }
    return QN_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return strcmp(x->tensor.name, y->tensor.name);
}

/* The data of all tensors must follow each other and fill the file. */
static enum qn_status check_cover(const struct reader *r,
                                  const struct qn_st_file *f)
{
    size_t at = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct entry *e = &f->entries[i];
        if (e->begin != at) {
            return fail_tensor(r, e->tensor.name,
                               "data begins at %zu, but the one before ends "
                               "at %zu",
                               e->begin, at);
        }
        at = e->end;
    }
    if (at != r->data_len) {
        return qn_fail(r->err, QN_EFORMAT,
                       "%s: %zu bytes of data belong to no tensor", r->path,
                       r->data_len - at);
    }
    return QN_OK;
}

/* Point at the data, or at a copy where its dtype could not be read in place:
 * the format promises no alignment. */
static enum qn_status place_data(const struct reader *r, struct qn_st_file *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct entry *e = &f->entries[i];
        const char *data = r->data + e->begin;
        size_t size = e->end - e->begin;
        if ((uintptr_t)data % qn_dtype_size(e->tensor.dtype) != 0) {
            e->copy = malloc(size > 0 ? size : 1);
            if (e->copy == NULL) {
                return qn_fail(r->err, QN_ENOMEM,
                               "%s: no memory to align its data", r->path);
            }
            data = memcpy(e->copy, data, size);
        }
        e->tensor.data = data;
    }
    return QN_OK;
}

static enum qn_status read_entries(const struct reader *r, struct qn_st_file *f)
{
    const char *name;
    json_t *value;
    enum qn_status status = QN_OK;
    f->entries = qn_xcalloc(json_object_size(f->header), sizeof *f->entries);
    json_object_foreach(f->header, name, value)
    {
        if (qn_str_eq(name, META)) {
            status = check_meta(r, value);
        } else {
            status = read_entry(r, name, value, &f->entries[f->n++]);
        }
        if (status != QN_OK) {
            return status;
        }
    }
    qsort(f->entries, f->n, sizeof *f->entries, compare_entries);
    status = check_cover(r, f);
    return status == QN_OK ? place_data(r, f) : status;
}

static uint64_t read_u64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Parse f->bytes. */
static enum qn_status parse(const char *path, struct qn_st_file *f,
                            struct qn_err *err)
{
    const char *bytes = f->bytes.data;
    if (f->bytes.len < 8) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: has %zu bytes, too few to be "
                       "safetensors",
                       path, f->bytes.len);
    }
    uint64_t len = read_u64(bytes);
    if (len > QN_ST_MAX_HEADER || len > f->bytes.len - 8) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: not safetensors or cut short: a header of %llu "
                       "bytes in a file of %zu",
                       path, (unsigned long long)len, f->bytes.len);
    }
    if (len == 0 || bytes[8] != '{') {
        return qn_fail(err, QN_EFORMAT, "%s: the header does not begin with {",
                       path);
    }
    json_error_t why;
    f->header =
        json_loadb(bytes + 8, (size_t)len, JSON_REJECT_DUPLICATES, &why);
    if (f->header == NULL) {
        return qn_fail(err, QN_EFORMAT, "%s: the header is not valid JSON: %s",
                       path, why.text);
    }
    struct reader r = {.path = path,
                       .data = bytes + 8 + len,
                       .data_len = f->bytes.len - 8 - (size_t)len,
                       .err = err};
    return read_entries(&r, f);
}

/* A file from bytes, which it takes, also when that fails. */
static enum qn_status open_bytes(const char *path, struct qn_bytes bytes,
                                 struct qn_st_file **out, struct qn_err *err)
{
    struct qn_st_file *f = qn_xcalloc(1, sizeof *f);
    f->bytes = bytes;
    enum qn_status status = parse(path, f, err);
    if (status != QN_OK) {
        qn_st_close(f);
        return status;
    }
    *out = f;
    return QN_OK;
}

enum qn_status qn_st_open(const char *path, struct qn_st_file **out,
                          struct qn_err *err)
{
    struct qn_bytes bytes;
    enum qn_status status = qn_file_read(path, &bytes, err);
    return status == QN_OK ? open_bytes(path, bytes, out, err) : status;
}

enum qn_status qn_st_parse(const char *name, const void *bytes, size_t len,
                           struct qn_st_file **out, struct qn_err *err)
{
    struct qn_bytes copy = {.data = malloc(len > 0 ? len : 1), .len = len};
    if (copy.data == NULL) {
        return qn_fail(err, QN_ENOMEM, "%s: no memory for its %zu bytes", name,
                       len);
    }
    if (len > 0) {
        memcpy(copy.data, bytes, len);
    }
    return open_bytes(name, copy, out, err);
}

void qn_st_close(struct qn_st_file *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        free(f->entries[i].copy);
    }
    free(f->entries);
    json_decref(f->header);
    qn_bytes_free(&f->bytes);
    free(f);
}

size_t qn_st_n_tensors(const struct qn_st_file *f)
{
    return f->n;
}

const struct qn_st_tensor *qn_st_at(const struct qn_st_file *f, size_t i)
{
    QN_ASSERT(i < f->n);
    return &f->entries[i].tensor;
}

const struct qn_st_tensor *qn_st_find(const struct qn_st_file *f,
                                      const char *name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (qn_str_eq(f->entries[i].tensor.name, name)) {
            return &f->entries[i].tensor;
        }
    }
    return NULL;
}

const char *qn_st_meta(const struct qn_st_file *f, const char *key)
{
    const json_t *meta = json_object_get(f->header, META);
    return json_string_value(json_object_get(meta, key));
}

double qn_st_value(const struct qn_st_tensor *t, size_t i)
{
    QN_ASSERT((unsigned)t->dtype < QN_N_DTYPES);
    switch (t->dtype) {
    case QN_F32:
        return (double)((const float *)t->data)[i];
    case QN_F64:
        return ((const double *)t->data)[i];
    case QN_I32:
        return (double)((const int32_t *)t->data)[i];
    case QN_I64:
        return (double)((const int64_t *)t->data)[i];
    case QN_U8:
        return (double)((const uint8_t *)t->data)[i];
    case QN_U64:
        return (double)((const uint64_t *)t->data)[i];
    case QN_N_DTYPES:
        break;
    }
    return (double)NAN;
}
