/* layer_agree.h - does the cpu backend agree with ref on a QRNN layer?
 *
 * The measure is max |cpu - ref| / max |ref| over an array; the bound is the
 * golden one, 2e-6. Forward, products of K = n D <= 202 terms round by about
 * sqrt(K) 2^-24 = 8e-7. Backward, a sum over R <= 2406 rows would round by
 * sqrt(R) 2^-24 = 2.9e-6 of its terms, which are smaller than it; it is split
 * into blocks of 400 or 800 rows, which brings it below the bound. */
#ifndef QN_TESTS_BACKEND_LAYER_AGREE_H
#define QN_TESTS_BACKEND_LAYER_AGREE_H

#include "layer.h"

#define LAYER_BOUND 2e-6

/* On 1 to 'most' slices, with threads and without. */
void layer_check_slices(struct layer_shape shape, int most);
/* Does the cpu backend, with so many slices, make this layer by pairs of steps?
 */
bool layer_pairs_up(const struct layer_shape *shape, int slices);

#endif
