/* panels.c - packing a matrix, and walking over its panels. */
#include "backend/cpu/panels.h"

#include "backend/private.h"

#include <string.h>

static size_t n_panels(const struct qn_panels *p)
{
    size_t width = p->kernels->panel;
    return ((size_t)p->n + width - 1) / width;
}

static int n_stretches(const struct qn_panels *p)
{
    return (p->k + QN_PANELS_STRETCH - 1) / QN_PANELS_STRETCH;
}

size_t qn_panels_size(const struct qn_panels *p)
{
    return (size_t)p->k * n_panels(p) * p->kernels->panel;
}

static int stretch_from(const struct qn_panels *p, int stretch)
{
    return qn_split(p->k, n_stretches(p), stretch);
}

static float *panel_at(const struct qn_panels *p, int stretch, size_t panel)
{
    size_t from = (size_t)stretch_from(p, stretch);
    size_t rows = (size_t)stretch_from(p, stretch + 1) - from;
    return p->data + (from * n_panels(p) + panel * rows) * p->kernels->panel;
}

/* Some rows of a matrix within a stretch: [from, end) of all its rows. */
struct span {
    int stretch, from, end;
};

static struct span span_of(const struct qn_panels *p, int stretch, int at,
                           int count)
{
    struct span span = {stretch, stretch_from(p, stretch),
                        stretch_from(p, stretch + 1)};
    if (span.from < at)
        span.from = at;
    if (span.end > at + count)
        span.end = at + count;
    return span;
}

/* Rows of a panel, its columns beyond n as zeros. */
struct panel_part {
    float *to;
    size_t rows, width;
    size_t columns; /* that are not padding */
};

/* What is multiplied for nothing must be no denormal number, which is slow. */
static void pad(const struct panel_part *part)
{
    for (size_t i = 0; part->columns < part->width && i < part->rows; i++)
        memset(part->to + i * part->width + part->columns, 0,
               (part->width - part->columns) * sizeof *part->to);
}

static void copy(const struct panel_part *part, const float *b, size_t ldb)
{
    for (size_t i = 0; i < part->rows; i++)
        memcpy(part->to + i * part->width, b + i * ldb,
               part->columns * sizeof *b);
}

/* 'b' begins at the span's first row. */
static void fill_panel(const struct qn_panels *p, const struct span *span,
                       size_t panel, const float *b, size_t ldb, bool trans)
{
    size_t width = p->kernels->panel;
    size_t column = panel * width;
    size_t left = (size_t)p->n - column;
    size_t above = (size_t)(span->from - stretch_from(p, span->stretch));
    struct panel_part part = {
        .to = panel_at(p, span->stretch, panel) + above * width,
        .rows = (size_t)(span->end - span->from),
        .width = width,
        .columns = left < width ? left : width,
    };
    pad(&part);
    if (trans)
        p->kernels->turn(part.to, width, b + column * ldb, ldb, part.columns,
                         part.rows);
    else
        copy(&part, b + column, ldb);
}

void qn_panels_fill(const struct qn_panels *p, int at, int count,
                    const float *b, size_t ldb, bool trans, int part, int parts)
{
    int panels = (int)n_panels(p);
    int end = qn_split(panels, parts, part + 1);
    for (int s = 0; s < n_stretches(p); s++) {
        struct span span = span_of(p, s, at, count);
        size_t first = (size_t)(span.from - at) * (trans ? 1 : ldb);
        for (int i = qn_split(panels, parts, part);
             i < end && span.from < span.end; i++)
            fill_panel(p, &span, (size_t)i, b + first, ldb, trans);
    }
}

void qn_panels_take_rows(const struct qn_panels *p, float *rows, int at,
                         int count, const float *a, size_t lda, int m)
{
    for (int s = 0; s < n_stretches(p); s++) {
        struct span span = span_of(p, s, at, count);
        int from = stretch_from(p, s);
        if (span.from < span.end)
            p->kernels->pack_rows(rows + (size_t)from * (size_t)m,
                                  stretch_from(p, s + 1) - from,
                                  span.from - from, a + (span.from - at), lda,
                                  m, span.end - span.from);
    }
}

/* Rows of one stretch times all its panels. */
static void stretch_product(const struct qn_panels *p, int stretch,
                            struct qn_panel_product product)
{
    const struct qn_kernels *kernels = p->kernels;
    size_t width = kernels->panel;
    int from = stretch_from(p, stretch);
    product.panel = panel_at(p, stretch, 0);
    product.k = stretch_from(p, stretch + 1) - from;
    product.a += (size_t)from * (size_t)product.m;
    for (size_t left = (size_t)p->n; left > 0; left -= product.columns) {
        product.columns = left < width ? left : width;
        kernels->panel_product(&product);
        product.c += width;
        product.panel += (size_t)product.k * width;
        if (product.bias)
            product.bias += width;
    }
}

void qn_panels_product(const struct qn_panels *p, float *c, size_t ldc,
                       const float *rows, int m, const float *bias, bool add)
{
    QN_ASSERT(!(bias && add));
    for (int s = 0; s < n_stretches(p); s++) {
        struct qn_panel_product product = {.c = c,
                                           .a = rows,
                                           .bias = s == 0 ? bias : NULL,
                                           .ldc = ldc,
                                           .m = m,
                                           .add = add || s > 0};
        stretch_product(p, s, product);
    }
}
