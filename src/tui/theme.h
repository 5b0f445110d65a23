/* theme.h - roles to colours: by what the terminal has, or without any. */
#ifndef QN_TUI_THEME_H
#define QN_TUI_THEME_H

#include "tui/canvas.h"

/* A foreground as a palette index (-1 = the terminal's own) and attributes that
 * carry the meaning where there is no colour. The background is always the
 * terminal's own. */
struct qn_style {
    short fg;
    bool bold, dim, reverse, underline;
};

/* n_colors 0 (or NO_COLOR): attributes only; 8: the basic ones; 256: a palette
 * that reads on light and dark backgrounds and is safe for colour-blind eyes.
 */
struct qn_style qn_theme_style(enum qn_role role, int n_colors);

#endif
