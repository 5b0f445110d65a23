/* safetensors.h - read and write tensors as PyTorch users exchange them.
 *
 * The file: 8 bytes little-endian length, a JSON header padded with spaces to a
 * multiple of 8, the data without holes. Every length is checked before use; a
 * damaged file is QN_EFORMAT with what is wrong. */
#ifndef QN_BASE_SAFETENSORS_H
#define QN_BASE_SAFETENSORS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qn_dtype { QN_F32, QN_F64, QN_I32, QN_I64, QN_U8, QN_U64, QN_N_DTYPES };
#define QN_ST_MAX_DIMS 8
#define QN_ST_MAX_HEADER 100000000 /* bytes; the format's own limit */

size_t qn_dtype_size(enum qn_dtype dtype);      /* bytes of an element */
const char *qn_dtype_name(enum qn_dtype dtype); /* "F32", as in the file */

struct qn_st_tensor {
    const char *name; /* owned by the file (reading), borrowed (writing) */
    enum qn_dtype dtype;
    int n_dims;
    size_t dim[QN_ST_MAX_DIMS];
    const void *data; /* little-endian, row-major; reading: aligned */
};
size_t qn_st_count(const struct qn_st_tensor *t); /* elements */

struct qn_st_file;
enum qn_status qn_st_open(const char *path, struct qn_st_file **out,
                          struct qn_err *err);
/* The same from memory, for tests and fuzzing; bytes are copied. */
enum qn_status qn_st_parse(const char *name, const void *bytes, size_t len,
                           struct qn_st_file **out, struct qn_err *err);
void qn_st_close(struct qn_st_file *f); /* NULL is fine */
size_t qn_st_n_tensors(const struct qn_st_file *f);
/* Tensor i in the order of the data. */
const struct qn_st_tensor *qn_st_at(const struct qn_st_file *f, size_t i);
const struct qn_st_tensor *qn_st_find(const struct qn_st_file *f,
                                      const char *name); /* or NULL */
/* A value of __metadata__, or NULL. */
const char *qn_st_meta(const struct qn_st_file *f, const char *key);
/* Element i of t as a double, whatever its dtype. */
double qn_st_value(const struct qn_st_tensor *t, size_t i);

/* Write n tensors atomically, sorted by dtype size (large first), then name.
 * The same tensors give the same bytes. No __metadata__ when n_meta is 0;
 * meta holds n_meta pairs key, value. Names and keys must differ. */
enum qn_status qn_st_write(const char *path, const struct qn_st_tensor *tensors,
                           size_t n, const char *const *meta, size_t n_meta,
                           struct qn_err *err);

#endif
