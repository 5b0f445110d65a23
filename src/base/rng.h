/* rng.h - randomness as a function, not a stream.
 *
 * A number depends on a key and an index and on nothing else: no state to save,
 * the same on every backend, in any order, on any number of threads. Keys are
 * derived: qn_rng_key(seed, step, layer, purpose), then rows, then elements. */
#ifndef QN_BASE_RNG_H
#define QN_BASE_RNG_H

#include <stdint.h>

enum qn_rng_purpose {
    QN_RNG_INIT,
    QN_RNG_DROPOUT,
    QN_RNG_EMBED_DROPOUT,
    QN_RNG_ZONEOUT,
    QN_RNG_SHUFFLE,
    QN_RNG_SAMPLE
};

/* Mix 64 bits (the finaliser of splitmix64: a bijection). */
static inline uint64_t qn_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Mix 32 bits, cheap enough to vectorise in a kernel's inner loop. */
static inline uint32_t qn_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

uint64_t qn_rng_key(uint64_t seed, uint64_t step, uint64_t layer,
                    enum qn_rng_purpose purpose);

/* The key of one row (sample, time): kernels hash elements with it. */
static inline uint32_t qn_rng_row(uint64_t key, uint64_t sample, uint64_t t)
{
    return (
        uint32_t)(qn_mix64(key + qn_mix64(sample * 0x9e3779b97f4a7c15u + t)) >>
                  32);
}

/* 32 random bits for element j of that row. Dropout keeps an element when they
 * are >= qn_rng_threshold(p). */
static inline uint32_t qn_rng_bits(uint32_t row, uint32_t j)
{
    return qn_mix32(row + j * 0x9e3779b9u);
}
uint32_t qn_rng_threshold(double p); /* p in [0, 1) times 2^32, rounded */

/* Number i of the sequence that key names: uniform in [0,1), standard normal.
 */
double qn_rng_uniform(uint64_t key, uint64_t i);
double qn_rng_normal(uint64_t key, uint64_t i);

#endif
