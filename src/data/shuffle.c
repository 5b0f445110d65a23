/* shuffle.c - Fisher and Yates' shuffle by a key. */
#include "data/shuffle.h"

#include "base/rng.h"

void qn_shuffle(uint64_t key, size_t *items, size_t n)
{
    for (size_t left = n; left > 1; left--) {
        /* Below 'left', also when the product is rounded: the largest uniform
         * number is 1 - 2^-53. */
        size_t i = (size_t)(qn_rng_uniform(key, left) * (double)left);
        size_t item = items[i];
        items[i] = items[left - 1];
        items[left - 1] = item;
    }
}
