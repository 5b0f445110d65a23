/* legend.c - rows of keys that say what is what. */
#include "export/legend.h"

#include "base/assert.h"
#include "export/palette.h"

#include <stdarg.h>
#include <stdio.h>

#define ROW 13.0
#define MARK 16.0     /* as wide as a line of it */
#define BOX 7.0       /* a box's side */
#define MARK_TEXT 4.0 /* between a mark and its text */
#define APART 14.0    /* two keys */

void qn_legend_add(struct qn_legend *l, enum qn_key_kind kind,
                   struct qn_pen pen, const char *fmt, ...)
{
    QN_ASSERT(l->n < QN_MAX_KEYS);
    struct qn_key *key = &l->key[l->n++];
    va_list args;
    *key = (struct qn_key){.kind = kind, .pen = pen};
    va_start(args, fmt);
    (void)vsnprintf(key->text, sizeof key->text, fmt, args);
    va_end(args);
}

void qn_mark_point(struct qn_drawing *d, struct qn_spot at, uint32_t color)
{
    qn_draw_disc(d, at, 1.7, color, (struct qn_pen){.color = 0xffffff});
}

void qn_mark_ring(struct qn_drawing *d, struct qn_spot at, uint32_t color)
{
    qn_draw_disc(d, at, 3.4, 0xffffff,
                 (struct qn_pen){.color = color, .width = 1.4});
}

void qn_legend_add_shares(struct qn_legend *l, double near)
{
    char t[32];
    (void)qn_format_digits(t, sizeof t, near, 4);
    qn_legend_add(l, QN_KEY_BOX, (struct qn_pen){.color = QN_COLOR_NEGATIVE},
                  "negative: x \xe2\x89\xa4 \xe2\x88\x92%s", t);
    qn_legend_add(l, QN_KEY_BOX, (struct qn_pen){.color = QN_COLOR_NEAR},
                  "near zero: |x| < %s", t);
    qn_legend_add(l, QN_KEY_BOX, (struct qn_pen){.color = QN_COLOR_POSITIVE},
                  "positive: x \xe2\x89\xa5 %s", t);
}

static double mark_width(const struct qn_key *key)
{
    return key->kind == QN_KEY_BOX || key->kind == QN_KEY_RING ? BOX : MARK;
}

static double key_width(const struct qn_key *key)
{
    struct qn_font font = qn_font_label(QN_START);
    return mark_width(key) + MARK_TEXT + qn_draw_text_width(key->text, &font);
}

static void draw_mark(struct qn_drawing *d, const struct qn_key *key, double x,
                      double y)
{
    struct qn_spot middle = {x + mark_width(key) / 2, y};
    switch (key->kind) {
    case QN_KEY_POINTS:
    case QN_KEY_LINE:
        qn_draw_line(d, (struct qn_spot){x, y}, (struct qn_spot){x + MARK, y},
                     key->pen);
        if (key->kind == QN_KEY_POINTS) {
            qn_mark_point(d, middle, key->pen.color);
        }
        return;
    case QN_KEY_RING:
        qn_mark_ring(d, middle, key->pen.color);
        return;
    case QN_KEY_BOX:
        qn_draw_rect(d, (struct qn_spot){x, y - BOX / 2}, BOX, BOX,
                     key->pen.color);
        return;
    }
}

/* Walk along the rows, d NULL: without drawing; returns how high they are. */
static double walk(struct qn_drawing *d, const struct qn_legend *l,
                   struct qn_box box)
{
    double x = 0, y = 0;
    for (int i = 0; i < l->n; i++) {
        const struct qn_key *key = &l->key[i];
        double width = key_width(key);
        if (x > 0 && x + width > box.width) {
            x = 0;
            y += ROW;
        }
        if (d != NULL) {
            double middle = box.y + y + ROW / 2;
            double text = box.x + x + mark_width(key) + MARK_TEXT;
            draw_mark(d, key, box.x + x, middle);
            qn_draw_text(d,
                         (struct qn_spot){text, middle + 0.36 * QN_LABEL_SIZE},
                         key->text, qn_font_label(QN_START));
        }
        x += width + APART;
    }
    return l->n > 0 ? y + ROW : 0;
}

double qn_legend_height(const struct qn_legend *l, double width)
{
    return walk(NULL, l, (struct qn_box){.width = width});
}

void qn_legend_draw(struct qn_drawing *d, const struct qn_legend *l,
                    struct qn_box box)
{
    (void)walk(d, l, box);
}
