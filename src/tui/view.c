/* view.c - the panes' data, read from the lab. */
#include "tui/view.h"

#include "tui/panes.h"

static const char no_run[] = "no run yet: qn.train{...} starts one";

void qn_view_loss(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_lab *lab, const struct qn_view_state *s)
{
    bool any = s->run > 0;
    const struct qn_loss_view view = {
        .train = any ? qn_lab_series(lab, s->run, "train.loss") : NULL,
        .valid = any ? qn_lab_series(lab, s->run, "valid.loss") : NULL,
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
