/* lstm.c - the LSTM layer: large products of whole blocks around a recurrence
 * that takes all sequences of a slice one step at a time.
 *
 * Forward, the product of the input goes straight into 'saved'; each step adds
 * W_hh h[t-1] to its rows there, which lie T*4H apart, and makes the gates in
 * place. Backward, the recurrence replaces the gates by the gradients of their
 * pre-activations, and the products of both weights and of the input read them.
 * Both ways take W_hh packed once for all steps (panels.h).
 * When the batch has fewer sequences than slices, the large products split by
 * time, and the recurrence runs over a sequence a task in between. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/panels.h"
#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

#include <string.h>

/* As for a decoder: what the recurrence wants is too far apart to be still in
 * the cache, so blocks are as large as helps the products. */
#define BLOCK_ROWS 1600

/* A recurrence of at least so many steps packs W_hh: that costs what four to
 * eight steps of a small batch gain by it. */
#define PACK_STEPS 8

struct lstm_job {
    const struct qn_kernels *kernels;
    const struct qn_lstm *layer;
    const struct qn_lstm_grad *grad; /* backward */
    struct qn_product product;       /* of the input */
    struct qn_batch batch;
    struct qn_mask mask;
    size_t hidden, outputs;    /* H, 4H */
    struct qn_partials ih, hh; /* backward; the bias is with ih */
    struct qn_panels packed;   /* W_hh^T forward, W_hh backward; without data
                                  when it is not worth it */
    float *work;               /* [slices, task_work], partials, packed */
    size_t product_work;       /* of a task, then its scratch: */
    size_t states_work, task_work; /* dh, dc [sequences, H], db [4H] */
};

/* Sequences that one task of the recurrence takes together. */
static struct qn_block recurrence_of(const struct lstm_job *job, int task)
{
    const struct qn_batch *b = &job->batch;
    struct qn_block one = {task, 1, 0, b->steps};
    if (qn_batch_by_time(b))
        return one;
    int first = qn_split(b->sequences, b->slices, task);
    int end = qn_split(b->sequences, b->slices, task + 1);
    struct qn_block slice = {first, end - first, 0, b->steps};
    return slice;
}

static struct lstm_job open_job(struct qn_cpu *cpu, const struct qn_lstm *l)
{
    size_t hidden = (size_t)l->hidden;
    size_t in = (size_t)l->x.width;
    int slices = cpu->host.slices;
    struct lstm_job job = {
        .kernels = cpu->kernels,
        .layer = l,
        .product = {.kernels = cpu->kernels,
                    .x = l->x,
                    .n_real = l->n_real,
                    .window = 1,
                    .outputs = 4 * hidden},
        .batch = {l->x.batch, l->x.steps, slices, BLOCK_ROWS, l->n_real},
        .mask = qn_mask_of(&l->dropout),
        .hidden = hidden,
        .outputs = 4 * hidden,
        .ih = {.slices = slices,
               .n_weight = 4 * hidden * in,
               .n_bias = 4 * hidden},
        .hh = {.slices = slices, .n_weight = 4 * hidden * hidden},
    };
    size_t rows = (size_t)qn_largest_block(&job.batch);
    size_t together =
        ((size_t)l->x.batch + (size_t)slices - 1) / (size_t)slices;
    job.product_work = qn_lines(rows * (in > hidden ? in : hidden));
    job.states_work = qn_lines(together * hidden);
    job.task_work =
        job.product_work + 2 * job.states_work + qn_lines(job.outputs);
    return job;
}

static size_t partials_work(const struct qn_partials *p)
{
    return qn_partials_work(p->slices, p->n_weight, p->n_bias);
}

static size_t all_partials_work(const struct lstm_job *job)
{
    return partials_work(&job->ih) + partials_work(&job->hh);
}

static bool wants_packed(const struct lstm_job *job)
{
    return job->batch.steps >= PACK_STEPS;
}

static struct qn_panels panels_of(const struct lstm_job *job, bool forward)
{
    int hidden = (int)job->hidden;
    int outputs = (int)job->outputs;
    struct qn_panels packed = {
        .kernels = job->kernels,
        .n = forward ? outputs : hidden,
        .k = forward ? hidden : outputs,
    };
    return packed;
}

/* Floats for both ways of this layer. */
static size_t job_work(const struct lstm_job *job)
{
    size_t packed = 0;
    if (wants_packed(job)) {
        struct qn_panels forward = panels_of(job, true);
        struct qn_panels backward = panels_of(job, false);
        size_t a = qn_panels_size(&forward);
        size_t b = qn_panels_size(&backward);
        packed = a > b ? a : b;
    }
    return (size_t)job->batch.slices * job->task_work + all_partials_work(job) +
           packed;
}

