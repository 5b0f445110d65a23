/* kernels.c - the vector loops, written for the compiler's vectoriser.
 *
 * Compiled once per instruction set with QN_KERNELS naming the table. Sums that
 * may be taken in any order, and loops whose steps the compiler cannot see to
 * be independent, say so with an omp simd pragma (no OpenMP runtime is
 * involved); everything else keeps IEEE arithmetic. */
#include "backend/cpu/kernels.h"
#include "backend/cpu/panel_loop.h"
#include "backend/cpu/vmath.h"
#include "base/rng.h"

#define NAME_OF(table) #table
#define NAME(table) NAME_OF(table)

static void add(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void sum(float *y, const float *a, const float *b, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void difference(float *y, const float *a, const float *b, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] - b[i];
}

static double square_sum(const float *x, size_t n)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void sigmoid(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = qn_vsigmoid(x[i]);
}

static void candidate_tanh(float *x, float alpha, size_t n)
{
    (void)alpha;
    for (size_t i = 0; i < n; i++)
        x[i] = qn_vtanh(x[i]);
}

/* NaN is not <= 0 and stays. */
static void candidate_relu(float *x, float alpha, size_t n)
{
    (void)alpha;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

static void candidate_elu(float *x, float alpha, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = qn_velu(x[i], alpha);
}

static inline float settled(float gradient)
{
    return fabsf(gradient) < QN_GRAD_LEAST ? 0.0f : gradient;
}

static void candidate_tanh_grad(float *restrict z, const float *restrict dz,
                                float sign, float alpha, size_t n)
{
    (void)alpha;
    for (size_t i = 0; i < n; i++)
        z[i] = settled(sign * dz[i] * (1.0f - z[i] * z[i]));
}

static void candidate_relu_grad(float *restrict z, const float *restrict dz,
                                float sign, float alpha, size_t n)
{
    (void)alpha;
    for (size_t i = 0; i < n; i++) {
        float through = settled(sign * dz[i]); /* as in dropped() below */
        z[i] = z[i] > 0.0f ? through : 0.0f;
    }
}

static void candidate_elu_grad(float *restrict z, const float *restrict dz,
                               float sign, float alpha, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float slope = z[i] > 0.0f ? 1.0f : z[i] + alpha;
        z[i] = settled(sign * dz[i] * slope);
    }
}

/* Inlined with 'pooling' and 'dual' constant, so that each use is one loop
 * without choices. The blocks of 'gates' are told apart by offset. */
static inline void cell_loop(float *restrict h, const struct qn_qrnn_cell *cell,
                             enum qn_pooling pooling, bool dual)
{
    const size_t n = cell->hidden;
    const size_t count = cell->count;
    const float *restrict z = cell->gates;
    const float *restrict f = z + (dual ? 2 * n : n);
    const float *restrict prev = cell->prev;
    float *restrict c = cell->c;
#pragma omp simd
    for (size_t j = 0; j < count; j++) {
        float zj = dual ? z[j] - z[n + j] : z[j];
        float enter = pooling == QN_POOL_IFO ? f[2 * n + j] : 1.0f - f[j];
        float cj = f[j] * prev[j] + enter * zj;
        cj = fabsf(cj) < QN_CELL_LEAST ? 0.0f : cj;
        c[j] = cj;
        h[j] = pooling == QN_POOL_F ? cj : f[n + j] * cj;
    }
}

static void cell(float *h, const struct qn_qrnn_cell *k)
{
    switch (k->pooling) {
    case QN_POOL_F:
        if (k->dual)
            cell_loop(h, k, QN_POOL_F, true);
        else
            cell_loop(h, k, QN_POOL_F, false);
        return;
    case QN_POOL_FO:
        if (k->dual)
            cell_loop(h, k, QN_POOL_FO, true);
        else
            cell_loop(h, k, QN_POOL_FO, false);
        return;
    case QN_POOL_IFO:
        if (k->dual)
            cell_loop(h, k, QN_POOL_IFO, true);
        else
            cell_loop(h, k, QN_POOL_IFO, false);
        return;
    }
}

static inline void cell_grad_loop(float *restrict dc, float *restrict dz,
                                  const float *restrict dh,
                                  const struct qn_qrnn_cell *cell,
                                  enum qn_pooling pooling, bool dual)
{
    const size_t n = cell->hidden;
    const size_t count = cell->count;
    const float *restrict z = cell->gates;
    float *restrict f = cell->gates + (dual ? 2 * n : n);
    const float *restrict prev = cell->prev;
    const float *restrict c = cell->c;
#pragma omp simd
    for (size_t j = 0; j < count; j++) {
        float zj = dual ? z[j] - z[n + j] : z[j];
        float fj = f[j];
        float g = dc[j];
        if (pooling == QN_POOL_F) {
            g += dh[j];
        } else {
            float oj = f[n + j];
            g += dh[j] * oj;
            f[n + j] = settled(dh[j] * c[j] * oj * (1.0f - oj));
        }
        g = settled(g);
        float df = g * (prev[j] - zj);
        float dzj = g * (1.0f - fj);
        if (pooling == QN_POOL_IFO) {
            float ij = f[2 * n + j];
            df = g * prev[j];
            dzj = g * ij;
            f[2 * n + j] = settled(g * zj * ij * (1.0f - ij));
        }
        f[j] = settled(df * fj * (1.0f - fj));
        dz[j] = dzj;
        dc[j] = g * fj;
    }
}

static void cell_grad(float *dc, float *dz, const float *dh,
                      const struct qn_qrnn_cell *k)
{
    switch (k->pooling) {
    case QN_POOL_F:
        if (k->dual)
            cell_grad_loop(dc, dz, dh, k, QN_POOL_F, true);
        else
            cell_grad_loop(dc, dz, dh, k, QN_POOL_F, false);
        return;
    case QN_POOL_FO:
        if (k->dual)
            cell_grad_loop(dc, dz, dh, k, QN_POOL_FO, true);
        else
            cell_grad_loop(dc, dz, dh, k, QN_POOL_FO, false);
        return;
    case QN_POOL_IFO:
        if (k->dual)
            cell_grad_loop(dc, dz, dh, k, QN_POOL_IFO, true);
        else
            cell_grad_loop(dc, dz, dh, k, QN_POOL_IFO, false);
        return;
    }
}

/* Units of one step: of each array n, of the gates' blocks, 'apart' floats from
 * each other, the first n. */
static inline void lstm_cell_loop(float *restrict h, float *restrict gates,
                                  size_t apart, const float *restrict prev,
                                  float *restrict c, size_t n)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        float i = qn_vsigmoid(gates[j]);
        float f = qn_vsigmoid(gates[apart + j]);
        float g = qn_vtanh(gates[2 * apart + j]);
        float o = qn_vsigmoid(gates[3 * apart + j]);
        float cj = f * prev[j] + i * g;
        gates[j] = i;
        gates[apart + j] = f;
        gates[2 * apart + j] = g;
        gates[3 * apart + j] = o;
        c[j] = cj;
        h[j] = o * qn_vtanh(cj);
    }
}

