/* draw.c - tests of drawings, their two writers, and their colours. */
#include "export/draw.h"

#include "export/palette.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static const struct qn_pen pen = {.color = 0x0072b2, .width = 0.5};

static void check_svg(const struct qn_drawing *d, const char *body)
{
    static const char head[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"25.4mm\" "
        "height=\"12.7mm\" viewBox=\"0 0 72 36\" font-family=\"sans-serif\" "
        "stroke-linejoin=\"round\">\n<title>t</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    struct qn_str out = {0};
    qn_draw_svg(d, &out);
    assert_true(qn_starts_with(out.text, head));
    assert_true(qn_ends_with(out.text, "</svg>\n"));
    out.text[out.len - strlen("</svg>\n")] = '\0';
    assert_string_equal(out.text + strlen(head), body);
    qn_str_free(&out);
}

static void every_shape_has_its_element(void **state)
{
    (void)state;
    struct qn_drawing d;
    struct qn_pen dashed = {0xff, 1, true, true};
    qn_drawing_init(&d, 72, 36, "t");
    qn_draw_line(&d, (struct qn_spot){1, 2}, (struct qn_spot){3, 4}, pen);
    qn_draw_line(&d, (struct qn_spot){1, 2}, (struct qn_spot){1, 4}, dashed);
    qn_draw_rect(&d, (struct qn_spot){0.125, 1}, 2, 3.456, 0xabcdef);
    qn_draw_disc(&d, (struct qn_spot){5, 6}, 1.5, 0, pen);
    qn_draw_area(&d, (struct qn_spot[]){{0, 0}, {1, 0}, {1, 1}}, 3, 0xff0000);
    qn_draw_text(&d, (struct qn_spot){7, 8}, "a",
                 (struct qn_font){.size = 8, .anchor = QN_END, .bold = true});
    qn_draw_text(&d, (struct qn_spot){7, 8}, "b",
                 (struct qn_font){.size = 7.5, .upwards = true});
    check_svg(&d, "<path d=\"M1 2L3 4\" fill=\"none\" stroke=\"#0072b2\" "
                  "stroke-width=\"0.5\"/>\n"
                  "<path d=\"M1 2V4\" fill=\"none\" stroke=\"#0000ff\" "
                  "stroke-width=\"1\" stroke-dasharray=\"2 2\" "
                  "shape-rendering=\"crispEdges\"/>\n"
                  "<rect x=\"0.13\" y=\"1\" width=\"2\" height=\"3.46\" "
                  "fill=\"#abcdef\"/>\n"
                  "<circle cx=\"5\" cy=\"6\" r=\"1.5\" fill=\"#000000\" "
                  "stroke=\"#0072b2\" stroke-width=\"0.5\"/>\n"
                  "<path d=\"M0 0H1V1Z\" fill=\"#ff0000\"/>\n"
                  "<text x=\"7\" y=\"8\" font-size=\"8\" text-anchor=\"end\" "
                  "font-weight=\"bold\" fill=\"#000000\">a</text>\n"
                  "<text x=\"7\" y=\"8\" font-size=\"7.5\" "
                  "transform=\"rotate(-90 7 8)\" fill=\"#000000\">b</text>\n");
    qn_drawing_free(&d);
}

static void a_gap_lifts_the_pen(void **state)
{
    (void)state;
    struct qn_drawing d;
    double none = (double)NAN;
    const struct qn_spot spot[] = {{1, 1}, {2, 1},    {none, none}, {3, -0.004},
                                   {4, 2}, {-0.5, 2}, {none, none}, {9, 9}};
    qn_drawing_init(&d, 72, 36, "t");
    qn_draw_path(&d, spot, 8, pen);
    check_svg(&d, "<path d=\"M1 1H2M3 0L4 2H-0.5M9 9\" fill=\"none\" "
                  "stroke=\"#0072b2\" stroke-width=\"0.5\"/>\n");
    qn_drawing_free(&d);
}

/* Markup, control characters, bytes that are no UTF-8, U+FFFE. */
static void any_text_is_text_in_xml(void **state)
{
    (void)state;
    struct qn_drawing d;
    struct qn_font font = {.size = 8};
    qn_drawing_init(&d, 72, 36, "t");
    qn_draw_text(&d, (struct qn_spot){0, 0}, "<a&b>\"'", font);
    qn_draw_text(&d, (struct qn_spot){0, 0}, "\x1b[m\n\xff\xc3", font);
    qn_draw_text(&d, (struct qn_spot){0, 0}, "\xef\xbf\xbe \xc3\xa9", font);
    check_svg(&d, "<text x=\"0\" y=\"0\" font-size=\"8\" fill=\"#000000\">"
                  "&lt;a&amp;b&gt;\"'</text>\n"
                  "<text x=\"0\" y=\"0\" font-size=\"8\" fill=\"#000000\">"
                  "\xef\xbf\xbd[m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd</text>\n"
                  "<text x=\"0\" y=\"0\" font-size=\"8\" fill=\"#000000\">"
                  "\xef\xbf\xbd \xc3\xa9</text>\n");
    qn_drawing_free(&d);
}

static uint32_t big_endian(const char *at)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        v = v << 8 | (unsigned char)at[i];
    }
    return v;
}