size_t qn_cpu_lstm_workspace(struct qn_backend *be, const struct qn_lstm *l)
{
    struct lstm_job job = open_job((struct qn_cpu *)be, l);
    return job_work(&job) * sizeof(float);
}

/* Take the layer's pointers and the workspace; false when there is none. */
static bool start_job(struct qn_cpu *cpu, struct lstm_job *job)
{
    job->product.weight = qn_floats(job->layer->weight_ih);
    job->product.bias = qn_floats(job->layer->bias);
    job->product.y = qn_floats(job->layer->saved);
    job->work = qn_cpu_work(cpu, job_work(job));
    return job->work;
}

static float *task_work(const struct lstm_job *job, int task)
{
    return job->work + (size_t)task * job->task_work;
}

static size_t row_index(const struct lstm_job *job, int b, int t)
{
    return (size_t)b * (size_t)job->batch.steps + (size_t)t;
}

/* Rows of one step, of one sequence after the other. */
struct rows {
    const float *data;
    size_t pitch;
};

/* h[t-1] or c[t-1] from sequence b on, out of all h or c and those before. */
static struct rows rows_before(const struct lstm_job *job,
                               struct qn_tensor states, struct qn_tensor first,
                               int b, int t)
{
    size_t hidden = job->hidden;
    size_t pitch = (size_t)job->batch.steps * hidden;
    if (t == 0)
        return (struct rows){qn_floats(first) + (size_t)b * hidden, hidden};
    size_t row = row_index(job, b, t) - 1;
    return (struct rows){qn_floats(states) + row * hidden, pitch};
}

/* The cell step (b, t), its pointers set. */
static struct qn_lstm_cell cell_at(const struct lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t row = row_index(job, b, t);
    struct qn_lstm_cell cell = {
        .hidden = job->hidden,
        .gates = job->product.y + row * job->outputs,
        .prev = rows_before(job, l->cells, l->c0, b, t).data,
        .c = qn_floats(l->cells) + row * job->hidden,
    };
    return cell;
}

static struct qn_drop drop_at(const struct lstm_job *job, int b, int t)
{
    struct qn_drop drop = {.row = qn_mask_row(&job->mask, b, t),
                           .threshold = job->mask.threshold,
                           .scale = job->mask.scale};
    return drop;
}

static void forward_products(void *arg, int slice)
{
    const struct lstm_job *job = arg;
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        qn_product_forward(&job->product, &block, task_work(job, slice));
    }
}

/* Steps of sequence b before its end. */
static int real_steps(const struct lstm_job *job, int b)
{
    return qn_real_steps(job->layer->n_real, b, job->batch.steps);
}

/* The part without the sequences at its two ends that are over at step t. */
static struct qn_block running(const struct lstm_job *job,
                               const struct qn_block *part, int t)
{
    struct qn_block run = *part;
    while (run.sequences > 0 && t >= real_steps(job, run.first)) {
        run.first++;
        run.sequences--;
    }
    while (run.sequences > 0 &&
           t >= real_steps(job, run.first + run.sequences - 1))
        run.sequences--;
    return run;
}

static void pack_slice(void *arg, int slice)
{
    const struct lstm_job *job = arg;
    bool forward = job->grad == NULL;
    qn_panels_fill(&job->packed, qn_floats(job->layer->weight_hh), job->hidden,
                   forward, slice, job->batch.slices);
}

static void pack(struct qn_pool *pool, struct lstm_job *job)
{
    if (!wants_packed(job))
        return;
    job->packed = panels_of(job, job->grad == NULL);
    job->packed.data =
        task_work(job, job->batch.slices) + all_partials_work(job);
    qn_pool_run(pool, job->batch.slices, pack_slice, job);
}

/* C [m, n], or with 'add' +=, = A [m, k] times W_hh^T forward, W_hh backward;
 * rows of both as far apart as 'p' says. */
static void recurrent_product(const struct lstm_job *job, struct qn_gemm *p)
{
    if (job->packed.data) {
        qn_panels_product(&job->packed, p->c, p->ldc, p->a, p->lda, p->m,
                          p->beta != 0.0f);
        return;
    }
    p->b = qn_floats(job->layer->weight_hh);
    p->ldb = job->hidden;
    qn_gemm(p);
}

/* a[t] += W_hh h[t-1] for all sequences of the part. */
static void add_recurrent(const struct lstm_job *job,
                          const struct qn_block *part, int t)
{
    if (part->sequences == 0)
        return;
    const struct qn_lstm *l = job->layer;
    struct rows h = rows_before(job, l->hiddens, l->h0, part->first, t);
    struct qn_gemm product = {
        .c = job->product.y + row_index(job, part->first, t) * job->outputs,
        .a = h.data,
        .m = part->sequences,
        .n = (int)job->outputs,
        .k = (int)job->hidden,
        .lda = h.pitch,
        .ldc = (size_t)job->batch.steps * job->outputs,
        .trans_b = true,
        .beta = 1.0f,
    };
    recurrent_product(job, &product);
}

