/* product.c - windows into a matrix, the products, and back. */
#include "backend/cpu/product.h"

#include "backend/cpu/gemm.h"

#include <string.h>

size_t qn_product_work(const struct qn_product *p, int rows)
{
    return (size_t)(rows + p->window - 1) * qn_product_window(p);
}

static size_t y_pitch(const struct qn_product *p)
{
    return p->y_pitch ? p->y_pitch : p->outputs;
}

static float *y_of(const struct qn_product *p, const struct qn_block *block)
{
    size_t row = (size_t)block->first * (size_t)p->x.steps;
    return p->y + (row + (size_t)block->from) * y_pitch(p);
}

/* Do the block's rows of this sequence lie at one distance from each other? */
static bool evenly_spaced(const struct qn_seq *s, const struct qn_block *block)
{
    return block->sequences == 1 ||
           s->seq_pitch == s->row_pitch * (size_t)s->steps;
}

struct matrix {
    const float *data;
    size_t pitch;
};

static void copy_window(float *to, const struct qn_product *p, int b, int t)
{
    size_t width = (size_t)p->x.width;
    const float *from = qn_row(&p->x, b, t - p->window + 1);
    if (p->x.row_pitch == width) {
        memcpy(to, from, qn_product_window(p) * sizeof *to);
        return;
    }
    for (int tap = 0; tap < p->window; tap++)
        memcpy(to + (size_t)tap * width, from + (size_t)tap * p->x.row_pitch,
               width * sizeof *to);
}

/* The windows of the block as a matrix [rows, n*D]; zeros in rows that are not
 * real: what lies there may be no number, and 0 times it none either. */
static struct matrix windows(const struct qn_product *p,
                             const struct qn_block *block, float *work)
{
    if (p->window == 1 && evenly_spaced(&p->x, block) &&
        !qn_block_is_masked(block, p->n_real)) {
        struct matrix as_it_is = {qn_row(&p->x, block->first, block->from),
                                  p->x.row_pitch};
        return as_it_is;
    }
    struct matrix copied = {work, qn_product_window(p)};
    for (int b = block->first; b < block->first + block->sequences; b++) {
        int real = qn_block_real(block, p->n_real, b);
        for (int i = 0; i < real; i++, work += copied.pitch)
            copy_window(work, p, b, block->from + i);
        size_t masked = (size_t)(block->steps - real) * copied.pitch;
        memset(work, 0, masked * sizeof *work);
        work += masked;
    }
    return copied;
}

size_t qn_product_bias_at(const struct qn_product *p, int t)
{
    if (p->bias_steps <= 1)
        return 0;
    return (size_t)((p->bias_first + t) % p->bias_steps) * p->outputs;
}

void qn_product_begin(const struct qn_product *p, const struct qn_block *block)
{
    float *y = y_of(p, block);
    size_t bytes = p->outputs * sizeof *y;
    for (int b = 0; b < block->sequences; b++)
        for (int t = block->from; t < block->from + block->steps; t++) {
            if (p->bias)
                memcpy(y, p->bias + qn_product_bias_at(p, t), bytes);
            else
                memset(y, 0, bytes);
            y += y_pitch(p);
        }
}

/* The bias goes in before the product is added to it: with beta = 0 the BLAS
 * would pass over y just so, to clear it. */
void qn_product_forward(const struct qn_product *p,
                        const struct qn_block *block, float *work)
{
    struct qn_block part = qn_block_clip(block, p->n_real);
    if (part.steps == 0)
        return;
    struct matrix x = windows(p, &part, work);
    if (p->bias)
        qn_product_begin(p, &part);
    struct qn_gemm product = {
        .c = y_of(p, &part),
        .a = x.data,
        .b = p->weight,
        .m = part.sequences * part.steps,
        .n = (int)p->outputs,
        .k = (int)qn_product_window(p),
        .lda = x.pitch,
        .ldb = qn_product_window(p),
        .ldc = y_pitch(p),
        .trans_b = true,
        .beta = p->bias ? 1.0f : 0.0f,
    };
    qn_gemm(&product);
}

void qn_product_weight_grad(const struct qn_product *p,
                            const struct qn_block *block, float *dw, float beta,
                            float *work)
{
    struct qn_block part = qn_block_clip(block, p->n_real);
    struct matrix x = windows(p, &part, work);
    struct qn_gemm product = {
        .c = dw,
        .a = y_of(p, &part),
        .b = x.data,
        .m = (int)p->outputs,
        .n = (int)qn_product_window(p),
        .k = part.sequences * part.steps,
        .lda = y_pitch(p),
        .ldb = x.pitch,
        .ldc = qn_product_window(p),
        .trans_a = true,
        .beta = beta,
    };
    qn_gemm(&product);
}

