/* qrnn.c - the QRNN layer: product, gates and recurrence while a block of rows
 * is in the cache.
 *
 * Forward, the product goes straight into 'saved', where the gates are made of
 * it in place. Backward, the gradients of the pre-activations replace them
 * there, and the products of weight and input read them. One task takes a slice
 * through all of it. When the batch has fewer sequences than slices, products
 * split by time and the recurrence runs over a sequence a task instead. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

#include <string.h>

/* Enough rows for a full-speed product (300 to 900 differ by less than the
 * noise, 200 lose 5 %), few enough for the second-level cache to help. */
#define BLOCK_ROWS 400

struct qrnn_job {
    const struct qn_kernels *kernels;
    const struct qn_qrnn *layer;
    const struct qn_qrnn_grad *grad; /* backward */
    struct qn_product product;
    struct qn_batch batch;
    struct qn_mask mask;
    size_t hidden, outputs, candidates; /* H, G*H, floats of candidates */
    struct qn_partials partials;        /* backward */
    float *work;                        /* [slices, task_work] */
    size_t task_work;
    size_t product_work;
};

/* Scratch of one task of the way back, behind that of its products. */
struct scratch {
    float *dc; /* [H] gradient of the cell state between steps */
    float *dz; /* [H] gradient of z at this step */
    float *dh; /* [H] gradient of h at this step, dropout undone */
    float *db; /* [G*H] bias gradient of this block */
};

static struct qrnn_job open_job(struct qn_cpu *cpu, const struct qn_qrnn *l)
{
    size_t hidden = (size_t)l->hidden;
    size_t outputs = (size_t)qn_n_gates(l->activation, l->pooling) * hidden;
    struct qrnn_job job = {
        .kernels = cpu->kernels,
        .layer = l,
        .product = {.kernels = cpu->kernels,
                    .x = l->x,
                    .window = l->window,
                    .outputs = outputs},
        .batch = {l->x.batch, l->x.steps, cpu->host.slices, BLOCK_ROWS},
        .mask = qn_mask_of(&l->dropout),
        .hidden = hidden,
        .outputs = outputs,
        .candidates = (size_t)qn_n_candidates(l->activation) * hidden,
    };
    int rows = qn_largest_block(&job.batch);
    job.product_work = qn_lines(qn_product_work(&job.product, rows));
    job.task_work = job.product_work + 3 * qn_lines(hidden) + qn_lines(outputs);
    return job;
}

static size_t weight_floats(const struct qrnn_job *job)
{
    return job->outputs * (size_t)job->layer->window *
           (size_t)job->layer->x.width;
}

/* Floats for both ways of this layer. */
static size_t job_work(const struct qrnn_job *job)
{
    int slices = job->batch.slices;
    return (size_t)slices * job->task_work +
           qn_partials_work(slices, weight_floats(job), job->outputs);
}

size_t qn_cpu_qrnn_workspace(struct qn_backend *be, const struct qn_qrnn *l)
{
    struct qrnn_job job = open_job((struct qn_cpu *)be, l);
    return job_work(&job) * sizeof(float);
}

static float *task_work(const struct qrnn_job *job, int task)
{
    return job->work + (size_t)task * job->task_work;
}

static size_t row_index(const struct qrnn_job *job, int b, int t)
{
    return (size_t)b * (size_t)job->batch.steps + (size_t)t;
}

static float *saved_row(const struct qrnn_job *job, int b, int t)
{
    return job->product.y + row_index(job, b, t) * job->outputs;
}

/* The cell step (b, t), its pointers set. */
static struct qn_cell cell_at(const struct qrnn_job *job, int b, int t)
{
    const struct qn_qrnn *l = job->layer;
    float *cells = qn_floats(l->cells);
    size_t at = row_index(job, b, t) * job->hidden;
    struct qn_cell cell = {
        .pooling = l->pooling,
        .dual = job->candidates > job->hidden,
        .hidden = job->hidden,
        .gates = saved_row(job, b, t),
        .prev = t > 0 ? cells + at - job->hidden
                      : qn_floats(l->c0) + (size_t)b * job->hidden,
        .c = cells + at,
    };
    return cell;
}

static struct qn_drop drop_at(const struct qrnn_job *job, int b, int t)
{
    struct qn_drop drop = {.row = qn_mask_row(&job->mask, b, t),
                           .threshold = job->mask.threshold,
                           .scale = job->mask.scale};
    return drop;
}

static void forward_step(const struct qrnn_job *job, int b, int t)
{
    const struct qn_kernels *k = job->kernels;
    const struct qn_qrnn *l = job->layer;
    struct qn_cell cell = cell_at(job, b, t);
    float *out = qn_row(&l->out, b, t);

    k->candidate[l->activation](cell.gates, l->alpha, job->candidates);
    k->sigmoid(cell.gates + job->candidates, job->outputs - job->candidates);
    k->cell(out, &cell);
    if (job->mask.on) {
        struct qn_drop drop = drop_at(job, b, t);
        k->drop(out, out, &drop, job->hidden);
    }
}

static void forward_cells(const struct qrnn_job *job,
                          const struct qn_block *block)
{
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int t = block->from; t < block->from + block->steps; t++)
            forward_step(job, b, t);
}

static void forward_slice(void *arg, int slice)
{
    const struct qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_forward(&job->product, &block, task_work(job, slice));
        forward_cells(job, &block);
    }
}

static void forward_products(void *arg, int slice)
{
    const struct qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_forward(&job->product, &block, task_work(job, slice));
    }
}

