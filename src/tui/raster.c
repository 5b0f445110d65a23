/* raster.c - dots and lines of sub-cell size. */
#include "tui/raster.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* In ASCII a dotted curve is dashes: the two halves of a cell look alike. */
#define DASH 0x80u

void qn_raster_init(struct qn_raster *r, struct qn_rect area,
                    enum qn_glyphs glyphs)
{
    *r = (struct qn_raster){.area = area, .glyphs = glyphs};
    r->per_row = glyphs == QN_GLYPHS_BRAILLE ? 4 : 2;
    r->per_col = glyphs == QN_GLYPHS_ASCII ? 1 : 2;
    r->rows = area.rows * r->per_row;
    r->cols = area.cols * r->per_col;
    size_t n = (size_t)area.rows * (size_t)area.cols;
    r->bits = qn_xcalloc(n, 1);
    r->owner = qn_xcalloc(n, 1);
}

void qn_raster_fini(struct qn_raster *r)
{
    free(r->bits);
    free(r->owner);
    *r = (struct qn_raster){0};
}

/* The bit of a dot in its cell; for braille as in U+2800 + bits. */
static uint8_t bit_of(enum qn_glyphs glyphs, int x, int y)
{
    static const uint8_t braille[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (glyphs == QN_GLYPHS_BRAILLE) {
        return braille[y][x];
    }
    return (uint8_t)(1u << (y * 2 + x));
}

void qn_raster_dot(struct qn_raster *r, int x, int y, struct qn_pen pen)
{
    if (x < 0 || y < 0 || x >= r->cols || y >= r->rows) {
        return;
    }
    size_t cell = (size_t)(y / r->per_row) * (size_t)r->area.cols +
                  (size_t)(x / r->per_col);
    if (r->owner[cell] != pen.owner) {
        r->bits[cell] = 0;
        r->owner[cell] = pen.owner;
    }
    r->bits[cell] |= bit_of(r->glyphs, x % r->per_col, y % r->per_row);
    if (pen.dotted && r->glyphs == QN_GLYPHS_ASCII) {
        r->bits[cell] |= DASH;
    }
}

/* Cut the line to y in [top, bottom]; false when nothing is left. */
static bool cut(double top, double bottom, double p[2], double q[2])
{
    if ((p[1] < top && q[1] < top) || (p[1] > bottom && q[1] > bottom)) {
        return false;
    }
    double slope = q[1] != p[1] ? (q[0] - p[0]) / (q[1] - p[1]) : 0;
    double *ends[2] = {p, q};
    for (int i = 0; i < 2; i++) {
        double y = fmax(top, fmin(bottom, ends[i][1]));
        ends[i][0] += (y - ends[i][1]) * slope;
        ends[i][1] = y;
    }
    return true;
}

void qn_raster_line(struct qn_raster *r, double x0, double y0, double x1,
                    double y1, struct qn_pen pen)
{
    double p[2] = {x0, y0}, q[2] = {x1, y1};
    if (!cut(-0.49, r->rows - 0.51, p, q)) {
        return;
    }
    double dx = q[0] - p[0], dy = q[1] - p[1];
    int n = (int)ceil(fmax(fabs(dx), fabs(dy)));
    for (int i = 0; i <= n; i++) {
        double t = n > 0 ? (double)i / n : 0;
        int x = (int)lround(p[0] + t * dx), y = (int)lround(p[1] + t * dy);
        /* The dots of a dotted line keep their places as it grows. */
        bool skip = fabs(dx) >= fabs(dy) ? (x & 1) != 0 : (y & 1) != 0;
        if (!pen.dotted || !skip || r->glyphs == QN_GLYPHS_ASCII) {
            qn_raster_dot(r, x, y, pen);
        }
    }
}

static uint32_t glyph_for(enum qn_glyphs glyphs, uint8_t bits)
{
    static const uint16_t quadrants[16] = {
        ' ',    0x2598, 0x259d, 0x2580, 0x2596, 0x258c, 0x259e, 0x259b,
        0x2597, 0x259a, 0x2590, 0x259c, 0x2584, 0x2599, 0x259f, 0x2588};
    switch (glyphs) {
    case QN_GLYPHS_BRAILLE:
        return 0x2800u + bits;
    case QN_GLYPHS_BLOCK:
        return quadrants[bits & 15];
    case QN_GLYPHS_ASCII:
        break;
    }
    if ((bits & DASH) != 0) {
        return '-';
    }
    return bits == 5 ? ':' : bits == 1 ? '\'' : '.';
}

void qn_raster_draw(const struct qn_raster *r, struct qn_canvas *c,
                    const enum qn_role *roles)
{
    for (int row = 0; row < r->area.rows; row++) {
        for (int col = 0; col < r->area.cols; col++) {
            size_t i = (size_t)row * (size_t)r->area.cols + (size_t)col;
            if (r->bits[i] != 0) {
                qn_canvas_put(c, r->area.row + row, r->area.col + col,
                              glyph_for(r->glyphs, r->bits[i]),
                              roles[r->owner[i]]);
            }
        }
    }
}