/* The chunk's CRC is that of its name and data. */
static void check_chunk(const char *at, const char *name, uint32_t len)
{
    assert_int_equal(big_endian(at), len);
    assert_memory_equal(at + 4, name, 4);
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)at + 4, len + 4);
    assert_int_equal(big_endian(at + 8 + len), sum);
}

static void a_png_knows_its_size_on_paper(void **state)
{
    (void)state;
    struct qn_drawing d;
    struct qn_str out = {0};
    if (!qn_draw_has_png()) {
        skip();
    }
    qn_drawing_init(&d, 72, 36, "t");
    qn_draw_disc(&d, (struct qn_spot){36, 18}, 9, 0xff0000, pen);
    qn_draw_text(&d, (struct qn_spot){0, 9}, "\xff",
                 (struct qn_font){.size = 8});
    assert_int_equal(qn_draw_png(&d, &out, NULL), QN_OK);
    assert_memory_equal(out.text, "\x89PNG\r\n\x1a\n", 8);
    check_chunk(out.text + 8, "IHDR", 13);
    assert_int_equal(big_endian(out.text + 16), 300);
    assert_int_equal(big_endian(out.text + 20), 150);
    check_chunk(out.text + 33, "pHYs", 9);
    assert_int_equal(big_endian(out.text + 41), 11811);
    assert_int_equal(big_endian(out.text + 45), 11811);
    assert_true(memcmp(out.text + out.len - 8, "IEND", 4) == 0);
    qn_str_free(&out);
    qn_drawing_free(&d);
}

static void without_cairo_a_sentence_says_so(void **state)
{
    (void)state;
    struct qn_err err = {""};
    struct qn_drawing d = {.n = 0};
    struct qn_str out = {0};
    if (qn_draw_has_png()) {
        skip();
    }
    assert_int_equal(qn_draw_png(&d, &out, &err), QN_ESTATE);
    assert_non_null(strstr(err.text, "without cairo"));
}

/* CIE L* of a colour. */
static double lightness(uint32_t color)
{
    static const double weight[] = {0.2126, 0.7152, 0.0722};
    double y = 0;
    for (int i = 0; i < 3; i++) {
        double v = (color >> (16 - 8 * i) & 255) / 255.0;
        v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        y += weight[i] * v;
    }
    return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

static void shares_grow_darker_by_even_steps(void **state)
{
    (void)state;
    assert_int_equal(qn_color_of_share(0), 0xffffff);
    assert_int_equal(qn_color_of_share(-1), 0xffffff);
    assert_int_equal(qn_color_of_share(2), qn_color_of_share(1));
    for (int i = 0; i <= 100; i++) {
        double l = lightness(qn_color_of_share(i / 100.0));
        assert_true(fabs(l - (100 - 0.9 * i)) < 3);
    }
}

static void colours_side_by_side_differ_in_grey(void **state)
{
    (void)state;
    double negative = lightness(QN_COLOR_NEGATIVE);
    double near = lightness(QN_COLOR_NEAR);
    double positive = lightness(QN_COLOR_POSITIVE);
    assert_true(near - positive > 25 && near - negative > 20);
    assert_true(fabs(negative - positive) > 5);
    assert_true(lightness(QN_COLOR_RAW) - lightness(QN_COLOR_TRAIN) > 30);
    assert_true(lightness(QN_COLOR_TRAIN) - lightness(QN_COLOR_VALID) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_has_its_element),
        cmocka_unit_test(a_gap_lifts_the_pen),
        cmocka_unit_test(any_text_is_text_in_xml),
        cmocka_unit_test(a_png_knows_its_size_on_paper),
        cmocka_unit_test(without_cairo_a_sentence_says_so),
        cmocka_unit_test(shares_grow_darker_by_even_steps),
        cmocka_unit_test(colours_side_by_side_differ_in_grey),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
