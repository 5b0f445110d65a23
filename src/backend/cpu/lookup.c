/* lookup.c - products of a table's entries, and sums over their places. */
#include "backend/cpu/lookup.h"

#include "backend/cpu/gemm.h"

#include <string.h>

/* A row of P is read in about the time that the product with so many columns
 * takes. */
#define LEAST_WIDTH 16
/* Of the table: rows for each of its entries, and entries for each column. */
#define LEAST_ROWS 4
#define MOST_ENTRIES 4

bool qn_lookup_pays(const struct qn_product *p, const struct qn_batch *batch,
                    int n_symbols)
{
    int64_t rows = (int64_t)batch->sequences * batch->steps;
    return n_symbols > 0 && !batch->n_real && !qn_batch_by_time(batch) &&
           p->x.width >= LEAST_WIDTH &&
           n_symbols <= MOST_ENTRIES * (int64_t)p->x.width &&
           n_symbols <= rows / LEAST_ROWS;
}

static size_t tap_floats(const struct qn_lookup *l)
{
    return (size_t)l->n_symbols * l->pitch;
}

static size_t all_floats(const struct qn_lookup *l)
{
    return (size_t)l->window * tap_floats(l);
}

struct qn_lookup qn_lookup_of(const struct qn_product *p, int n_symbols,
                              int slices)
{
    QN_ASSERT(p->y_pitch == 0 && p->n_real == NULL);
    struct qn_lookup l = {.window = p->window,
                          .n_symbols = n_symbols,
                          .pitch = qn_lines(p->outputs)};
    l.sums.n_weight = all_floats(&l);
    l.sums.slices = slices;
    return l;
}

/* P, or S of the first slice, and S of the others. */
size_t qn_lookup_work(const struct qn_lookup *l)
{
    return all_floats(l) + qn_partials_work(&l->sums);
}

void qn_lookup_open(struct qn_lookup *l, const struct qn_product *p,
                    float *work)
{
    l->product = p;
    l->products = work;
    l->sums.d_weight = work;
    qn_partials_open(&l->sums, work + all_floats(l));
}

/* --- the history -------------------------------------------------------- */

/* Steps of the block, of each sequence, whose window begins before the segment.
 */
static int early_steps(const struct qn_product *p, const struct qn_block *block)
{
    int n = p->window - 1 - block->from;
    return n < 0 ? 0 : n < block->steps ? n : block->steps;
}

size_t qn_lookup_block_work(const struct qn_product *p,
                            const struct qn_batch *batch)
{
    int most = 0;
    for (int s = 0; s < batch->slices; s++)
        for (int i = 0; i < qn_n_blocks(batch, s); i++) {
            struct qn_block block = qn_block_at(batch, s, i);
            int rows = block.sequences * early_steps(p, &block);
            most = rows > most ? rows : most;
        }
    return (size_t)most * (qn_product_window(p) + p->outputs);
}

/* The part of the window of step t that lies before the segment, and zeros. */
static void copy_early(float *to, const struct qn_product *p, int b, int t)
{
    size_t width = (size_t)p->x.width;
    int before = p->window - 1 - t;
    for (int tap = 0; tap < before; tap++)
        memcpy(to + (size_t)tap * width,
               qn_row(&p->x, b, t - p->window + 1 + tap), width * sizeof *to);
    memset(to + (size_t)before * width, 0,
           (size_t)(p->window - before) * width * sizeof *to);
}

/* Those of the block one after the other; how many. */
static int early_windows(const struct qn_product *p,
                         const struct qn_block *block, float *to)
{
    int steps = early_steps(p, block);
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int i = 0; i < steps; i++, to += qn_product_window(p))
            copy_early(to, p, b, block->from + i);
    return steps * block->sequences;
}

static float *y_row(const struct qn_product *p, int b, int t)
{
    size_t row = (size_t)b * (size_t)p->x.steps + (size_t)t;
    return p->y + row * p->outputs;
}

