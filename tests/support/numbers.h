/* numbers.h - seeded inputs and the error measure of numeric tests. */
#ifndef QN_SUPPORT_NUMBERS_H
#define QN_SUPPORT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Normal numbers times scale, by a seed. */
void qn_fill_normal(float *x, size_t n, double scale, uint64_t seed);

/* max |a - b| / max |b|; max |a| when b is all zeros; NaN when either has one.
 */
double qn_max_error(const float *a, const double *b, size_t n);
double qn_max_error_f(const float *a, const float *b, size_t n);

#endif
