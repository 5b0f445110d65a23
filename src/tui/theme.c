/* theme.c - what each role looks like. */
#include "tui/theme.h"

#include "base/assert.h"

/* Middle tones: each has a contrast of at least 3 to 1 on black and on white
 * (tests/tui/theme.c computes it). Orange and blue, teal and purple stay apart
 * for red-green and for blue-yellow blind eyes. */
static const struct qn_style palette[QN_N_ROLES] = {
    [QN_ROLE_TEXT] = {.fg = -1},
    [QN_ROLE_DIM] = {.fg = 244},
    [QN_ROLE_TITLE] = {.fg = -1, .bold = true},
    [QN_ROLE_FOCUS] = {.fg = 31, .bold = true},
    [QN_ROLE_STATUS] = {.fg = -1},
    [QN_ROLE_GOOD] = {.fg = 28, .bold = true},
    [QN_ROLE_WARN] = {.fg = 136, .bold = true},
    [QN_ROLE_ERROR] = {.fg = 160, .bold = true},
    [QN_ROLE_TRAIN] = {.fg = 30},
    [QN_ROLE_VALID] = {.fg = 133},
    [QN_ROLE_NEGATIVE] = {.fg = 166},
    [QN_ROLE_NEAR] = {.fg = 244},
    [QN_ROLE_POSITIVE] = {.fg = 32},
    [QN_ROLE_PROMPT] = {.fg = -1, .bold = true},
    [QN_ROLE_KEY] = {.fg = -1, .bold = true},
    [QN_ROLE_SELECT] = {.fg = -1, .reverse = true},
};

static const struct qn_style basic[QN_N_ROLES] = {
    [QN_ROLE_TEXT] = {.fg = -1},
    [QN_ROLE_DIM] = {.fg = -1, .dim = true},
    [QN_ROLE_TITLE] = {.fg = -1, .bold = true},
    [QN_ROLE_FOCUS] = {.fg = 6, .bold = true},
    [QN_ROLE_STATUS] = {.fg = -1},
    [QN_ROLE_GOOD] = {.fg = 2, .bold = true},
    [QN_ROLE_WARN] = {.fg = 3, .bold = true},
    [QN_ROLE_ERROR] = {.fg = 1, .bold = true},
    [QN_ROLE_TRAIN] = {.fg = 6},
    [QN_ROLE_VALID] = {.fg = 5},
    [QN_ROLE_NEGATIVE] = {.fg = 1},
    [QN_ROLE_NEAR] = {.fg = -1, .dim = true},
    [QN_ROLE_POSITIVE] = {.fg = 4, .bold = true},
    [QN_ROLE_PROMPT] = {.fg = -1, .bold = true},
    [QN_ROLE_KEY] = {.fg = -1, .bold = true},
    [QN_ROLE_SELECT] = {.fg = -1, .reverse = true},
};

static const struct qn_style plain[QN_N_ROLES] = {
    [QN_ROLE_TEXT] = {.fg = -1},
    [QN_ROLE_DIM] = {.fg = -1, .dim = true},
    [QN_ROLE_TITLE] = {.fg = -1, .bold = true},
    [QN_ROLE_FOCUS] = {.fg = -1, .bold = true},
    [QN_ROLE_STATUS] = {.fg = -1},
    [QN_ROLE_GOOD] = {.fg = -1, .bold = true},
    [QN_ROLE_WARN] = {.fg = -1, .underline = true},
    [QN_ROLE_ERROR] = {.fg = -1, .bold = true, .reverse = true},
    [QN_ROLE_TRAIN] = {.fg = -1, .bold = true},
    [QN_ROLE_VALID] = {.fg = -1},
    [QN_ROLE_NEGATIVE] = {.fg = -1},
    [QN_ROLE_NEAR] = {.fg = -1, .dim = true},
    [QN_ROLE_POSITIVE] = {.fg = -1, .bold = true},
    [QN_ROLE_PROMPT] = {.fg = -1, .bold = true},
    [QN_ROLE_KEY] = {.fg = -1, .bold = true},
    [QN_ROLE_SELECT] = {.fg = -1, .reverse = true},
};

struct qn_style qn_theme_style(enum qn_role role, int n_colors)
{
    QN_ASSERT(role < QN_N_ROLES);
    if (n_colors >= 256) {
        return palette[role];
    }
    return n_colors >= 8 ? basic[role] : plain[role];
}
