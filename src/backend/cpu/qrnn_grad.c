/* qrnn_grad.c - the QRNN layer backward.
 *
 * The gradients of the pre-activations replace the gates in 'saved', and the
 * products of weight and input read them there, while a block of rows is in the
 * cache. When the batch has fewer sequences than slices, the recurrence runs
 * over sequences and units, and products split by time.
 *
 * With batch normalisation 'saved' first gets the gradients dy of what the
 * gates were made of. Those of the pre-activations want the means of dy and
 * dy xhat over all rows (Ioffe & Szegedy 2015, section 3):
 *
 *     da = gain / sqrt(var + eps) (dy - mean(dy) - xhat mean(dy xhat))
 *
 * so a second pass makes them in place, right before the products. */
#include "backend/cpu/qrnn.h"

#include <string.h>

/* Scratch of one task of the way back, behind that of its products. */
struct scratch {
    float *dc;   /* [H] gradient of the cell state between steps */
    float *dz;   /* [H] gradient of z at this step */
    float *dh;   /* [H] gradient of h at this step, dropout undone */
    float *sums; /* bias gradient of this block [G*H], or of gain and shift */
};

static struct scratch scratch_of(const struct qn_qrnn_job *job, int task)
{
    float *work = qn_qrnn_task_work(job, task) + job->product_work;
    size_t step = qn_lines(job->hidden);
    struct scratch s = {work, work + step, work + 2 * step, work + 3 * step};
    return s;
}

static size_t n_sums(const struct qn_qrnn_job *job)
{
    return job->layer->norm.on ? 2 * job->outputs : job->outputs;
}

/* One bias for all steps is summed per block first: shorter sums round less.
 * Those of each step have short sums anyway, and go where they stay. */
static bool bias_of_each_step(const struct qn_qrnn_job *job)
{
    return !job->layer->norm.on && job->layer->bias_steps > 1;
}

static struct qn_spans all_gates(const struct qn_qrnn_job *job,
                                 struct qn_units units)
{
    return qn_qrnn_spans(job, units, job->outputs / job->hidden);
}

static void take_sums(const struct qn_qrnn_job *job, const struct scratch *s,
                      int b, int t, struct qn_units units)
{
    const float *dy = job->saved + qn_qrnn_row(job, b, t) * job->outputs;
    struct qn_spans spans = all_gates(job, units);
    for (size_t i = 0; i < spans.n; i++) {
        size_t at = units.first + i * job->hidden;
        if (job->layer->norm.on)
            qn_norm_row_sums(&job->norm, s->sums, dy, qn_qrnn_raw(job, b, t),
                             at, spans.length);
        else
            job->kernels->add(s->sums + qn_product_bias_at(&job->product, t) +
                                  at,
                              dy + at, spans.length);
    }
}

static void backward_step(const struct qn_qrnn_job *job,
                          const struct scratch *s, int b, int t,
                          struct qn_units units)
{
    const struct qn_kernels *k = job->kernels;
    const struct qn_qrnn *l = job->layer;
    struct qn_qrnn_cell cell = qn_qrnn_cell(job, b, t, units);
    const float *dh = qn_row(&job->grad->d_out, b, t) + units.first;
    if (job->dropout.on) {
        struct qn_drop drop = qn_qrnn_drop(&job->dropout, b, t, units);
        k->drop(s->dh, dh, &drop, units.count);
        dh = s->dh;
    }
    /* Where zoneout kept the cell f is 1: its own gradient f (1 - f) and the
     * share 1 - f of z vanish without the mask. */
    k->cell_grad(s->dc, s->dz, dh, &cell);
    k->candidate_grad[l->activation](cell.gates, s->dz, 1.0f, l->alpha,
                                     units.count);
    if (cell.dual)
        k->candidate_grad[l->activation](cell.gates + job->hidden, s->dz, -1.0f,
                                         l->alpha, units.count);
    take_sums(job, s, b, t, units);
}

