/* svg.c - a drawing as Scalable Vector Graphics.
 *
 * Text stays text, so that it can be edited and found; numbers have two
 * decimals at most and a point whatever the locale. */
#include "export/draw.h"

#include <math.h>
#include <stdlib.h>

#define MM_PER_POINT (25.4 / 72)

/* A number in hundredths, which is what paths are made of. */
static long hundredths(double v)
{
    return lround(v * 100);
}

static void add_hundredths(struct qn_str *out, long n)
{
    const char *sign = n < 0 ? "-" : "";
    long size = labs(n);
    if (size % 100 == 0) {
        qn_str_addf(out, "%s%ld", sign, size / 100);
    } else if (size % 10 == 0) {
        qn_str_addf(out, "%s%ld.%ld", sign, size / 100, size / 10 % 10);
    } else {
        qn_str_addf(out, "%s%ld.%02ld", sign, size / 100, size % 100);
    }
}

/* name="v" with a space before it. */
static void add_number(struct qn_str *out, const char *name, double v)
{
    qn_str_addf(out, " %s=\"", name);
    add_hundredths(out, hundredths(v));
    qn_str_add(out, "\"");
}

static void add_color(struct qn_str *out, const char *name, uint32_t color)
{
    qn_str_addf(out, " %s=\"#%06x\"", name, (unsigned)color & 0xffffffu);
}

/* The text of a drawing holds nothing else that XML 1.0 forbids. */
static void add_text(struct qn_str *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        switch (*p) {
        case '<':
            qn_str_add(out, "&lt;");
            break;
        case '>':
            qn_str_add(out, "&gt;");
            break;
        case '&':
            qn_str_add(out, "&amp;");
            break;
        default:
            qn_str_add_bytes(out, p, 1);
        }
    }
}

/* M, L, H and V: whatever is shortest. */
static void add_spots(struct qn_str *out, const struct qn_shape *s)
{
    bool down = false;
    long x = 0, y = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (isnan(s->spot[i].x) || isnan(s->spot[i].y)) {
            down = false;
            continue;
        }
        long to_x = hundredths(s->spot[i].x), to_y = hundredths(s->spot[i].y);
        if (down && to_y == y) {
            qn_str_add(out, "H");
            add_hundredths(out, to_x);
        } else if (down && to_x == x) {
            qn_str_add(out, "V");
            add_hundredths(out, to_y);
        } else {
            qn_str_add(out, down ? "L" : "M");
            add_hundredths(out, to_x);
            qn_str_add(out, " ");
            add_hundredths(out, to_y);
        }
        down = true;
        x = to_x;
        y = to_y;
    }
}

static void add_pen(struct qn_str *out, const struct qn_pen *pen)
{
    add_color(out, "stroke", pen->color);
    add_number(out, "stroke-width", pen->width);
    if (pen->dashed) {
        qn_str_add(out, " stroke-dasharray=\"2 2\"");
    }
    if (pen->crisp) {
        qn_str_add(out, " shape-rendering=\"crispEdges\"");
    }
}

static void add_path(struct qn_str *out, const struct qn_shape *s)
{
    qn_str_add(out, "<path d=\"");
    add_spots(out, s);
    qn_str_add(out, s->kind == QN_SHAPE_AREA ? "Z\"" : "\"");
    if (s->kind == QN_SHAPE_AREA) {
        add_color(out, "fill", s->fill);
    } else {
        qn_str_add(out, " fill=\"none\"");
        add_pen(out, &s->pen);
    }
    qn_str_add(out, "/>\n");
}

static void add_rect(struct qn_str *out, const struct qn_shape *s)
{
    qn_str_add(out, "<rect");
    add_number(out, "x", s->spot[0].x);
    add_number(out, "y", s->spot[0].y);
    add_number(out, "width", s->spot[1].x);
    add_number(out, "height", s->spot[1].y);
    add_color(out, "fill", s->fill);
    qn_str_add(out, "/>\n");
}

static void add_disc(struct qn_str *out, const struct qn_shape *s)
{
    qn_str_add(out, "<circle");
    add_number(out, "cx", s->spot[0].x);
    add_number(out, "cy", s->spot[0].y);
    add_number(out, "r", s->spot[1].x);
    add_color(out, "fill", s->fill);
    if (s->pen.width > 0) {
        add_pen(out, &s->pen);
    }
    qn_str_add(out, "/>\n");
}

static void add_words(struct qn_str *out, const struct qn_shape *s)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    const struct qn_font *font = &s->font;
    qn_str_add(out, "<text");
    add_number(out, "x", s->spot[0].x);
    add_number(out, "y", s->spot[0].y);
    add_number(out, "font-size", font->size);
    if (font->anchor != QN_START) {
        qn_str_addf(out, " text-anchor=\"%s\"", anchors[font->anchor]);
    }
    if (font->bold) {
        qn_str_add(out, " font-weight=\"bold\"");
    }
    if (font->upwards) {
        qn_str_add(out, " transform=\"rotate(-90 ");
        add_hundredths(out, hundredths(s->spot[0].x));
        qn_str_add(out, " ");
        add_hundredths(out, hundredths(s->spot[0].y));
        qn_str_add(out, ")\"");
    }
    add_color(out, "fill", font->color);
    qn_str_add(out, ">");
    add_text(out, s->text);
    qn_str_add(out, "</text>\n");
}

static void add_shape(struct qn_str *out, const struct qn_shape *s)
{
    switch (s->kind) {
    case QN_SHAPE_PATH:
    case QN_SHAPE_AREA:
        add_path(out, s);
        return;
    case QN_SHAPE_RECT:
        add_rect(out, s);
        return;
    case QN_SHAPE_DISC:
        add_disc(out, s);
        return;
    case QN_SHAPE_TEXT:
        add_words(out, s);
        return;
    }
}

void qn_draw_svg(const struct qn_drawing *d, struct qn_str *out)
{
    qn_str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    add_hundredths(out, hundredths(d->width * MM_PER_POINT));
    qn_str_add(out, "mm\" height=\"");
    add_hundredths(out, hundredths(d->height * MM_PER_POINT));
    qn_str_add(out, "mm\" viewBox=\"0 0 ");
    add_hundredths(out, hundredths(d->width));
    qn_str_add(out, " ");
    add_hundredths(out, hundredths(d->height));
    qn_str_add(out, "\" font-family=\"sans-serif\" stroke-linejoin=\"round\">\n"
                    "<title>");
    add_text(out, d->title);
    qn_str_add(out, "</title>\n<rect width=\"100%\" height=\"100%\" "
                    "fill=\"#ffffff\"/>\n");
    for (size_t i = 0; i < d->n; i++) {
        add_shape(out, &d->shape[i]);
    }
    qn_str_add(out, "</svg>\n");
}
