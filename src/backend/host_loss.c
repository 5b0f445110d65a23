/* host_loss.c - binary cross-entropy, for backends whose buffers are main
 * memory.
 *
 * One value a sequence: there is nothing to split or vectorise, and double
 * serves ref and cpu alike. */
#include "backend/private.h"

#include <math.h>

/* log(1 + exp(x)), without overflow. */
static double softplus(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

void qn_host_sigmoid_xent(struct qn_backend *be, struct qn_tensor logits,
                          struct qn_tensor labels, float scale)
{
    struct qn_host *host = (struct qn_host *)be;
    qn_check_sigmoid(logits, labels);
    float *x = qn_floats(logits);
    const int32_t *label = qn_ids(labels);
    for (size_t i = 0; i < labels.count; i++) {
        double value = (double)x[i];
        bool counts = label[i] >= 0;
        if (counts) {
            host->loss_sum += softplus(label[i] == 1 ? -value : value);
            host->count += 1.0;
            bool says_one = value > 0.0;
            host->correct += !isnan(value) && (label[i] == 1) == says_one;
        }
        if (scale != 0.0f) {
            double slope = sigmoid(value) - (double)label[i];
            x[i] = counts ? (float)((double)scale * slope) : 0.0f;
        }
    }
}
