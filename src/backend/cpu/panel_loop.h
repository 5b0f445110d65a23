/* panel_loop.h - some rows times one panel, for whatever vectors the including
 * file is compiled for.
 *
 * A tile of rows x panel of C stays in registers while k runs: six rows of two
 * vectors are twelve of sixteen registers (AVX2, SSE), fourteen rows 28 of 32
 * (AVX-512). The vectors are the compiler's own, so one text serves all. */
#ifndef QN_BACKEND_CPU_PANEL_LOOP_H
#define QN_BACKEND_CPU_PANEL_LOOP_H

#include "backend/cpu/kernels.h"

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
enum { QN_LANES = 16, QN_TILE_ROWS = 14 };
#elif defined(__AVX__)
enum { QN_LANES = 8, QN_TILE_ROWS = 6 };
#else
enum { QN_LANES = 4, QN_TILE_ROWS = 6 };
#endif
enum { QN_PANEL = 2 * QN_LANES, QN_LINE = 16 };

/* The next loop, of at most QN_TILE_ROWS rounds, as straight code. */
#define QN_UNROLL _Pragma("GCC unroll 14")

/* Any address will do; and floats may be looked at through it. */
#define QN_VECTOR(n)                                                           \
    __attribute__((vector_size((n) * sizeof(float)), aligned(sizeof(float)),   \
                   may_alias))
typedef float qn_lanes QN_VECTOR(QN_LANES);
typedef float qn_four QN_VECTOR(4);

/* One k of a tile: of A one element of each row, of B a row of the panel. */
__attribute__((always_inline)) static inline void
qn_tile_step(qn_lanes *left, qn_lanes *right, const float *a, const float *b,
             const int rows, const bool narrow)
{
    qn_lanes b_left = *(const qn_lanes *)b;
    qn_lanes b_right = *(const qn_lanes *)(b + QN_LANES);
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        left[r] += a[r] * b_left;
        if (!narrow)
            right[r] += a[r] * b_right;
    }
}

__attribute__((always_inline)) static inline void
qn_tile_store(const struct qn_panel_product *p, qn_lanes *x, const int rows,
              size_t column)
{
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        qn_lanes *c = (qn_lanes *)(p->c + (size_t)r * p->ldc + column);
        if (p->add)
            x[r] += *c;
        *c = x[r];
    }
}

/* A narrow tile is of the panel's left half alone. Inlined with 'rows' and
 * 'narrow' constant and its loops over rows unrolled, so that the tile is
 * registers: a loop leaves it an array in memory, which gcc clears and reads
 * back there. Four k in one round, of rows side by side, need the fewest
 * instructions. Rows of C, far apart, are asked for before k runs. */
__attribute__((always_inline)) static inline void
qn_tile(const struct qn_panel_product *p, const int rows, const bool narrow)
{
    const float *restrict a = p->a;
    const float *restrict b = p->panel;
    qn_lanes left[QN_TILE_ROWS];
    qn_lanes right[QN_TILE_ROWS];
    qn_lanes zero = {0};
    qn_lanes bias_left = p->bias ? *(const qn_lanes *)p->bias : zero;
    qn_lanes bias_right =
        p->bias && !narrow ? *(const qn_lanes *)(p->bias + QN_LANES) : zero;
    QN_UNROLL
    for (int r = 0; r < rows; r++) {
        const float *c = p->c + (size_t)r * p->ldc;
        left[r] = bias_left;
        right[r] = bias_right;
        QN_UNROLL
        for (int j = 0; j < QN_PANEL; j += QN_LINE)
            __builtin_prefetch(c + j, 1);
        __builtin_prefetch(c + QN_PANEL - 1, 1);
    }
    int i = 0;
    for (; i + 4 <= p->k; i += 4, a += 4 * rows, b += 4 * QN_PANEL) {
        qn_tile_step(left, right, a, b, rows, narrow);
        qn_tile_step(left, right, a + rows, b + QN_PANEL, rows, narrow);
        qn_tile_step(left, right, a + 2 * rows, b + 2 * QN_PANEL, rows, narrow);
        qn_tile_step(left, right, a + 3 * rows, b + 3 * QN_PANEL, rows, narrow);
    }
    for (; i < p->k; i++, a += rows, b += QN_PANEL)
        qn_tile_step(left, right, a, b, rows, narrow);
    qn_tile_store(p, left, rows, 0);
    if (!narrow)
        qn_tile_store(p, right, rows, QN_LANES);
}

