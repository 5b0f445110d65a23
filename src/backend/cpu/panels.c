/* panels.c - packing a matrix, and walking over its panels. */
#include "backend/cpu/panels.h"

#include "backend/private.h"

#include <string.h>

/* The most rows of a stretch: a panel of it (256 x 16 or 32 floats) stays in
 * the first-level cache while all rows of A pass over it. */
#define STRETCH 256

static size_t n_panels(const struct qn_panels *p)
{
    size_t width = p->kernels->panel;
    return ((size_t)p->n + width - 1) / width;
}

static int n_stretches(const struct qn_panels *p)
{
    return (p->k + STRETCH - 1) / STRETCH;
}

size_t qn_panels_size(const struct qn_panels *p)
{
    return (size_t)p->k * n_panels(p) * p->kernels->panel;
}

/* A panel of a stretch. */
struct panel {
    float *data; /* [end - from, width] */
    int from, end;
    size_t column, columns; /* the first, and how many are not padding */
};

static struct panel panel_at(const struct qn_panels *p, int stretch, size_t i)
{
    size_t width = p->kernels->panel;
    int from = qn_split(p->k, n_stretches(p), stretch);
    int end = qn_split(p->k, n_stretches(p), stretch + 1);
    size_t left = (size_t)p->n - i * width;
    struct panel panel = {
        .data = p->data + (size_t)from * n_panels(p) * width +
                i * (size_t)(end - from) * width,
        .from = from,
        .end = end,
        .column = i * width,
        .columns = left < width ? left : width,
    };
    return panel;
}

static void pad(const struct panel *to, size_t width)
{
    size_t rows = (size_t)(to->end - to->from);
    for (size_t i = 0; to->columns < width && i < rows; i++)
        memset(to->data + i * width + to->columns, 0,
               (width - to->columns) * sizeof *to->data);
}

static void copy_rows(const struct panel *to, size_t width, const float *b,
                      size_t ldb)
{
    for (int i = to->from; i < to->end; i++)
        memcpy(to->data + (size_t)(i - to->from) * width,
               b + (size_t)i * ldb + to->column, to->columns * sizeof *b);
}

void qn_panels_fill(const struct qn_panels *p, const float *b, size_t ldb,
                    bool trans, int part, int parts)
{
    size_t width = p->kernels->panel;
    int panels = (int)n_panels(p);
    int all = n_stretches(p) * panels;
    int end = qn_split(all, parts, part + 1);
    for (int i = qn_split(all, parts, part); i < end; i++) {
        struct panel to = panel_at(p, i / panels, (size_t)(i % panels));
        pad(&to, width);
        if (trans)
            p->kernels->turn(to.data, width, b + to.column * ldb + to.from, ldb,
                             to.columns, (size_t)(to.end - to.from));
        else
            copy_rows(&to, width, b, ldb);
    }
}

void qn_panels_take_rows(const struct qn_panels *p, float *rows, const float *a,
                         size_t lda, int m)
{
    for (int s = 0; s < n_stretches(p); s++) {
        int from = qn_split(p->k, n_stretches(p), s);
        int end = qn_split(p->k, n_stretches(p), s + 1);
        p->kernels->pack_rows(rows + (size_t)from * (size_t)m, a + from, lda, m,
                              end - from);
    }
}

/* Rows of one stretch times all its panels. */
static void stretch_product(const struct qn_panels *p, int stretch,
                            struct qn_panel_product product)
{
    const struct qn_kernels *kernels = p->kernels;
    struct panel first = panel_at(p, stretch, 0);
    size_t width = kernels->panel;
    product.panel = first.data;
    product.k = first.end - first.from;
    product.a += (size_t)first.from * (size_t)product.m;
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
