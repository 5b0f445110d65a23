/* ref_qrnn.h - what both ways of the reference backend's QRNN layer share.
 *
 * Blocks of a row of 'saved' [G*H] are found by number: candidates first, then
 * f, o, i. */
#ifndef QN_BACKEND_REF_QRNN_H
#define QN_BACKEND_REF_QRNN_H

#include "backend/ref.h"
#include "backend/ref_norm.h"

/* The layer with its pointers taken out. */
struct qn_ref_layer {
    const struct qn_qrnn *l;
    size_t hidden, in, window, outputs; /* H, D, n, G*H */
    int candidates;
    const float *weight, *c0;
    const float *bias;               /* NULL with norm */
    struct qn_ref_channel *channels; /* [G*H], owned; NULL without norm */
    const float *keep;               /* zoneout_keep or NULL */
    float *cells, *saved;
    struct qn_mask mask, zoneout;
};

/* The channels are left to the forward way. */
struct qn_ref_layer qn_ref_open(const struct qn_qrnn *l);

/* The products of output g at all real rows, one after the other. */
void qn_ref_product_column(const struct qn_ref_layer *r, double *column,
                           size_t g);
/* How many those are. */
size_t qn_ref_n_rows(const struct qn_ref_layer *r);

/* Row (b, t) of the B*T. */
static inline size_t qn_ref_row_index(const struct qn_ref_layer *r, int b,
                                      int t)
{
    return (size_t)b * (size_t)r->l->x.steps + (size_t)t;
}

/* Rows of sequence b before its end. */
static inline int qn_ref_real(const struct qn_ref_layer *r, int b)
{
    return qn_real_steps(r->l->n_real, b, r->l->x.steps);
}

static inline float *qn_ref_saved_row(const struct qn_ref_layer *r, int b,
                                      int t)
{
    return r->saved + qn_ref_row_index(r, b, t) * r->outputs;
}

static inline float *qn_ref_cells_row(const struct qn_ref_layer *r, int b,
                                      int t)
{
    return r->cells + qn_ref_row_index(r, b, t) * r->hidden;
}

/* The row of the bias for step t. */
static inline int qn_ref_bias_row(const struct qn_ref_layer *r, int t)
{
    return (r->l->bias_first + t) % r->l->bias_steps;
}

#endif
