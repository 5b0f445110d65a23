/* partials.c - adding up the slices' gradients, in parallel over columns. */
#include "backend/cpu/partials.h"

#include <string.h>

/* Columns that one task adds up: the sum stays in a first-level cache. */
#define COLUMNS ((size_t)4096)

size_t qn_partials_work(const struct qn_partials *p)
{
    return (size_t)(p->slices - 1) * qn_lines(p->n_weight) +
           (size_t)p->slices * qn_lines(p->n_bias);
}

void qn_partials_open(struct qn_partials *p, float *work)
{
    p->weights = work;
    p->biases = work + (size_t)(p->slices - 1) * qn_lines(p->n_weight);
    memset(p->biases, 0,
           (size_t)p->slices * qn_lines(p->n_bias) * sizeof *p->biases);
}

float *qn_partials_weight(const struct qn_partials *p, int slice, int i,
                          float *beta)
{
    *beta = slice == 0 || i > 0 ? 1.0f : 0.0f;
    if (slice == 0)
        return p->d_weight;
    return p->weights + (size_t)(slice - 1) * qn_lines(p->n_weight);
}

float *qn_partials_bias(const struct qn_partials *p, int part)
{
    return p->biases + (size_t)part * qn_lines(p->n_bias);
}

/* The parts of one of the two, to be added to its sum. */
struct add_job {
    const struct qn_kernels *kernels;
    float *sum;         /* [n] */
    const float *parts; /* [slices - first_slice, n] */
    size_t n;
    int first_slice, slices;
    const struct qn_batch *batch; /* skip slices without a block; NULL: none */
};

static void add_task(void *arg, int task)
{
    const struct add_job *job = arg;
    size_t from = (size_t)task * COLUMNS;
    size_t n = job->n - from < COLUMNS ? job->n - from : COLUMNS;
    for (int s = job->first_slice; s < job->slices; s++) {
        if (job->batch && qn_n_blocks(job->batch, s) == 0)
            continue;
        const float *part =
            job->parts + (size_t)(s - job->first_slice) * qn_lines(job->n);
        job->kernels->add(job->sum + from, part + from, n);
    }
}

static void add_parts(struct qn_cpu *cpu, struct add_job *job)
{
    int tasks = (int)((job->n + COLUMNS - 1) / COLUMNS);
    if (tasks > 0 && job->slices > job->first_slice)
        qn_pool_run(cpu->host.pool, tasks, add_task, job);
}

void qn_partials_add(struct qn_cpu *cpu, const struct qn_partials *p,
                     const struct qn_batch *batch)
{
    struct add_job weights = {.kernels = cpu->kernels,
                              .sum = p->d_weight,
                              .parts = p->weights,
                              .n = p->n_weight,
                              .first_slice = 1,
                              .slices = p->slices,
                              .batch = batch};
    struct add_job biases = {.kernels = cpu->kernels,
                             .sum = p->d_bias,
                             .parts = p->biases,
                             .n = p->n_bias,
                             .slices = p->slices};
    add_parts(cpu, &weights);
    add_parts(cpu, &biases);
}
