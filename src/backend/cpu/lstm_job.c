/* lstm_job.c - the shapes, the scratch and the rows of an LSTM layer. */
#include "backend/cpu/lstm.h"

/* What the recurrence has made is too far apart to be still in the cache.
 * Blocks of 200 to 800 rows are equally fast. */
#define BLOCK_ROWS 400

/* A recurrence of at least so many steps packs its weights: that costs what
 * four to eight steps of a small batch gain by it. */
#define PACK_STEPS 8

/* Of what a task multiplies: [h | x] or x of a block, or [h | x] or da of a
 * step, packed. What is looked up takes none: a window of one has no steps
 * before the segment. */
static size_t product_work(const struct qn_lstm_job *job, int together)
{
    size_t block = (size_t)qn_largest_block(&job->batch) * job->terms;
    size_t widest = job->terms > job->outputs ? job->terms : job->outputs;
    size_t step = job->packs ? (size_t)together * widest : 0;
    return qn_lines(block > step ? block : step);
}

struct qn_lstm_job qn_lstm_open(struct qn_cpu *cpu, const struct qn_lstm *l)
{
    size_t hidden = (size_t)l->hidden;
    size_t in = (size_t)l->x.width;
    int slices = cpu->host.slices;
    struct qn_lstm_job job = {
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
    };
    int together = (l->x.batch + slices - 1) / slices;
    job.looks_up = qn_lookup_pays(&job.product, &job.batch, l->n_symbols);
    if (job.looks_up)
        job.lookup = qn_lookup_of(&job.product, l->n_symbols, slices);
    job.packs = l->x.steps >= PACK_STEPS;
    job.by_step = job.looks_up || (job.packs && !qn_batch_by_time(&job.batch));
    job.packs_input = job.packs && job.by_step && !job.looks_up;
    job.terms = hidden + (job.looks_up ? 0 : in);
    job.product_work = product_work(&job, together);
    job.states_work = qn_lines((size_t)together * hidden);
    job.task_work = job.product_work + 2 * job.states_work;
    return job;
}

static size_t sums_at(const struct qn_lstm_job *job)
{
    return (size_t)job->batch.slices * job->task_work;
}

static size_t biases_at(const struct qn_lstm_job *job)
{
    size_t sums = (size_t)job->batch.slices * job->outputs * job->terms;
    return sums_at(job) + qn_lines(sums);
}

static size_t packed_at(const struct qn_lstm_job *job)
{
    size_t biases = (size_t)job->batch.slices * 2 * job->outputs;
    return biases_at(job) + qn_lines(biases);
}

/* Floats for both ways of this layer. */
static size_t job_work(const struct qn_lstm_job *job)
{
    return packed_at(job) + qn_lstm_packed_work(job) +
           (job->looks_up ? qn_lookup_work(&job->lookup) : 0);
}

size_t qn_cpu_lstm_workspace(struct qn_backend *be, const struct qn_lstm *l)
{
    struct qn_lstm_job job = qn_lstm_open((struct qn_cpu *)be, l);
    return job_work(&job) * sizeof(float);
}

bool qn_lstm_start(struct qn_cpu *cpu, struct qn_lstm_job *job)
{
    job->product.weight = qn_floats(job->layer->weight_ih);
    job->product.bias = qn_floats(job->layer->bias);
    job->product.y = qn_floats(job->layer->saved);
    job->work = qn_cpu_work(cpu, job_work(job));
    if (!job->work)
        return false;
    job->sums = job->work + sums_at(job);
    job->biases = job->work + biases_at(job);
    if (job->looks_up) {
        job->lookup.table = qn_floats(job->layer->table);
        job->lookup.ids = qn_ids(job->layer->ids);
        qn_lookup_open(&job->lookup, &job->product,
                       job->work + packed_at(job) + qn_lstm_packed_work(job));
    }
    return true;
}

float *qn_lstm_packed(const struct qn_lstm_job *job)
{
    return job->work + packed_at(job);
}

float *qn_lstm_task_work(const struct qn_lstm_job *job, int task)
{
    return job->work + (size_t)task * job->task_work;
}

size_t qn_lstm_row(const struct qn_lstm_job *job, int b, int t)
{
    return (size_t)b * (size_t)job->batch.steps + (size_t)t;
}

float *qn_lstm_gates(const struct qn_lstm_job *job, int b, int t)
{
    return job->product.y + qn_lstm_row(job, b, t) * job->outputs;
}

size_t qn_lstm_gates_pitch(const struct qn_lstm_job *job)
{
    return (size_t)job->batch.steps * job->outputs;
}

int qn_lstm_n_recurrences(const struct qn_lstm_job *job)
{
    const struct qn_batch *b = &job->batch;
    return qn_batch_by_time(b) ? b->sequences : b->slices;
}

struct qn_block qn_lstm_recurrence(const struct qn_lstm_job *job, int task)
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

struct qn_lstm_rows qn_lstm_before(const struct qn_lstm_job *job,
                                   struct qn_tensor states,
                                   struct qn_tensor first, int b, int t)
{
    size_t hidden = job->hidden;
    size_t pitch = (size_t)job->batch.steps * hidden;
    if (t == 0)
        return (struct qn_lstm_rows){qn_floats(first) + (size_t)b * hidden,
                                     hidden};
    size_t row = qn_lstm_row(job, b, t) - 1;
    return (struct qn_lstm_rows){qn_floats(states) + row * hidden, pitch};
}

struct qn_lstm_cell qn_lstm_cell(const struct qn_lstm_job *job, int b, int t)
{
    const struct qn_lstm *l = job->layer;
    size_t row = qn_lstm_row(job, b, t);
    struct qn_lstm_cell cell = {
        .hidden = job->hidden,
        .gates = qn_lstm_gates(job, b, t),
        .prev = qn_lstm_before(job, l->cells, l->c0, b, t).data,
        .c = qn_floats(l->cells) + row * job->hidden,
    };
    return cell;
}

struct qn_drop qn_lstm_drop(const struct qn_lstm_job *job, int b, int t)
{
    struct qn_drop drop = {.row = qn_mask_row(&job->mask, b, t),
                           .threshold = job->mask.threshold,
                           .scale = job->mask.scale};
    return drop;
}

int qn_lstm_real_steps(const struct qn_lstm_job *job, int b)
{
    return qn_real_steps(job->layer->n_real, b, job->batch.steps);
}

struct qn_block qn_lstm_running(const struct qn_lstm_job *job,
                                const struct qn_block *part, int t)
{
    struct qn_block run = *part;
    while (run.sequences > 0 && t >= qn_lstm_real_steps(job, run.first)) {
        run.first++;
        run.sequences--;
    }
    while (run.sequences > 0 &&
           t >= qn_lstm_real_steps(job, run.first + run.sequences - 1))
        run.sequences--;
    return run;
}
