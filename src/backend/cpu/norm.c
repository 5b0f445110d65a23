/* norm.c - statistics of channels and the maps made of them. */
#include "backend/cpu/norm.h"

#include <math.h>
#include <string.h>

size_t qn_norm_work(int slices, size_t channels)
{
    size_t doubles = (size_t)slices * 2 * qn_lines(channels);
    return doubles * (sizeof(double) / sizeof(float)) + 4 * qn_lines(channels);
}

void qn_norm_open(struct qn_norm_job *job, float *work)
{
    size_t each = qn_lines(job->channels);
    size_t doubles = (size_t)job->split->slices * 2 * each;
    job->inverse = work;
    job->scale = work + each;
    job->mean_dy = work + 2 * each;
    job->slope = work + 3 * each;
    job->sums = (double *)(void *)(work + 4 * each);
    memset(job->sums, 0, doubles * sizeof *job->sums);
}

/* Sums of a slice: first, then second at + channels. */
static double *sums_of(const struct qn_norm_job *job, int slice)
{
    return job->sums + (size_t)slice * 2 * qn_lines(job->channels);
}

/* Rows of a block lie one after the other. */
static size_t first_row(const struct qn_norm_job *job,
                        const struct qn_block *block)
{
    return (size_t)block->first * (size_t)job->split->steps +
           (size_t)block->from;
}

static const float *raw_rows(const struct qn_norm_job *job,
                             const struct qn_block *block)
{
    return qn_floats(job->norm->raw) + first_row(job, block) * job->channels;
}

/* The first real row of the slice; NULL when it has none. */
static const float *slice_row(const struct qn_norm_job *job, int slice)
{
    struct qn_block row = {0, 1, 0, 1};
    if (!qn_slice_first_row(job->split, slice, &row.first, &row.from))
        return NULL;
    return raw_rows(job, &row);
}

/* A block of rows that are all real; with several sequences, whole ones. */
static void take_rows(const struct qn_norm_job *job, int slice,
                      const struct qn_block *block)
{
    double *sums = sums_of(job, slice);
    job->kernels->moments(
        sums, sums + job->channels, raw_rows(job, block), slice_row(job, slice),
        (size_t)(block->sequences * block->steps), job->channels);
}

void qn_norm_take_block(const struct qn_norm_job *job, int slice,
                        const struct qn_block *block)
{
    const int *n_real = job->split->n_real;
    if (!qn_block_is_masked(block, n_real)) {
        take_rows(job, slice, block);
        return;
    }
    for (int b = block->first; b < block->first + block->sequences; b++) {
        struct qn_block one = {b, 1, block->from, block->steps};
        struct qn_block real = qn_block_clip(&one, n_real);
        if (real.steps > 0)
            take_rows(job, slice, &real);
    }
}

/* What some rows of one channel are like. */
struct moments {
    double count, mean, square; /* sum of squared differences from the mean */
};

/* 'shift' is what the sums are of differences from. */
static struct moments moments_of(double count, double shift, double sum,
                                 double square)
{
    double mean = sum / count;
    double rest = square - sum * mean;
    struct moments m = {count, shift + mean, rest < 0.0 ? 0.0 : rest};
    return m;
}

static struct moments merge(struct moments a, struct moments b)
{
    double count = a.count + b.count;
    double apart = b.mean - a.mean;
    struct moments m = {count, a.mean + apart * (b.count / count),
                        a.square + b.square +
                            apart * apart * (a.count * b.count / count)};
    return m;
}

static struct moments channel(const struct qn_norm_job *job, size_t j)
{
    struct moments all = {0};
    for (int s = 0; s < job->split->slices; s++) {
        int rows = qn_slice_rows(job->split, s);
        if (rows == 0)
            continue;
        const double *sums = sums_of(job, s);
        double shift = (double)slice_row(job, s)[j];
        all = merge(all,
                    moments_of(rows, shift, sums[j], sums[job->channels + j]));
    }
    return all;
}

