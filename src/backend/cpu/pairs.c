/* pairs.c - differences and sums of neighbours, three products, and back. */
#include "backend/cpu/pairs.h"

#include "backend/cpu/gemm.h"
#include "backend/private.h"

#include <string.h>

/* Below these the passes cost what the products save. */
#define LEAST_WIDTH 96
#define LEAST_OUTPUTS 96
#define LEAST_STEPS 8
#define LEAST_ROWS 128 /* of a slice */

bool qn_pairs_pay(const struct qn_product *p, const struct qn_batch *batch)
{
    int64_t rows = (int64_t)batch->sequences * batch->steps / batch->slices;
    return p->window == 2 && p->x.width >= LEAST_WIDTH &&
           p->outputs >= LEAST_OUTPUTS && batch->steps >= LEAST_STEPS &&
           rows >= LEAST_ROWS;
}

struct qn_pairs qn_pairs_of(const struct qn_product *p, int slices)
{
    QN_ASSERT(p->y_pitch == 0);
    struct qn_pairs pairs = {
        .outputs = p->outputs, .width = (size_t)p->x.width, .slices = slices};
    return pairs;
}

static size_t tap_floats(const struct qn_pairs *pairs)
{
    return qn_lines(pairs->outputs * pairs->width);
}

size_t qn_pairs_work(const struct qn_pairs *pairs)
{
    return (size_t)(1 + pairs->slices) * tap_floats(pairs);
}

void qn_pairs_open(struct qn_pairs *pairs, const struct qn_product *p,
                   float *work)
{
    pairs->product = p;
    pairs->both = work;
    pairs->shared = work + tap_floats(pairs);
}

static size_t n_pairs(const struct qn_block *block)
{
    return (size_t)block->sequences * (((size_t)block->steps + 1) / 2);
}

/* Forward three matrices of x and three products; back three of x, three of dy
 * and the products, one row more of one. */
size_t qn_pairs_block_work(const struct qn_product *p,
                           const struct qn_batch *batch)
{
    size_t most = 0;
    for (int s = 0; s < batch->slices; s++)
        for (int i = 0; i < qn_n_blocks(batch, s); i++) {
            struct qn_block block = qn_block_at(batch, s, i);
            size_t n = n_pairs(&block);
            most = n > most ? n : most;
        }
    size_t width = (size_t)p->x.width;
    return 3 * most * (width + p->outputs) + width;
}

/* --- A + B -------------------------------------------------------------- */

struct prepare_job {
    const struct qn_pairs *pairs;
    const struct qn_kernels *kernels;
    int shares;
};

static void prepare_share(void *arg, int share)
{
    const struct prepare_job *job = arg;
    const struct qn_pairs *pairs = job->pairs;
    size_t width = pairs->width;
    int from = qn_split((int)pairs->outputs, job->shares, share);
    int end = qn_split((int)pairs->outputs, job->shares, share + 1);
    for (int i = from; i < end; i++) {
        const float *w = pairs->product->weight + 2 * (size_t)i * width;
        job->kernels->sum(pairs->both + (size_t)i * width, w, w + width, width);
    }
}

void qn_pairs_prepare(struct qn_cpu *cpu, const struct qn_pairs *pairs)
{
    struct prepare_job job = {pairs, cpu->kernels, cpu->host.slices};
    qn_pool_run(cpu->host.pool, job.shares, prepare_share, &job);
}

/* --- the rows of x ------------------------------------------------------ */

/* Of each pair x[-1] - x[0], x[0] and x[1] - x[0], [pairs, D] each; with room
 * for a row more, since the products of the way back take their place. */
struct inputs {
    float *before, *here, *after;
};

static struct inputs open_inputs(size_t pairs, size_t width, float **work)
{
    struct inputs in = {*work, *work + pairs * width,
                        *work + 2 * pairs * width};
    *work += (3 * pairs + 1) * width;
    return in;
}

/* Pair i of all, whose first step is t; 'real' of its steps are: what lies in
 * others may be no number, and 0 times it none either. */
