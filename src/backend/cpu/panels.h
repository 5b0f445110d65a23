/* panels.h - a matrix that many small products read, packed once for all.
 *
 * A BLAS packs its second factor anew in every call. For the recurrence of an
 * LSTM, whose steps multiply a few rows by the same weight, that is as much
 * work as the product. Here B [k, n] is cut into stretches of rows and those
 * into panels of kernels->panel columns, the last one padded by zeros; a
 * panel's rows lie one after the other, so that a product reads all of it from
 * end to end. */
#ifndef QN_BACKEND_CPU_PANELS_H
#define QN_BACKEND_CPU_PANELS_H

#include "backend/cpu/kernels.h"

/* The most rows of a stretch: a panel of it (1,024 x 16 or 32 floats) stays in
 * the second-level cache while all rows of A pass over it. What one that stays
 * in the first would save is less than what C costs, read and written once a
 * stretch; on the other hand a float adds up as many products, and rounds as
 * often. */
enum { QN_PANELS_STRETCH = 1024 };

struct qn_panels {
    const struct qn_kernels *kernels;
    int n, k;
    float *data;
};

/* Floats of a packed matrix: k rows of n, rounded up to whole panels. */
size_t qn_panels_size(const struct qn_panels *p);

/* Pack share 'part' of 'parts' of rows [at, at + count) of B, which stand in
 * memory as [count, n], or as [n, count] when 'trans', ldb floats apart, into
 * p->data. */
void qn_panels_fill(const struct qn_panels *p, int at, int count,
                    const float *b, size_t ldb, bool trans, int part,
                    int parts);

/* Columns [at, at + count) of some rows of A, for products with p and any other
 * of the same k: m k floats. */
void qn_panels_take_rows(const struct qn_panels *p, float *rows, int at,
                         int count, const float *a, size_t lda, int m);

/* C [m, n] = A [m, k] B, or += when 'add', of whole rows taken so; or with
 * 'bias' [n], unless NULL, added to each row. Rows of C are ldc floats apart;
 * none depends on how many rows there are. */
void qn_panels_product(const struct qn_panels *p, float *c, size_t ldc,
                       const float *rows, int m, const float *bias, bool add);

#endif
