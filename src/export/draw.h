/* draw.h - a figure as lines, boxes and words, and its two writers.
 *
 * A drawing is a list of shapes, painted one over the other on white. Lengths
 * are points (1/72 inch) from the top left corner, angles there are none but
 * text that reads upwards, colours are 0xRRGGBB. Pure data: nothing is written
 * before a writer is asked.
 */
#ifndef QN_EXPORT_DRAW_H
#define QN_EXPORT_DRAW_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct qn_spot {
    double x, y;
};

struct qn_pen {
    uint32_t color;
    double width;
    bool dashed;
    bool crisp; /* edges fall on whole pixels: for areas made of many lines */
};

enum qn_anchor { QN_START, QN_MIDDLE, QN_END };

struct qn_font {
    double size;
    uint32_t color;
    enum qn_anchor anchor; /* which part of the text lies on the spot */
    bool bold;
    bool upwards; /* rotated by a quarter, reading from bottom to top */
};

enum qn_shape_kind {
    QN_SHAPE_PATH, /* through spots, by pen; a NaN lifts the pen */
    QN_SHAPE_AREA, /* between spots, filled */
    QN_SHAPE_RECT, /* spot[0] and size as spot[1], filled */
    QN_SHAPE_DISC, /* about spot[0] with spot[1].x, filled, the pen its rim */
    QN_SHAPE_TEXT  /* at spot[0], on its base line */
};

struct qn_shape {
    enum qn_shape_kind kind;
    uint32_t fill;
    struct qn_pen pen;
    struct qn_font font;
    struct qn_spot *spot;
    size_t n;
    char *text;
};

struct qn_drawing {
    double width, height;
    char *title; /* said by programs that read a figure aloud; not drawn */
    struct qn_shape *shape;
    size_t n, room;
};

/* An empty drawing; the title is copied. */
void qn_drawing_init(struct qn_drawing *d, double width, double height,
                     const char *title);
void qn_drawing_free(struct qn_drawing *d); /* a zeroed one is fine */

/* Add a shape; spots and texts are copied. */
void qn_draw_path(struct qn_drawing *d, const struct qn_spot *spot, size_t n,
                  struct qn_pen pen);
void qn_draw_line(struct qn_drawing *d, struct qn_spot from, struct qn_spot to,
                  struct qn_pen pen);
void qn_draw_area(struct qn_drawing *d, const struct qn_spot *spot, size_t n,
                  uint32_t fill);
void qn_draw_rect(struct qn_drawing *d, struct qn_spot corner, double width,
                  double height, uint32_t fill);
void qn_draw_disc(struct qn_drawing *d, struct qn_spot middle, double radius,
                  uint32_t fill, struct qn_pen rim);
void qn_draw_text(struct qn_drawing *d, struct qn_spot at, const char *text,
                  struct qn_font font);

/* About how wide a text is, rather more than less: which font there is, only
 * the reader's program knows. */
double qn_draw_text_width(const char *text, const struct qn_font *font);

/* The drawing as an SVG, appended to out. Equal drawings give equal bytes. */
void qn_draw_svg(const struct qn_drawing *d, struct qn_str *out);

/* Whether this build can write PNG. */
bool qn_draw_has_png(void);
/* The drawing as a PNG of 300 dots to an inch, appended to out. QN_ESTATE when
 * this build cannot. */
enum qn_status qn_draw_png(const struct qn_drawing *d, struct qn_str *out,
                           struct qn_err *err);

#endif
