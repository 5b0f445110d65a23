/* event.c - statistics of all layers as one, and the two readings of a loss
 * that people compare. */
#include "train/event.h"

#include <math.h>

void qn_stats_pool(const struct qn_stats_record *r, enum qn_quantity of,
                   struct qn_hist *out)
{
    qn_hist_init(out, r->n_layers > 0 ? r->layer[0][of].threshold : 0);
    for (int i = 0; i < r->n_layers; i++) {
        qn_hist_merge(out, &r->layer[i][of]);
    }
}

double qn_bpc(double loss)
{
    return loss / log(2.0);
}

double qn_perplexity(double loss)
{
    return exp(loss);
}
