/* lstm_grad.c - the way back through the LSTM layer.
 *
 * The recurrence replaces the gates by the gradients of their pre-activations,
 * and the products of both weights and of the input read them. */
#include "backend/cpu/lstm.h"

#include <string.h>

/* The state [H] of sequence b; zeros when it is absent. */
static void load_state(const struct qn_lstm_job *job, float *to,
                       struct qn_tensor from, int b)
{
    size_t bytes = job->hidden * sizeof *to;
    if (from.buffer)
        memcpy(to, qn_floats(from) + (size_t)b * job->hidden, bytes);
    else
        memset(to, 0, bytes);
}

static void store_states(const struct qn_lstm_job *job, struct qn_tensor to,
                         const float *from, const struct qn_block *part)
{
    size_t bytes = (size_t)part->sequences * job->hidden * sizeof *from;
    if (to.buffer)
        memcpy(qn_floats(to) + (size_t)part->first * job->hidden, from, bytes);
}

/* dh [H] of h[t] from later steps, and then from this one's output. */
static void backward_cell(const struct qn_lstm_job *job, float *dh, float *dc,
                          int b, int t)
{
    struct qn_lstm_cell cell = qn_lstm_cell(job, b, t);
    const float *d_out = qn_row(&job->grad->d_out, b, t);
    if (job->mask.on) {
        struct qn_drop drop = qn_lstm_drop(job, b, t);
        job->kernels->drop_add(dh, d_out, &drop, job->hidden);
    } else {
        job->kernels->add(dh, d_out, job->hidden);
    }
    job->kernels->lstm_cell_grad(dc, dh, &cell);
}

/* dh = the gradient of h[t-1] through step t, W_hh^T da[t], for the sequences
 * of the part. */
static void backward_recurrent(const struct qn_lstm_job *job, float *dh,
                               const struct qn_block *part, int t, int task)
{
    if (part->sequences == 0)
        return;
    struct qn_gemm product = {
        .c = dh,
        .a = job->product.y + qn_lstm_row(job, part->first, t) * job->outputs,
        .m = part->sequences,
        .n = (int)job->hidden,
        .k = (int)job->outputs,
        .lda = (size_t)job->batch.steps * job->outputs,
        .ldc = job->hidden,
    };
    qn_lstm_product(job, &product, task);
}

/* What comes straight into the last states of sequence b. */
static void load_last(const struct qn_lstm_job *job, float *dh, float *dc,
                      int b)
{
    load_state(job, dh, job->grad->d_last_h, b);
    load_state(job, dc, job->grad->d_last_c, b);
}

/* Step t of the part; dh and dc [sequences, H]. As long as a sequence is over
 * its dh is undefined: what comes into its last states is taken at its last
 * real step. Its rows of 'saved' become 0 for the products. */
static void backward_cells(const struct qn_lstm_job *job, float *dh, float *dc,
                           const struct qn_block *part, int t)
{
    for (int i = 0; i < part->sequences; i++) {
        int b = part->first + i;
        int real = qn_lstm_real_steps(job, b);
        size_t at = (size_t)i * job->hidden;
        if (t == real - 1)
            load_last(job, dh + at, dc + at, b);
        if (t < real)
            backward_cell(job, dh + at, dc + at, b, t);
        else
            memset(job->product.y + qn_lstm_row(job, b, t) * job->outputs, 0,
                   job->outputs * sizeof(float));
    }
}

static void backward_recurrence(void *arg, int task)
{
    const struct qn_lstm_job *job = arg;
    const struct qn_lstm_grad *g = job->grad;
    struct qn_block part = qn_lstm_recurrence(job, task);
    float *dh = qn_lstm_task_work(job, task) + job->product_work;
    float *dc = dh + job->states_work;
    for (int t = part.steps - 1; t >= 0; t--) {
        backward_cells(job, dh, dc, &part, t);
        struct qn_block run = qn_lstm_running(job, &part, t);
        float *first = dh + (size_t)(run.first - part.first) * job->hidden;
        if (t > 0 || g->d_h0.buffer)
            backward_recurrent(job, first, &run, t, task);
    }
    for (int i = 0; i < part.sequences; i++)
        if (qn_lstm_real_steps(job, part.first + i) == 0)
            load_last(job, dh + (size_t)i * job->hidden,
                      dc + (size_t)i * job->hidden, part.first + i);
    store_states(job, g->d_h0, dh, &part);
    store_states(job, g->d_c0, dc, &part);
}

/* Rows of a block lie one after the other in 'saved'. */
static const float *block_grads(const struct qn_lstm_job *job,
                                const struct qn_block *block)
{
    return job->product.y +
           qn_lstm_row(job, block->first, block->from) * job->outputs;
}

