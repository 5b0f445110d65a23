/* fuzz_stats.c - no line of stats.jsonl may crash its reader or give a pane a
 * share that is none. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "train/measure.h"
#include "train/stats_read.h"

#include <stdlib.h>

static void check_shares(const struct qn_shares *s)
{
    QN_ASSERT(s->negative >= 0 && s->negative <= 1);
    QN_ASSERT(s->near >= 0 && s->near <= 1);
    QN_ASSERT(s->positive >= 0 && s->positive <= 1);
    QN_ASSERT(s->zero >= 0 && s->zero <= 1);
    QN_ASSERT(s->nan >= 0 && s->nan <= 1);
}

static void check_record(const struct qn_stats_record *r)
{
    struct qn_json json = {.comma = false};
    QN_ASSERT(r->n_layers >= 0 && r->n_layers <= QN_MAX_LAYERS);
    for (int of = 0; of < QN_N_QUANTITIES; of++) {
        struct qn_hist all;
        if ((r->of >> of & 1u) == 0) {
            continue;
        }
        for (int i = 0; i < r->n_layers; i++) {
            struct qn_shares shares = qn_hist_shares(&r->layer[i][of]);
            check_shares(&shares);
            shares = qn_hist_shares_at(&r->layer[i][of], 0.3);
            check_shares(&shares);
        }
        qn_stats_pool(r, (enum qn_quantity)of, &all);
        (void)qn_hist_shares(&all);
    }
    qn_stats_json(r, true, &json);
    qn_json_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    json_t *line = json_loadb((const char *)bytes, len, 0, NULL);
    if (line == NULL) {
        return 0;
    }
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    qn_stats_read(r, line, 0.1);
    check_record(r);
    free(r);
    json_decref(line);
    return 0;
}
