/* layer_agree.h - does the cpu backend agree with ref on a QRNN layer?
 *
 * The measure is max |cpu - ref| / max |ref| over an array; the bound is the
 * golden one, 2e-6. Forward, products of K = n D <= 51 terms round by about
 * sqrt(K) 2^-24 = 4e-7. Backward, a sum over R <= 1000 rows rounds by sqrt(R)
 * 2^-24 = 1.9e-6 of its terms, which are smaller than it; it is split into
 * blocks, which brings it below 1e-6. */
#ifndef QN_TESTS_BACKEND_LAYER_AGREE_H
#define QN_TESTS_BACKEND_LAYER_AGREE_H

#include "layer.h"

#define LAYER_BOUND 2e-6

/* On 1 to 'most' slices, with threads and without. */
void layer_check_slices(struct layer_shape shape, int most);

#endif
