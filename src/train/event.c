/* event.c - records of statistics begun, copied and pooled, and the readings of
 * a loss that people compare. */
#include "train/event.h"

#include "model/model.h"

#include <math.h>
#include <string.h>

void qn_stats_begin(struct qn_stats_record *r, const struct qn_spec *spec,
                    unsigned of, double near)
{
    r->segment = 0;
    r->step = 0;
    r->n_layers = spec->model.layers;
    r->of = qn_model_quantities(spec, of);
    for (int i = 0; i < r->n_layers; i++) {
        for (int q = 0; q < QN_N_QUANTITIES; q++) {
            qn_hist_init(&r->layer[i][q], (float)near);
        }
    }
}

void qn_stats_copy(struct qn_stats_record *to,
                   const struct qn_stats_record *from)
{
    to->segment = from->segment;
    to->step = from->step;
    to->n_layers = from->n_layers;
    to->of = from->of;
    memcpy(to->layer, from->layer,
           (size_t)from->n_layers * sizeof from->layer[0]);
}

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

double qn_share_right(const struct qn_spec *spec,
                      const struct qn_step_result *result)
{
    bool has = spec->task == QN_TASK_CLASSIFY && result->count > 0;
    return has ? result->correct / result->count : (double)NAN;
}

const char *qn_reading_name(enum qn_reading reading)
{
    static const char *const names[] = {[QN_READ_BPC] = "bpc",
                                        [QN_READ_PERPLEXITY] = "perplexity",
                                        [QN_READ_ACCURACY] = "accuracy"};
    return names[reading];
}

double qn_reading_value(enum qn_reading reading, double loss, double accuracy)
{
    switch (reading) {
    case QN_READ_BPC:
        return qn_bpc(loss);
    case QN_READ_PERPLEXITY:
        return qn_perplexity(loss);
    case QN_READ_ACCURACY:
        break;
    }
    return accuracy;
}
