/* view_loss.c - the loss pane: training and validation curves, of loss or of
 * accuracy. */
#include "tui/panes.h"

#include "tui/plot.h"

#include <stdio.h>

static bool has_points(const struct qn_series *s)
{
    return s != NULL && qn_series_len(s) > 0;
}

/* Columns left of 'width' on the top border, after the title. */
static struct qn_rect border_room(struct qn_rect where, int taken)
{
    return (struct qn_rect){where.row, where.col + taken, 1,
                            where.cols - taken - 3};
}

static const char *title_of(const struct qn_loss_view *view)
{
    return view->accuracy ? "accuracy" : "loss";
}

/* An accuracy's unit stands at each tick, and its axis is never logarithmic. */
static const char *units_of(const struct qn_loss_view *view)
{
    if (view->accuracy) {
        return "";
    }
    return view->log_y ? "nats, log" : "nats";
}

/* What the numbers are, as much of it as fits after the title. */
static void draw_units(struct qn_canvas *c, struct qn_rect at, int room,
                       const struct qn_loss_view *view)
{
    char text[2][64];
    const char *units = units_of(view);
    (void)snprintf(text[1], sizeof text[1], "%s ", units);
    (void)snprintf(text[0], sizeof text[0], "%s%ssmoothed %.4g ", units,
                   units[0] != '\0' ? ", " : "", view->smooth);
    for (int i = view->smooth > 0 ? 0 : 1; i < 2; i++) {
        if (text[i][0] != ' ' && qn_text_width(text[i]) + 3 <= room) {
            qn_canvas_text(c, at.row, at.col - 1, room, text[i], QN_ROLE_DIM);
            return;
        }
    }
}

/* On the top border: how to read the curves, then the legend at the right. */
static void draw_heading(struct qn_canvas *c, struct qn_rect where,
                         const struct qn_loss_view *view,
                         const struct qn_line_plot *plot)
{
    int taken = 4 + qn_text_width(title_of(view)) + 1;
    struct qn_rect room = border_room(where, taken);
    int legend = room.cols > 2 ? qn_plot_legend(c, room, plot) : 0;
    if (legend > 0) {
        int from = room.col + room.cols - legend;
        qn_canvas_put(c, where.row, from - 1, ' ', QN_ROLE_DIM);
        qn_canvas_put(c, where.row, from + legend, ' ', QN_ROLE_DIM);
    }
    draw_units(c, room, room.cols - legend, view);
}

void qn_pane_loss(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_loss_view *view)
{
    struct qn_rect inside =
        qn_pane_frame(c, where, title_of(view), view->focused, view->glyphs);
    if (!has_points(view->train) && !has_points(view->valid)) {
        qn_pane_message(c, inside, view->empty);
        return;
    }
    const struct qn_curve curves[] = {
        {.series = view->train,
         .role = QN_ROLE_TRAIN,
         .smooth = view->smooth,
         .label = "train"},
        {.series = view->valid,
         .role = QN_ROLE_VALID,
         .as_marks = true,
         .label = "valid"},
    };
    bool framed = inside.row > where.row;
    struct qn_line_plot plot = {.curves = curves,
                                .n_curves = 2,
                                .log_y = view->log_y && !view->accuracy,
                                .shares = view->accuracy,
                                .x_label = "step",
                                .y_label = view->accuracy ? "" : "nats",
                                .glyphs = view->glyphs,
                                .legend_apart = framed};
    qn_plot_lines(c, inside, &plot);
    if (framed) {
        draw_heading(c, where, view, &plot);
    }
}
