/* partials.c - adding up the slices' gradients, in parallel over columns. */
#include "backend/cpu/partials.h"

#include <string.h>

/* Columns that one task adds up: the sum stays in a first-level cache. */
#define COLUMNS ((size_t)4096)

size_t qn_partials_work(int slices, size_t n_weight, size_t n_bias)
{
    return (size_t)(slices - 1) * qn_lines(n_weight) +
           (size_t)slices * qn_lines(n_bias);
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

struct add_job {
    const struct qn_kernels *kernels;
    const struct qn_partials *partials;
    const struct qn_batch *batch;
};

static void add_task(void *arg, int task)
{
    const struct add_job *job = arg;
    const struct qn_partials *p = job->partials;
    size_t from = (size_t)task * COLUMNS;
    size_t n = p->n_weight - from < COLUMNS ? p->n_weight - from : COLUMNS;
    for (int s = 1; s < p->slices; s++) {
        if (qn_n_blocks(job->batch, s) == 0)
            continue;
        const float *part =
            p->weights + (size_t)(s - 1) * qn_lines(p->n_weight);
        job->kernels->add(p->d_weight + from, part + from, n);
    }
}

void qn_partials_add(struct qn_cpu *cpu, const struct qn_partials *p,
                     const struct qn_batch *batch)
{
    struct add_job job = {cpu->kernels, p, batch};
    int tasks = (int)((p->n_weight + COLUMNS - 1) / COLUMNS);
    if (p->slices > 1)
        qn_pool_run(cpu->host.pool, tasks, add_task, &job);
    for (int part = 0; part < p->slices; part++)
        cpu->kernels->add(p->d_bias, qn_partials_bias(p, part), p->n_bias);
}