static inline void lstm_grad_loop(float *restrict dc, const float *restrict dh,
                                  float *restrict gates, size_t apart,
                                  const float *restrict prev,
                                  const float *restrict c, size_t n)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        float i = gates[j];
        float f = gates[apart + j];
        float g = gates[2 * apart + j];
        float o = gates[3 * apart + j];
        float y = qn_vtanh(c[j]);
        float d = settled(dc[j] + dh[j] * o * (1.0f - y * y));
        gates[j] = settled(d * g * i * (1.0f - i));
        gates[apart + j] = settled(d * prev[j] * f * (1.0f - f));
        gates[2 * apart + j] = settled(d * i * (1.0f - g * g));
        gates[3 * apart + j] = settled(dh[j] * y * o * (1.0f - o));
        dc[j] = d * f;
    }
}

/* Units that fill no vector would take as long each as a whole one. So the last
 * QN_LANES are made apart, from what they were before the loop over the others,
 * of which some are among them. */
static bool ends_apart(size_t n)
{
    return n > QN_LANES && n % QN_LANES > 0;
}

static void last_gates(float *to, const float *gates, size_t n)
{
    for (size_t k = 1; k <= 4; k++, to += QN_LANES)
        memcpy(to, gates + k * n - QN_LANES, QN_LANES * sizeof *to);
}

static void set_last_gates(float *gates, const float *from, size_t n)
{
    for (size_t k = 1; k <= 4; k++, from += QN_LANES)
        memcpy(gates + k * n - QN_LANES, from, QN_LANES * sizeof *from);
}

static void lstm_cell(float *h, const struct qn_lstm_cell *cell)
{
    const size_t n = cell->hidden;
    const size_t last = n - QN_LANES;
    float gates[4 * QN_LANES];
    float c[QN_LANES];
    float hs[QN_LANES];
    if (!ends_apart(n)) {
        lstm_cell_loop(h, cell->gates, n, cell->prev, cell->c, n);
        return;
    }
    last_gates(gates, cell->gates, n);
    lstm_cell_loop(hs, gates, QN_LANES, cell->prev + last, c, QN_LANES);
    lstm_cell_loop(h, cell->gates, n, cell->prev, cell->c, n - n % QN_LANES);
    set_last_gates(cell->gates, gates, n);
    memcpy(cell->c + last, c, sizeof c);
    memcpy(h + last, hs, sizeof hs);
}