/* Products of several sequences at once read all their rows. */
static void clear_masked(const struct qn_qrnn_job *job,
                         const struct qn_block *block, int b, int real,
                         struct qn_units units)
{
    struct qn_spans spans = all_gates(job, units);
    for (int i = real; i < block->steps; i++) {
        size_t row = qn_qrnn_row(job, b, block->from + i);
        float *gates = job->saved + row * job->outputs + units.first;
        for (size_t j = 0; j < spans.n; j++)
            memset(gates + j * job->hidden, 0, spans.length * sizeof *gates);
    }
}

/* The steps of sequence b in the block, last first. Blocks of one sequence come
 * in that order too, with dc handed on between them. */
static void backward_sequence_part(const struct qn_qrnn_job *job,
                                   const struct qn_block *block,
                                   const struct scratch *s, int b,
                                   struct qn_units units)
{
    const struct qn_qrnn_grad *g = job->grad;
    size_t bytes = units.count * sizeof(float);
    size_t at = (size_t)b * job->hidden + units.first;
    int real = qn_block_real(block, job->layer->n_real, b);
    if (block->from + block->steps == job->batch.steps) {
        if (g->d_last_c.buffer)
            memcpy(s->dc, qn_floats(g->d_last_c) + at, bytes);
        else
            memset(s->dc, 0, bytes);
    }
    clear_masked(job, block, b, real, units);
    for (int i = real - 1; i >= 0; i--)
        backward_step(job, s, b, block->from + i, units);
    if (block->from == 0 && g->d_c0.buffer)
        memcpy(qn_floats(g->d_c0) + at, s->dc, bytes);
}

/* Add the sums of a block to part 'part' of them. */
static void hand_over_sums(const struct qn_qrnn_job *job, const float *sums,
                           int part, struct qn_units units)
{
    struct qn_spans spans = all_gates(job, units);
    for (size_t i = 0; i < spans.n; i++) {
        size_t at = units.first + i * job->hidden;
        if (job->layer->norm.on)
            qn_norm_add_sums(&job->norm, part, sums, at, spans.length);
        else
            job->kernels->add(qn_partials_bias(&job->partials, part) + at,
                              sums + at, spans.length);
    }
}

/* With the scratch of a task; the sums are those of a slice, or of a sequence
 * when tasks share it. */
static void backward_cells(const struct qn_qrnn_job *job,
                           const struct qn_block *block, int task, int part,
                           struct qn_units units)
{
    struct scratch s = scratch_of(job, task);
    if (bias_of_each_step(job))
        s.sums = qn_partials_bias(&job->partials, part);
    else
        memset(s.sums, 0, n_sums(job) * sizeof *s.sums);
    for (int b = block->first; b < block->first + block->sequences; b++)
        backward_sequence_part(job, block, &s, b, units);
    if (!bias_of_each_step(job))
        hand_over_sums(job, s.sums, part, units);
}

static void backward_products(const struct qn_qrnn_job *job,
                              const struct qn_block *block, int slice,
                              bool first, bool last)
{
    const struct qn_qrnn_grad *g = job->grad;
    float *work = qn_qrnn_task_work(job, slice);
    float beta = 0.0f;
    float *dw = qn_partials_weight(&job->partials, slice, first ? 0 : 1, &beta);
    if (job->looks_up) {
        if (first)
            qn_lookup_clear(&job->lookup, slice);
        qn_lookup_take(&job->lookup, slice, block, dw, beta, work);
        return;
    }
    if (job->pairs_up) {
        struct qn_pairs_grad grad = {
            slice,   first, last, dw, beta, g->d_x.buffer ? &g->d_x : NULL,
            g->add_x};
        qn_pairs_grad(&job->pairs, block, &grad, work);
        return;
    }
    qn_product_weight_grad(&job->product, block, dw, beta, work);
    if (g->d_x.buffer)
        qn_product_input_grad(&job->product, block, &g->d_x, g->add_x, work);
}