/* y += the product with the history. */
static void add_early(const struct qn_product *p, const struct qn_block *block,
                      float *work)
{
    int rows = early_windows(p, block, work);
    if (rows == 0)
        return;
    float *y = work + (size_t)rows * qn_product_window(p);
    struct qn_gemm product = {
        .c = y,
        .a = work,
        .b = p->weight,
        .m = rows,
        .n = (int)p->outputs,
        .k = (int)qn_product_window(p),
        .lda = qn_product_window(p),
        .ldb = qn_product_window(p),
        .ldc = p->outputs,
        .trans_b = true,
    };
    qn_gemm(&product);
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int i = 0; i < early_steps(p, block); i++, y += p->outputs)
            p->kernels->add(y_row(p, b, block->from + i), y, p->outputs);
}

/* dw = beta dw + the history's share of the weight's gradient. */
static void early_grad(const struct qn_product *p, const struct qn_block *block,
                       float *dw, float beta, float *work)
{
    int rows = early_windows(p, block, work);
    float *y = work + (size_t)rows * qn_product_window(p);
    if (rows == 0 && beta == 1.0f)
        return;
    for (int i = 0; i < rows; i++) {
        int steps = early_steps(p, block);
        memcpy(y + (size_t)i * p->outputs,
               y_row(p, block->first + i / steps, block->from + i % steps),
               p->outputs * sizeof *y);
    }
    struct qn_gemm product = {
        .c = dw,
        .a = y,
        .b = work,
        .m = (int)p->outputs,
        .n = (int)qn_product_window(p),
        .k = rows,
        .lda = p->outputs,
        .ldb = qn_product_window(p),
        .ldc = qn_product_window(p),
        .trans_a = true,
        .beta = beta,
    };
    qn_gemm(&product);
}

/* --- forward ------------------------------------------------------------ */

/* What tasks share by outputs or by entries. */
struct share_job {
    const struct qn_lookup *lookup;
    int shares;
    const float *sums; /* back: S, and what it is for */
    float *d_weight, *d_table;
};

static void make_products(void *arg, int share)
{
    const struct share_job *job = arg;
    const struct qn_lookup *l = job->lookup;
    const struct qn_product *p = l->product;
    int from = qn_split((int)p->outputs, job->shares, share);
    int end = qn_split((int)p->outputs, job->shares, share + 1);
    size_t first = (size_t)from * qn_product_window(p);
    for (int tap = 0; from < end && tap < p->window; tap++) {
        struct qn_gemm product = {
            .c = l->products + (size_t)tap * tap_floats(l) + from,
            .a = l->table,
            .b = p->weight + first + (size_t)tap * (size_t)p->x.width,
            .m = l->n_symbols,
            .n = end - from,
            .k = p->x.width,
            .lda = (size_t)p->x.width,
            .ldb = qn_product_window(p),
            .ldc = l->pitch,
            .trans_b = true,
        };
        qn_gemm(&product);
    }
}

void qn_lookup_prepare(struct qn_cpu *cpu, const struct qn_lookup *l)
{
    struct share_job job = {.lookup = l, .shares = cpu->host.slices};
    qn_pool_run(cpu->host.pool, job.shares, make_products, &job);
}

/* The place in P or S of tap 'tap' of step t; none: before the segment, or the
 * zero vector. */
static bool entry_of(const struct qn_lookup *l, int b, int t, int tap,
                     size_t *at)
{
    const struct qn_product *p = l->product;
    int step = t - p->window + 1 + tap;
    if (step < 0)
        return false;
    int32_t id = l->ids[(size_t)b * (size_t)p->x.steps + (size_t)step];
    *at = (size_t)tap * tap_floats(l) + (size_t)id * l->pitch;
    return id >= 0;
}

static void add_products(const struct qn_lookup *l, int b, int t)
{
    const struct qn_product *p = l->product;
    size_t at;
    for (int tap = 0; tap < p->window; tap++)
        if (entry_of(l, b, t, tap, &at))
            p->kernels->add(y_row(p, b, t), l->products + at, p->outputs);
}

