/* theme.c - tests that roles can be read and told apart on any terminal. */
#include "tui/theme.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static double linear(int level)
{
    double v = level / 255.0;
    return v <= 0.03928 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Relative luminance (WCAG) of a colour of the 256 palette's cube or greys. */
static double luminance(int index)
{
    static const int cube[] = {0, 95, 135, 175, 215, 255};
    if (index >= 232) {
        return linear(8 + 10 * (index - 232));
    }
    int i = index - 16;
    return 0.2126 * linear(cube[i / 36]) + 0.7152 * linear(cube[i / 6 % 6]) +
           0.0722 * linear(cube[i % 6]);
}

static double contrast(double a, double b)
{
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

/* 3 to 1 is what WCAG 2.1 asks of graphics and large text (1.4.11). */
static void colours_read_on_black_and_on_white(void **state)
{
    (void)state;
    for (int role = 0; role < QN_N_ROLES; role++) {
        struct qn_style s = qn_theme_style((enum qn_role)role, 256);
        if (s.fg >= 0) {
            assert_true(s.fg >= 16); /* the first 16 are the user's own */
            assert_true(contrast(luminance(s.fg), 0) >= 3);
            assert_true(contrast(luminance(s.fg), 1) >= 3);
        }
    }
}

static bool same(enum qn_role a, enum qn_role b, int colors, bool attributes)
{
    struct qn_style x = qn_theme_style(a, colors);
    struct qn_style y = qn_theme_style(b, colors);
    bool alike = x.bold == y.bold && x.dim == y.dim && x.reverse == y.reverse &&
                 x.underline == y.underline;
    return alike && (attributes || x.fg == y.fg);
}

/* Roles that stand side by side and must not look alike. */
static const enum qn_role neighbours[][2] = {
    {QN_ROLE_DIM, QN_ROLE_FOCUS},         {QN_ROLE_DIM, QN_ROLE_TEXT},
    {QN_ROLE_TEXT, QN_ROLE_TITLE},        {QN_ROLE_GOOD, QN_ROLE_WARN},
    {QN_ROLE_GOOD, QN_ROLE_ERROR},        {QN_ROLE_WARN, QN_ROLE_ERROR},
    {QN_ROLE_TRAIN, QN_ROLE_VALID},       {QN_ROLE_NEGATIVE, QN_ROLE_NEAR},
    {QN_ROLE_NEGATIVE, QN_ROLE_POSITIVE}, {QN_ROLE_NEAR, QN_ROLE_POSITIVE},
    {QN_ROLE_TEXT, QN_ROLE_PROMPT},       {QN_ROLE_TEXT, QN_ROLE_KEY},
    {QN_ROLE_TEXT, QN_ROLE_SELECT},       {QN_ROLE_TEXT, QN_ROLE_ERROR},
};

static void neighbours_differ_with_any_number_of_colours(void **state)
{
    (void)state;
    static const int colors[] = {8, 16, 256};
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
        for (int k = 0; k < 3; k++) {
            assert_false(
                same(neighbours[i][0], neighbours[i][1], colors[k], false));
        }
    }
}

static void attributes_alone_tell_neighbours_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
        assert_false(same(neighbours[i][0], neighbours[i][1], 0, true));
    }
}

static void without_colours_none_is_used(void **state)
{
    (void)state;
    for (int role = 0; role < QN_N_ROLES; role++) {
        assert_int_equal(qn_theme_style((enum qn_role)role, 0).fg, -1);
        assert_true(qn_theme_style((enum qn_role)role, 8).fg < 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_read_on_black_and_on_white),
        cmocka_unit_test(neighbours_differ_with_any_number_of_colours),
        cmocka_unit_test(attributes_alone_tell_neighbours_apart),
        cmocka_unit_test(without_colours_none_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