/* What a slice does to each of its blocks, the last first. */
enum stage { CELLS = 1, NORM = 2, PRODUCTS = 4 };

static void backward_blocks(const struct qn_qrnn_job *job, int slice,
                            unsigned stages)
{
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = n - 1; i >= 0; i--) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        if (stages & CELLS)
            backward_cells(job, &block, slice, slice, qn_qrnn_all_units(job));
        if (stages & NORM)
            qn_norm_block_grad(&job->norm, job->saved, &block);
        if (stages & PRODUCTS)
            backward_products(job, &block, slice, i == n - 1, i == 0);
    }
}

static void backward_slice(void *arg, int slice)
{
    backward_blocks(arg, slice, CELLS | PRODUCTS);
}

static void backward_slice_cells(void *arg, int slice)
{
    backward_blocks(arg, slice, CELLS);
}

static void backward_slice_norm(void *arg, int slice)
{
    backward_blocks(arg, slice, NORM);
}

static void backward_slice_products(void *arg, int slice)
{
    backward_blocks(arg, slice, PRODUCTS);
}

static void backward_slice_rest(void *arg, int slice)
{
    backward_blocks(arg, slice, NORM | PRODUCTS);
}

static void backward_recurrence(void *arg, int task)
{
    const struct qn_qrnn_job *job = arg;
    struct qn_block whole = {0, 1, 0, job->batch.steps};
    struct qn_units units = qn_qrnn_recurrence(job, task, &whole.first);
    backward_cells(job, &whole, task, whole.first, units);
}

/* Split by time, the input's gradient reads rows of the next slice: those must
 * have been through everything else. */
static void backward(struct qn_pool *pool, struct qn_qrnn_job *job)
{
    const struct qn_qrnn_grad *g = job->grad;
    int slices = job->batch.slices;
    bool norm = job->layer->norm.on;
    bool by_time = qn_batch_by_time(&job->batch);
    if (!norm && !by_time) {
        qn_pool_run(pool, slices, backward_slice, job);
        return;
    }
    if (by_time)
        qn_pool_run(pool, qn_qrnn_n_recurrences(job), backward_recurrence, job);
    else
        qn_pool_run(pool, slices, backward_slice_cells, job);
    if (norm)
        qn_norm_finish_grad(&job->norm, qn_floats(g->d_gain),
                            qn_floats(g->d_shift));
    if (norm && !by_time) {
        qn_pool_run(pool, slices, backward_slice_rest, job);
        return;
    }
    if (norm)
        qn_pool_run(pool, slices, backward_slice_norm, job);
    qn_pool_run(pool, slices, backward_slice_products, job);
}

/* Of the table that x was looked up in, if that is wanted. */
static void embedding_grad(struct qn_cpu *cpu, struct qn_qrnn_job *job)
{
    const struct qn_qrnn_grad *g = job->grad;
    if (job->looks_up)
        qn_lookup_finish(cpu, &job->lookup, &job->batch, job->partials.d_weight,
                         g->d_table);
    else
        qn_cpu_table_grad(&cpu->host.base, g->d_table, &g->d_x,
                          job->layer->ids);
}

void qn_cpu_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    qn_check_qrnn_grad(layer, grad);
    struct qn_qrnn_job job = qn_qrnn_open(cpu, layer);
    if (!qn_qrnn_start(cpu, &job))
        return;
    job.grad = grad;
    job.product.y = job.saved;
    job.partials.d_weight = qn_floats(grad->d_weight);
    if (layer->norm.on)
        qn_norm_prepare(&job.norm);
    else
        job.partials.d_bias = qn_floats(grad->d_bias);
    if (job.pairs_up)
        qn_pairs_prepare(cpu, &job.pairs);
    qn_partials_open(&job.partials, qn_qrnn_task_work(&job, job.batch.slices));
    backward(cpu->host.pool, &job);
    qn_partials_add(cpu, &job.partials, &job.batch);
    embedding_grad(cpu, &job);
}