static void forward_sequence(void *arg, int b)
{
    const struct qrnn_job *job = arg;
    struct qn_block whole = {b, 1, 0, job->batch.steps};
    forward_cells(job, &whole);
}

/* Take the layer's pointers and the workspace; false when there is none. */
static bool start_job(struct qn_cpu *cpu, struct qrnn_job *job)
{
    job->product.weight = qn_floats(job->layer->weight);
    job->product.bias = qn_floats(job->layer->bias);
    job->product.y = qn_floats(job->layer->saved);
    job->work = qn_cpu_work(cpu, job_work(job));
    return job->work;
}

void qn_cpu_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_qrnn(layer);
    struct qrnn_job job = open_job(cpu, layer);
    if (!start_job(cpu, &job))
        return;
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.slices, forward_products, &job);
        qn_pool_run(pool, job.batch.sequences, forward_sequence, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, forward_slice, &job);
    }
}

static struct scratch scratch_of(const struct qrnn_job *job, int task)
{
    float *work = task_work(job, task) + job->product_work;
    size_t step = qn_lines(job->hidden);
    struct scratch s = {work, work + step, work + 2 * step, work + 3 * step};
    return s;
}

static void backward_step(const struct qrnn_job *job, const struct scratch *s,
                          int b, int t)
{
    const struct qn_kernels *k = job->kernels;
    const struct qn_qrnn *l = job->layer;
    struct qn_cell cell = cell_at(job, b, t);
    const float *dh = qn_row(&job->grad->d_out, b, t);
    if (job->mask.on) {
        struct qn_drop drop = drop_at(job, b, t);
        k->drop(s->dh, dh, &drop, job->hidden);
        dh = s->dh;
    }
    k->cell_grad(s->dc, s->dz, dh, &cell);
    k->candidate_grad[l->activation](cell.gates, s->dz, 1.0f, l->alpha,
                                     job->hidden);
    if (cell.dual)
        k->candidate_grad[l->activation](cell.gates + job->hidden, s->dz, -1.0f,
                                         l->alpha, job->hidden);
    k->add(s->db, cell.gates, job->outputs);
}

/* The steps of sequence b in the block, last first. Blocks of one sequence come
 * in that order too, with dc handed on between them. */
static void backward_sequence_part(const struct qrnn_job *job,
                                   const struct qn_block *block,
                                   const struct scratch *s, int b)
{
    const struct qn_qrnn_grad *g = job->grad;
    size_t bytes = job->hidden * sizeof(float);
    size_t at = (size_t)b * job->hidden;
    if (block->from + block->steps == job->batch.steps) {
        if (g->d_last_c.buffer)
            memcpy(s->dc, qn_floats(g->d_last_c) + at, bytes);
        else
            memset(s->dc, 0, bytes);
    }
    for (int t = block->from + block->steps - 1; t >= block->from; t--)
        backward_step(job, s, b, t);
    if (block->from == 0 && g->d_c0.buffer)
        memcpy(qn_floats(g->d_c0) + at, s->dc, bytes);
}

/* Bias gradients are summed per block first: shorter sums round less. */
static void backward_cells(const struct qrnn_job *job,
                           const struct qn_block *block, int task)
{
    struct scratch s = scratch_of(job, task);
    memset(s.db, 0, job->outputs * sizeof *s.db);
    for (int b = block->first; b < block->first + block->sequences; b++)
        backward_sequence_part(job, block, &s, b);
    job->kernels->add(qn_partials_bias(&job->partials, task), s.db,
                      job->outputs);
}

static void backward_products(const struct qrnn_job *job,
                              const struct qn_block *block, int slice,
                              bool first)
{
    const struct qn_qrnn_grad *g = job->grad;
    float *work = task_work(job, slice);
    float beta = 0.0f;
    float *dw = qn_partials_weight(&job->partials, slice, first ? 0 : 1, &beta);
    qn_product_weight_grad(&job->product, block, dw, beta, work);
    if (g->d_x.buffer)
        qn_product_input_grad(&job->product, block, &g->d_x, g->add_x, work);
}

static void backward_slice(void *arg, int slice)
{
    const struct qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = n - 1; i >= 0; i--) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        backward_cells(job, &block, slice);
        backward_products(job, &block, slice, i == n - 1);
    }
}

static void backward_slice_products(void *arg, int slice)
{
    const struct qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = n - 1; i >= 0; i--) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        backward_products(job, &block, slice, i == n - 1);
    }
}

static void backward_sequence(void *arg, int b)
{
    const struct qrnn_job *job = arg;
    struct qn_block whole = {b, 1, 0, job->batch.steps};
    backward_cells(job, &whole, b);
}

void qn_cpu_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_qrnn_grad(layer, grad);
    struct qrnn_job job = open_job(cpu, layer);
    if (!start_job(cpu, &job))
        return;
    job.grad = grad;
    job.partials.d_weight = qn_floats(grad->d_weight);
    job.partials.d_bias = qn_floats(grad->d_bias);
    job.partials.n_weight = weight_floats(&job);
    job.partials.n_bias = job.outputs;
    job.partials.slices = job.batch.slices;
    qn_partials_open(&job.partials, task_work(&job, job.batch.slices));

    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.sequences, backward_sequence, &job);
        qn_pool_run(pool, job.batch.slices, backward_slice_products, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, backward_slice, &job);
    }
    qn_partials_add(cpu, &job.partials, &job.batch);
}