/* Summed some rows at a time: shorter sums round less. */
static void bias_grad(const struct qn_lstm_job *job,
                      const struct qn_block *block, int slice)
{
    enum { AT_ONCE = 64 };
    size_t n = job->outputs;
    float *db = qn_lstm_task_work(job, slice) + job->product_work +
                2 * job->states_work;
    const float *da = block_grads(job, block);
    int rows = block->sequences * block->steps;
    for (int r = 0; r < rows; r++) {
        if (r % AT_ONCE == 0)
            memset(db, 0, n * sizeof *db);
        job->kernels->add(db, da + (size_t)r * n, n);
        if (r % AT_ONCE == AT_ONCE - 1 || r == rows - 1)
            job->kernels->add(qn_partials_bias(&job->ih, slice), db, n);
    }
}

/* The h[t-1] of the block's rows as a matrix [rows, H]: but for step 0 they lie
 * in 'hiddens', one row up. */
static void copy_hiddens_before(const struct qn_lstm_job *job, float *to,
                                const struct qn_block *block)
{
    const struct qn_lstm *l = job->layer;
    size_t bytes = job->hidden * sizeof *to;
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int t = block->from; t < block->from + block->steps; t++) {
            if (t < qn_lstm_real_steps(job, b))
                memcpy(to, qn_lstm_before(job, l->hiddens, l->h0, b, t).data,
                       bytes);
            else
                memset(to, 0, bytes);
            to += job->hidden;
        }
}

/* dw = beta dw + the block's share of the gradient of W_hh. */
static void recurrent_weight_grad(const struct qn_lstm_job *job,
                                  const struct qn_block *block, float *dw,
                                  float beta, float *work)
{
    struct qn_block part = qn_block_clip(block, job->layer->n_real);
    copy_hiddens_before(job, work, &part);
    struct qn_gemm product = {
        .c = dw,
        .a = block_grads(job, &part),
        .b = work,
        .m = (int)job->outputs,
        .n = (int)job->hidden,
        .k = part.sequences * part.steps,
        .lda = job->outputs,
        .ldb = job->hidden,
        .ldc = job->hidden,
        .trans_a = true,
        .beta = beta,
    };
    qn_gemm(&product);
}

/* Of W_ih and of what it reads, from block i of a slice. */
static void input_grads(const struct qn_lstm_job *job,
                        const struct qn_block *block, int slice, int i)
{
    const struct qn_lstm_grad *g = job->grad;
    float *work = qn_lstm_task_work(job, slice);
    float beta = 0.0f;
    float *dw = qn_partials_weight(&job->ih, slice, i, &beta);
    if (job->looks_up) {
        qn_lookup_take(&job->lookup, slice, i == 0, block, dw, beta, work);
        return;
    }
    qn_product_weight_grad(&job->product, block, dw, beta, work);
    if (g->d_x.buffer)
        qn_product_input_grad(&job->product, block, &g->d_x, g->add_x, work);
}

static void backward_products(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    float *work = qn_lstm_task_work(job, slice);
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        float beta = 0.0f;
        float *dw = qn_partials_weight(&job->hh, slice, i, &beta);
        recurrent_weight_grad(job, &block, dw, beta, work);
        bias_grad(job, &block, slice);
        input_grads(job, &block, slice, i);
    }
}

static void backward_slice(void *arg, int slice)
{
    backward_recurrence(arg, slice);
    backward_products(arg, slice);
}

static void open_partials(struct qn_lstm_job *job)
{
    const struct qn_lstm_grad *g = job->grad;
    float *work = qn_lstm_task_work(job, job->batch.slices);
    job->ih.d_weight = qn_floats(g->d_weight_ih);
    job->ih.d_bias = qn_floats(g->d_bias);
    job->hh.d_weight = qn_floats(g->d_weight_hh);
    qn_partials_open(&job->ih, work);
    qn_partials_open(&job->hh, work + qn_partials_work(&job->ih));
}

void qn_cpu_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_lstm_grad(layer, grad);
    struct qn_lstm_job job = qn_lstm_open(cpu, layer);
    if (!qn_lstm_start(cpu, &job))
        return;
    job.grad = grad;
    open_partials(&job);
    qn_lstm_pack(pool, &job);
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.sequences, backward_recurrence, &job);
        qn_pool_run(pool, job.batch.slices, backward_products, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, backward_slice, &job);
    }
    qn_partials_add(cpu, &job.ih, &job.batch);
    qn_partials_add(cpu, &job.hh, &job.batch);
    if (job.looks_up)
        qn_lookup_finish(cpu, &job.lookup, &job.batch, job.ih.d_weight,
                         grad->d_table);
    else
        qn_cpu_table_grad(be, grad->d_table, &grad->d_x, layer->ids);
}
