/* kernels.h - the vector loops of the cpu backend, one table per instruction
 * set.
 *
 * kernels.c is compiled once for each set; qn_kernels_best picks a table when a
 * backend is made. Arrays may be of any length and alignment, and do not
 * overlap unless they are the same.
 *
 * Largest errors, checked by a sweep in tests/backend/kernels.c, in units in
 * the last place: exp 1.5, sigmoid 3, tanh 3, elu 1.5 (at alpha 1). NaN stays
 * NaN, infinities give the limits, denormal numbers are kept but for cell
 * states and their gradients (QN_CELL_LEAST, QN_GRAD_LEAST in backend.h). */
#ifndef QN_BACKEND_CPU_KERNELS_H
#define QN_BACKEND_CPU_KERNELS_H

#include "backend/backend.h"

/* One step of one sequence, or of some of its units: 'count' elements of each
 * array, and of each block of activated gates, blocks 'hidden' apart. */
struct qn_qrnn_cell {
    enum qn_pooling pooling;
    bool dual; /* two candidate blocks */
    size_t hidden, count;
    float *gates;
    const float *prev; /* c[t-1] */
    float *c;
};

/* One step of one sequence of an LSTM. gates [4H]: blocks i, f, g, o. */
struct qn_lstm_cell {
    size_t hidden;
    float *gates;
    const float *prev; /* c[t-1] */
    float *c;
};

/* Dropout of one row, from element first on. */
struct qn_drop {
    uint32_t row, first, threshold;
    float scale;
};

/* Batch normalisation, by channel; xhat = (a - mean) inverse. */
struct qn_norm_map {
    const float *mean, *inverse;
    const float *scale, *shift;   /* forward: y = (a - mean) scale + shift */
    const float *mean_dy, *slope; /* backward: of dy, and of dy xhat times
                                     inverse */
};

struct qn_momentum {
    float scale; /* of the gradient: clipping */
    float momentum, lr;
};

struct qn_rmsprop {
    float scale;
    float rho, one_minus_rho;
    float inside, outside; /* eps in the root and behind it: one of them is 0 */
    float lr;
};

struct qn_adam {
    float scale;
    float beta1, one_minus_beta1, beta2, one_minus_beta2;
    float correct1, correct2; /* 1 / (1 - beta^t) */
    float lr, eps;
};

/* Rows of A, in the order of pack_rows, times one panel of a packed matrix
 * (panels.h). */
struct qn_panel_product {
    float *c;           /* [m, columns at ldc] */
    const float *a;     /* m k floats */
    const float *panel; /* [k, kernels->panel] */
    const float *bias;  /* [columns], to every row; NULL: none */
    size_t ldc;
    int m, k;
    size_t columns; /* at most kernels->panel */
    bool add;       /* to C; else written */
};

struct qn_kernels {
    const char *name;

    size_t panel; /* columns of a panel */
    /* A [rows, columns at lda], turned: row i of 'to', whose rows are 'pitch'
     * apart, is column i. */
    void (*turn)(float *to, size_t pitch, const float *a, size_t lda,
                 size_t rows, size_t columns);
    /* Rows of A [m, all], of which 'a' has columns [at, at + k): some rows,
     * column by column, then the next ones. */
    void (*pack_rows)(float *to, int all, int at, const float *a, size_t lda,
                      int m, int k);
    void (*panel_product)(const struct qn_panel_product *p);

    /* y += x; y = a + b and y = a - b, where y may be a; the sum of squares in
     * double */
    void (*add)(float *y, const float *x, size_t n);
    void (*sum)(float *y, const float *a, const float *b, size_t n);
    void (*difference)(float *y, const float *a, const float *b, size_t n);
    double (*square_sum)(const float *x, size_t n);

    /* x = activation(x), with candidates by enum qn_activation (the dual ones
     * treat each of their blocks alike). */
    void (*sigmoid)(float *x, size_t n);
    void (*candidate[5])(float *x, float alpha, size_t n);
    /* z, an activated block, becomes sign * dz * slope of the activation. */
    void (*candidate_grad[5])(float *z, const float *dz, float sign,
                              float alpha, size_t n);

    /* c[t] and h[t] from the gates. h may be any array but c. */
    void (*cell)(float *h, const struct qn_qrnn_cell *cell);
    /* gates: f, o, i become gradients of their pre-activations. dz: the
     * gradient of z. dc: in from t+1, out for t-1. dh: of h[t]. */
    void (*cell_grad)(float *dc, float *dz, const float *dh,
                      const struct qn_qrnn_cell *cell);

    /* gates: activated in place. c[t], and h[t] = o tanh(c[t]). */
    void (*lstm_cell)(float *h, const struct qn_lstm_cell *cell);
    /* gates: become gradients of their pre-activations. dc [H]: in from t+1,
     * out for t-1. dh [H]: of h[t]. */
    void (*lstm_cell_grad)(float *dc, const float *dh,
                           const struct qn_lstm_cell *cell);

    /* y = x where the row's bits for element first + j are >= threshold, times
     * scale; else 0. x may be y. */
    void (*drop)(float *y, const float *x, const struct qn_drop *drop,
                 size_t n);
    /* y += the same */
    void (*drop_add)(float *y, const float *x, const struct qn_drop *drop,
                     size_t n);

    /* f = 1 where drop() would give 0, or where keep is 0; else f stays. */
    void (*zoneout)(float *f, const struct qn_drop *drop, size_t n);
    void (*zoneout_keep)(float *f, const float *keep, size_t n);

    /* x [rows, n]: sum += x - shift, square += (x - shift)^2, by column. Float
     * sums of at most 8 rows, added in double. */
    void (*moments)(double *sum, double *square, const float *x,
                    const float *shift, size_t rows, size_t n);
    /* y = (a - mean) scale + shift; y may be a. */
    void (*norm)(float *y, const float *a, const struct qn_norm_map *map,
                 size_t n);
    /* sum += dy, dot += dy xhat */
    void (*norm_sums)(float *sum, float *dot, const float *dy, const float *a,
                      const struct qn_norm_map *map, size_t n);
    /* dy = scale (dy - mean_dy - (a - mean) slope) */
    void (*norm_grad)(float *dy, const float *a, const struct qn_norm_map *map,
                      size_t n);

    float (*max)(const float *x, size_t n); /* n >= 1; NaN do not count */
    /* y = exp(x - max); returns the sum. y may be x, or NULL: only the sum. */
    double (*exp_sum)(float *y, const float *x, float max, size_t n);
    void (*scale)(float *x, float factor, size_t n);

    void (*sgd)(float *w, const float *g, float rate, size_t n);
    void (*momentum)(float *w, const float *g, float *m,
                     const struct qn_momentum *a, size_t n);
    void (*rmsprop)(float *w, const float *g, float *v,
                    const struct qn_rmsprop *a, size_t n);
    void (*adam)(float *w, const float *g, float *m, float *v,
                 const struct qn_adam *a, size_t n);
};

/* The tables; the last two exist on x86 only. */
extern const struct qn_kernels qn_kernels_base;
extern const struct qn_kernels qn_kernels_avx2;
extern const struct qn_kernels qn_kernels_avx512;

/* The fastest table that this processor runs. */
const struct qn_kernels *qn_kernels_best(void);
/* Table i of those that this processor runs, slowest first; NULL past the last.
 */
const struct qn_kernels *qn_kernels_at(int i);

#endif
