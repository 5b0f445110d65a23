/* vmath.h - exp and its relatives for loops that the compiler vectorises.
 *
 * No branches, no tables, no libm: each function is arithmetic and selections,
 * so a loop over an array becomes vector code. The polynomial interpolates
 * (e^r - 1 - r) / r^2 at the five Chebyshev nodes of [-0.347, 0.347]; its error
 * is 2.5e-8 relative to e^r - 1. */
#ifndef QN_BACKEND_CPU_VMATH_H
#define QN_BACKEND_CPU_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x = 2^n e^r with |r| <= ln(2)/2. */
struct qn_vexp {
    float em1; /* e^r - 1, to full relative precision */
    int32_t n;
};

/* 2^n for whole -126 <= n <= 127; of another one, any number. */
static inline float qn_vpow2(int32_t n)
{
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* -104 <= x <= 89, or NaN: then em1 is NaN and n of no account. */
static inline struct qn_vexp qn_vexp_split(float x)
{
    /* Adding 1.5 * 2^23 rounds to a whole number, found in the low bits. */
    const float shift = 12582912.0f;
    const int32_t shift_bits = 0x4b400000;
    float shifted = x * 1.44269504f + shift;
    float n = shifted - shift;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);

    /* ln 2 in two parts; the product with the first is exact. */
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float q = 1.3926268e-3f;
    q = q * r + 8.3632467e-3f;
    q = q * r + 4.1666554e-2f;
    q = q * r + 1.66665766e-1f;
    q = q * r + 0.5f;
    struct qn_vexp e = {r + r * r * q, bits - shift_bits};
    return e;
}

/* For x <= 89. The power by halves, since 2^n may be denormal. */
static inline float qn_vexp_below(float x)
{
    x = x < -104.0f ? -104.0f : x;
    struct qn_vexp e = qn_vexp_split(x);
    int32_t half = e.n >> 1;
    return (1.0f + e.em1) * qn_vpow2(half) * qn_vpow2(e.n - half);
}

static inline float qn_vexp(float x)
{
    return qn_vexp_below(x > 89.0f ? 89.0f : x);
}

/* e^x - 1 for x <= 80. */
static inline float qn_vexpm1(float x)
{
    x = x < -80.0f ? -80.0f : x;
    struct qn_vexp e = qn_vexp_split(x);
    float power = qn_vpow2(e.n);
    return power * e.em1 + (power - 1.0f);
}

/* By e^-|x|, which cannot overflow. */
static inline float qn_vsigmoid(float x)
{
    float e = qn_vexp_below(-fabsf(x));
    float y = 1.0f / (1.0f + e);
    return x < 0.0f ? e * y : y;
}

/* tanh |x| = (e^2|x| - 1) / (e^2|x| + 1), which is 1 from 2|x| = 40 on. */
static inline float qn_vtanh(float x)
{
    float twice = 2.0f * fabsf(x);
    float e = qn_vexpm1(twice > 40.0f ? 40.0f : twice);
    return copysignf(e / (e + 2.0f), x);
}

static inline float qn_velu(float x, float alpha)
{
    float below = alpha * qn_vexpm1(x > 0.0f ? 0.0f : x);
    return x > 0.0f ? x : below;
}

#endif
