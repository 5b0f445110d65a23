/* view.c - the panes' data, read from the lab. */
#include "tui/view.h"

#include "tui/panes.h"

#include <math.h>

static const char no_run[] = "no run yet: qn.train{...} starts one";

/* A batch of a few documents says little: the status has the mean of about the
 * newest fifty. */
#define ACCURACY_DECAY 0.98

static double newest_accuracy(const struct qn_lab *lab, qn_run_id run)
{
    const struct qn_series *s = qn_lab_series(lab, run, "train.accuracy");
    size_t len = s != NULL ? qn_series_len(s) : 0;
    return len > 0 ? qn_series_smooth(s, len - 1, ACCURACY_DECAY) : (double)NAN;
}

void qn_view_status(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_lab *lab, const struct qn_view_state *s)
{
    struct qn_lab_run run;
    bool any = qn_lab_run(lab, s->run, &run);
    const struct qn_status_view view = {
        .run = any ? &run : NULL,
        .accuracy = newest_accuracy(lab, s->run),
        .n_active = qn_lab_n_active(lab),
        .glyphs = s->glyphs,
    };
    qn_pane_status(c, where, &view);
}

bool qn_view_has_accuracy(const struct qn_lab *lab, qn_run_id id)
{
    struct qn_lab_run run;
    return qn_lab_run(lab, id, &run) &&
           qn_lab_has_metric(run.spec, "train.accuracy");
}

void qn_view_loss(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_lab *lab, const struct qn_view_state *s)
{
    bool any = s->run > 0;
    bool accuracy = s->accuracy && qn_view_has_accuracy(lab, s->run);
    const char *train = accuracy ? "train.accuracy" : "train.loss";
    const char *valid = accuracy ? "valid.accuracy" : "valid.loss";
    const struct qn_loss_view view = {
        .train = any ? qn_lab_series(lab, s->run, train) : NULL,
        .valid = any ? qn_lab_series(lab, s->run, valid) : NULL,
        .accuracy = accuracy,
        .smooth = s->smooth,
        .log_y = s->log_y,
        .focused = s->focus == QN_PANE_LOSS,
        .glyphs = s->glyphs,
        .empty = any ? "no steps yet" : no_run,
    };
    qn_pane_loss(c, where, &view);
}

static bool is_counted(const struct qn_stats_record *stats, int of)
{
    return (stats->of & 1u << of) != 0;
}

enum qn_quantity qn_view_quantity(const struct qn_stats_record *stats,
                                  enum qn_quantity wanted)
{
    int of = (int)wanted;
    of = is_counted(stats, of) ? of : QN_CELL;
    while (of < QN_N_QUANTITIES - 1 && !is_counted(stats, of)) {
        of++;
    }
    return (enum qn_quantity)of;
}

void qn_view_cells(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_lab *lab, const struct qn_view_state *s)
{
    const struct qn_stats_record *stats =
        s->run > 0 ? qn_lab_stats(lab, s->run) : NULL;
    const struct qn_cells_view view = {
        .layer = stats != NULL ? stats->layer : NULL,
        .of = stats != NULL ? qn_view_quantity(stats, s->of) : QN_CELL,
        .n_layers = stats != NULL ? stats->n_layers : 0,
        .step = stats != NULL ? stats->step : 0,
        .selected = s->layer,
        .focused = s->focus == QN_PANE_CELLS,
        .glyphs = s->glyphs,
        .empty = s->run > 0 ? "no cell states counted yet" : no_run,
    };
    qn_pane_cells(c, where, &view);
}
