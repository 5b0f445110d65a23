/* qrnn.c - the QRNN layer forward: product, gates and recurrence while a block
 * of rows is in the cache.
 *
 * The product goes straight into 'saved', where the gates are made of it in
 * place. One task takes a slice through all of it. When the batch has fewer
 * sequences than slices, products split by time and the recurrence by sequences
 * and units instead.
 *
 * Statistics of the batch want all products before the first gate: then the
 * products go into norm.raw and are added up while in the cache, and a second
 * pass makes the gates, a sequence or some of its units a task. */
#include "backend/cpu/qrnn.h"

#include <string.h>

static void zone_out(const struct qn_qrnn_job *job, float *f, int b, int t,
                     struct qn_units units)
{
    const struct qn_tensor *keep = &job->layer->zoneout_keep;
    if (keep->buffer) {
        size_t at = qn_qrnn_row(job, b, t) * job->hidden + units.first;
        job->kernels->zoneout_keep(f, qn_floats(*keep) + at, units.count);
    } else if (job->zoneout.on) {
        struct qn_drop drop = qn_qrnn_drop(&job->zoneout, b, t, units);
        job->kernels->zoneout(f, &drop, units.count);
    }
}

static void normalise(const struct qn_qrnn_job *job, int b, int t,
                      struct qn_units units)
{
    float *gates = job->saved + qn_qrnn_row(job, b, t) * job->outputs;
    bool apart = job->layer->norm.raw.buffer;
    const float *a = apart ? qn_qrnn_raw(job, b, t) : gates;
    struct qn_spans spans =
        qn_qrnn_spans(job, units, job->outputs / job->hidden);
    for (size_t i = 0; i < spans.n; i++)
        qn_norm_row(&job->norm, gates, a, units.first + i * job->hidden,
                    spans.length);
}

/* Pre-activations of the units become gates. */
static void activate(const struct qn_qrnn_job *job, float *z,
                     struct qn_units units)
{
    const struct qn_kernels *k = job->kernels;
    const struct qn_qrnn *l = job->layer;
    size_t dual = job->candidates / job->hidden;
    size_t all = job->outputs / job->hidden;
    float *f = z + job->candidates;
    struct qn_spans spans = qn_qrnn_spans(job, units, dual);
    for (size_t i = 0; i < spans.n; i++)
        k->candidate[l->activation](z + i * job->hidden, l->alpha,
                                    spans.length);
    spans = qn_qrnn_spans(job, units, all - dual);
    for (size_t i = 0; i < spans.n; i++)
        k->sigmoid(f + i * job->hidden, spans.length);
}

static void forward_step(const struct qn_qrnn_job *job, int b, int t,
                         struct qn_units units)
{
    struct qn_qrnn_cell cell = qn_qrnn_cell(job, b, t, units);
    float *out = qn_row(&job->layer->out, b, t) + units.first;

    if (job->layer->norm.on)
        normalise(job, b, t, units);
    activate(job, cell.gates, units);
    zone_out(job, cell.gates + job->candidates, b, t, units);
    job->kernels->cell(out, &cell);
    if (job->dropout.on) {
        struct qn_drop drop = qn_qrnn_drop(&job->dropout, b, t, units);
        job->kernels->drop(out, out, &drop, units.count);
    }
}

/* Behind the end of a sequence: c stays as it is. */
static void masked_step(const struct qn_qrnn_job *job, int b, int t,
                        struct qn_units units)
{
    struct qn_qrnn_cell cell = qn_qrnn_cell(job, b, t, units);
    float *out = qn_row(&job->layer->out, b, t) + units.first;
    memcpy(cell.c, cell.prev, units.count * sizeof *cell.c);
    memset(out, 0, units.count * sizeof *out);
}

static void forward_cells(const struct qn_qrnn_job *job,
                          const struct qn_block *block, struct qn_units units)
{
    for (int b = block->first; b < block->first + block->sequences; b++) {
        int real = qn_block_real(block, job->layer->n_real, b);
        for (int i = 0; i < real; i++)
            forward_step(job, b, block->from + i, units);
        for (int i = real; i < block->steps; i++)
            masked_step(job, b, block->from + i, units);
    }
}

static void forward_product(const struct qn_qrnn_job *job,
                            const struct qn_block *block, int slice)
{
    float *work = qn_qrnn_task_work(job, slice);
    if (job->looks_up)
        qn_lookup_forward(&job->lookup, block, work);
    else if (job->pairs_up)
        qn_pairs_forward(&job->pairs, block, work);
    else
        qn_product_forward(&job->product, block, work);
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
        forward_cells(job, &block, qn_qrnn_all_units(job));
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

static void forward_recurrence(void *arg, int task)
{
    const struct qn_qrnn_job *job = arg;
    struct qn_block whole = {0, 1, 0, job->batch.steps};
    struct qn_units units = qn_qrnn_recurrence(job, task, &whole.first);
    forward_cells(job, &whole, units);
}

/* All products, then all cells. */
static void forward_apart(struct qn_pool *pool, struct qn_qrnn_job *job)
{
    qn_pool_run(pool, job->batch.slices, forward_products, job);
    if (job->layer->norm.on && job->layer->norm.batch) {
        qn_norm_finish(&job->norm);
        qn_norm_prepare(&job->norm);
    }
    qn_pool_run(pool, qn_qrnn_n_recurrences(job), forward_recurrence, job);
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
    if (job.looks_up)
        qn_lookup_prepare(cpu, &job.lookup);
    if (job.pairs_up)
        qn_pairs_prepare(cpu, &job.pairs);
    if (training || qn_batch_by_time(&job.batch))
        forward_apart(pool, &job);
    else
        qn_pool_run(pool, job.batch.slices, forward_slice, &job);
}