/* Real rows of the segment. */
static int n_rows(const struct qn_norm_job *job)
{
    int rows = 0;
    for (int s = 0; s < job->split->slices; s++)
        rows += qn_slice_rows(job->split, s);
    return rows;
}

void qn_norm_finish(const struct qn_norm_job *job)
{
    float *mean = qn_floats(job->norm->mean);
    float *var = qn_floats(job->norm->var);
    if (n_rows(job) == 0)
        return;
    for (size_t j = 0; j < job->channels; j++) {
        struct moments m = channel(job, j);
        mean[j] = (float)m.mean;
        var[j] = (float)(m.square / m.count);
    }
}

void qn_norm_prepare(const struct qn_norm_job *job)
{
    const float *gain = qn_floats(job->norm->gain);
    const float *var = qn_floats(job->norm->var);
    for (size_t j = 0; j < job->channels; j++) {
        double inverse = 1.0 / sqrt((double)var[j] + QN_NORM_EPS);
        job->inverse[j] = (float)inverse;
        job->scale[j] = (float)((double)gain[j] * inverse);
    }
}

/* From channel 'first' on. */
static struct qn_norm_map map_of(const struct qn_norm_job *job, size_t first)
{
    struct qn_norm_map map = {.mean = qn_floats(job->norm->mean) + first,
                              .inverse = job->inverse + first,
                              .scale = job->scale + first,
                              .shift = qn_floats(job->norm->shift) + first,
                              .mean_dy = job->mean_dy + first,
                              .slope = job->slope + first};
    return map;
}

void qn_norm_row(const struct qn_norm_job *job, float *y, const float *a,
                 size_t first, size_t n)
{
    struct qn_norm_map map = map_of(job, first);
    job->kernels->norm(y + first, a + first, &map, n);
}

void qn_norm_row_sums(const struct qn_norm_job *job, float *sums,
                      const float *dy, const float *a, size_t first, size_t n)
{
    struct qn_norm_map map = map_of(job, first);
    job->kernels->norm_sums(sums + first, sums + job->channels + first,
                            dy + first, a + first, &map, n);
}

void qn_norm_add_sums(const struct qn_norm_job *job, int slice,
                      const float *sums, size_t first, size_t n)
{
    double *to = sums_of(job, slice);
    for (size_t j = first; j < first + n; j++) {
        to[j] += (double)sums[j];
        to[job->channels + j] += (double)sums[job->channels + j];
    }
}

/* In evaluation mean and var are constants, and nothing goes back through them.
 * Nor does anything when no row is real. */
void qn_norm_finish_grad(const struct qn_norm_job *job, float *d_gain,
                         float *d_shift)
{
    size_t n = job->channels;
    int rows = n_rows(job);
    double share = job->norm->batch && rows > 0 ? 1.0 / (double)rows : 0.0;
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        double dot = 0.0;
        for (int s = 0; s < job->split->slices; s++) {
            sum += sums_of(job, s)[j];
            dot += sums_of(job, s)[n + j];
        }
        d_shift[j] = (float)((double)d_shift[j] + sum);
        d_gain[j] = (float)((double)d_gain[j] + dot);
        job->mean_dy[j] = (float)(share * sum);
        job->slope[j] = (float)(share * dot * (double)job->inverse[j]);
    }
}

void qn_norm_block_grad(const struct qn_norm_job *job, float *dy,
                        const struct qn_block *block)
{
    struct qn_norm_map map = map_of(job, 0);
    size_t n = job->channels;
    for (int b = block->first; b < block->first + block->sequences; b++) {
        int real = qn_block_real(block, job->split->n_real, b);
        for (int i = 0; i < real; i++) {
            struct qn_block row = {b, 1, block->from + i, 1};
            job->kernels->norm_grad(dy + first_row(job, &row) * n,
                                    raw_rows(job, &row), &map, n);
        }
    }
}
