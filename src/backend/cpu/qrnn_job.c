/* qrnn_job.c - the shapes, the scratch and the rows of a QRNN layer. */
#include "backend/cpu/qrnn.h"

/* Enough rows for a full-speed product (300 to 900 differ by less than the
 * noise, 200 lose 5 %), few enough for the second-level cache to help. */
#define BLOCK_ROWS 400
/* Pairs make three products of half the rows each. */
#define PAIRED_ROWS 800

/* Fewer units than these are not worth a task. */
#define LEAST_UNITS 32

/* Biases, or, with norm, gain and shift: floats of their gradient's scratch in
 * a task. A bias of each step is summed where it stays. */
static size_t sums_work(const struct qn_qrnn_job *job)
{
    return qn_lines(job->layer->norm.on ? 2 * job->outputs : job->outputs);
}

/* The work of the products, once it is known how they are made. */
static void open_products(struct qn_qrnn_job *job)
{
    const struct qn_product *p = &job->product;
    int slices = job->batch.slices;
    size_t work = qn_product_work(p, qn_largest_block(&job->batch));
    if (job->looks_up) {
        size_t early = qn_lookup_block_work(p, &job->batch);
        work = early > work ? early : work;
        job->lookup = qn_lookup_of(p, job->layer->n_symbols, slices);
    } else if (job->pairs_up) {
        work = qn_pairs_block_work(p, &job->batch);
        job->pairs = qn_pairs_of(p, slices);
    }
    job->product_work = qn_lines(work);
}

struct qn_qrnn_job qn_qrnn_open(struct qn_cpu *cpu, const struct qn_qrnn *l)
{
    size_t hidden = (size_t)l->hidden;
    size_t outputs = (size_t)qn_n_gates(l->activation, l->pooling) * hidden;
    struct qn_qrnn_job job = {
        .kernels = cpu->kernels,
        .layer = l,
        .product = {.kernels = cpu->kernels,
                    .x = l->x,
                    .n_real = l->n_real,
                    .window = l->window,
                    .outputs = outputs,
                    .bias_steps = l->bias_steps,
                    .bias_first = l->bias_first},
        .batch = {l->x.batch, l->x.steps, cpu->host.slices, BLOCK_ROWS,
                  l->n_real},
        .dropout = qn_mask_of(&l->dropout),
        .zoneout = qn_mask_of(&l->zoneout),
        .hidden = hidden,
        .outputs = outputs,
        .candidates = (size_t)qn_n_candidates(l->activation) * hidden,
        .norm = {.kernels = cpu->kernels,
                 .norm = &l->norm,
                 .channels = outputs},
        .partials = {.n_weight =
                         outputs * (size_t)l->window * (size_t)l->x.width,
                     .slices = cpu->host.slices},
    };
    if (!l->norm.on)
        job.partials.n_bias = (size_t)l->bias_steps * outputs;
    job.looks_up = qn_lookup_pays(&job.product, &job.batch, l->n_symbols);
    job.pairs_up = !job.looks_up && qn_pairs_pay(&job.product, &job.batch);
    if (job.pairs_up)
        job.batch.block_rows = PAIRED_ROWS;
    open_products(&job);
    job.task_work = job.product_work + 3 * qn_lines(hidden) + sums_work(&job);
    return job;
}

static size_t tasks_work(const struct qn_qrnn_job *job)
{
    return (size_t)job->batch.slices * job->task_work;
}

/* Of what stands in for the plain product. */
static size_t shortcut_work(const struct qn_qrnn_job *job)
{
    if (job->looks_up)
        return qn_lookup_work(&job->lookup);
    return job->pairs_up ? qn_pairs_work(&job->pairs) : 0;
}

/* Floats for both ways of this layer. */
static size_t job_work(const struct qn_qrnn_job *job)
{
    size_t norm =
        job->layer->norm.on ? qn_norm_work(job->batch.slices, job->outputs) : 0;
    return tasks_work(job) + qn_partials_work(&job->partials) + qn_lines(norm) +
           shortcut_work(job);
}

size_t qn_cpu_qrnn_workspace(struct qn_backend *be, const struct qn_qrnn *l)
{
    struct qn_qrnn_job job = qn_qrnn_open((struct qn_cpu *)be, l);
    return job_work(&job) * sizeof(float);
}