static void take_pair(const struct qn_product *p, const struct inputs *in,
                      size_t i, int b, int t, int real)
{
    size_t width = (size_t)p->x.width;
    size_t at = i * width;
    const float *here = qn_row(&p->x, b, t);
    if (real > 0) {
        memcpy(in->here + at, here, width * sizeof *here);
        p->kernels->difference(in->before + at, qn_row(&p->x, b, t - 1), here,
                               width);
    } else {
        memset(in->here + at, 0, width * sizeof *here);
        memset(in->before + at, 0, width * sizeof *here);
    }
    if (real > 1)
        p->kernels->difference(in->after + at, qn_row(&p->x, b, t + 1), here,
                               width);
    else
        memset(in->after + at, 0, width * sizeof *here);
}

static void take_inputs(const struct qn_product *p,
                        const struct qn_block *block, const struct inputs *in)
{
    size_t i = 0;
    for (int b = block->first; b < block->first + block->sequences; b++) {
        int real = qn_block_real(block, p->n_real, b);
        for (int t = 0; t < block->steps; t += 2)
            take_pair(p, in, i++, b, block->from + t, real - t);
    }
}

/* --- forward ------------------------------------------------------------ */

static float *y_of(const struct qn_product *p, int b, int t)
{
    size_t row = (size_t)b * (size_t)p->x.steps + (size_t)t;
    return p->y + row * p->outputs;
}

/* c [pairs, outputs] = x [pairs, D] times a tap of the weight, or both. */
static void multiply(const struct qn_product *p, float *c, const float *x,
                     size_t pairs, const float *tap, size_t pitch)
{
    struct qn_gemm product = {
        .c = c,
        .a = x,
        .b = tap,
        .m = (int)pairs,
        .n = (int)p->outputs,
        .k = p->x.width,
        .lda = (size_t)p->x.width,
        .ldb = pitch,
        .ldc = p->outputs,
        .trans_b = true,
    };
    qn_gemm(&product);
}

/* y = product + shared, and the bias. */
static void put_step(const struct qn_product *p, int b, int t,
                     const float *product, const float *shared)
{
    float *y = y_of(p, b, t);
    p->kernels->sum(y, product, shared, p->outputs);
    if (p->bias)
        p->kernels->add(y, p->bias + qn_product_bias_at(p, t), p->outputs);
}

void qn_pairs_forward(const struct qn_pairs *pairs,
                      const struct qn_block *block, float *work)
{
    const struct qn_product *p = pairs->product;
    struct qn_block part = qn_block_clip(block, p->n_real);
    size_t n = n_pairs(&part);
    size_t width = pairs->width;
    if (n == 0)
        return;
    struct inputs in = open_inputs(n, width, &work);
    take_inputs(p, &part, &in);
    float *even = work;
    float *odd = even + n * p->outputs;
    float *shared = odd + n * p->outputs;
    multiply(p, even, in.before, n, p->weight, 2 * width);
    multiply(p, odd, in.after, n, p->weight + width, 2 * width);
    multiply(p, shared, in.here, n, pairs->both, width);
    size_t at = 0;
    for (int b = part.first; b < part.first + part.sequences; b++)
        for (int t = 0; t < part.steps; t += 2, at += p->outputs) {
            put_step(p, b, part.from + t, even + at, shared + at);
            if (t + 1 < part.steps)
                put_step(p, b, part.from + t + 1, odd + at, shared + at);
        }
}

/* --- back --------------------------------------------------------------- */

/* Of each pair dy[0], dy[1] and their sum: rows [.., outputs], the first two
 * where they are when those of all pairs lie at one distance. */
struct outputs {
    const float *even, *odd;
    float *sum;
    size_t pitch; /* of even and odd */
    size_t n_even, n_odd;
    int beyond; /* 1: one more row of 'even', of the step behind the block */
};

