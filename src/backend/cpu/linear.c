/* linear.c - the decoder: a product with a window of one step, and a bias.
 *
 * On the way back slices have rows each, and partial sums of the gradients of
 * weight and bias. With a large vocabulary those would take more memory, and
 * passes over it, than all else: then some tasks have outputs each, whose sums
 * are whole, and others the rows of d_x. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

#include <string.h>

/* Nothing waits in the cache between products here, and a large vocabulary
 * makes a weight that is costly to pack: blocks are larger than a layer's. */
#define BLOCK_ROWS 1600
/* A share of outputs that is worth a task: each packs all of x anew. */
#define LEAST_OUTPUTS 256

struct linear_job {
    const struct qn_kernels *kernels;
    struct qn_product product; /* y: the output, or its gradient */
    struct qn_batch batch;
    struct qn_batch whole;       /* the same as one slice */
    bool by_outputs;             /* backward */
    struct qn_seq d_x;           /* backward */
    struct qn_partials partials; /* backward; by_outputs: its sums alone */
    float *work; /* [slices, slice_work], by_outputs [slices, share_work] */
    size_t sums; /* floats at the beginning of a task's work, backward */
    size_t slice_work, share_work;
};

static bool splits_outputs(int slices, size_t outputs)
{
    return slices > 1 && outputs / (size_t)slices >= LEAST_OUTPUTS;
}

/* Floats for the product of any block. */
static size_t blocks_work(const struct linear_job *job,
                          const struct qn_batch *batch)
{
    return qn_lines(qn_product_work(&job->product, qn_largest_block(batch)));
}

/* The largest share of the outputs, in whole cache lines. */
static size_t share_outputs(const struct linear_job *job)
{
    size_t slices = (size_t)job->batch.slices;
    return (qn_lines(job->product.outputs) / 16 + slices - 1) / slices * 16;
}

/* Shapes only: neither tensors nor work are touched. */
static struct linear_job open_job(struct qn_cpu *cpu, const struct qn_seq *x,
                                  size_t outputs)
{
    struct linear_job job = {
        .kernels = cpu->kernels,
        .product = {.kernels = cpu->kernels,
                    .x = *x,
                    .window = 1,
                    .outputs = outputs},
        .batch = {x->batch, x->steps, cpu->host.slices, BLOCK_ROWS, NULL},
        .whole = {x->batch, x->steps, 1, BLOCK_ROWS, NULL},
        .by_outputs = splits_outputs(cpu->host.slices, outputs),
        .partials = {.n_weight = outputs * (size_t)x->width,
                     .n_bias = outputs,
                     .slices = cpu->host.slices},
    };
    job.sums = job.by_outputs ? share_outputs(&job) : qn_lines(outputs);
    job.slice_work = blocks_work(&job, &job.batch);
    if (job.by_outputs)
        job.share_work = job.sums + blocks_work(&job, &job.whole);
    else
        job.slice_work += job.sums;
    return job;
}

static size_t slices_work(const struct linear_job *job)
{
    return (size_t)job->batch.slices * job->slice_work;
}

static size_t tasks_work(const struct linear_job *job)
{
    return slices_work(job) + (size_t)job->batch.slices * job->share_work;
}

/* Floats for the way back; forward takes those of slices. */
static size_t job_work(const struct linear_job *job)
{
    const struct qn_partials *p = &job->partials;
    size_t partials = qn_partials_work(p);
    return tasks_work(job) + (job->by_outputs ? 0 : partials);
}

size_t qn_cpu_linear_workspace(struct qn_backend *be, const struct qn_seq *x,
                               size_t vocab)
{
    struct linear_job job = open_job((struct qn_cpu *)be, x, vocab);
    return job_work(&job) * sizeof(float);
}

static float *slice_work(const struct linear_job *job, int slice)
{
    return job->work + (size_t)slice * job->slice_work;
}

static float *share_work(const struct linear_job *job, int share)
{
    return job->work + slices_work(job) + (size_t)share * job->share_work;
}

/* Rows of a block lie one after the other in y. */
static float *block_row(const struct linear_job *job,
                        const struct qn_block *block, int i)
{
    size_t row = (size_t)block->first * (size_t)job->batch.steps +
                 (size_t)block->from + (size_t)i;
    return job->product.y + row * job->product.outputs;
}

