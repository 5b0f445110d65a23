/* lstm.c - the LSTM layer: a recurrence that takes all sequences of a slice one
 * step at a time.
 *
 * Forward, each step makes its pre-activations in its rows of 'saved', which
 * lie T*4H apart, unless a product of whole blocks has put W_ih x[t] + b there;
 * and the gates in place. lstm_grad.c is the way back. */
#include "backend/cpu/lstm.h"

#include "backend/cpu/gemm.h"

#include <string.h>

static void forward_products(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_forward(&job->product, &block,
                           qn_lstm_task_work(job, slice));
    }
}

/* a[t] = W_ih x[t] + b of a part, looked up. */
static void look_up(const struct qn_lstm_job *job, const struct qn_block *part,
                    int t, float *work)
{
    struct qn_block row = {part->first, 1, t, 1};
    for (; row.first < part->first + part->sequences; row.first++)
        qn_lookup_forward(&job->lookup, &row, work);
}

/* a[t] = W_hh h[t-1] + W_ih x[t] + b, or += the first term alone. */
static void multiply(const struct qn_lstm_job *job, const struct qn_block *part,
                     int t, struct qn_lstm_rows h, float *rows)
{
    const struct qn_seq *x = &job->layer->x;
    const struct qn_panels *weights = &job->forward;
    int m = part->sequences;
    int hidden = (int)job->hidden;
    bool whole = job->packs_input;
    qn_panels_take_rows(weights, rows, 0, hidden, h.data, h.pitch, m);
    if (whole)
        qn_panels_take_rows(weights, rows, hidden, x->width,
                            qn_row(x, part->first, t), x->seq_pitch, m);
    qn_panels_product(weights, qn_lstm_gates(job, part->first, t),
                      qn_lstm_gates_pitch(job), rows, m,
                      whole ? job->product.bias : NULL, !whole);
}

/* a[t] += W_hh h[t-1], as it is. */
static void add_recurrent(const struct qn_lstm_job *job,
                          const struct qn_block *part, int t,
                          struct qn_lstm_rows h)
{
    struct qn_gemm product = {
        .c = qn_lstm_gates(job, part->first, t),
        .a = h.data,
        .b = qn_floats(job->layer->weight_hh),
        .m = part->sequences,
        .n = (int)job->outputs,
        .k = (int)job->hidden,
        .lda = h.pitch,
        .ldb = job->hidden,
        .ldc = qn_lstm_gates_pitch(job),
        .trans_b = true,
        .beta = 1.0f,
    };
    qn_gemm(&product);
}

/* The products of step t for all sequences of the part. */
static void forward_step(const struct qn_lstm_job *job,
                         const struct qn_block *part, int t, float *work)
{
    const struct qn_lstm *l = job->layer;
    if (part->sequences == 0)
        return;
    struct qn_lstm_rows h =
        qn_lstm_before(job, l->hiddens, l->h0, part->first, t);
    if (job->looks_up)
        look_up(job, part, t, work);
    if (job->packs)
        multiply(job, part, t, h, work);
    else
        add_recurrent(job, part, t, h);
}

static void forward_cell(const struct qn_lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    struct qn_lstm_cell cell = qn_lstm_cell(job, b, t);
    float *h = qn_floats(l->hiddens) + qn_lstm_row(job, b, t) * job->hidden;
    float *out = qn_row(&l->out, b, t);
    job->kernels->lstm_cell(h, &cell);
    if (job->mask.on) {
        struct qn_drop drop = qn_lstm_drop(job, b, t);
        job->kernels->drop(out, h, &drop, job->hidden);
    } else {
        memcpy(out, h, job->hidden * sizeof *out);
    }
}

/* Behind the end of a sequence: h and c stay as they are. */
static void masked_cell(const struct qn_lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t bytes = job->hidden * sizeof(float);
    size_t at = qn_lstm_row(job, b, t) * job->hidden;
    memcpy(qn_floats(l->cells) + at,
           qn_lstm_before(job, l->cells, l->c0, b, t).data, bytes);
    memcpy(qn_floats(l->hiddens) + at,
           qn_lstm_before(job, l->hiddens, l->h0, b, t).data, bytes);
    memset(qn_row(&l->out, b, t), 0, bytes);
}

/* What the cell (b, t) writes, and what the next step multiplies by W_ih. */
static void ask_ahead(const struct qn_lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t at = qn_lstm_row(job, b, t) * job->hidden;
    qn_lstm_ask(qn_floats(l->cells) + at, job->hidden);
    qn_lstm_ask(qn_floats(l->hiddens) + at, job->hidden);
    qn_lstm_ask(qn_row(&l->out, b, t), job->hidden);
    if (job->packs_input && t + 1 < job->batch.steps)
        qn_lstm_ask(qn_row(&l->x, b, t + 1), (size_t)l->x.width);
}

/* Step t of the part, whose gates have all products. */
static void forward_cells(const struct qn_lstm_job *job,
                          const struct qn_block *part, int t)
{
    int end = part->first + part->sequences;
    for (int b = part->first; b < end; b++) {
        if (b + 1 < end)
            ask_ahead(job, b + 1, t);
        if (t < qn_lstm_real_steps(job, b))
            forward_cell(job, b, t);
        else
            masked_cell(job, b, t);
    }
}

static void forward_recurrence(void *arg, int task)
{
    const struct qn_lstm_job *job = arg;
    struct qn_block part = qn_lstm_recurrence(job, task);
    for (int t = 0; t < part.steps; t++) {
        struct qn_block run = qn_lstm_running(job, &part, t);
        forward_step(job, &run, t, qn_lstm_task_work(job, task));
        forward_cells(job, &part, t);
    }
}

static void forward_slice(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    if (!job->by_step)
        forward_products(arg, slice);
    forward_recurrence(arg, slice);
}

void qn_cpu_lstm(struct qn_backend *be, const struct qn_lstm *layer)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_lstm(layer);
    struct qn_lstm_job job = qn_lstm_open(cpu, layer);
    if (!qn_lstm_start(cpu, &job))
        return;
    qn_lstm_pack(pool, &job);
    if (job.looks_up)
        qn_lookup_prepare(cpu, &job.lookup);
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.slices, forward_products, &job);
        qn_pool_run(pool, job.batch.sequences, forward_recurrence, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, forward_slice, &job);
    }
}
