/* raster.h - dots finer than cells: 2 x 4 (braille), 2 x 2 (blocks), 1 x 2.
 *
 * A cell belongs to the owner that drew into it last: mixing the dots of two
 * curves would give both the wrong colour. */
#ifndef QN_TUI_RASTER_H
#define QN_TUI_RASTER_H

#include "tui/canvas.h"

struct qn_raster {
    struct qn_rect area; /* on the canvas */
    enum qn_glyphs glyphs;
    int rows, cols;        /* in dots; row 0 is the top */
    int per_row, per_col;  /* dots a cell */
    uint8_t *bits, *owner; /* a cell each */
};

/* How a curve looks beside its colour. */
struct qn_pen {
    uint8_t owner; /* the curve's number */
    bool dotted;
};

void qn_raster_init(struct qn_raster *r, struct qn_rect area,
                    enum qn_glyphs glyphs);
void qn_raster_fini(struct qn_raster *r);
void qn_raster_dot(struct qn_raster *r, int x, int y, struct qn_pen pen);
/* A straight line in dots from (x0, y0) to (x1, y1); what lies outside above or
 * below is cut off. */
void qn_raster_line(struct qn_raster *r, double x0, double y0, double x1,
                    double y1, struct qn_pen pen);
/* Put the cells with dots on the canvas, in the role of their owner. */
void qn_raster_draw(const struct qn_raster *r, struct qn_canvas *c,
                    const enum qn_role *roles);

#endif