static void forward_cell(const struct lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    struct qn_lstm_cell cell = cell_at(job, b, t);
    float *h = qn_floats(l->hiddens) + row_index(job, b, t) * job->hidden;
    float *out = qn_row(&l->out, b, t);
    job->kernels->lstm_cell(h, &cell);
    if (job->mask.on) {
        struct qn_drop drop = drop_at(job, b, t);
        job->kernels->drop(out, h, &drop, job->hidden);
    } else {
        memcpy(out, h, job->hidden * sizeof *out);
    }
}

/* Behind the end of a sequence: h and c stay as they are. */
static void masked_cell(const struct lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t bytes = job->hidden * sizeof(float);
    size_t at = row_index(job, b, t) * job->hidden;
    memcpy(qn_floats(l->cells) + at,
           rows_before(job, l->cells, l->c0, b, t).data, bytes);
    memcpy(qn_floats(l->hiddens) + at,
           rows_before(job, l->hiddens, l->h0, b, t).data, bytes);
    memset(qn_row(&l->out, b, t), 0, bytes);
}

static void forward_recurrence(void *arg, int task)
{
    const struct lstm_job *job = arg;
    struct qn_block part = recurrence_of(job, task);
    for (int t = 0; t < part.steps; t++) {
        struct qn_block run = running(job, &part, t);
        add_recurrent(job, &run, t);
        for (int b = part.first; b < part.first + part.sequences; b++)
            if (t < real_steps(job, b))
                forward_cell(job, b, t);
            else
                masked_cell(job, b, t);
    }
}

static void forward_slice(void *arg, int slice)
{
    forward_products(arg, slice);
    forward_recurrence(arg, slice);
}

void qn_cpu_lstm(struct qn_backend *be, const struct qn_lstm *layer)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_lstm(layer);
    struct lstm_job job = open_job(cpu, layer);
    if (!start_job(cpu, &job))
        return;
    pack(pool, &job);
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.slices, forward_products, &job);
        qn_pool_run(pool, job.batch.sequences, forward_recurrence, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, forward_slice, &job);
    }
}

/* The state [H] of sequence b; zeros when it is absent. */
static void load_state(const struct lstm_job *job, float *to,
                       struct qn_tensor from, int b)
{
    size_t bytes = job->hidden * sizeof *to;
    if (from.buffer)
        memcpy(to, qn_floats(from) + (size_t)b * job->hidden, bytes);
    else
        memset(to, 0, bytes);
}

static void store_states(const struct lstm_job *job, struct qn_tensor to,
                         const float *from, const struct qn_block *part)
{
    size_t bytes = (size_t)part->sequences * job->hidden * sizeof *from;
    if (to.buffer)
        memcpy(qn_floats(to) + (size_t)part->first * job->hidden, from, bytes);
}

/* dh [H] of h[t] from later steps, and then from this one's output. */
static void backward_cell(const struct lstm_job *job, float *dh, float *dc,
                          int b, int t)
{
    struct qn_lstm_cell cell = cell_at(job, b, t);
    const float *d_out = qn_row(&job->grad->d_out, b, t);
    if (job->mask.on) {
        struct qn_drop drop = drop_at(job, b, t);
        job->kernels->drop_add(dh, d_out, &drop, job->hidden);
    } else {
        job->kernels->add(dh, d_out, job->hidden);
    }
    job->kernels->lstm_cell_grad(dc, dh, &cell);
}

/* dh = the gradient of h[t-1] through step t, W_hh^T da[t], for the sequences
 * of the part. */
static void backward_recurrent(const struct lstm_job *job, float *dh,
                               const struct qn_block *part, int t)
{
    if (part->sequences == 0)
        return;
    struct qn_gemm product = {
        .c = dh,
        .a = job->product.y + row_index(job, part->first, t) * job->outputs,
        .m = part->sequences,
        .n = (int)job->hidden,
        .k = (int)job->outputs,
        .lda = (size_t)job->batch.steps * job->outputs,
        .ldc = job->hidden,
    };
    recurrent_product(job, &product);
}

/* What comes straight into the last states of sequence b. */
static void load_last(const struct lstm_job *job, float *dh, float *dc, int b)
{
    load_state(job, dh, job->grad->d_last_h, b);
    load_state(job, dc, job->grad->d_last_c, b);
}

/* Step t of the part; dh and dc [sequences, H]. As long as a sequence is over
 * its dh is undefined: what comes into its last states is taken at its last
 * real step. Its rows of 'saved' become 0 for the products. */
