/* norm.h - batch normalisation: the statistics of a segment, and the maps that
 * they make, both ways.
 *
 * A channel is one of the G*H pre-activations a; rows are [B, T, channels], of
 * which only the real ones are looked at.
 * Sums are taken slice by slice and added in slice order, all of them kept in
 * double. The variance is made of differences from the first row of the slice,
 * not of squares of a, and slices are merged by their means (Chan et al. 1979):
 * a channel whose mean is far larger than its deviation keeps a right variance,
 * and a constant one has exactly 0. */
#ifndef QN_BACKEND_CPU_NORM_H
#define QN_BACKEND_CPU_NORM_H

#include "backend/cpu/blocks.h"
#include "backend/cpu/cpu.h"

struct qn_norm_job {
    const struct qn_kernels *kernels;
    const struct qn_norm *norm;
    const struct qn_batch *split;
    size_t channels;
    double *sums;   /* [slices, 2, channels] */
    float *inverse; /* [channels] 1 / sqrt(var + QN_NORM_EPS) */
    float *scale;   /* [channels] gain * inverse */
    float *mean_dy; /* [channels] backward; 0 in evaluation */
    float *slope;   /* [channels] inverse * mean of dy xhat; likewise */
};

/* Floats of work for it. */
size_t qn_norm_work(int slices, size_t channels);
/* Set the arrays into the work, clear the sums. */
void qn_norm_open(struct qn_norm_job *job, float *work);

/* Training, forward: take the rows of a block of the slice into its sums, then,
 * after all of them, make mean and var (without any row these stay as they
 * are). raw must hold the slice's first row. */
void qn_norm_take_block(const struct qn_norm_job *job, int slice,
                        const struct qn_block *block);
void qn_norm_finish(const struct qn_norm_job *job);

/* Make the map of mean and var. */
void qn_norm_prepare(const struct qn_norm_job *job);
/* y = the normalised row, n channels of it from 'first' on; y may be a. */
void qn_norm_row(const struct qn_norm_job *job, float *y, const float *a,
                 size_t first, size_t n);

/* Backward, with the map made. sums [2, channels]: += dy and dy xhat, of n
 * channels from 'first' on. */
void qn_norm_row_sums(const struct qn_norm_job *job, float *sums,
                      const float *dy, const float *a, size_t first, size_t n);
/* Add the sums of some rows to those of the slice, of the same channels. */
void qn_norm_add_sums(const struct qn_norm_job *job, int slice,
                      const float *sums, size_t first, size_t n);
/* After all rows: add the gradients of gain and shift, and prepare that of a.
 */
void qn_norm_finish_grad(const struct qn_norm_job *job, float *d_gain,
                         float *d_shift);
/* dy becomes the gradient of a, for all real rows of the block. */
void qn_norm_block_grad(const struct qn_norm_job *job, float *dy,
                        const struct qn_block *block);

#endif
