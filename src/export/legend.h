/* legend.h - rows of keys that say what is what, outside of all data. */
#ifndef QN_EXPORT_LEGEND_H
#define QN_EXPORT_LEGEND_H

#include "export/panel.h"

enum qn_key_kind { QN_KEY_LINE, QN_KEY_POINTS, QN_KEY_RING, QN_KEY_BOX };
struct qn_key {
    enum qn_key_kind kind;
    struct qn_pen pen; /* of a ring and a box only its colour */
    char text[96];
};
#define QN_MAX_KEYS 8
struct qn_legend {
    struct qn_key key[QN_MAX_KEYS];
    int n;
};
/* A key behind those that there are. */
void qn_legend_add(struct qn_legend *l, enum qn_key_kind kind,
                   struct qn_pen pen, const char *fmt, ...) QN_PRINTF(4, 5);
/* What the colours of values are by a threshold of near zero. */
void qn_legend_add_shares(struct qn_legend *l, double near);
/* How high its rows are when they are so wide at most. */
double qn_legend_height(const struct qn_legend *l, double width);
/* From the left and top of the box on, in its width. */
void qn_legend_draw(struct qn_drawing *d, const struct qn_legend *l,
                    struct qn_box box);

/* How the curves of figures mark a point, and the best. */
void qn_mark_point(struct qn_drawing *d, struct qn_spot at, uint32_t color);
void qn_mark_ring(struct qn_drawing *d, struct qn_spot at, uint32_t color);

#endif