void qn_lookup_forward(const struct qn_lookup *l, const struct qn_block *block,
                       float *work)
{
    const struct qn_product *p = l->product;
    qn_product_begin(p, block);
    add_early(p, block, work);
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int i = 0; i < block->steps; i++)
            add_products(l, b, block->from + i);
}

/* --- back --------------------------------------------------------------- */

static void take_row(const struct qn_lookup *l, float *sums, int b, int t)
{
    const struct qn_product *p = l->product;
    size_t at;
    for (int tap = 0; tap < p->window; tap++)
        if (entry_of(l, b, t, tap, &at))
            p->kernels->add(sums + at, y_row(p, b, t), p->outputs);
}

static float *sums_of(const struct qn_lookup *l, int slice)
{
    float unused;
    return qn_partials_weight(&l->sums, slice, 0, &unused);
}

void qn_lookup_clear(const struct qn_lookup *l, int slice)
{
    memset(sums_of(l, slice), 0, all_floats(l) * sizeof(float));
}

void qn_lookup_take(const struct qn_lookup *l, int slice,
                    const struct qn_block *block, float *dw, float beta,
                    float *work)
{
    float *sums = sums_of(l, slice);
    if (dw)
        early_grad(l->product, block, dw, beta, work);
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int i = 0; i < block->steps; i++)
            take_row(l, sums, b, block->from + i);
}

/* Tap by tap, some rows of the weight's gradient. */
static void weight_share(const struct share_job *job, int share)
{
    const struct qn_lookup *l = job->lookup;
    const struct qn_product *p = l->product;
    int from = qn_split((int)p->outputs, job->shares, share);
    int end = qn_split((int)p->outputs, job->shares, share + 1);
    float *to = job->d_weight + (size_t)from * qn_product_window(p);
    for (int tap = 0; from < end && tap < p->window; tap++) {
        struct qn_gemm product = {
            .c = to + (size_t)tap * (size_t)p->x.width,
            .a = job->sums + (size_t)tap * tap_floats(l) + from,
            .b = l->table,
            .m = end - from,
            .n = p->x.width,
            .k = l->n_symbols,
            .lda = l->pitch,
            .ldb = (size_t)p->x.width,
            .ldc = qn_product_window(p),
            .trans_a = true,
            .beta = 1.0f,
        };
        qn_gemm(&product);
    }
}

/* Tap by tap, some rows of the table's. */
static void table_share(const struct share_job *job, int share)
{
    const struct qn_lookup *l = job->lookup;
    const struct qn_product *p = l->product;
    size_t width = (size_t)p->x.width;
    int from = qn_split(l->n_symbols, job->shares, share);
    int end = qn_split(l->n_symbols, job->shares, share + 1);
    const float *sums = job->sums + (size_t)from * l->pitch;
    for (int tap = 0; from < end && tap < p->window; tap++) {
        struct qn_gemm product = {
            .c = job->d_table + (size_t)from * width,
            .a = sums + (size_t)tap * tap_floats(l),
            .b = p->weight + (size_t)tap * width,
            .m = end - from,
            .n = p->x.width,
            .k = (int)p->outputs,
            .lda = l->pitch,
            .ldb = qn_product_window(p),
            .ldc = width,
            .beta = 1.0f,
        };
        qn_gemm(&product);
    }
}

static void finish_share(void *arg, int share)
{
    const struct share_job *job = arg;
    weight_share(job, share);
    if (job->d_table)
        table_share(job, share);
}

void qn_lookup_finish(struct qn_cpu *cpu, struct qn_lookup *l,
                      const struct qn_batch *batch, float *d_weight,
                      struct qn_tensor d_table)
{
    qn_partials_add(cpu, &l->sums, batch);
    struct share_job job = {.lookup = l,
                            .sums = l->sums.d_weight,
                            .d_weight = d_weight,
                            .d_table =
                                d_table.buffer ? qn_floats(d_table) : NULL,
                            .shares = cpu->host.slices};
    qn_pool_run(cpu->host.pool, job.shares, finish_share, &job);
}
