/* host_count.c - count the values of sequences and of a layer's quantities, for
 * backends whose buffers are main memory.
 *
 * Rows are split into 'slices' tasks with a histogram each. Counts are
 * integers: their sums do not depend on the split. */
#include "backend/private.h"

#include <string.h>

/* B*T rows somewhere: row t of sequence b begins at first + b * seq_pitch + t *
 * row_pitch. first NULL: absent. */
struct operand {
    const float *first;
    size_t row_pitch, seq_pitch;
};

/* The values (of - minus) * times, where the latter two may be absent. */
struct quantity {
    struct operand of, minus, times;
    int batch, steps;
    size_t width;
};

struct count_job {
    struct qn_host *host;
    const struct quantity *what;
    const int *n_real; /* [B] rows that count; NULL: all */
    float threshold;
};

/* Values on their way into a histogram, which takes many at a time faster than
 * a short row. */
#define PENDING ((size_t)2048)
struct pending {
    struct qn_hist *hist;
    size_t count;
    float value[PENDING];
};

static void flush(struct pending *pending)
{
    qn_hist_add(pending->hist, pending->value, pending->count);
    pending->count = 0;
}

static const float *operand_row(const struct operand *o, int b, int t)
{
    return o->first
               ? o->first + (size_t)b * o->seq_pitch + (size_t)t * o->row_pitch
               : NULL;
}

/* value = (of - minus) * times; 'value' may be none of the others. */
static void make_values(float *restrict value, const float *of,
                        const float *minus, const float *times, size_t n)
{
    if (minus)
        for (size_t j = 0; j < n; j++)
            value[j] = of[j] - minus[j];
    else
        memcpy(value, of, n * sizeof *value);
    for (size_t j = 0; times && j < n; j++)
        value[j] *= times[j];
}

static void count_row(struct pending *pending, const struct quantity *q, int b,
                      int t)
{
    const float *of = operand_row(&q->of, b, t);
    const float *minus = operand_row(&q->minus, b, t);
    const float *times = operand_row(&q->times, b, t);
    for (size_t j = 0; j < q->width;) {
        size_t room = PENDING - pending->count;
        size_t n = q->width - j < room ? q->width - j : room;
        make_values(pending->value + pending->count, of + j,
                    minus ? minus + j : NULL, times ? times + j : NULL, n);
        pending->count += n;
        j += n;
        if (pending->count == PENDING)
            flush(pending);
    }
}

/* Are the values there as they are, those of a sequence one after the other? */
static bool is_plain(const struct quantity *q)
{
    return !q->minus.first && !q->times.first && q->of.row_pitch == q->width;
}

/* Rows [from, end) of sequence b. */
static void count_rows(struct pending *pending, const struct quantity *q, int b,
                       int from, int end)
{
    if (is_plain(q)) {
        qn_hist_add(pending->hist, operand_row(&q->of, b, from),
                    (size_t)(end - from) * q->width);
        return;
    }
    for (int t = from; t < end; t++)
        count_row(pending, q, b, t);
}

static void count_task(void *arg, int task)
{
    const struct count_job *job = arg;
    const struct quantity *q = job->what;
    int rows = q->batch * q->steps;
    int end = qn_split(rows, job->host->slices, task + 1);
    struct pending pending = {.hist = &job->host->hists[task]};
    qn_hist_init(pending.hist, job->threshold);
    for (int i = qn_split(rows, job->host->slices, task); i < end;) {
        int b = i / q->steps;
        int from = i % q->steps;
        int here = q->steps - from < end - i ? q->steps - from : end - i;
        int real = qn_real_steps(job->n_real, b, q->steps);
        if (from < real)
            count_rows(&pending, q, b, from,
                       from + here < real ? from + here : real);
        i += here;
    }
    flush(&pending);
}

static enum qn_status count(struct qn_host *host, const struct quantity *what,
                            const int *n_real, struct qn_hist *h,
                            struct qn_err *err)
{
    enum qn_status st = qn_host_take_failure(host, err);
    if (st != QN_OK)
        return st;
    for (int b = 0; n_real && b < what->batch; b++)
        QN_ASSERT(n_real[b] >= 0 && n_real[b] <= what->steps);
    struct count_job job = {.host = host,
                            .what = what,
                            .n_real = n_real,
                            .threshold = h->threshold};
    qn_pool_run(host->pool, host->slices, count_task, &job);
    for (int s = 0; s < host->slices; s++)
        qn_hist_merge(h, &host->hists[s]);
    return QN_OK;
}

