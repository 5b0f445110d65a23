/* panel_loop.h - some rows times one panel, for whatever vectors the including
 * file is compiled for.
 *
 * A tile of rows x panel of C stays in registers while k runs: six rows of two
 * vectors are twelve of sixteen registers (AVX2, SSE), twelve rows 24 of 32
 * (AVX-512). The vectors are the compiler's own, so one text serves all. */
#ifndef QN_BACKEND_CPU_PANEL_LOOP_H
#define QN_BACKEND_CPU_PANEL_LOOP_H

#include "backend/cpu/kernels.h"

#include <stdint.h>

#if defined(__AVX512F__)
enum { QN_LANES = 16, QN_TILE_ROWS = 12 };
#elif defined(__AVX__)
enum { QN_LANES = 8, QN_TILE_ROWS = 6 };
#else
enum { QN_LANES = 4, QN_TILE_ROWS = 6 };
#endif
enum { QN_PANEL = 2 * QN_LANES };

/* The next loop, of at most QN_TILE_ROWS rounds, as straight code. */
#define QN_UNROLL _Pragma("GCC unroll 12")

/* Any address will do; and floats may be looked at through it. */
typedef float qn_lanes __attribute__((vector_size(QN_LANES * sizeof(float)),
                                      aligned(sizeof(float)), may_alias));

/* One k of a tile: of A one element of each row, of B a row of the panel. */
__attribute__((always_inline)) static inline void
qn_tile_step(qn_lanes *left, qn_lanes *right, const float *a, const float *b,
             const int rows)
{
    qn_lanes b_left = *(const qn_lanes *)b;
    qn_lanes b_right = *(const qn_lanes *)(b + QN_LANES);
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        left[r] += a[r] * b_left;
        right[r] += a[r] * b_right;
    }
}

/* Inlined with 'rows' constant and its loops over rows unrolled, so that the
 * tile is registers: a loop leaves it an array in memory, which gcc clears and
 * reads back there. Four k in one round, of rows side by side, need the fewest
 * instructions. Rows of C, far apart, are asked for before k runs. */
__attribute__((always_inline)) static inline void
qn_tile(const struct qn_panel_product *p, const int rows)
{
    const float *restrict a = p->a;
    const float *restrict b = p->panel;
    qn_lanes left[QN_TILE_ROWS];
    qn_lanes right[QN_TILE_ROWS];
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        const float *c = p->c + (size_t)r * p->ldc;
        left[r] = right[r] = (qn_lanes){0};
        __builtin_prefetch(c, 1);
        __builtin_prefetch(c + QN_PANEL - 1, 1);
    }
    int i = 0;
    for (; i + 4 <= p->k; i += 4, a += 4 * rows, b += 4 * QN_PANEL) {
        qn_tile_step(left, right, a, b, rows);
        qn_tile_step(left, right, a + rows, b + QN_PANEL, rows);
        qn_tile_step(left, right, a + 2 * rows, b + 2 * QN_PANEL, rows);
        qn_tile_step(left, right, a + 3 * rows, b + 3 * QN_PANEL, rows);
    }
    for (; i < p->k; i++, a += rows, b += QN_PANEL)
        qn_tile_step(left, right, a, b, rows);
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        qn_lanes *c_left = (qn_lanes *)(p->c + (size_t)r * p->ldc);
        qn_lanes *c_right = (qn_lanes *)(p->c + (size_t)r * p->ldc + QN_LANES);
        if (p->add) {
            left[r] += *c_left;
            right[r] += *c_right;
        }
        *c_left = left[r];
        *c_right = right[r];
    }
}

#define QN_TILE_OF(n)                                                          \
    case n:                                                                    \
        qn_tile(p, n);                                                         \
        return

/* At most QN_TILE_ROWS. */
static void qn_tile_rows(const struct qn_panel_product *p)
{
    switch (p->m) {
#if defined(__AVX512F__)
        QN_TILE_OF(12);
        QN_TILE_OF(11);
        QN_TILE_OF(10);
        QN_TILE_OF(9);
        QN_TILE_OF(8);
        QN_TILE_OF(7);
#endif
        QN_TILE_OF(6);
        QN_TILE_OF(5);
        QN_TILE_OF(4);
        QN_TILE_OF(3);
        QN_TILE_OF(2);
        QN_TILE_OF(1);
    }
}

/* The last panel: its padding has no place in C. */
static void qn_tile_narrow(const struct qn_panel_product *p)
{
    float apart[QN_TILE_ROWS * QN_PANEL];
    struct qn_panel_product whole = *p;
    whole.c = apart;
    whole.ldc = QN_PANEL;
    whole.add = false;
    qn_tile_rows(&whole);
    for (size_t r = 0; r < (size_t)p->m; r++)
        for (size_t j = 0; j < p->columns; j++) {
            float *c = p->c + r * p->ldc + j;
            *c = apart[r * QN_PANEL + j] + (p->add ? *c : 0.0f);
        }
}

/* Tiles of about equal height: a low one pays as much for reading the panel. */
static int qn_n_tiles(int m)
{
    return (m + QN_TILE_ROWS - 1) / QN_TILE_ROWS;
}

/* The first row of a tile, or the end of the one before. */
static int qn_tile_first(int m, int tile)
{
    return (int)((int64_t)m * tile / qn_n_tiles(m));
}

static void qn_pack_rows(float *to, const float *a, size_t lda, int m, int k)
{
    for (int t = 0; t < qn_n_tiles(m); t++) {
        const float *from = a + (size_t)qn_tile_first(m, t) * lda;
        size_t rows = (size_t)(qn_tile_first(m, t + 1) - qn_tile_first(m, t));
        for (size_t i = 0; i < (size_t)k; i++, to += rows)
            for (size_t r = 0; r < rows; r++)
                to[r] = from[r * lda + i];
    }
}

static void qn_panel_rows(const struct qn_panel_product *p)
{
    for (int t = 0; t < qn_n_tiles(p->m); t++) {
        int first = qn_tile_first(p->m, t);
        struct qn_panel_product tile = *p;
        tile.m = qn_tile_first(p->m, t + 1) - first;
        tile.a = p->a + (size_t)first * (size_t)p->k;
        tile.c = p->c + (size_t)first * p->ldc;
        if (p->columns < QN_PANEL)
            qn_tile_narrow(&tile);
        else
            qn_tile_rows(&tile);
    }
}

#endif
