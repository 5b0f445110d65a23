/* view_cells.c - the cells pane: shares of every layer, one layer's spread. */
#include "tui/panes.h"

#include "tui/axis.h"
#include "tui/plot.h"

#include <stdio.h>

#define MIN_HIST_ROWS 3
#define GOOD_HIST_ROWS 8
#define ROWS_FOR_GAPS 16 /* blank rows between the parts */

/* What the three parts of a bar are, each in its glyph and colour. */
static void draw_key(struct qn_canvas *c, struct qn_rect where, double near,
                     enum qn_glyphs glyphs)
{
    static const char *const block[] = {"\u2592", "\u00b7", "\u2588"};
    static const char *const plain[] = {"-", ".", "+"};
    static const char *const less[] = {"\u2264", "<="};
    static const char *const more[] = {"\u2265", ">="};
    static const enum qn_role roles[] = {QN_ROLE_NEGATIVE, QN_ROLE_NEAR,
                                         QN_ROLE_POSITIVE};
    static const char *const words[3][3] = {
        {"negative ", "near zero", "positive "},
        {"neg ", "near 0", "pos "},
        {"", "near", ""},
    };
    int ascii = glyphs == QN_GLYPHS_ASCII;
    for (int form = 0; form < 3; form++) {
        char text[3][48];
        int width = 4;
        for (int i = 0; i < 3; i++) {
            const char *sign = ascii ? plain[i] : block[i];
            const char *than = i == 0 ? less[ascii] : more[ascii];
            if (i == 1) {
                (void)snprintf(text[i], sizeof text[i], "%s %s", sign,
                               words[form][i]);
            } else {
                (void)snprintf(text[i], sizeof text[i], "%s %s%s %.3g", sign,
                               words[form][i], than, i == 0 ? -near : near);
            }
            width += qn_text_width(text[i]);
        }
        int col = where.col;
        for (int i = 0; i < 3 && width <= where.cols; i++) {
            col += 2 + qn_canvas_text(c, where.row, col, -1, text[i], roles[i]);
        }
        if (width <= where.cols) {
            return;
        }
    }
}

/* The first of 'shown' layers such that the selected one is among them. */
static int first_layer(int n_layers, int shown, int selected)
{
    int first = selected - shown / 2;
    first = first > n_layers - shown ? n_layers - shown : first;
    return first > 0 ? first : 0;
}

static void draw_bars(struct qn_canvas *c, struct qn_rect where, int first,
                      const struct qn_cells_view *view)
{
    for (int i = 0; i < where.rows; i++) {
        char label[16];
        int layer = first + i;
        (void)snprintf(label, sizeof label, "%*d", view->n_layers >= 10 ? 2 : 1,
                       layer + 1);
        const struct qn_share_bar bar = {
            .label = label,
            .shares = qn_hist_shares(&view->layer[layer][view->of]),
            .selected = layer == view->selected,
            .glyphs = view->glyphs,
        };
        qn_plot_shares(
            c, (struct qn_rect){where.row + i, where.col, 1, where.cols}, &bar);
    }
}

/* Rows of layers: all of them when a small histogram still fits below, else
 * what a good one leaves. */
static int rows_for_bars(int rows, int n_layers)
{
    if (n_layers + MIN_HIST_ROWS <= rows) {
        return n_layers;
    }
    int most = rows - GOOD_HIST_ROWS;
    most = most < rows / 3 ? rows / 3 : most;
    most = most < 1 ? 1 : most;
    if (rows < 2 * MIN_HIST_ROWS) {
        most = rows; /* too few for both */
    }
    return n_layers < most ? n_layers : most;
}

/* On the border, behind the title: the step, and which layers are shown when
 * not all are. */
static void draw_heading(struct qn_canvas *c, struct qn_rect where, int first,
                         int shown, const struct qn_cells_view *view)
{
    char step[64], layers[64] = "";
    (void)snprintf(step, sizeof step, "at step %lld ", (long long)view->step);
    int taken = 4 + qn_text_width(qn_lab_quantity_title(view->of)) + 1;
    if (taken + qn_text_width(step) + 2 <= where.cols) {
        taken += qn_canvas_text(c, where.row, where.col + taken - 1, -1, step,
                                QN_ROLE_DIM);
    }
    if (shown < view->n_layers) {
        (void)snprintf(layers, sizeof layers, " layers %d-%d of %d ", first + 1,
                       first + shown, view->n_layers);
    }
    int width = qn_text_width(layers);
    if (width + 4 <= where.cols) {
        qn_canvas_text(c, where.row + where.rows - 1,
                       where.col + where.cols - width - 2, width, layers,
                       QN_ROLE_DIM);
    }
}

static void draw_hist(struct qn_canvas *c, struct qn_rect where,
                      const struct qn_cells_view *view)
{
    char title[32];
    (void)snprintf(title, sizeof title, "layer %d", view->selected + 1);
    const struct qn_hist_plot plot = {
        .hist = &view->layer[view->selected][view->of],
        .title = title,
        .glyphs = view->glyphs};
    qn_plot_hist(c, where, &plot);
}

static struct qn_rect take_rows(struct qn_rect *from, int rows)
{
    struct qn_rect taken = *from;
    taken.rows = rows < from->rows ? rows : from->rows;
    from->row += taken.rows;
    from->rows -= taken.rows;
    return taken;
}

static void draw_cells(struct qn_canvas *c, struct qn_rect where,
                       const struct qn_cells_view *view)
{
    struct qn_rect inside = qn_pane_frame(
        c, where, qn_lab_quantity_title(view->of), view->focused, view->glyphs);
    bool framed = inside.row > where.row;
    bool gaps = inside.rows >= ROWS_FOR_GAPS;
    if (inside.rows >= 3) {
        draw_key(c, take_rows(&inside, 1),
                 (double)view->layer[0][view->of].threshold, view->glyphs);
    }
    (void)take_rows(&inside, gaps ? 1 : 0);
    int shown = rows_for_bars(inside.rows, view->n_layers);
    int first = first_layer(view->n_layers, shown, view->selected);
    draw_bars(c, take_rows(&inside, shown), first, view);
    (void)take_rows(&inside, gaps ? 1 : 0);
    if (inside.rows >= MIN_HIST_ROWS) {
        draw_hist(c, inside, view);
    }
    if (framed) {
        draw_heading(c, where, first, shown, view);
    }
}

void qn_pane_cells(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_cells_view *view)
{
    if (where.rows < 1 || where.cols < 1) {
        return;
    }
    if (view->n_layers < 1) {
        struct qn_rect inside =
            qn_pane_frame(c, where, "cells", view->focused, view->glyphs);
        qn_pane_message(c, inside, view->empty);
        return;
    }
    struct qn_cells_view v = *view;
    v.selected = v.selected >= v.n_layers ? v.n_layers - 1 : v.selected;
    v.selected = v.selected < 0 ? 0 : v.selected;
    draw_cells(c, where, &v);
}
