/* plot.h - curves, share bars and histograms on a canvas: pure. */
#ifndef QN_TUI_PLOT_H
#define QN_TUI_PLOT_H

#include "base/hist.h"
#include "base/series.h"
#include "tui/canvas.h"

struct qn_curve {
    const struct qn_series *series;
    double smooth; /* bias-corrected average's decay; 0 = as it is */
    bool as_marks; /* few points: a mark each, joined by a dotted line that lies
                    * below the other curves */
    enum qn_role role;
    const char *label; /* printed at the line's end and in the legend */
};

struct qn_line_plot {
    const struct qn_curve *curves; /* the last one drawn owns a shared cell */
    int n_curves;
    bool log_y;
    bool shares; /* values from 0 to 1, in per cent on the y axis and in the
                  * legend; never with log_y */
    const char *x_label, *y_label;
    enum qn_glyphs glyphs;
    bool legend_apart; /* qn_plot_legend puts it elsewhere */
};

/* Axes with labelled ticks, legend with the newest values, and the curves,
 * into 'where'. Values that are not finite are gaps; log_y leaves out values
 * <= 0 and says so. The y range holds what is drawn, robust against the first
 * few outliers. Too small a rectangle drops labels, then axes. */
void qn_plot_lines(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_line_plot *plot);
/* The legend alone, at the right end of a row; shorter or left out where it
 * does not fit. Returns the columns it took. */
int qn_plot_legend(struct qn_canvas *c, struct qn_rect where,
                   const struct qn_line_plot *plot);

/* One row: "L1 " a bar of three parts (negative, near, positive) whose widths
 * are the shares, each part with its percentage printed in or beside it. The
 * parts differ by glyph as well as by colour. Needs few columns: below that,
 * numbers only. */
struct qn_share_bar {
    const char *label;
    struct qn_shares shares;
    bool selected;
    enum qn_glyphs glyphs;
};
void qn_plot_shares(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_share_bar *bar);

/* The histogram over a sign-symmetric logarithmic axis, negative on the left,
 * the middle column(s) what is nearer to zero than the axis begins; columns of
 * the near-zero band take its role. Counts are per bin of equal width in log
 * |x|; labelled x ticks (-1, -.1, 0, .1, 1) and the tallest bin's share. */
struct qn_hist_plot {
    const struct qn_hist *hist;
    const char *title; /* NULL = none */
    bool log_count;
    enum qn_glyphs glyphs;
};
void qn_plot_hist(struct qn_canvas *c, struct qn_rect where,
                  const struct qn_hist_plot *plot);

#endif
