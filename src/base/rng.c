/* rng.c - keys, uniform and normal numbers by counter. */
#include "base/rng.h"

#include "base/assert.h"

#include <math.h>

/* 2^64 over the golden ratio, splitmix64's increment. */
#define GOLDEN 0x9e3779b97f4a7c15u

/* One more part in a key. Adding GOLDEN moves 0 off the mixer's fixed point;
 * with the key given, different parts give different keys. */
static uint64_t chain(uint64_t key, uint64_t part)
{
    return qn_mix64((key ^ part) + GOLDEN);
}

uint64_t qn_rng_key(uint64_t seed, uint64_t step, uint64_t layer,
                    enum qn_rng_purpose purpose)
{
    uint64_t key = chain(0, seed);
    key = chain(key, step);
    key = chain(key, layer);
    return chain(key, (uint64_t)purpose);
}

uint32_t qn_rng_threshold(double p)
{
    QN_ASSERT(p >= 0 && p < 1);
    double scaled = nearbyint(p * 4294967296.0);
    return scaled > UINT32_MAX ? UINT32_MAX : (uint32_t)scaled;
}

double qn_rng_uniform(uint64_t key, uint64_t i)
{
    uint64_t bits = qn_mix64(key + qn_mix64(i + GOLDEN));
    return (double)(bits >> 11) * 0x1p-53;
}

/* Box and Muller's transform of uniforms 2i and 2i+1; the first is taken from
 * (0,1] so that its logarithm is finite. */
double qn_rng_normal(uint64_t key, uint64_t i)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - qn_rng_uniform(key, 2 * i)));
    return radius * cos(two_pi * qn_rng_uniform(key, 2 * i + 1));
}
