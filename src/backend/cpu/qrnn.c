/* qrnn.c - the QRNN layer forward: product, gates and recurrence while a block
 * of rows is in the cache.
 *
 * The product goes straight into 'saved', where the gates are made of it in
 * place. One task takes a slice through all of it. When the batch has fewer
 * sequences than slices, products split by time and the recurrence runs over a
 * sequence a task instead.
 *
 * Statistics of the batch want all products before the first gate: then the
 * products go into norm.raw and are added up while in the cache, and a second
 * pass makes the gates, a sequence a task. */
#include "backend/cpu/qrnn.h"

#include <string.h>

static void zone_out(const struct qn_qrnn_job *job, float *f, int b, int t)
{
    const struct qn_tensor *keep = &job->layer->zoneout_keep;
    if (keep->buffer) {
        size_t at = qn_qrnn_row(job, b, t) * job->hidden;
        job->kernels->zoneout_keep(f, qn_floats(*keep) + at, job->hidden);
    } else if (job->zoneout.on) {
        struct qn_drop drop = qn_qrnn_drop(&job->zoneout, b, t);
        job->kernels->zoneout(f, &drop, job->hidden);
    }
}

static void normalise(const struct qn_qrnn_job *job, float *gates, int b, int t)
{
    bool apart = job->layer->norm.raw.buffer;
    qn_norm_row(&job->norm, gates, apart ? qn_qrnn_raw(job, b, t) : gates);
}

static void forward_step(const struct qn_qrnn_job *job, int b, int t)
{
    const struct qn_kernels *k = job->kernels;
    const struct qn_qrnn *l = job->layer;
    struct qn_qrnn_cell cell = qn_qrnn_cell(job, b, t);
    float *f = cell.gates + job->candidates;
    float *out = qn_row(&l->out, b, t);

    if (l->norm.on)
        normalise(job, cell.gates, b, t);
    k->candidate[l->activation](cell.gates, l->alpha, job->candidates);
    k->sigmoid(f, job->outputs - job->candidates);
    zone_out(job, f, b, t);
    k->cell(out, &cell);
    if (job->dropout.on) {
        struct qn_drop drop = qn_qrnn_drop(&job->dropout, b, t);
        k->drop(out, out, &drop, job->hidden);
    }
}

/* Behind the end of a sequence: c stays as it is. */
static void masked_step(const struct qn_qrnn_job *job, int b, int t)
{
    struct qn_qrnn_cell cell = qn_qrnn_cell(job, b, t);
    memcpy(cell.c, cell.prev, job->hidden * sizeof *cell.c);
    memset(qn_row(&job->layer->out, b, t), 0, job->hidden * sizeof(float));
}

static void forward_cells(const struct qn_qrnn_job *job,
                          const struct qn_block *block)
{
    for (int b = block->first; b < block->first + block->sequences; b++) {
        int real = qn_block_real(block, job->layer->n_real, b);
        for (int i = 0; i < real; i++)
            forward_step(job, b, block->from + i);
        for (int i = real; i < block->steps; i++)
            masked_step(job, b, block->from + i);
    }
}

static void forward_product(const struct qn_qrnn_job *job,
                            const struct qn_block *block, int slice)
{
    qn_product_forward(&job->product, block, qn_qrnn_task_work(job, slice));
    if (job->layer->norm.on && job->layer->norm.batch)
        qn_norm_take_block(&job->norm, slice, block);
}

static void forward_slice(void *arg, int slice)
{
    const struct qn_qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        forward_product(job, &block, slice);
        forward_cells(job, &block);
    }
}

static void forward_products(void *arg, int slice)
{
    const struct qn_qrnn_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        forward_product(job, &block, slice);
    }
}

static void forward_sequence(void *arg, int b)
{
    const struct qn_qrnn_job *job = arg;
    struct qn_block whole = {b, 1, 0, job->batch.steps};
    forward_cells(job, &whole);
}

/* All products, then all cells. */
static void forward_apart(struct qn_pool *pool, struct qn_qrnn_job *job)
{
    qn_pool_run(pool, job->batch.slices, forward_products, job);
    if (job->layer->norm.on && job->layer->norm.batch) {
        qn_norm_finish(&job->norm);
        qn_norm_prepare(&job->norm);
    }
    qn_pool_run(pool, job->batch.sequences, forward_sequence, job);
}

void qn_cpu_qrnn(struct qn_backend *be, const struct qn_qrnn *layer)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_qrnn(layer);
    struct qn_qrnn_job job = qn_qrnn_open(cpu, layer);
    if (!qn_qrnn_start(cpu, &job))
        return;
    bool training = layer->norm.on && layer->norm.batch;
    job.product.y = layer->norm.on && layer->norm.raw.buffer
                        ? qn_floats(layer->norm.raw)
                        : job.saved;
    if (layer->norm.on && !training)
        qn_norm_prepare(&job.norm);
    if (training || qn_batch_by_time(&job.batch))
        forward_apart(pool, &job);
    else
        qn_pool_run(pool, job.batch.slices, forward_slice, &job);
}
