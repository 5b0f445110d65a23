/* panel.h - what the figures share: fonts and pens, a frame with two scales,
 * and where small panels lie. */
#ifndef QN_EXPORT_PANEL_H
#define QN_EXPORT_PANEL_H

#include "base/ticks.h"
#include "export/draw.h"

#define QN_FIGURE_WIDTH (170 * 72 / 25.4) /* a page's text, in points */
#define QN_LABEL_SIZE 8.0
#define QN_LINE_HEIGHT 11.0

struct qn_font qn_font_label(enum qn_anchor anchor);
struct qn_font qn_font_head(void); /* bold, from its start */
struct qn_pen qn_pen_axis(void);

struct qn_box {
    double x, y, width, height;
};

/* Lines at the left and the bottom of a box. */
void qn_box_axes(struct qn_drawing *d, struct qn_box box);
/* A tick at the side of a box with its label, 'at' points from the left or the
 * top of the drawing. */
enum qn_side { QN_BELOW, QN_LEFT, QN_ABOVE, QN_RIGHT };
void qn_box_tick(struct qn_drawing *d, struct qn_box box, enum qn_side side,
                 double at, const char *label);
/* What a scale is of, 'away' points from the box. */
void qn_box_title(struct qn_drawing *d, struct qn_box box, enum qn_side side,
                  double away, const char *title);

/* A box whose x goes right and whose y goes up. */
struct qn_panel {
    struct qn_box box;
    struct qn_axis x, y;
};
struct qn_spot qn_panel_spot(const struct qn_panel *p, double x, double y);
/* The axes with their ticks. */
void qn_panel_frame(struct qn_drawing *d, const struct qn_panel *p);

/* n small panels in rows. */
struct qn_grid {
    struct qn_box all; /* its height follows from the rest */
    int n, columns;
    double height;      /* of a panel */
    double above;       /* each panel, for its name */
    double left, below; /* the outermost panels, for their labels */
    double gap, apart;  /* below each row; between two columns */
};
/* How many columns look well: narrow ones, or wide. */
int qn_grid_columns(int n, bool wide);
double qn_grid_height(const struct qn_grid *g);
struct qn_box qn_grid_box(const struct qn_grid *g, int i);
/* Whether it is the first of its row; the last of its column. */
bool qn_grid_is_left(const struct qn_grid *g, int i);
bool qn_grid_is_lowest(const struct qn_grid *g, int i);

#endif