enum qn_status qn_host_count(struct qn_backend *be, struct qn_seq seq,
                             struct qn_hist *h, struct qn_err *err)
{
    qn_check_seq(&seq);
    struct quantity what = {
        .of = {qn_row(&seq, 0, 0), seq.row_pitch, seq.seq_pitch},
        .batch = seq.batch,
        .steps = seq.steps,
        .width = (size_t)seq.width,
    };
    return count((struct qn_host *)be, &what, NULL, h, err);
}

/* Block number 'block' of H columns of a tensor [B, T, blocks * H]. */
static struct operand block_of(struct qn_tensor t, const struct qn_seq *x,
                               int blocks, int block, int hidden)
{
    size_t pitch = (size_t)blocks * (size_t)hidden;
    qn_check_tensor(t, (size_t)x->batch * (size_t)x->steps * pitch);
    struct operand o = {
        .first = qn_floats(t) + (size_t)block * (size_t)hidden,
        .row_pitch = pitch,
        .seq_pitch = (size_t)x->steps * pitch,
    };
    return o;
}

static struct operand qrnn_block(const struct qn_qrnn *l, int block)
{
    return block_of(l->saved, &l->x, qn_n_gates(l->activation, l->pooling),
                    block, l->hidden);
}

static void choose_qrnn(struct quantity *q, const struct qn_qrnn *l,
                        enum qn_quantity what)
{
    int candidates = qn_n_candidates(l->activation);
    bool gated = l->pooling != QN_POOL_F;
    QN_ASSERT(what < QN_N_QUANTITIES);
    switch (what) {
    case QN_CELL:
        q->of = block_of(l->cells, &l->x, 1, 0, l->hidden);
        return;
    case QN_CANDIDATE:
        q->of = qrnn_block(l, 0);
        if (candidates == 2)
            q->minus = qrnn_block(l, 1);
        return;
    case QN_OUTPUT: /* out itself has been through dropout */
        q->of = block_of(l->cells, &l->x, 1, 0, l->hidden);
        if (gated)
            q->times = qrnn_block(l, candidates + 1);
        return;
    case QN_FORGET:
        q->of = qrnn_block(l, candidates);
        return;
    case QN_OUTGATE:
        QN_ASSERT(gated);
        q->of = qrnn_block(l, candidates + 1);
        return;
    case QN_N_QUANTITIES:
        return;
    }
}

enum qn_status qn_host_count_qrnn(struct qn_backend *be,
                                  const struct qn_qrnn *layer,
                                  enum qn_quantity what, const int *n_real,
                                  struct qn_hist *h, struct qn_err *err)
{
    struct quantity q = {.batch = layer->x.batch,
                         .steps = layer->x.steps,
                         .width = (size_t)layer->hidden};
    choose_qrnn(&q, layer, what);
    return count((struct qn_host *)be, &q, n_real, h, err);
}

static struct operand choose_lstm(const struct qn_lstm *l,
                                  enum qn_quantity what)
{
    QN_ASSERT(what < QN_N_QUANTITIES);
    switch (what) {
    case QN_CELL:
        return block_of(l->cells, &l->x, 1, 0, l->hidden);
    case QN_CANDIDATE:
        return block_of(l->saved, &l->x, 4, 2, l->hidden);
    case QN_OUTPUT:
        return block_of(l->hiddens, &l->x, 1, 0, l->hidden);
    case QN_FORGET:
        return block_of(l->saved, &l->x, 4, 1, l->hidden);
    case QN_OUTGATE:
        return block_of(l->saved, &l->x, 4, 3, l->hidden);
    case QN_N_QUANTITIES:
        break;
    }
    return (struct operand){0};
}

enum qn_status qn_host_count_lstm(struct qn_backend *be,
                                  const struct qn_lstm *layer,
                                  enum qn_quantity what, const int *n_real,
                                  struct qn_hist *h, struct qn_err *err)
{
    struct quantity q = {.of = choose_lstm(layer, what),
                         .batch = layer->x.batch,
                         .steps = layer->x.steps,
                         .width = (size_t)layer->hidden};
    return count((struct qn_host *)be, &q, n_real, h, err);
}