/* At the end of the work. */
static void open_shortcut(struct qn_qrnn_job *job)
{
    float *work = job->work + job_work(job) - shortcut_work(job);
    if (job->looks_up) {
        job->lookup.table = qn_floats(job->layer->table);
        job->lookup.ids = qn_ids(job->layer->ids);
        qn_lookup_open(&job->lookup, &job->product, work);
    } else if (job->pairs_up) {
        qn_pairs_open(&job->pairs, &job->product, work);
    }
}

bool qn_qrnn_start(struct qn_cpu *cpu, struct qn_qrnn_job *job)
{
    const struct qn_qrnn *l = job->layer;
    job->work = qn_cpu_work(cpu, job_work(job));
    if (!job->work)
        return false;
    job->saved = qn_floats(l->saved);
    job->product.weight = qn_floats(l->weight);
    if (l->norm.on) {
        job->norm.split = &job->batch;
        qn_norm_open(&job->norm, job->work + tasks_work(job) +
                                     qn_partials_work(&job->partials));
    } else {
        job->product.bias = qn_floats(l->bias);
    }
    open_shortcut(job);
    return true;
}

float *qn_qrnn_task_work(const struct qn_qrnn_job *job, int task)
{
    return job->work + (size_t)task * job->task_work;
}

size_t qn_qrnn_row(const struct qn_qrnn_job *job, int b, int t)
{
    return (size_t)b * (size_t)job->batch.steps + (size_t)t;
}

const float *qn_qrnn_raw(const struct qn_qrnn_job *job, int b, int t)
{
    return qn_floats(job->layer->norm.raw) +
           qn_qrnn_row(job, b, t) * job->outputs;
}

struct qn_units qn_qrnn_all_units(const struct qn_qrnn_job *job)
{
    struct qn_units all = {0, job->hidden};
    return all;
}

/* Tasks that share a sequence. */
static int n_shares(const struct qn_qrnn_job *job)
{
    int most = (int)(job->hidden / LEAST_UNITS);
    int n = job->batch.slices / job->batch.sequences;
    n = n < most ? n : most;
    return n > 1 ? n : 1;
}

int qn_qrnn_n_recurrences(const struct qn_qrnn_job *job)
{
    return job->batch.sequences * n_shares(job);
}

struct qn_units qn_qrnn_recurrence(const struct qn_qrnn_job *job, int task,
                                   int *b)
{
    int shares = n_shares(job);
    int hidden = (int)job->hidden;
    int share = task % shares;
    *b = task / shares;
    int first = qn_split(hidden, shares, share);
    int end = qn_split(hidden, shares, share + 1);
    struct qn_units units = {(size_t)first, (size_t)(end - first)};
    return units;
}

struct qn_spans qn_qrnn_spans(const struct qn_qrnn_job *job,
                              struct qn_units units, size_t blocks)
{
    bool all = units.count == job->hidden;
    struct qn_spans spans = {all ? 1 : blocks,
                             all ? blocks * job->hidden : units.count};
    return spans;
}

struct qn_qrnn_cell qn_qrnn_cell(const struct qn_qrnn_job *job, int b, int t,
                                 struct qn_units units)
{
    const struct qn_qrnn *l = job->layer;
    float *cells = qn_floats(l->cells) + units.first;
    const float *c0 = qn_floats(l->c0) + units.first;
    size_t row = qn_qrnn_row(job, b, t);
    size_t at = row * job->hidden;
    struct qn_qrnn_cell cell = {
        .pooling = l->pooling,
        .dual = job->candidates > job->hidden,
        .hidden = job->hidden,
        .count = units.count,
        .gates = job->saved + row * job->outputs + units.first,
        .prev = t > 0 ? cells + at - job->hidden : c0 + (size_t)b * job->hidden,
        .c = cells + at,
    };
    return cell;
}

struct qn_drop qn_qrnn_drop(const struct qn_mask *mask, int b, int t,
                            struct qn_units units)
{
    struct qn_drop drop = {.row = qn_mask_row(mask, b, t),
                           .first = (uint32_t)units.first,
                           .threshold = mask->threshold,
                           .scale = mask->scale};
    return drop;
}
