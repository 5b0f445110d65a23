/* optim.c - the gradient's norm and the update, in chunks of fixed size. */
#include "backend/cpu/cpu.h"

#include <math.h>

/* Floats a chunk: independent of slices and threads, so the norm is too. */
#define CHUNK ((size_t)1 << 16)

struct optim_job {
    const struct qn_kernels *kernels;
    size_t count;
    float *w, *m, *v; /* update; m and v NULL when not used */
    const float *g;
    double *sums; /* [chunks], norm */
    const struct qn_update *update;
    double scale; /* of the gradient: clipping */
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

static void sgd_part(const struct optim_job *job, size_t from, size_t n)
{
    const struct qn_update *u = job->update;
    if (u->momentum == 0.0) {
        job->kernels->sgd(job->w + from, job->g + from,
                          (float)(u->lr * job->scale), n);
        return;
    }
    struct qn_momentum momentum = {
        .scale = (float)job->scale,
        .momentum = (float)u->momentum,
        .lr = (float)u->lr,
    };
    job->kernels->momentum(job->w + from, job->g + from, job->m + from,
                           &momentum, n);
}

static void rmsprop_part(const struct optim_job *job, size_t from, size_t n)
{
    const struct qn_update *u = job->update;
    struct qn_rmsprop rmsprop = {
        .scale = (float)job->scale,
        .rho = (float)u->rho,
        .one_minus_rho = (float)(1.0 - u->rho),
        .inside = u->eps_inside ? (float)u->eps : 0.0f,
        .outside = u->eps_inside ? 0.0f : (float)u->eps,
        .lr = (float)u->lr,
    };
    job->kernels->rmsprop(job->w + from, job->g + from, job->v + from, &rmsprop,
                          n);
}

static void adam_part(const struct optim_job *job, size_t from, size_t n)
{
    const struct qn_update *u = job->update;
    struct qn_adam adam = {
        .scale = (float)job->scale,
        .beta1 = (float)u->beta1,
        .one_minus_beta1 = (float)(1.0 - u->beta1),
        .beta2 = (float)u->beta2,
        .one_minus_beta2 = (float)(1.0 - u->beta2),
        .correct1 = (float)(1.0 / (1.0 - pow(u->beta1, (double)u->t))),
        .correct2 = (float)(1.0 / (1.0 - pow(u->beta2, (double)u->t))),
        .lr = (float)u->lr,
        .eps = (float)u->eps,
    };
    job->kernels->adam(job->w + from, job->g + from, job->m + from,
                       job->v + from, &adam, n);
}

static void update_task(void *arg, int chunk)
{
    const struct optim_job *job = arg;
    size_t from = (size_t)chunk * CHUNK;
    size_t n = chunk_size(job, from);
    switch (job->update->kind) {
    case QN_SGD:
        sgd_part(job, from, n);
        return;
    case QN_RMSPROP:
        rmsprop_part(job, from, n);
        return;
    case QN_ADAM:
        adam_part(job, from, n);
        return;
    }
}

void qn_cpu_update(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_update(u, w, g, m, v);
    if (!qn_host_lets_update(&cpu->host, u))
        return;
    struct optim_job job = {
        .kernels = cpu->kernels,
        .count = w.count,
        .w = qn_floats(w),
        .m = m.buffer ? qn_floats(m) : NULL,
        .v = v.buffer ? qn_floats(v) : NULL,
        .g = qn_floats(g),
        .update = u,
        .scale = qn_host_clip_scale(&cpu->host, u->clip_norm),
    };
    qn_pool_run(cpu->host.pool, n_chunks(w.count), update_task, &job);
}
