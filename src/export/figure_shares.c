/* figure_shares.c - how much of each layer is negative, near zero, positive. */
#include "base/mem.h"
#include "export/figures.h"
#include "export/legend.h"
#include "export/palette.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 40.0
#define RIGHT 10.0
#define GAP 20.0
#define HEAD 14.0
#define BELOW 30.0
#define LEAST_LABELLED 13.0 /* as wide as "12" and some air */

struct part {
    double share;
    uint32_t color, text_color;
};

static int quantities_of(const struct qn_stats_record *r,
                         enum qn_quantity of[QN_N_QUANTITIES])
{
    int n = 0;
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        if ((r->of & 1u << i) != 0) {
            of[n++] = (enum qn_quantity)i;
        }
    }
    return n;
}

/* From one layer to the next: many layers stand closer. */
static double pitch_of(int n_layers)
{
    return n_layers <= 8 ? 17 : n_layers <= 24 ? 13 : 10;
}

/* From left to right; returns how many. */
static int parts_of(const struct qn_hist *h, struct part part[4])
{
    struct qn_shares s = qn_hist_shares(h);
    part[0] = (struct part){s.negative, QN_COLOR_NEGATIVE, 0xffffff};
    part[1] = (struct part){s.near, QN_COLOR_NEAR, 0x000000};
    part[2] = (struct part){s.positive, QN_COLOR_POSITIVE, 0xffffff};
    part[3] = (struct part){s.nan, QN_COLOR_NAN, 0xffffff};
    return 4;
}

static void label_part(struct qn_drawing *d, struct qn_box box,
                       const struct part *part)
{
    char label[16];
    struct qn_font font = qn_font_label(QN_MIDDLE);
    font.color = part->text_color;
    font.size = 7;
    (void)snprintf(label, sizeof label, "%.0f", 100 * part->share);
    if (box.width >= LEAST_LABELLED) {
        struct qn_spot at = {box.x + box.width / 2,
                             box.y + box.height / 2 + 0.36 * font.size};
        qn_draw_text(d, at, label, font);
    }
}

static void draw_bar(struct qn_drawing *d, const struct qn_hist *h,
                     struct qn_box bar)
{
    struct part part[4];
    double done = 0;
    int n = parts_of(h, part);
    for (int i = 0; i < n; i++) {
        struct qn_box box = {bar.x + bar.width * done, bar.y,
                             bar.width * part[i].share, bar.height};
        if (part[i].share > 0) {
            qn_draw_rect(d, (struct qn_spot){box.x, box.y}, box.width,
                         box.height, part[i].color);
            label_part(d, box, &part[i]);
        }
        done += part[i].share;
    }
}

static void draw_scale(struct qn_drawing *d, struct qn_box box)
{
    static const char *const labels[] = {"0", "25", "50", "75", "100"};
    for (int i = 0; i <= 4; i++) {
        qn_box_tick(d, box, QN_BELOW, box.x + box.width * i / 4, labels[i]);
    }
    qn_box_axes(d, box);
}

static void draw_panel(struct qn_drawing *d, const struct qn_stats_record *r,
                       enum qn_quantity of, struct qn_box box, bool named)
{
    double pitch = box.height / r->n_layers;
    qn_draw_text(d, (struct qn_spot){box.x, box.y - 5}, qn_quantity_title(of),
                 qn_font_head());
    for (int i = 0; i < r->n_layers; i++) {
        double top = box.y + i * pitch, air = 0.14 * pitch;
        draw_bar(d, &r->layer[i][of],
                 (struct qn_box){box.x, top + air, box.width, pitch - 2 * air});
        if (named) {
            char label[32];
            (void)snprintf(label, sizeof label, "layer %d", i + 1);
            qn_draw_text(d,
                         (struct qn_spot){box.x - 5, top + pitch / 2 +
                                                         0.36 * QN_LABEL_SIZE},
                         label, qn_font_label(QN_END));
        }
    }
    draw_scale(d, box);
}

static bool any_nan(const struct qn_stats_record *r)
{
    for (int i = 0; i < r->n_layers; i++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if ((r->of & 1u << of) != 0 && r->layer[i][of].n_nan > 0) {
                return true;
            }
        }
    }
    return false;
}

bool qn_figure_shares(const struct qn_figure_source *s, struct qn_drawing *out)
{
    const struct qn_stats_record *r = s->stats.newest;
    enum qn_quantity of[QN_N_QUANTITIES];
    int n = r != NULL ? quantities_of(r, of) : 0;
    if (n == 0) {
        return false;
    }
    struct qn_legend legend = {.n = 0};
    qn_legend_add_shares(&legend, (double)r->layer[0][of[0]].threshold);
    if (any_nan(r)) {
        qn_legend_add(&legend, QN_KEY_BOX,
                      (struct qn_pen){.color = QN_COLOR_NAN}, "NaN");
    }
    struct qn_grid grid = {.n = n,
                           .columns = n < 3    ? n
                                      : n == 4 ? 2
                                               : 3,
                           .height = r->n_layers * pitch_of(r->n_layers),
                           .above = HEAD,
                           .left = LEFT,
                           .below = 0,
                           .gap = GAP,
                           .apart = GAP};
    double width = QN_FIGURE_WIDTH - RIGHT;
    double top = qn_legend_height(&legend, width - LEFT) + 8;
    char *title = qn_xasprintf("%s: shares of values by layer", s->spec.name);
    char *below =
        qn_xasprintf("share of values (%%) at step %lld", (long long)r->step);
    grid.all = (struct qn_box){0, top, width, 0};
    double height = qn_grid_height(&grid);
    qn_drawing_init(out, QN_FIGURE_WIDTH, top + height + BELOW, title);
    qn_legend_draw(out, &legend, (struct qn_box){LEFT, 2, width - LEFT, 0});
    for (int i = 0; i < n; i++) {
        draw_panel(out, r, of[i], qn_grid_box(&grid, i),
                   qn_grid_is_left(&grid, i));
    }
    qn_box_title(out, (struct qn_box){LEFT, top, width - LEFT, height},
                 QN_BELOW, 26, below);
    free(title);
    free(below);
    return true;
}
