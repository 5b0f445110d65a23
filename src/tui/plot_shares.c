/* plot_shares.c - one row of negative, near zero and positive. */
#include "tui/plot.h"

#include <math.h>
#include <stdio.h>

#define N_PARTS 4
#define PERCENT_COLS 5 /* "100% " */
#define MIN_BAR_COLS 4

static const enum qn_role part_role[N_PARTS] = {
    QN_ROLE_NEGATIVE, QN_ROLE_NEAR, QN_ROLE_POSITIVE, QN_ROLE_ERROR};

/* Whole numbers that sum to 'total', by largest remainder. A part that is not
 * empty gets at least 'least' as long as there is room for all. */
static void apportion(const double share[N_PARTS], int total, int least,
                      int out[N_PARTS])
{
    double sum = 0, rest[N_PARTS];
    for (int i = 0; i < N_PARTS; i++) {
        sum += fmax(share[i], 0);
    }
    int left = total;
    for (int i = 0; i < N_PARTS; i++) {
        double exact = sum > 0 ? fmax(share[i], 0) / sum * total : 0;
        out[i] = (int)floor(exact + 1e-9);
        rest[i] = exact - out[i];
        if (share[i] > 0 && out[i] < least) {
            out[i] = least;
            rest[i] = -1;
        }
        left -= out[i];
    }
    while (sum > 0 && left != 0) {
        int best = 0;
        for (int i = 1; i < N_PARTS; i++) {
            bool better = left > 0 ? rest[i] > rest[best] : out[i] > out[best];
            best = better ? i : best;
        }
        out[best] += left > 0 ? 1 : -1;
        rest[best] -= left > 0 ? 1 : 0;
        left += left > 0 ? -1 : 1;
    }
}

static uint32_t part_glyph(int part, enum qn_glyphs glyphs)
{
    static const uint32_t block[N_PARTS] = {0x2592, 0xb7, 0x2588, '!'};
    static const uint32_t plain[N_PARTS] = {'-', '.', '+', '!'};
    return glyphs == QN_GLYPHS_ASCII ? plain[part] : block[part];
}

static void draw_bar(struct qn_canvas *c, struct qn_rect at,
                     const double share[N_PARTS], enum qn_glyphs glyphs)
{
    int cols[N_PARTS];
    apportion(share, at.cols, at.cols >= 2 * N_PARTS ? 1 : 0, cols);
    for (int part = 0; part < N_PARTS; part++) {
        for (int i = 0; i < cols[part]; i++) {
            qn_canvas_put(c, at.row, at.col++, part_glyph(part, glyphs),
                          part_role[part]);
        }
    }
}

/* The percentages in columns of their own, so that they stand still while the
 * bar moves. Takes their room from *at. */
static void draw_percents(struct qn_canvas *c, struct qn_rect *at,
                          const int percent[N_PARTS])
{
    for (int part = 0; part < 3 && at->cols >= 4; part++) {
        qn_canvas_textf(c, at->row, at->col, 4, part_role[part], "%3d%%",
                        percent[part]);
        at->col += PERCENT_COLS;
        at->cols -= PERCENT_COLS;
    }
}

/* At the right end, where it moves nothing else. */
static void draw_nan(struct qn_canvas *c, struct qn_rect *at, int percent)
{
    char text[32];
    (void)snprintf(text, sizeof text, " %s%d%% NaN", percent < 1 ? "<" : "",
                   percent < 1 ? 1 : percent);
    int width = qn_text_width(text);
    if (width <= at->cols) {
        at->cols -= width;
        qn_canvas_text(c, at->row, at->col + at->cols, width, text,
                       QN_ROLE_ERROR);
    }
}

void qn_plot_shares(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_share_bar *bar)
{
    if (where.rows < 1 || where.cols < 1) {
        return;
    }
    uint32_t mark = bar->glyphs == QN_GLYPHS_ASCII ? '>' : 0x25b8;
    enum qn_role role = bar->selected ? QN_ROLE_FOCUS : QN_ROLE_TEXT;
    if (bar->selected) {
        qn_canvas_put(c, where.row, where.col, mark, role);
    }
    struct qn_rect at = where;
    int room = at.cols > 2 ? at.cols - 2 : 0;
    int used =
        2 + qn_canvas_text(c, at.row, at.col + 2, room, bar->label, role);
    at.col += used + 1;
    at.cols -= used + 1;
    if (bar->shares.count == 0) {
        qn_canvas_text(c, at.row, at.col, at.cols > 0 ? at.cols : 0,
                       "no values", QN_ROLE_DIM);
        return;
    }
    double share[N_PARTS] = {bar->shares.negative, bar->shares.near,
                             bar->shares.positive, bar->shares.nan};
    int percent[N_PARTS];
    apportion(share, 100, 0, percent);
    draw_percents(c, &at, percent);
    at.col++;
    at.cols--;
    if (share[3] > 0) {
        draw_nan(c, &at, percent[3]);
        share[3] = 0;
    }
    if (at.cols >= MIN_BAR_COLS) {
        draw_bar(c, at, share, bar->glyphs);
    }
}
