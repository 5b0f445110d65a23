/* optim.c - the gradient's norm and the update, in chunks of fixed size. */
#include "backend/cpu/cpu.h"

#include <math.h>

/* Floats a chunk: independent of slices and threads, so the norm is too. */
#define CHUNK ((size_t)1 << 16)

struct optim_job {
    const struct qn_kernels *kernels;
    size_t count;
    float *w, *m, *v; /* update */
    const float *g;
    double *sums; /* [chunks], norm */
    enum qn_optim_kind kind;
    float rate; /* of sgd: lr times the clipping scale */
    struct qn_adam adam;
};

static int n_chunks(size_t count)
{
    return (int)((count + CHUNK - 1) / CHUNK);
}

static size_t chunk_size(const struct optim_job *job, size_t from)
{
    return job->count - from < CHUNK ? job->count - from : CHUNK;
}

static void norm_task(void *arg, int chunk)
{
    const struct optim_job *job = arg;
    size_t from = (size_t)chunk * CHUNK;
    job->sums[chunk] =
        job->kernels->square_sum(job->g + from, chunk_size(job, from));
}

void qn_cpu_grad_norm(struct qn_backend *be, struct qn_tensor g)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_tensor(g, g.count);
    int chunks = n_chunks(g.count);
    size_t floats = sizeof(double) / sizeof(float);
    float *work = qn_cpu_work(cpu, (size_t)chunks * floats);
    if (!work)
        return;
    struct optim_job job = {
        .kernels = cpu->kernels,
        .count = g.count,
        .g = qn_floats(g),
        .sums = (double *)(void *)work,
    };
    qn_pool_run(cpu->host.pool, chunks, norm_task, &job);
    for (int i = 0; i < chunks; i++)
        cpu->host.square_sum += job.sums[i];
}

static struct qn_adam adam_of(const struct qn_update *u, double scale)
{
    struct qn_adam adam = {
        .scale = (float)scale,
        .beta1 = (float)u->beta1,
        .one_minus_beta1 = (float)(1.0 - u->beta1),
        .beta2 = (float)u->beta2,
        .one_minus_beta2 = (float)(1.0 - u->beta2),
        .correct1 = (float)(1.0 / (1.0 - pow(u->beta1, (double)u->t))),
        .correct2 = (float)(1.0 / (1.0 - pow(u->beta2, (double)u->t))),
        .lr = (float)u->lr,
        .eps = (float)u->eps,
    };
    return adam;
}

static void update_task(void *arg, int chunk)
{
    const struct optim_job *job = arg;
    size_t from = (size_t)chunk * CHUNK;
    size_t n = chunk_size(job, from);
    if (job->kind == QN_SGD)
        job->kernels->sgd(job->w + from, job->g + from, job->rate, n);
    else
        job->kernels->adam(job->w + from, job->g + from, job->m + from,
                           job->v + from, &job->adam, n);
}

void qn_cpu_update(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_update(u, w, g, m, v);
    if (!qn_host_step_finite(&cpu->host))
        return;
    double scale = qn_host_clip_scale(&cpu->host, u->clip_norm);
    struct optim_job job = {
        .kernels = cpu->kernels,
        .count = w.count,
        .w = qn_floats(w),
        .g = qn_floats(g),
        .kind = u->kind,
        .rate = (float)(u->lr * scale),
    };
    if (u->kind == QN_ADAM) {
        job.m = qn_floats(m);
        job.v = qn_floats(v);
        job.adam = adam_of(u, scale);
    }
    qn_pool_run(cpu->host.pool, n_chunks(w.count), update_task, &job);
}