static void forward_slice(void *arg, int slice)
{
    const struct linear_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_forward(&job->product, &block, slice_work(job, slice));
    }
}

void qn_cpu_linear(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_linear(y, &x, weight, bias);
    struct linear_job job = open_job(cpu, &x, bias.count);
    job.product.weight = qn_floats(weight);
    job.product.bias = qn_floats(bias);
    job.product.y = qn_floats(y);
    job.work = qn_cpu_work(cpu, slices_work(&job));
    if (job.work)
        qn_pool_run(cpu->host.pool, job.batch.slices, forward_slice, &job);
}

/* sum [n] += those of outputs [from, from + n), over the rows of a block. */
static void add_rows(const struct linear_job *job, const struct qn_block *block,
                     size_t from, size_t n, float *sum, float *work)
{
    memset(work, 0, n * sizeof *work);
    for (int r = 0; r < block->sequences * block->steps; r++)
        job->kernels->add(work, block_row(job, block, r) + from, n);
    job->kernels->add(sum, work, n);
}

static void backward_slice(void *arg, int slice)
{
    const struct linear_job *job = arg;
    float *sums = slice_work(job, slice);
    float *work = sums + job->sums;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        float beta = 0.0f;
        float *dw = qn_partials_weight(&job->partials, slice, i, &beta);
        add_rows(job, &block, 0, job->product.outputs,
                 qn_partials_bias(&job->partials, slice), sums);
        qn_product_weight_grad(&job->product, &block, dw, beta, work);
        qn_product_input_grad(&job->product, &block, &job->d_x, false, work);
    }
}

static void input_grad_slice(const struct linear_job *job, int slice)
{
    float *work = slice_work(job, slice);
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_input_grad(&job->product, &block, &job->d_x, false, work);
    }
}

/* The gradients of one share of the outputs, in whole cache lines. */
static void output_grads(const struct linear_job *job, int share)
{
    float *sums = share_work(job, share);
    float *work = sums + job->sums;
    size_t outputs = job->product.outputs;
    int lines = (int)(qn_lines(outputs) / 16);
    size_t from = (size_t)qn_split(lines, job->batch.slices, share) * 16;
    size_t end = (size_t)qn_split(lines, job->batch.slices, share + 1) * 16;
    struct qn_product part = job->product;
    part.y += from;
    part.y_pitch = outputs;
    part.outputs = (end < outputs ? end : outputs) - from;
    float *dw = job->partials.d_weight + from * (size_t)part.x.width;
    float *db = job->partials.d_bias + from;
    int n = qn_n_blocks(&job->whole, 0);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->whole, 0, i);
        add_rows(job, &block, from, part.outputs, db, sums);
        qn_product_weight_grad(&part, &block, dw, 1.0f, work);
    }
}

/* Both halves take about as long, so that workers end together. */
static void backward_outputs(void *arg, int task)
{
    const struct linear_job *job = arg;
    int slices = job->batch.slices;
    if (task < slices)
        output_grads(job, task);
    else
        input_grad_slice(job, task - slices);
}

void qn_cpu_linear_grad(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_linear(d_y, &x, weight, d_bias);
    qn_check_linear(d_y, &d_x, d_weight, d_bias);
    QN_ASSERT(d_x.batch == x.batch && d_x.steps == x.steps);
    struct linear_job job = open_job(cpu, &x, d_bias.count);
    job.work = qn_cpu_work(cpu, job_work(&job));
    if (!job.work)
        return;
    job.product.weight = qn_floats(weight);
    job.product.y = qn_floats(d_y);
    job.d_x = d_x;
    job.partials.d_weight = qn_floats(d_weight);
    job.partials.d_bias = qn_floats(d_bias);
    if (job.by_outputs) {
        qn_pool_run(cpu->host.pool, 2 * job.batch.slices, backward_outputs,
                    &job);
        return;
    }
    qn_partials_open(&job.partials, job.work + tasks_work(&job));
    qn_pool_run(cpu->host.pool, job.batch.slices, backward_slice, &job);
    qn_partials_add(cpu, &job.partials, &job.batch);
}
