/* lstm_grad.c - the way back through the LSTM layer.
 *
 * The recurrence replaces the gates by the gradients of their pre-activations,
 * which the gradients of the weights read (lstm_weights.c). */
#include "backend/cpu/lstm.h"

#include "backend/cpu/gemm.h"

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

/* What the cell (b, t) reads. */
static void ask_ahead(const struct qn_lstm_job *job, int b, int t)
{
    struct qn_lstm_cell cell = qn_lstm_cell(job, b, t);
    qn_lstm_ask(cell.gates, job->outputs);
    qn_lstm_ask(cell.c, job->hidden);
    qn_lstm_ask(cell.prev, job->hidden);
    qn_lstm_ask(qn_row(&job->grad->d_out, b, t), job->hidden);
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

/* Of step t, for the sequences of the part: dh = the gradient of h[t-1],
 * W_hh^T da[t], unless NULL; d_x[t] = or += W_ih^T da[t], if wanted here. */
static void backward_packed(const struct qn_lstm_job *job, float *dh,
                            const struct qn_block *part, int t, float *rows)
{
    const struct qn_lstm_grad *g = job->grad;
    int m = part->sequences;
    qn_panels_take_rows(&job->to_h, rows, 0, (int)job->outputs,
                        qn_lstm_gates(job, part->first, t),
                        qn_lstm_gates_pitch(job), m);
    if (dh)
        qn_panels_product(&job->to_h, dh, job->hidden, rows, m, NULL, false);
    if (job->to_x.data)
        qn_panels_product(&job->to_x, qn_row(&g->d_x, part->first, t),
                          g->d_x.seq_pitch, rows, m, NULL, g->add_x);
}

/* The same, or dh alone by the BLAS when nothing is packed. */
static void backward_step(const struct qn_lstm_job *job, float *dh,
                          const struct qn_block *part, int t, int task)
{
    if (part->sequences == 0)
        return;
    float *work = qn_lstm_task_work(job, task);
    if (job->packs) {
        backward_packed(job, dh, part, t, work);
        return;
    }
    struct qn_gemm product = {
        .c = dh,
        .a = qn_lstm_gates(job, part->first, t),
        .b = qn_floats(job->layer->weight_hh),
        .m = part->sequences,
        .n = (int)job->hidden,
        .k = (int)job->outputs,
        .lda = qn_lstm_gates_pitch(job),
        .ldb = job->hidden,
        .ldc = job->hidden,
    };
    if (dh)
        qn_gemm(&product);
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
                           const struct qn_block *part, int t, int task)
{
    int64_t later = (int64_t)(part->steps - 1 - t) * part->sequences;
    for (int i = 0; i < part->sequences; i++) {
        int b = part->first + i;
        int real = qn_lstm_real_steps(job, b);
        size_t at = (size_t)i * job->hidden;
        if (i + 1 < part->sequences)
            ask_ahead(job, b + 1, t);
        if (t == real - 1)
            load_last(job, dh + at, dc + at, b);
        if (t < real)
            backward_cell(job, dh + at, dc + at, b, t);
        else
            memset(qn_lstm_gates(job, b, t), 0, job->outputs * sizeof(float));
        qn_lstm_bias_take(job, b, t, task, later + i);
    }
}

static void backward_recurrence(void *arg, int task)
{
    const struct qn_lstm_job *job = arg;
    const struct qn_lstm_grad *g = job->grad;
    struct qn_block part = qn_lstm_recurrence(job, task);
    float *dh = qn_lstm_task_work(job, task) + job->product_work;
    float *dc = dh + job->states_work;
    qn_lstm_bias_clear(job, task);
    for (int t = part.steps - 1; t >= 0; t--) {
        backward_cells(job, dh, dc, &part, t, task);
        struct qn_block run = qn_lstm_running(job, &part, t);
        float *first = dh + (size_t)(run.first - part.first) * job->hidden;
        bool wanted = t > 0 || g->d_h0.buffer;
        backward_step(job, wanted ? first : NULL, &run, t, task);
    }
    for (int i = 0; i < part.sequences; i++)
        if (qn_lstm_real_steps(job, part.first + i) == 0)
            load_last(job, dh + (size_t)i * job->hidden,
                      dc + (size_t)i * job->hidden, part.first + i);
    store_states(job, g->d_h0, dh, &part);
    store_states(job, g->d_c0, dc, &part);
}

/* What is not made by step: d_x of a block, and its sums of what is looked up.
 */
static void input_grad(const struct qn_lstm_job *job,
                       const struct qn_block *block, int slice)
{
    const struct qn_lstm_grad *g = job->grad;
    float *work = qn_lstm_task_work(job, slice);
    if (job->looks_up)
        qn_lookup_take(&job->lookup, slice, block, NULL, 0.0f, work);
    else if (!job->by_step && g->d_x.buffer)
        qn_product_input_grad(&job->product, block, &g->d_x, g->add_x, work);
}

static void backward_products(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    if (job->looks_up)
        qn_lookup_clear(&job->lookup, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_lstm_weights_take(job, &block, slice, i == 0);
        input_grad(job, &block, slice);
    }
}

static void backward_slice(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    struct qn_block all = qn_lstm_recurrence(job, slice);
    if (job->to_x.data && !job->grad->add_x)
        qn_product_clear_masked(&job->product, &all, &job->grad->d_x);
    backward_recurrence(arg, slice);
    backward_products(arg, slice);
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
    qn_lstm_pack(pool, &job);
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.sequences, backward_recurrence, &job);
        qn_pool_run(pool, job.batch.slices, backward_products, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, backward_slice, &job);
    }
    qn_lstm_weights_add(pool, &job);
    if (job.looks_up)
        qn_lookup_finish(cpu, &job.lookup, &job.batch,
                         qn_floats(grad->d_weight_ih), grad->d_table);
    else
        qn_cpu_table_grad(be, grad->d_table, &grad->d_x, layer->ids);
}