static void sum_pair(const struct qn_product *p, float *sum, int b, int t,
                     bool two)
{
    if (two)
        p->kernels->sum(sum, y_of(p, b, t), y_of(p, b, t + 1), p->outputs);
    else
        memcpy(sum, y_of(p, b, t), p->outputs * sizeof *sum);
}

static void copy_pair(const struct qn_product *p, float *even, float *odd,
                      int b, int t, bool two)
{
    size_t bytes = p->outputs * sizeof *even;
    memcpy(even, y_of(p, b, t), bytes);
    if (two)
        memcpy(odd, y_of(p, b, t + 1), bytes);
    else
        memset(odd, 0, bytes);
}

/* 1 when the block is a part of a sequence that goes on behind it. */
static int beyond(const struct qn_product *p, const struct qn_block *part)
{
    int end = part->from + part->steps;
    return part->sequences == 1 &&
           qn_real_steps(p->n_real, part->first, p->x.steps) > end;
}

static struct outputs take_outputs(const struct qn_product *p,
                                   const struct qn_block *part, float **work)
{
    size_t n = n_pairs(part);
    size_t size = n * p->outputs;
    bool apart = part->sequences > 1 && part->steps % 2 > 0;
    float *even = *work + size;
    float *odd = even + size;
    struct outputs out = {
        .even = apart ? even : y_of(p, part->first, part->from),
        .odd = apart ? odd : y_of(p, part->first, part->from) + p->outputs,
        .sum = *work,
        .pitch = apart ? p->outputs : 2 * p->outputs,
        .n_even = n,
        .n_odd = !apart && part->steps % 2 > 0 ? n - 1 : n,
        .beyond = beyond(p, part),
    };
    QN_ASSERT(!out.beyond || part->steps % 2 == 0);
    size_t at = 0;
    for (int b = part->first; b < part->first + part->sequences; b++)
        for (int t = 0; t < part->steps; t += 2, at += p->outputs) {
            bool two = t + 1 < part->steps;
            sum_pair(p, out.sum + at, b, part->from + t, two);
            if (apart)
                copy_pair(p, even + at, odd + at, b, part->from + t, two);
        }
    *work += apart ? 3 * size : size;
    return out;
}

/* c [outputs, D at 'pitch'] = beta c + dy^T x */
static void weight_share(const struct qn_product *p, float *c, size_t pitch,
                         const float *dy, size_t dy_pitch, const float *x,
                         size_t rows, float beta)
{
    struct qn_gemm product = {
        .c = c,
        .a = dy,
        .b = x,
        .m = (int)p->outputs,
        .n = p->x.width,
        .k = (int)rows,
        .lda = dy_pitch,
        .ldb = (size_t)p->x.width,
        .ldc = pitch,
        .trans_a = true,
        .beta = beta,
    };
    qn_gemm(&product);
}

/* Both taps have the share S. */
static void add_shared(const struct qn_pairs *pairs, float *dw,
                       const float *shared)
{
    const struct qn_kernels *k = pairs->product->kernels;
    size_t width = pairs->width;
    for (size_t i = 0; i < pairs->outputs; i++) {
        k->add(dw + 2 * i * width, shared + i * width, width);
        k->add(dw + (2 * i + 1) * width, shared + i * width, width);
    }
}

static void weight_grad(const struct qn_pairs *pairs, const struct inputs *in,
                        const struct outputs *out,
                        const struct qn_pairs_grad *g)
{
    const struct qn_product *p = pairs->product;
    size_t width = pairs->width;
    float *shared = pairs->shared + (size_t)g->slice * tap_floats(pairs);
    weight_share(p, g->dw, 2 * width, out->even, out->pitch, in->before,
                 out->n_even, g->beta);
    weight_share(p, g->dw + width, 2 * width, out->odd, out->pitch, in->after,
                 out->n_odd, g->beta);
    weight_share(p, shared, width, out->sum, p->outputs, in->here, out->n_even,
                 g->first ? 0.0f : 1.0f);
    if (g->last)
        add_shared(pairs, g->dw, shared);
}

