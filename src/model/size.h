/* size.h - sums and products of sizes that stop at SIZE_MAX. */
#ifndef QN_MODEL_SIZE_H
#define QN_MODEL_SIZE_H

#include <stddef.h>
#include <stdint.h>

static inline size_t qn_size_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t qn_size_mul(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

#endif