static void lstm_cell_grad(float *dc, const float *dh,
                           const struct qn_lstm_cell *cell)
{
    const size_t n = cell->hidden;
    const size_t last = n - QN_LANES;
    float gates[4 * QN_LANES];
    float dcs[QN_LANES];
    if (!ends_apart(n)) {
        lstm_grad_loop(dc, dh, cell->gates, n, cell->prev, cell->c, n);
        return;
    }
    last_gates(gates, cell->gates, n);
    memcpy(dcs, dc + last, sizeof dcs);
    lstm_grad_loop(dcs, dh + last, gates, QN_LANES, cell->prev + last,
                   cell->c + last, QN_LANES);
    lstm_grad_loop(dc, dh, cell->gates, n, cell->prev, cell->c,
                   n - n % QN_LANES);
    set_last_gates(cell->gates, gates, n);
    memcpy(dc + last, dcs, sizeof dcs);
}

/* Element j of a row that is dropped or kept. Choosing after the product lets
 * the compiler load all of x: loads under a mask are several times as slow. */
static inline float dropped(float x, const struct qn_drop *d, int j)
{
    float kept = x * d->scale;
    uint32_t bits = qn_rng_bits(d->row, d->first + (uint32_t)j);
    return bits >= d->threshold ? kept : 0.0f;
}

/* Neither is restrict: x may be y, which a loop over equal indices allows. The
 * index is as wide as the bits that are made of it. */
static void drop(float *y, const float *x, const struct qn_drop *d, size_t n)
{
    const struct qn_drop k = *d;
    const int end = (int)n;
#pragma omp simd
    for (int j = 0; j < end; j++)
        y[j] = dropped(x[j], &k, j);
}

static void drop_add(float *restrict y, const float *restrict x,
                     const struct qn_drop *d, size_t n)
{
    const struct qn_drop k = *d;
    const int end = (int)n;
#pragma omp simd
    for (int j = 0; j < end; j++)
        y[j] += dropped(x[j], &k, j);
}

static void zoneout(float *f, const struct qn_drop *d, size_t n)
{
    const struct qn_drop k = *d;
    const int end = (int)n;
#pragma omp simd
    for (int j = 0; j < end; j++) {
        uint32_t bits = qn_rng_bits(k.row, k.first + (uint32_t)j);
        f[j] = bits >= k.threshold ? f[j] : 1.0f;
    }
}

static void zoneout_keep(float *restrict f, const float *restrict keep,
                         size_t n)
{
    for (size_t j = 0; j < n; j++)
        f[j] = keep[j] == 0.0f ? 1.0f : f[j];
}

/* Inlined with 'rows' constant, so that the inner loop is unrolled and the
 * outer one becomes vector code. */
static inline void moments_loop(double *restrict sum, double *restrict square,
                                const float *restrict x,
                                const float *restrict shift, size_t rows,
                                size_t n)
{
    for (size_t j = 0; j < n; j++) {
        float sum_j = 0.0f;
        float square_j = 0.0f;
        for (size_t r = 0; r < rows; r++) {
            float apart = x[r * n + j] - shift[j];
            sum_j += apart;
            square_j += apart * apart;
        }
        sum[j] += (double)sum_j;
        square[j] += (double)square_j;
    }
}

static void moments(double *sum, double *square, const float *x,
                    const float *shift, size_t rows, size_t n)
{
    enum { AT_ONCE = 8 };
    size_t r = 0;
    for (; r + AT_ONCE <= rows; r += AT_ONCE)
        moments_loop(sum, square, x + r * n, shift, AT_ONCE, n);
    for (; r < rows; r++)
        moments_loop(sum, square, x + r * n, shift, 1, n);
}

/* Neither is restrict: y may be a. */
static void norm(float *y, const float *a, const struct qn_norm_map *map,
                 size_t n)
{
    const struct qn_norm_map m = *map;
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        y[j] = (a[j] - m.mean[j]) * m.scale[j] + m.shift[j];
}

static void norm_sums(float *sum, float *dot, const float *dy, const float *a,
                      const struct qn_norm_map *map, size_t n)
{
    const struct qn_norm_map m = *map;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        sum[j] += dy[j];
        dot[j] += dy[j] * ((a[j] - m.mean[j]) * m.inverse[j]);
    }
}