static void backward_cells(const struct lstm_job *job, float *dh, float *dc,
                           const struct qn_block *part, int t)
{
    for (int i = 0; i < part->sequences; i++) {
        int b = part->first + i;
        int real = real_steps(job, b);
        size_t at = (size_t)i * job->hidden;
        if (t == real - 1)
            load_last(job, dh + at, dc + at, b);
        if (t < real)
            backward_cell(job, dh + at, dc + at, b, t);
        else
            memset(job->product.y + row_index(job, b, t) * job->outputs, 0,
                   job->outputs * sizeof(float));
    }
}

static void backward_recurrence(void *arg, int task)
{
    const struct lstm_job *job = arg;
    const struct qn_lstm_grad *g = job->grad;
    struct qn_block part = recurrence_of(job, task);
    float *dh = task_work(job, task) + job->product_work;
    float *dc = dh + job->states_work;
    for (int t = part.steps - 1; t >= 0; t--) {
        backward_cells(job, dh, dc, &part, t);
        struct qn_block run = running(job, &part, t);
        float *first = dh + (size_t)(run.first - part.first) * job->hidden;
        if (t > 0 || g->d_h0.buffer)
            backward_recurrent(job, first, &run, t);
    }
    for (int i = 0; i < part.sequences; i++)
        if (real_steps(job, part.first + i) == 0)
            load_last(job, dh + (size_t)i * job->hidden,
                      dc + (size_t)i * job->hidden, part.first + i);
    store_states(job, g->d_h0, dh, &part);
    store_states(job, g->d_c0, dc, &part);
}

/* Rows of a block lie one after the other in 'saved'. */
static const float *block_grads(const struct lstm_job *job,
                                const struct qn_block *block)
{
    return job->product.y +
           row_index(job, block->first, block->from) * job->outputs;
}

/* Summed some rows at a time: shorter sums round less. */
static void bias_grad(const struct lstm_job *job, const struct qn_block *block,
                      int slice)
{
    enum { AT_ONCE = 64 };
    size_t n = job->outputs;
    float *db =
        task_work(job, slice) + job->product_work + 2 * job->states_work;
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
static void copy_hiddens_before(const struct lstm_job *job, float *to,
                                const struct qn_block *block)
{
    const struct qn_lstm *l = job->layer;
    size_t bytes = job->hidden * sizeof *to;
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int t = block->from; t < block->from + block->steps; t++) {
            if (t < real_steps(job, b))
                memcpy(to, rows_before(job, l->hiddens, l->h0, b, t).data,
                       bytes);
            else
                memset(to, 0, bytes);
            to += job->hidden;
        }
}

/* dw = beta dw + the block's share of the gradient of W_hh. */
static void recurrent_weight_grad(const struct lstm_job *job,
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

static void backward_products(void *arg, int slice)
{
    const struct lstm_job *job = arg;
    const struct qn_lstm_grad *g = job->grad;
    float *work = task_work(job, slice);
    int n = qn_n_blocks(&job->batch, slice);
    for (int i = 0; i < n; i++) {
        struct qn_block block = qn_block_at(&job->batch, slice, i);
        float beta = 0.0f;
        float *dw = qn_partials_weight(&job->hh, slice, i, &beta);
        recurrent_weight_grad(job, &block, dw, beta, work);
        dw = qn_partials_weight(&job->ih, slice, i, &beta);
        qn_product_weight_grad(&job->product, &block, dw, beta, work);
        bias_grad(job, &block, slice);
        if (g->d_x.buffer)
            qn_product_input_grad(&job->product, &block, &g->d_x, g->add_x,
                                  work);
    }
}

static void backward_slice(void *arg, int slice)
{
    backward_recurrence(arg, slice);
    backward_products(arg, slice);
}

static void open_partials(struct lstm_job *job)
{
    const struct qn_lstm_grad *g = job->grad;
    float *work = task_work(job, job->batch.slices);
    job->ih.d_weight = qn_floats(g->d_weight_ih);
    job->ih.d_bias = qn_floats(g->d_bias);
    job->hh.d_weight = qn_floats(g->d_weight_hh);
    qn_partials_open(&job->ih, work);
    qn_partials_open(&job->hh, work + partials_work(&job->ih));
}

void qn_cpu_lstm_grad(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct qn_pool *pool = cpu->host.pool;
    qn_check_lstm_grad(layer, grad);
    struct lstm_job job = open_job(cpu, layer);
    if (!start_job(cpu, &job))
        return;
    job.grad = grad;
    open_partials(&job);
    pack(pool, &job);
    if (qn_batch_by_time(&job.batch)) {
        qn_pool_run(pool, job.batch.sequences, backward_recurrence, &job);
        qn_pool_run(pool, job.batch.slices, backward_products, &job);
    } else {
        qn_pool_run(pool, job.batch.slices, backward_slice, &job);
    }
    qn_partials_add(cpu, &job.ih, &job.batch);
    qn_partials_add(cpu, &job.hh, &job.batch);
}