#define QN_TILE_OF(n)                                                          \
    case n:                                                                    \
        qn_tile(p, n, narrow);                                                 \
        return

/* At most QN_TILE_ROWS. */
__attribute__((always_inline)) static inline void
qn_tile_of_height(const struct qn_panel_product *p, const bool narrow)
{
    switch (p->m) {
#if defined(__AVX512F__)
        QN_TILE_OF(14);
        QN_TILE_OF(13);
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

static void qn_tile_whole(const struct qn_panel_product *p)
{
    qn_tile_of_height(p, false);
}

static void qn_tile_left(const struct qn_panel_product *p)
{
    qn_tile_of_height(p, true);
}

/* The last panel: its padding has no place in C. */
static void qn_tile_narrow(const struct qn_panel_product *p)
{
    float apart[QN_TILE_ROWS * QN_PANEL];
    float bias[QN_PANEL] = {0};
    struct qn_panel_product whole = *p;
    whole.c = apart;
    whole.ldc = QN_PANEL;
    whole.add = false;
    if (p->bias)
        memcpy(bias, p->bias, p->columns * sizeof *bias);
    whole.bias = p->bias ? bias : NULL;
    if (p->columns <= QN_LANES)
        qn_tile_left(&whole);
    else
        qn_tile_whole(&whole);
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

/* Four rows by four columns of A, turned. */
static inline void qn_turn_four(float *to, size_t pitch, const float *a,
                                size_t lda)
{
    qn_four r0 = *(const qn_four *)a;
    qn_four r1 = *(const qn_four *)(a + lda);
    qn_four r2 = *(const qn_four *)(a + 2 * lda);
    qn_four r3 = *(const qn_four *)(a + 3 * lda);
    qn_four low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
    qn_four high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    qn_four low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    qn_four high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(qn_four *)to = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    to += pitch;
    *(qn_four *)to = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    to += pitch;
    *(qn_four *)to = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    to += pitch;
    *(qn_four *)to = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/* Of rows and columns that four does not divide, the last four are taken, some
 * for the second time. */
static void qn_turn(float *to, size_t pitch, const float *a, size_t lda,
                    size_t rows, size_t columns)
{
    if (rows < 4 || columns < 4) {
        for (size_t i = 0; i < columns; i++)
            for (size_t r = 0; r < rows; r++)
                to[i * pitch + r] = a[r * lda + i];
        return;
    }
    for (size_t i = 0; i < columns; i += 4) {
        size_t column = i + 4 <= columns ? i : columns - 4;
        for (size_t r = 0; r < rows; r += 4) {
            size_t row = r + 4 <= rows ? r : rows - 4;
            qn_turn_four(to + column * pitch + row, pitch,
                         a + row * lda + column, lda);
        }
    }
}

static void qn_pack_rows(float *to, int all, int at, const float *a, size_t lda,
                         int m, int k)
{
    for (int t = 0; t < qn_n_tiles(m); t++) {
        size_t first = (size_t)qn_tile_first(m, t);
        size_t rows = (size_t)qn_tile_first(m, t + 1) - first;
        qn_turn(to + first * (size_t)all + rows * (size_t)at, rows,
                a + first * lda, lda, rows, (size_t)k);
    }
}

static void qn_panel_rows(const struct qn_panel_product *p)
{
    struct qn_panel_product tile = *p;
    int tiles = qn_n_tiles(p->m);
    int first = 0;
    for (int t = 1; t <= tiles; t++) {
        int end = t < tiles ? qn_tile_first(p->m, t) : p->m;
        tile.m = end - first;
        if (p->columns < QN_PANEL)
            qn_tile_narrow(&tile);
        else
            qn_tile_whole(&tile);
        tile.a += (size_t)tile.m * (size_t)p->k;
        tile.c += (size_t)tile.m * p->ldc;
        first = end;
    }
}

#endif
