/* ref_norm.c - batch normalisation of one channel, forward and backward.
 *
 * A channel is a column: its pre-activations at all real rows of the segment,
 * in double. */
#include "backend/ref_norm.h"

#include <math.h>

static double mean_of(const double *a, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i];
    return sum / (double)n;
}

static double variance_of(const double *a, size_t n, double mean)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - mean) * (a[i] - mean);
    return sum / (double)n;
}

struct qn_ref_channel qn_ref_channel_of(const struct qn_norm *norm, size_t g,
                                        const double *a, size_t n)
{
    double mean = (double)qn_floats(norm->mean)[g];
    double var = (double)qn_floats(norm->var)[g];
    if (norm->batch && n > 0) {
        mean = mean_of(a, n);
        var = variance_of(a, n, mean);
    }
    struct qn_ref_channel channel = {
        .mean = mean,
        .var = var,
        .deviation = sqrt(var + QN_NORM_EPS),
        .gain = (double)qn_floats(norm->gain)[g],
        .shift = (double)qn_floats(norm->shift)[g],
        .batch = norm->batch,
    };
    return channel;
}

/* With u = (a - mean) / deviation and n rows: d_shift = sum d a', d_gain = sum
 * u d a', and through the statistics
 *     d a = gain / deviation (d a' - (d_shift + u d_gain) / n).
 * Statistics that were read are constants: the second term goes. */
struct qn_ref_channel_grad qn_ref_channel_back(const struct qn_ref_channel *c,
                                               double *da, const double *a,
                                               size_t n)
{
    struct qn_ref_channel_grad sum = {0.0, 0.0};
    for (size_t i = 0; i < n; i++) {
        sum.shift += da[i];
        sum.gain += da[i] * (a[i] - c->mean) / c->deviation;
    }
    for (size_t i = 0; i < n; i++) {
        double u = (a[i] - c->mean) / c->deviation;
        double through =
            c->batch ? (sum.shift + u * sum.gain) / (double)n : 0.0;
        da[i] = c->gain / c->deviation * (da[i] - through);
    }
    return sum;
}