static void norm_grad(float *dy, const float *a, const struct qn_norm_map *map,
                      size_t n)
{
    const struct qn_norm_map m = *map;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        float through = m.mean_dy[j] + (a[j] - m.mean[j]) * m.slope[j];
        dy[j] = m.scale[j] * (dy[j] - through);
    }
}

/* Sixteen maxima side by side: not every compiler reorders a single one. */
static float max(const float *x, size_t n)
{
    enum { LANES = 16 };
    float lane[LANES];
    for (size_t l = 0; l < LANES; l++)
        lane[l] = x[0];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
#pragma omp simd
        for (size_t l = 0; l < LANES; l++)
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    float m = lane[0];
    for (size_t l = 1; l < LANES; l++)
        m = lane[l] > m ? lane[l] : m;
    for (; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

static float exp_sum_part(float *y, const float *x, float max_x, size_t n)
{
    float sum = 0.0f;
    if (!y) {
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < n; i++)
            sum += qn_vexp(x[i] - max_x);
        return sum;
    }
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        float e = qn_vexp(x[i] - max_x);
        y[i] = e;
        sum += e;
    }
    return sum;
}

/* Float sums of at most 256, added in double: the rounding of a long sum must
 * not depend on how many lanes it was made in. */
static double exp_sum(float *y, const float *x, float max_x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i += 256) {
        size_t part = n - i < 256 ? n - i : 256;
        sum += (double)exp_sum_part(y ? y + i : NULL, x + i, max_x, part);
    }
    return sum;
}

static void scale(float *x, float factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void sgd(float *restrict w, const float *restrict g, float rate,
                size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] -= rate * g[i];
}

static void momentum(float *restrict w, const float *restrict g,
                     float *restrict m, const struct qn_momentum *a, size_t n)
{
    const struct qn_momentum k = *a;
    for (size_t i = 0; i < n; i++) {
        m[i] = k.momentum * m[i] + k.scale * g[i];
        w[i] -= k.lr * m[i];
    }
}

static void rmsprop(float *restrict w, const float *restrict g,
                    float *restrict v, const struct qn_rmsprop *a, size_t n)
{
    const struct qn_rmsprop k = *a;
    for (size_t i = 0; i < n; i++) {
        float grad = k.scale * g[i];
        v[i] = k.rho * v[i] + k.one_minus_rho * grad * grad;
        w[i] -= k.lr * grad / (sqrtf(v[i] + k.inside) + k.outside);
    }
}

static void adam(float *restrict w, const float *restrict g, float *restrict m,
                 float *restrict v, const struct qn_adam *a, size_t n)
{
    const struct qn_adam k = *a;
    for (size_t i = 0; i < n; i++) {
        float grad = k.scale * g[i];
        m[i] = k.beta1 * m[i] + k.one_minus_beta1 * grad;
        v[i] = k.beta2 * v[i] + k.one_minus_beta2 * grad * grad;
        float root = sqrtf(v[i] * k.correct2) + k.eps;
        w[i] -= k.lr * (m[i] * k.correct1) / root;
    }
}

const struct qn_kernels QN_KERNELS = {
    .name = NAME(QN_KERNELS_NAME),
    .panel = QN_PANEL,
    .turn = qn_turn,
    .pack_rows = qn_pack_rows,
    .panel_product = qn_panel_rows,
    .add = add,
    .sum = sum,
    .difference = difference,
    .square_sum = square_sum,
    .sigmoid = sigmoid,
    .candidate = {[QN_TANH] = candidate_tanh,
                  [QN_RELU] = candidate_relu,
                  [QN_ELU] = candidate_elu,
                  [QN_DRELU] = candidate_relu,
                  [QN_DELU] = candidate_elu},
    .candidate_grad = {[QN_TANH] = candidate_tanh_grad,
                       [QN_RELU] = candidate_relu_grad,
                       [QN_ELU] = candidate_elu_grad,
                       [QN_DRELU] = candidate_relu_grad,
                       [QN_DELU] = candidate_elu_grad},
    .cell = cell,
    .cell_grad = cell_grad,
    .lstm_cell = lstm_cell,
    .lstm_cell_grad = lstm_cell_grad,
    .drop = drop,
    .drop_add = drop_add,
    .zoneout = zoneout,
    .zoneout_keep = zoneout_keep,
    .moments = moments,
    .norm = norm,
    .norm_sums = norm_sums,
    .norm_grad = norm_grad,
    .max = max,
    .exp_sum = exp_sum,
    .scale = scale,
    .sgd = sgd,
    .momentum = momentum,
    .rmsprop = rmsprop,
    .adam = adam,
};
