/* softmax.c - softmax cross-entropy in place, a row at a time in the cache. */
#include "backend/cpu/cpu.h"

#include <math.h>
#include <string.h>

struct slice_loss {
    double sum, count;
};

struct softmax_job {
    const struct qn_kernels *kernels;
    float *logits;
    const int32_t *targets;
    int rows, slices;
    size_t vocab;
    float scale;
    double floor;
    struct slice_loss *losses; /* [slices] */
};

static double row_loss(const struct softmax_job *job, float *x, int32_t target)
{
    const struct qn_kernels *k = job->kernels;
    float wanted = x[target];
    float max = k->max(x, job->vocab);
    bool grad = job->scale != 0.0f;
    double sum = k->exp_sum(grad ? x : NULL, x, max, job->vocab);
    if (grad) {
        k->scale(x, (float)((double)job->scale / sum), job->vocab);
        x[target] -= job->scale;
    }
    double loss = log(sum) + ((double)max - (double)wanted);
    return job->floor > 0.0 ? -log(exp(-loss) + job->floor) : loss;
}

static void softmax_slice(void *arg, int slice)
{
    const struct softmax_job *job = arg;
    struct slice_loss loss = {0.0, 0.0};
    int end = qn_split(job->rows, job->slices, slice + 1);
    for (int i = qn_split(job->rows, job->slices, slice); i < end; i++) {
        float *x = job->logits + (size_t)i * job->vocab;
        if (job->targets[i] >= 0) {
            loss.sum += row_loss(job, x, job->targets[i]);
            loss.count += 1.0;
        } else if (job->scale != 0.0f) {
            memset(x, 0, job->vocab * sizeof *x);
        }
    }
    job->losses[slice] = loss;
}

void qn_cpu_softmax_xent(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale,
                         double floor)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_softmax(logits, targets, vocab);
    int slices = cpu->host.slices;
    size_t floats = sizeof(struct slice_loss) / sizeof(float);
    float *work = qn_cpu_work(cpu, (size_t)slices * floats);
    if (!work)
        return;
    struct softmax_job job = {
        .kernels = cpu->kernels,
        .logits = qn_floats(logits),
        .targets = qn_ids(targets),
        .rows = (int)targets.count,
        .slices = slices,
        .vocab = (size_t)vocab,
        .scale = scale,
        .floor = floor,
        .losses = (struct slice_loss *)(void *)work,
    };
    qn_pool_run(cpu->host.pool, slices, softmax_slice, &job);
    for (int s = 0; s < slices; s++) {
        cpu->host.loss_sum += job.losses[s].sum;
        cpu->host.count += job.losses[s].count;
    }
}
