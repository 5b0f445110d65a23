/* png.c - a drawing as a PNG of 300 dots to an inch, by cairo where the build
 * found it. */
#include "export/draw.h"

#ifdef QN_HAVE_CAIRO

#include <cairo.h>
#include <math.h>

#define DOTS_PER_POINT (300.0 / 72)
/* A PNG begins with its signature of 8 bytes and the IHDR chunk of 25. */
#define HEADER_BYTES 33

/* pHYs: 11811 pixels to a metre either way, so that programs know the size on
 * paper. Cairo does not say it. The last four bytes are the chunk's CRC. */
static const unsigned char physical[] = {0,    0,    0, 9,    'p',  'H',  'Y',
                                         's',  0,    0, 0x2e, 0x23, 0,    0,
                                         0x2e, 0x23, 1, 0x78, 0xa5, 0x3f, 0x76};

bool qn_draw_has_png(void)
{
    return true;
}

#if defined(__SANITIZE_ADDRESS__)
/* fontconfig keeps its memory for the process, by distances in place of
 * pointers, which a search for leaks does not follow. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

static void set_color(cairo_t *c, uint32_t color)
{
    cairo_set_source_rgb(c, (color >> 16 & 255) / 255.0,
                         (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

static void stroke(cairo_t *c, const struct qn_pen *pen)
{
    static const double dashes[] = {2, 2};
    set_color(c, pen->color);
    cairo_set_line_width(c, pen->width);
    cairo_set_dash(c, dashes, pen->dashed ? 2 : 0, 0);
    cairo_set_antialias(c, pen->crisp ? CAIRO_ANTIALIAS_NONE
                                      : CAIRO_ANTIALIAS_DEFAULT);
    cairo_stroke(c);
    cairo_set_antialias(c, CAIRO_ANTIALIAS_DEFAULT);
}

static void fill(cairo_t *c, uint32_t color)
{
    set_color(c, color);
    cairo_fill_preserve(c);
}

static void trace(cairo_t *c, const struct qn_shape *s)
{
    bool down = false;
    for (size_t i = 0; i < s->n; i++) {
        bool there = !isnan(s->spot[i].x) && !isnan(s->spot[i].y);
        if (there && down) {
            cairo_line_to(c, s->spot[i].x, s->spot[i].y);
        } else if (there) {
            cairo_move_to(c, s->spot[i].x, s->spot[i].y);
        }
        down = there;
    }
}

/* On paper letters keep their own shapes and distances. */
static void set_up_text(cairo_t *c)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(c, options);
    cairo_font_options_destroy(options);
}

static void show_text(cairo_t *c, const struct qn_shape *s)
{
    static const double part[] = {
        [QN_START] = 0, [QN_MIDDLE] = 0.5, [QN_END] = 1};
    cairo_text_extents_t size;
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           s->font.bold ? CAIRO_FONT_WEIGHT_BOLD
                                        : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, s->font.size);
    cairo_text_extents(c, s->text, &size);
    set_color(c, s->font.color);
    cairo_save(c);
    cairo_translate(c, s->spot[0].x, s->spot[0].y);
    cairo_rotate(c, s->font.upwards ? -acos(0) : 0);
    cairo_move_to(c, -size.x_advance * part[s->font.anchor], 0);
    cairo_show_text(c, s->text);
    cairo_restore(c);
}

static void paint(cairo_t *c, const struct qn_shape *s)
{
    const struct qn_spot *at = s->spot;
    cairo_new_path(c);
    switch (s->kind) {
    case QN_SHAPE_PATH:
        trace(c, s);
        stroke(c, &s->pen);
        break;
    case QN_SHAPE_AREA:
        trace(c, s);
        fill(c, s->fill);
        break;
    case QN_SHAPE_RECT:
        cairo_rectangle(c, at[0].x, at[0].y, at[1].x, at[1].y);
        fill(c, s->fill);
        break;
    case QN_SHAPE_DISC:
        cairo_arc(c, at[0].x, at[0].y, at[1].x, 0, 4 * acos(0));
        fill(c, s->fill);
        if (s->pen.width > 0) {
            stroke(c, &s->pen);
        }
        break;
    case QN_SHAPE_TEXT:
        show_text(c, s);
        break;
    }
}

static cairo_status_t take(void *user, const unsigned char *data,
                           unsigned length)
{
    qn_str_add_bytes(user, data, length);
    return CAIRO_STATUS_SUCCESS;
}

/* Out with what cairo wrote, the size on paper said behind the header. */
static void add_png(struct qn_str *out, const struct qn_str *png)
{
    qn_str_add_bytes(out, png->text, HEADER_BYTES);
    qn_str_add_bytes(out, physical, sizeof physical);
    qn_str_add_bytes(out, png->text + HEADER_BYTES, png->len - HEADER_BYTES);
}

enum qn_status qn_draw_png(const struct qn_drawing *d, struct qn_str *out,
                           struct qn_err *err)
{
    struct qn_str png = {0};
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(d->width * DOTS_PER_POINT),
        (int)lround(d->height * DOTS_PER_POINT));
    cairo_t *c = cairo_create(surface);
    set_up_text(c);
    cairo_scale(c, DOTS_PER_POINT, DOTS_PER_POINT);
    set_color(c, 0xffffff);
    cairo_paint(c);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    for (size_t i = 0; i < d->n; i++) {
        paint(c, &d->shape[i]);
    }
    cairo_status_t status = cairo_status(c);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_write_to_png_stream(surface, take, &png);
    }
    cairo_destroy(c);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_SUCCESS) {
        add_png(out, &png);
    }
    qn_str_free(&png);
    return status == CAIRO_STATUS_SUCCESS
               ? QN_OK
               : qn_fail(err, QN_ENOMEM, "cannot draw a PNG: %s",
                         cairo_status_to_string(status));
}

#else

bool qn_draw_has_png(void)
{
    return false;
}

enum qn_status qn_draw_png(const struct qn_drawing *d, struct qn_str *out,
                           struct qn_err *err)
{
    (void)d;
    (void)out;
    return qn_fail(err, QN_ESTATE,
                   "this quern was built without cairo and writes no png, "
                   "only svg");
}

#endif