/* d_x[t] takes from each window that holds x[t]: tap j of step t + n - 1 - j.
 * 'windows' are the gradients of the windows of steps [from, from + n_windows)
 * of sequence b, as wide as d_x. */
static void gather_taps(const struct qn_product *p, const struct qn_seq *d_x,
                        const float *windows, const struct qn_block *one,
                        int n_windows, bool add)
{
    size_t width = (size_t)d_x->width;
    size_t pitch = (size_t)p->window * width;
    for (int i = 0; i < one->steps; i++) {
        float *to = qn_row(d_x, one->first, one->from + i);
        bool fresh = !add;
        for (int tap = p->window - 1; tap >= 0; tap--) {
            int at = i + p->window - 1 - tap;
            if (at >= n_windows)
                break;
            const float *from =
                windows + (size_t)at * pitch + (size_t)tap * width;
            if (fresh)
                memcpy(to, from, width * sizeof *to);
            else
                p->kernels->add(to, from, width);
            fresh = false;
        }
    }
}

/* Rows behind the end of their sequence get no gradient. */
void qn_product_clear_masked(const struct qn_product *p,
                             const struct qn_block *block,
                             const struct qn_seq *d_x)
{
    size_t bytes = (size_t)d_x->width * sizeof(float);
    for (int b = block->first; b < block->first + block->sequences; b++)
        for (int i = qn_block_real(block, p->n_real, b); i < block->steps; i++)
            memset(qn_row(d_x, b, block->from + i), 0, bytes);
}

/* Real steps of the sequence behind the part; of several, it has all. */
static int steps_after(const struct qn_product *p, const struct qn_block *part)
{
    if (part->sequences > 1)
        return 0;
    int real = qn_real_steps(p->n_real, part->first, p->x.steps);
    return real - part->from - part->steps;
}

/* rows [m, n*W at 'pitch'] = y W, or += with beta 1: of each tap the last
 * columns, as many as d_x has. Those of all taps adjoin when it has all. */
static void window_grads(const struct qn_product *p, const float *y, int m,
                         float *rows, size_t pitch, int width, float beta)
{
    bool all = width == p->x.width;
    size_t skipped = (size_t)(p->x.width - width);
    for (int tap = 0; tap < (all ? 1 : p->window); tap++) {
        struct qn_gemm product = {
            .c = rows + (size_t)tap * (size_t)width,
            .a = y,
            .b = p->weight + (size_t)tap * (size_t)p->x.width + skipped,
            .m = m,
            .n = all ? (int)qn_product_window(p) : width,
            .k = (int)p->outputs,
            .lda = y_pitch(p),
            .ldb = qn_product_window(p),
            .ldc = pitch,
            .beta = beta,
        };
        qn_gemm(&product);
    }
}

void qn_product_input_grad(const struct qn_product *p,
                           const struct qn_block *block,
                           const struct qn_seq *d_x, bool add, float *work)
{
    struct qn_block part = qn_block_clip(block, p->n_real);
    if (!add)
        qn_product_clear_masked(p, block, d_x);
    if (part.steps == 0)
        return;
    /* Later steps of the same sequence whose windows reach into the block. */
    int after = steps_after(p, &part);
    int beyond = p->window - 1 < after ? p->window - 1 : after;
    int n_windows = part.steps + beyond;
    int m = part.sequences * n_windows;
    if (p->window == 1 && evenly_spaced(d_x, &part)) {
        window_grads(p, y_of(p, &part), m, qn_row(d_x, part.first, part.from),
                     d_x->row_pitch, d_x->width, add ? 1.0f : 0.0f);
        return;
    }
    size_t pitch = (size_t)p->window * (size_t)d_x->width;
    window_grads(p, y_of(p, &part), m, work, pitch, d_x->width, 0.0f);
    for (int i = 0; i < part.sequences; i++) {
        int b = part.first + i;
        struct qn_block one = {b, 1, part.from,
                               qn_block_real(&part, p->n_real, b)};
        gather_taps(p, d_x, work + (size_t)(i * n_windows) * pitch, &one,
                    n_windows, add);
    }
}
