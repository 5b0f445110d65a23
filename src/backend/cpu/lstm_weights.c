/* lstm_weights.c - the gradients of both weights and the bias of an LSTM layer.
 *
 *     [dW_hh | dW_ih] += da^T [h | x],    db += the sum of da
 *
 * with h[t-1] and x[t] of each row side by side, so that da, four times as
 * wide, is read and packed by the BLAS once for both. An input that is looked
 * up has its own way to dW_ih (lookup.h), and no columns here. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/lstm.h"

#include <string.h>

/* h[t-1] and x[t] of a row. */
static void copy_terms(const struct qn_lstm_job *job, float *to, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t in = job->terms - job->hidden;
    memcpy(to, qn_lstm_before(job, l->hiddens, l->h0, b, t).data,
           job->hidden * sizeof *to);
    if (in > 0)
        memcpy(to + job->hidden, qn_row(&l->x, b, t), in * sizeof *to);
}

/* Those of the block's rows; zeros behind the end of a sequence, where x and h
 * may be no numbers. */
static void copy_block(const struct qn_lstm_job *job, float *to,
                       const struct qn_block *block)
{
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int t = block->from; t < block->from + block->steps; t++) {
            if (t < qn_lstm_real_steps(job, b))
                copy_terms(job, to, b, t);
            else
                memset(to, 0, job->terms * sizeof *to);
            to += job->terms;
        }
}

static float *sums_of(const struct qn_lstm_job *job, int slice)
{
    return job->sums + (size_t)slice * job->outputs * job->terms;
}

void qn_lstm_weights_take(const struct qn_lstm_job *job,
                          const struct qn_block *block, int slice, bool first)
{
    struct qn_block part = qn_block_clip(block, job->layer->n_real);
    float *terms = qn_lstm_task_work(job, slice);
    copy_block(job, terms, &part);
    struct qn_gemm product = {
        .c = sums_of(job, slice),
        .a = qn_lstm_gates(job, part.first, part.from),
        .b = terms,
        .m = (int)job->outputs,
        .n = (int)job->terms,
        .k = part.sequences * part.steps,
        .lda = job->outputs,
        .ldb = job->terms,
        .ldc = job->terms,
        .trans_a = true,
        .beta = first ? 0.0f : 1.0f,
    };
    qn_gemm(&product);
}

/* Sums of recent rows, and of all before them. */
static float *bias_of(const struct qn_lstm_job *job, int task)
{
    return job->biases + (size_t)task * 2 * job->outputs;
}

void qn_lstm_bias_clear(const struct qn_lstm_job *job, int task)
{
    memset(bias_of(job, task), 0, 2 * job->outputs * sizeof(float));
}

/* Summed some rows at a time: shorter sums round less. */
void qn_lstm_bias_take(const struct qn_lstm_job *job, int b, int t, int task,
                       int64_t before)
{
    enum { AT_ONCE = 64 };
    float *recent = bias_of(job, task);
    job->kernels->add(recent, qn_lstm_gates(job, b, t), job->outputs);
    if (before % AT_ONCE < AT_ONCE - 1)
        return;
    job->kernels->add(recent + job->outputs, recent, job->outputs);
    memset(recent, 0, job->outputs * sizeof *recent);
}

/* What a slice has of output i. */
static void add_output(const struct qn_lstm_job *job, int slice, size_t i)
{
    const struct qn_lstm_grad *g = job->grad;
    const float *from = sums_of(job, slice) + i * job->terms;
    size_t in = job->terms - job->hidden;
    job->kernels->add(qn_floats(g->d_weight_hh) + i * job->hidden, from,
                      job->hidden);
    if (in > 0)
        job->kernels->add(qn_floats(g->d_weight_ih) + i * in,
                          from + job->hidden, in);
}

static void add_share(void *arg, int share)
{
    const struct qn_lstm_job *job = arg;
    const struct qn_batch *batch = &job->batch;
    float *d_bias = qn_floats(job->grad->d_bias);
    size_t outputs = job->outputs;
    int from = qn_split((int)job->outputs, batch->slices, share);
    int end = qn_split((int)job->outputs, batch->slices, share + 1);
    int tasks = qn_lstm_n_recurrences(job);
    for (int i = from; i < end; i++)
        for (int slice = 0; slice < batch->slices; slice++) {
            if (qn_n_blocks(batch, slice) > 0)
                add_output(job, slice, (size_t)i);
            if (slice < tasks)
                d_bias[i] += bias_of(job, slice)[(size_t)i] +
                             bias_of(job, slice)[outputs + (size_t)i];
        }
}

void qn_lstm_weights_add(struct qn_pool *pool, struct qn_lstm_job *job)
{
    qn_pool_run(pool, job->batch.slices, add_share, job);
}
