/* stats_read.c - statistics back from a line of stats.jsonl. */
#include "train/stats_read.h"

#include "nn/settings.h"
#include "store/line.h"

#include <float.h>
#include <string.h>

/* More than this was never counted, and sums of some of them stay exact. */
#define MOST_COUNTED ((int64_t)1 << 52)

/* A damaged file may hold any number. */
static uint64_t sane_count(int64_t n)
{
    return n > 0 && n <= MOST_COUNTED ? (uint64_t)n : 0;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return sane_count(qn_line_int(object, key));
}

/* Pairs [bin, count] into one side of a histogram. */
static void read_bins(uint64_t *bin, const json_t *pairs)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(pairs, i, pair)
    {
        json_int_t at = json_integer_value(json_array_get(pair, 0));
        json_int_t count = json_integer_value(json_array_get(pair, 1));
        if (at >= 0 && at < QN_HIST_BINS) {
            bin[at] = sane_count(count);
        }
    }
}

/* Zeros are near zero, and the bins hold what was counted: a share beyond 1
 * would be drawn. */
static void drop_nonsense(struct qn_hist *h)
{
    uint64_t all = h->n_negative + h->n_near + h->n_positive, in_bins = 0;
    for (int i = 0; i < QN_HIST_BINS; i++) {
        in_bins += h->bin[QN_HIST_NEGATIVE][i] + h->bin[QN_HIST_POSITIVE][i];
    }
    if (h->n_zero > h->n_near) {
        h->n_zero = 0;
    }
    if (in_bins > all) {
        memset(h->bin, 0, sizeof h->bin);
    }
}

static void read_hist(struct qn_hist *h, const json_t *shares,
                      const json_t *bins)
{
    h->n_negative = count_of(shares, "n_negative");
    h->n_near = count_of(shares, "n_near");
    h->n_positive = count_of(shares, "n_positive");
    h->n_zero = count_of(shares, "n_zero");
    h->n_nan = count_of(shares, "n_nan");
    read_bins(h->bin[QN_HIST_NEGATIVE], json_object_get(bins, "negative"));
    read_bins(h->bin[QN_HIST_POSITIVE], json_object_get(bins, "positive"));
    drop_nonsense(h);
}

/* Which histogram an entry is: its layer from 0 and its quantity. */
static bool read_place(const json_t *entry, int *layer, enum qn_quantity *of)
{
    int64_t number = qn_line_int(entry, "layer");
    if (number < 1 || number > QN_MAX_LAYERS ||
        !qn_quantity_parse(qn_line_text(entry, "of"), of)) {
        return false;
    }
    *layer = (int)number - 1;
    return true;
}

/* What was counted of how many layers. */
static void read_extent(struct qn_stats_record *stats, const json_t *layers)
{
    size_t i;
    const json_t *entry;
    stats->of = 0;
    stats->n_layers = 0;
    json_array_foreach(layers, i, entry)
    {
        int layer;
        enum qn_quantity of;
        if (read_place(entry, &layer, &of)) {
            stats->of |= 1u << of;
            stats->n_layers =
                layer >= stats->n_layers ? layer + 1 : stats->n_layers;
        }
    }
}

/* Every histogram that is there has the threshold, so that they can be merged
 * whatever the line left out. */
static void init_hists(struct qn_stats_record *stats, double threshold)
{
    for (int i = 0; i < stats->n_layers; i++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if ((stats->of & 1u << of) != 0) {
                qn_hist_init(&stats->layer[i][of], (float)threshold);
            }
        }
    }
}

void qn_stats_read(struct qn_stats_record *out, const json_t *line, double near)
{
    const json_t *layers = json_object_get(line, "layers");
    const json_t *bins = json_object_get(line, "bins");
    double threshold = qn_line_number(line, "threshold");
    out->segment = 0;
    out->step = qn_line_int(line, "step");
    read_extent(out, layers);
    /* Not all of the record, which has room for the most layers. */
    memset(out->layer, 0, (size_t)out->n_layers * sizeof out->layer[0]);
    /* A histogram keeps it as a float, which must be above 0, too. */
    bool sane = threshold >= (double)FLT_MIN && threshold <= (double)FLT_MAX;
    init_hists(out, sane ? threshold : near);
    /* An entry says by itself which layer and quantity it is about; its bins
     * stand at the same place of their own array. */
    size_t i;
    const json_t *entry;
    json_array_foreach(layers, i, entry)
    {
        int layer;
        enum qn_quantity of;
        if (read_place(entry, &layer, &of)) {
            read_hist(&out->layer[layer][of], entry, json_array_get(bins, i));
        }
    }
}