/* c [rows, W] = dy times the last W columns of a tap. */
static void multiply_back(const struct qn_product *p, float *c, int width,
                          const float *dy, size_t dy_pitch, size_t rows,
                          const float *tap, size_t tap_pitch)
{
    struct qn_gemm product = {
        .c = c,
        .a = dy,
        .b = tap + p->x.width - width,
        .m = (int)rows,
        .n = width,
        .k = (int)p->outputs,
        .lda = dy_pitch,
        .ldb = tap_pitch,
        .ldc = (size_t)width,
    };
    qn_gemm(&product);
}

/* Of each pair, [pairs, W]: dy[0] B^T, dy[1] A^T, their sum's with both. */
struct products {
    float *even, *odd, *sum;
};

static void put_row(const struct qn_product *p, const struct qn_seq *d_x, int b,
                    int t, const float *from, bool add)
{
    size_t width = (size_t)d_x->width;
    float *to = qn_row(d_x, b, t);
    if (add)
        p->kernels->add(to, from, width);
    else
        memcpy(to, from, width * sizeof *to);
}

/* Pair i of the block, step t of sequence b; a following pair's dy[0] B^T goes
 * to its second step. */
static void put_pair(const struct qn_product *p, const struct qn_pairs_grad *g,
                     const struct products *c, size_t i, int b, int t, int real,
                     bool followed)
{
    const struct qn_kernels *k = p->kernels;
    size_t width = (size_t)g->d_x->width;
    float *even = c->even + i * width;
    float *odd = c->odd + i * width;
    float *sum = c->sum + i * width;
    if (real < 1)
        return;
    k->difference(sum, sum, even, width);
    if (real > 1)
        k->difference(sum, sum, odd, width);
    put_row(p, g->d_x, b, t, sum, g->add);
    if (real < 2)
        return;
    if (followed)
        k->add(odd, even + width, width);
    put_row(p, g->d_x, b, t + 1, odd, g->add);
}

static void put_inputs(const struct qn_product *p, const struct qn_block *part,
                       const struct qn_pairs_grad *g, const struct products *c,
                       int beyond)
{
    size_t i = 0;
    for (int b = part->first; b < part->first + part->sequences; b++) {
        int real = qn_block_real(part, p->n_real, b);
        for (int t = 0; t < part->steps; t += 2, i++)
            put_pair(p, g, c, i, b, part->from + t, real - t,
                     t + 2 < part->steps || beyond > 0);
    }
}

static void input_grad(const struct qn_pairs *pairs,
                       const struct qn_block *part, const struct outputs *out,
                       const struct qn_pairs_grad *g, float *work)
{
    const struct qn_product *p = pairs->product;
    size_t size = out->n_even * (size_t)g->d_x->width;
    struct products c = {work + 2 * size, work, work + size};
    int width = g->d_x->width;
    size_t pitch = 2 * pairs->width;
    multiply_back(p, c.even, width, out->even, out->pitch,
                  out->n_even + (size_t)out->beyond, p->weight, pitch);
    multiply_back(p, c.odd, width, out->odd, out->pitch, out->n_odd,
                  p->weight + pairs->width, pitch);
    multiply_back(p, c.sum, width, out->sum, p->outputs, out->n_even,
                  pairs->both, pairs->width);
    put_inputs(p, part, g, &c, out->beyond);
}

void qn_pairs_grad(const struct qn_pairs *pairs, const struct qn_block *block,
                   const struct qn_pairs_grad *g, float *work)
{
    const struct qn_product *p = pairs->product;
    struct qn_block part = qn_block_clip(block, p->n_real);
    size_t n = n_pairs(&part);
    float *inputs = work;
    if (g->d_x && !g->add)
        qn_product_clear_masked(p, block, g->d_x);
    struct inputs in = open_inputs(n, pairs->width, &work);
    take_inputs(p, &part, &in);
    struct outputs out = take_outputs(p, &part, &work);
    weight_grad(pairs, &in, &out, g);
    /* The matrices of x are done with. */
    if (g->d_x && n > 0)
        input_grad(pairs, &part, &out, g, inputs);
}
