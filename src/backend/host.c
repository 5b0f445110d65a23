/* host.c - memory, sequences and the step's result, for backends whose buffers
 * are main memory.
 *
 * Work over rows is split into 'slices' tasks. That changes no value: each
 * element is made of its own sources alone. */
#include "backend/private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a tensor that one task fills or copies. */
#define CHUNK ((size_t)1 << 18)

void qn_host_init(struct qn_host *host, const struct qn_backend_ops *ops,
                  struct qn_pool *pool, int slices)
{
    memset(host, 0, sizeof *host);
    host->base.ops = ops;
    host->pool = pool;
    host->slices = slices;
    host->hists = qn_xcalloc((size_t)slices, sizeof *host->hists);
}

void qn_host_fini(struct qn_host *host)
{
    free(host->hists);
}

static struct qn_host *host_of(struct qn_backend *be)
{
    return (struct qn_host *)be;
}

struct qn_buffer *qn_host_alloc(struct qn_backend *be, size_t count)
{
    (void)be;
    struct qn_buffer *buffer = qn_xmalloc(sizeof *buffer);
    buffer->count = count;
    buffer->data = qn_try_big(count ? count : 1, sizeof(float));
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

void qn_host_release(struct qn_backend *be, struct qn_buffer *buffer)
{
    (void)be;
    if (!buffer)
        return;
    free(buffer->data);
    free(buffer);
}

enum qn_status qn_host_take_failure(struct qn_host *host, struct qn_err *err)
{
    if (host->missing == 0.0)
        return QN_OK;
    char size[32];
    qn_format_bytes(size, sizeof size, host->missing);
    host->missing = 0.0;
    return qn_fail(err, QN_ENOMEM, "%s: no %s of memory for workspace",
                   host->base.ops->name, size);
}

void qn_host_write(struct qn_backend *be, struct qn_tensor dst, const void *src)
{
    (void)be;
    qn_check_tensor(dst, dst.count);
    memcpy(qn_floats(dst), src, dst.count * sizeof(float));
}

enum qn_status qn_host_read(struct qn_backend *be, struct qn_tensor src,
                            void *dst, struct qn_err *err)
{
    qn_check_tensor(src, src.count);
    enum qn_status st = qn_host_take_failure(host_of(be), err);
    if (st != QN_OK)
        return st;
    memcpy(dst, qn_floats(src), src.count * sizeof(float));
    return QN_OK;
}

struct flat_job {
    float *dst;
    const float *src; /* NULL: fill with value */
    size_t count;
    float value;
    double a, b; /* of combine */
};

/* The elements of a task begin at from; returns how many they are. */
static size_t chunk_at(const struct flat_job *job, int task, size_t *from)
{
    *from = (size_t)task * CHUNK;
    return job->count - *from < CHUNK ? job->count - *from : CHUNK;
}

static void fill_floats(float *to, size_t n, float value)
{
    if (value == 0.0f && !signbit(value)) {
        memset(to, 0, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = value;
}

static void flat_task(void *arg, int task)
{
    const struct flat_job *job = arg;
    size_t from;
    size_t n = chunk_at(job, task, &from);
    if (job->src)
        memcpy(job->dst + from, job->src + from, n * sizeof *job->dst);
    else
        fill_floats(job->dst + from, n, job->value);
}

static void combine_both(float *dst, const float *src, size_t n, double a,
                         double b)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(a * (double)src[i] + b * (double)dst[i]);
}

/* The same with nothing to add: -0 becomes 0. */
static void scaled(float *dst, const float *src, size_t n, double a)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(a * (double)src[i] + 0.0);
}

/* In double: one rounding. What has weight 0 is not read. */
static void combine_task(void *arg, int task)
{
    const struct flat_job *job = arg;
    size_t from;
    size_t n = chunk_at(job, task, &from);
    float *dst = job->dst + from;
    const float *src = job->src + from;
    if (job->a != 0.0 && job->b != 0.0)
        combine_both(dst, src, n, job->a, job->b);
    else if (job->a != 0.0)
        scaled(dst, src, n, job->a);
    else if (job->b != 0.0)
        scaled(dst, dst, n, job->b);
    else
        fill_floats(dst, n, 0.0f);
}

static void run_flat(struct qn_host *host, void (*task)(void *arg, int task),
                     struct flat_job *job)
{
    int tasks = (int)((job->count + CHUNK - 1) / CHUNK);
    qn_pool_run(host->pool, tasks, task, job);
}

void qn_host_fill(struct qn_backend *be, struct qn_tensor dst, float value)
{
    qn_check_tensor(dst, dst.count);
    struct flat_job job = {
        .dst = qn_floats(dst), .count = dst.count, .value = value};
    run_flat(host_of(be), flat_task, &job);
}

void qn_host_copy(struct qn_backend *be, struct qn_tensor dst,
                  struct qn_tensor src)
{
    qn_check_tensor(src, dst.count);
    qn_check_tensor(dst, src.count);
    struct flat_job job = {
        .dst = qn_floats(dst), .src = qn_floats(src), .count = dst.count};
    run_flat(host_of(be), flat_task, &job);
}

void qn_host_combine(struct qn_backend *be, struct qn_tensor dst,
                     struct qn_tensor src, double a, double b)
{
    qn_check_tensor(src, dst.count);
    qn_check_tensor(dst, src.count);
    struct flat_job job = {.dst = qn_floats(dst),
                           .src = qn_floats(src),
                           .count = dst.count,
                           .a = a,
                           .b = b};
    run_flat(host_of(be), combine_task, &job);
}

struct rows_job {
    struct qn_host *host;
    const struct qn_seq *dst, *src; /* src NULL: fill with value */
    float value;
};

/* Real row i of n = batch * steps. */
static float *nth_row(const struct qn_seq *s, int i)
{
    return qn_row(s, i / s->steps, i % s->steps);
}

static void rows_task(void *arg, int task)
{
    const struct rows_job *job = arg;
    const struct qn_seq *dst = job->dst;
    int rows = dst->batch * dst->steps;
    int end = qn_split(rows, job->host->slices, task + 1);
    size_t width = (size_t)dst->width;
    for (int i = qn_split(rows, job->host->slices, task); i < end; i++) {
        float *row = nth_row(dst, i);
        if (job->src)
            memcpy(row, nth_row(job->src, i), width * sizeof *row);
        else
            fill_floats(row, width, job->value);
    }
}

void qn_host_fill_seq(struct qn_backend *be, struct qn_seq dst, float value)
{
    struct qn_host *host = host_of(be);
    qn_check_seq(&dst);
    struct rows_job job = {.host = host, .dst = &dst, .value = value};
    qn_pool_run(host->pool, host->slices, rows_task, &job);
}

void qn_host_copy_seq(struct qn_backend *be, struct qn_seq dst,
                      struct qn_seq src)
{
    struct qn_host *host = host_of(be);
    qn_check_seq(&dst);
    qn_check_seq(&src);
    QN_ASSERT(dst.width == src.width);
    QN_ASSERT(dst.batch == src.batch && dst.steps == src.steps);
    struct rows_job job = {.host = host, .dst = &dst, .src = &src};
    qn_pool_run(host->pool, host->slices, rows_task, &job);
}

void qn_host_take_rows(struct qn_backend *be, struct qn_tensor dst,
                       struct qn_seq src, const int *row)
{
    (void)be;
    qn_check_rows(dst, &src, row);
    size_t width = (size_t)src.width;
    float *to = qn_floats(dst);
    for (int b = 0; b < src.batch; b++, to += width)
        if (row[b] >= 0)
            memcpy(to, qn_row(&src, b, row[b]), width * sizeof *to);
        else
            memset(to, 0, width * sizeof *to);
}

void qn_host_put_rows(struct qn_backend *be, struct qn_seq dst,
                      struct qn_tensor src, const int *row)
{
    qn_check_rows(src, &dst, row);
    size_t width = (size_t)dst.width;
    const float *from = qn_floats(src);
    qn_host_fill_seq(be, dst, 0.0f);
    for (int b = 0; b < dst.batch; b++, from += width)
        if (row[b] >= 0)
            memcpy(qn_row(&dst, b, row[b]), from, width * sizeof *from);
}

/* From the oldest row on: with steps < history a row is read before the one
 * that replaces it is written. */
void qn_host_shift_history(struct qn_backend *be, struct qn_seq seq)
{
    (void)be;
    qn_check_seq(&seq);
    size_t bytes = (size_t)seq.width * sizeof(float);
    for (int b = 0; b < seq.batch; b++)
        for (int t = -seq.history; t < 0; t++)
            memcpy(qn_row(&seq, b, t), qn_row(&seq, b, t + seq.steps), bytes);
}

void qn_host_zero_history(struct qn_backend *be, struct qn_seq seq)
{
    (void)be;
    qn_check_seq(&seq);
    size_t bytes = (size_t)seq.width * sizeof(float);
    for (int b = 0; b < seq.batch; b++)
        for (int t = -seq.history; t < 0; t++)
            memset(qn_row(&seq, b, t), 0, bytes);
}

void qn_host_step_begin(struct qn_backend *be)
{
    struct qn_host *host = host_of(be);
    host->loss_sum = 0.0;
    host->count = 0.0;
    host->correct = 0.0;
    host->square_sum = 0.0;
    host->spike = false;
}

static bool step_is_sound(const struct qn_host *host)
{
    return host->missing == 0.0 && isfinite(host->loss_sum) &&
           isfinite(host->square_sum);
}

bool qn_host_lets_update(struct qn_host *host, const struct qn_update *u)
{
    bool sound = step_is_sound(host);
    host->spike = sound && u->most_loss > 0.0 && host->count > 0.0 &&
                  host->loss_sum / host->count > u->most_loss;
    return sound && !host->spike;
}

double qn_host_clip_scale(const struct qn_host *host, double clip_norm)
{
    double norm = sqrt(host->square_sum);
    return clip_norm > 0.0 && norm > clip_norm ? clip_norm / norm : 1.0;
}

enum qn_status qn_host_step_end(struct qn_backend *be,
                                struct qn_step_result *out, struct qn_err *err)
{
    struct qn_host *host = host_of(be);
    enum qn_status st = qn_host_take_failure(host, err);
    if (st != QN_OK)
        return st;
    out->loss_sum = host->loss_sum;
    out->count = host->count;
    out->correct = host->correct;
    out->norm = sqrt(host->square_sum);
    out->finite = step_is_sound(host);
    out->spike = host->spike;
    return QN_OK;
}
