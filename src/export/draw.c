/* draw.c - shapes into the list of a drawing. */
#include "export/draw.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A copy in which U+FFFD stands for what is no UTF-8 or what no file of text
 * can hold: control characters, the code points that XML 1.0 forbids. */
static char *clean_copy(const char *text)
{
    struct qn_str out = {0};
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t code;
        int len = qn_utf8_decode(text, left, &code);
        if (len == 0 || qn_is_control(code) || code == 0xfffe ||
            code == 0xffff) {
            qn_str_add(&out, "\xef\xbf\xbd");
        } else {
            qn_str_add_bytes(&out, text, (size_t)len);
        }
        text += len > 0 ? len : 1;
        left -= len > 0 ? (size_t)len : 1;
    }
    return qn_str_take(&out);
}

void qn_drawing_init(struct qn_drawing *d, double width, double height,
                     const char *title)
{
    *d = (struct qn_drawing){
        .width = width, .height = height, .title = clean_copy(title)};
}

void qn_drawing_free(struct qn_drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->shape[i].spot);
        free(d->shape[i].text);
    }
    free(d->shape);
    free(d->title);
    *d = (struct qn_drawing){.n = 0};
}

/* A new shape with a copy of these spots. */
static struct qn_shape *add(struct qn_drawing *d, enum qn_shape_kind kind,
                            const struct qn_spot *spot, size_t n)
{
    if (d->n == d->room) {
        d->room = d->room > 0 ? 2 * d->room : 64;
        d->shape = qn_xrealloc(d->shape, d->room, sizeof *d->shape);
    }
    struct qn_shape *s = &d->shape[d->n++];
    *s = (struct qn_shape){.kind = kind, .n = n};
    if (n > 0) {
        s->spot = qn_xcalloc(n, sizeof *spot);
        memcpy(s->spot, spot, n * sizeof *spot);
    }
    return s;
}

void qn_draw_path(struct qn_drawing *d, const struct qn_spot *spot, size_t n,
                  struct qn_pen pen)
{
    add(d, QN_SHAPE_PATH, spot, n)->pen = pen;
}

void qn_draw_line(struct qn_drawing *d, struct qn_spot from, struct qn_spot to,
                  struct qn_pen pen)
{
    qn_draw_path(d, (struct qn_spot[]){from, to}, 2, pen);
}

void qn_draw_area(struct qn_drawing *d, const struct qn_spot *spot, size_t n,
                  uint32_t fill)
{
    add(d, QN_SHAPE_AREA, spot, n)->fill = fill;
}

void qn_draw_rect(struct qn_drawing *d, struct qn_spot corner, double width,
                  double height, uint32_t fill)
{
    const struct qn_spot spot[] = {corner, {width, height}};
    add(d, QN_SHAPE_RECT, spot, 2)->fill = fill;
}

void qn_draw_disc(struct qn_drawing *d, struct qn_spot middle, double radius,
                  uint32_t fill, struct qn_pen rim)
{
    const struct qn_spot spot[] = {middle, {radius, radius}};
    struct qn_shape *s = add(d, QN_SHAPE_DISC, spot, 2);
    s->fill = fill;
    s->pen = rim;
}

void qn_draw_text(struct qn_drawing *d, struct qn_spot at, const char *text,
                  struct qn_font font)
{
    struct qn_shape *s = add(d, QN_SHAPE_TEXT, &at, 1);
    s->text = clean_copy(text);
    s->font = font;
}

/* Of the font's size, in wide sans-serif fonts. */
static double width_of(char c)
{
    if (strchr("ijlI.,:;'|!()[] ft", c) != NULL) {
        return 0.38;
    }
    if (strchr("mwMW%@", c) != NULL) {
        return 0.98;
    }
    return c >= 'A' && c <= 'Z' ? 0.72 : 0.62;
}

double qn_draw_text_width(const char *text, const struct qn_font *font)
{
    double ems = 0;
    for (const char *p = text; *p != '\0'; p++) {
        /* Bytes within a code point of UTF-8 have no width of their own. */
        ems += ((unsigned char)*p & 0xc0) == 0x80 ? 0 : width_of(*p);
    }
    return ems * font->size * (font->bold ? 1.1 : 1);
}
