/* numbers.c - seeded inputs and the error measure of numeric tests. */
#include "support/numbers.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

void qn_fill_normal(float *x, size_t n, double scale, uint64_t seed)
{
    uint64_t key = qn_rng_key(seed, 0, 0, QN_RNG_SAMPLE);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * qn_rng_normal(key, i));
}

double qn_max_error(const float *a, const double *b, size_t n)
{
    double worst = 0.0;
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (isnan(difference))
            return difference;
        worst = difference > worst ? difference : worst;
        largest = fabs(b[i]) > largest ? fabs(b[i]) : largest;
    }
    return largest > 0.0 ? worst / largest : worst;
}

double qn_max_error_f(const float *a, const float *b, size_t n)
{
    double *wide = qn_xcalloc(n, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)b[i];
    double error = qn_max_error(a, wide, n);
    free(wide);
    return error;
}
