/* panel.c - fonts, frames and grids of figures. */
#include "export/panel.h"

#include "export/palette.h"

#define TICK 3.0
#define LABEL_AWAY 2.0 /* of a tick's end */
/* From the middle of a line of text down to its base line. */
#define MIDDLE_TO_BASE (0.36 * QN_LABEL_SIZE)
#define ASCENT (0.78 * QN_LABEL_SIZE)

struct qn_font qn_font_label(enum qn_anchor anchor)
{
    return (struct qn_font){
        .size = QN_LABEL_SIZE, .color = QN_COLOR_TEXT, .anchor = anchor};
}

struct qn_font qn_font_head(void)
{
    struct qn_font font = qn_font_label(QN_START);
    font.bold = true;
    return font;
}

struct qn_pen qn_pen_axis(void)
{
    return (struct qn_pen){.color = QN_COLOR_AXIS, .width = 0.6};
}

void qn_box_axes(struct qn_drawing *d, struct qn_box b)
{
    const struct qn_spot corner[] = {
        {b.x, b.y}, {b.x, b.y + b.height}, {b.x + b.width, b.y + b.height}};
    qn_draw_path(d, corner, 3, qn_pen_axis());
}

void qn_box_tick(struct qn_drawing *d, struct qn_box b, enum qn_side side,
                 double at, const char *label)
{
    double bottom = b.y + b.height, right = b.x + b.width;
    struct qn_spot from, to, text;
    enum qn_anchor anchor = QN_MIDDLE;
    switch (side) {
    case QN_BELOW:
        from = (struct qn_spot){at, bottom};
        to = (struct qn_spot){at, bottom + TICK};
        text = (struct qn_spot){at, to.y + LABEL_AWAY + ASCENT};
        break;
    case QN_ABOVE:
        from = (struct qn_spot){at, b.y};
        to = (struct qn_spot){at, b.y - TICK};
        text = (struct qn_spot){at, to.y - LABEL_AWAY};
        break;
    case QN_LEFT:
        from = (struct qn_spot){b.x, at};
        to = (struct qn_spot){b.x - TICK, at};
        text = (struct qn_spot){to.x - LABEL_AWAY, at + MIDDLE_TO_BASE};
        anchor = QN_END;
        break;
    case QN_RIGHT:
        from = (struct qn_spot){right, at};
        to = (struct qn_spot){right + TICK, at};
        text = (struct qn_spot){to.x + LABEL_AWAY, at + MIDDLE_TO_BASE};
        anchor = QN_START;
        break;
    }
    qn_draw_line(d, from, to, qn_pen_axis());
    qn_draw_text(d, text, label, qn_font_label(anchor));
}

void qn_box_title(struct qn_drawing *d, struct qn_box b, enum qn_side side,
                  double away, const char *title)
{
    double across = b.x + b.width / 2, down = b.y + b.height / 2;
    struct qn_font font = qn_font_label(QN_MIDDLE);
    struct qn_spot at = {across, down};
    font.upwards = side == QN_LEFT || side == QN_RIGHT;
    switch (side) {
    case QN_BELOW:
        at.y = b.y + b.height + away;
        break;
    case QN_ABOVE:
        at.y = b.y - away;
        break;
    case QN_LEFT:
        at.x = b.x - away;
        break;
    case QN_RIGHT:
        at.x = b.x + b.width + away;
        break;
    }
    qn_draw_text(d, at, title, font);
}

struct qn_spot qn_panel_spot(const struct qn_panel *p, double x, double y)
{
    return (struct qn_spot){p->box.x + p->box.width * qn_axis_place(&p->x, x),
                            p->box.y +
                                p->box.height * (1 - qn_axis_place(&p->y, y))};
}

void qn_panel_frame(struct qn_drawing *d, const struct qn_panel *p)
{
    char label[64];
    for (int i = 0; i < p->x.n_ticks; i++) {
        double at = qn_panel_spot(p, p->x.tick[i], p->y.lo).x;
        qn_box_tick(d, p->box, QN_BELOW, at,
                    qn_axis_label(&p->x, i, label, sizeof label));
    }
    for (int i = 0; i < p->y.n_ticks; i++) {
        double at = qn_panel_spot(p, p->x.lo, p->y.tick[i]).y;
        qn_box_tick(d, p->box, QN_LEFT, at,
                    qn_axis_label(&p->y, i, label, sizeof label));
    }
    qn_box_axes(d, p->box);
}

/* --- grids ---------------------------------------------------------------- */

int qn_grid_columns(int n, bool wide)
{
    if (n <= 3) {
        return n;
    }
    if (n <= (wide ? 8 : 4)) {
        return 2;
    }
    return n <= (wide ? 24 : 12) ? 3 : 4;
}

static int rows_of(const struct qn_grid *g)
{
    return (g->n + g->columns - 1) / g->columns;
}

double qn_grid_height(const struct qn_grid *g)
{
    return rows_of(g) * (g->above + g->height + g->gap) - g->gap + g->below;
}

struct qn_box qn_grid_box(const struct qn_grid *g, int i)
{
    int column = i % g->columns, row = i / g->columns;
    double room = g->all.width - g->left - (g->columns - 1) * g->apart;
    double width = room / g->columns;
    double down = row * (g->above + g->height + g->gap) + g->above;
    return (struct qn_box){g->all.x + g->left + column * (width + g->apart),
                           g->all.y + down, width, g->height};
}

bool qn_grid_is_left(const struct qn_grid *g, int i)
{
    return i % g->columns == 0;
}

bool qn_grid_is_lowest(const struct qn_grid *g, int i)
{
    return i + g->columns >= g->n;
}
