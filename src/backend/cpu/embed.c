/* embed.c - rows of a table out, and their gradients back in.
 *
 * Out, tasks take rows. Back, several rows may name one entry of the table, so
 * tasks take columns: each adds in the order of the rows, and no split changes
 * a sum, for small tables and large. */
#include "backend/cpu/cpu.h"

#include <string.h>

struct embed_job {
    const struct qn_kernels *kernels;
    struct qn_seq rows; /* out, or its gradient */
    float *table;       /* or its gradient */
    const int32_t *ids;
    struct qn_mask mask;
    int slices;
};

static struct embed_job open_job(struct qn_cpu *cpu, const struct qn_seq *rows,
                                 struct qn_tensor table, struct qn_tensor ids,
                                 const struct qn_dropout *dropout)
{
    qn_check_embed(rows, table, ids);
    struct embed_job job = {
        .kernels = cpu->kernels,
        .rows = *rows,
        .table = qn_floats(table),
        .ids = qn_ids(ids),
        .mask = qn_mask_of(dropout),
        .slices = cpu->host.slices,
    };
    return job;
}

static struct qn_drop drop_at(const struct embed_job *job, int b, int t,
                              size_t first)
{
    struct qn_drop drop = {.row = qn_mask_row(&job->mask, b, t),
                           .first = (uint32_t)first,
                           .threshold = job->mask.threshold,
                           .scale = job->mask.scale};
    return drop;
}

static void embed_rows(void *arg, int slice)
{
    const struct embed_job *job = arg;
    size_t width = (size_t)job->rows.width;
    int rows = job->rows.batch * job->rows.steps;
    int end = qn_split(rows, job->slices, slice + 1);
    for (int i = qn_split(rows, job->slices, slice); i < end; i++) {
        int b = i / job->rows.steps;
        int t = i % job->rows.steps;
        float *to = qn_row(&job->rows, b, t);
        if (job->ids[i] < 0) {
            memset(to, 0, width * sizeof *to);
            continue;
        }
        const float *from = job->table + (size_t)job->ids[i] * width;
        if (job->mask.on) {
            struct qn_drop drop = drop_at(job, b, t, 0);
            job->kernels->drop(to, from, &drop, width);
        } else {
            memcpy(to, from, width * sizeof *to);
        }
    }
}

void qn_cpu_embed(struct qn_backend *be, struct qn_seq out,
                  struct qn_tensor table, struct qn_tensor ids,
                  const struct qn_dropout *dropout)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct embed_job job = open_job(cpu, &out, table, ids, dropout);
    qn_pool_run(cpu->host.pool, job.slices, embed_rows, &job);
}

/* Columns in whole cache lines. */
static void grad_columns(void *arg, int slice)
{
    const struct embed_job *job = arg;
    size_t width = (size_t)job->rows.width;
    int lines = (int)(qn_lines(width) / 16);
    size_t from = (size_t)qn_split(lines, job->slices, slice) * 16;
    size_t end = (size_t)qn_split(lines, job->slices, slice + 1) * 16;
    size_t n = (end < width ? end : width) - from;
    const int32_t *id = job->ids;
    if (from == end)
        return;
    for (int b = 0; b < job->rows.batch; b++)
        for (int t = 0; t < job->rows.steps; t++, id++) {
            if (*id < 0)
                continue;
            const float *dy = qn_row(&job->rows, b, t) + from;
            float *to = job->table + (size_t)*id * width + from;
            if (job->mask.on) {
                struct qn_drop drop = drop_at(job, b, t, from);
                job->kernels->drop_add(to, dy, &drop, n);
            } else {
                job->kernels->add(to, dy, n);
            }
        }
}

void qn_cpu_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                       struct qn_seq d_out, struct qn_tensor ids,
                       const struct qn_dropout *dropout)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    struct embed_job job = open_job(cpu, &d_out, d_table, ids, dropout);
    qn_pool_run(cpu->host.pool, job.slices, grad_columns, &job);
}

void qn_cpu_table_grad(struct qn_backend *be, struct qn_tensor d_table,
                       const struct qn_seq *d_x, struct qn_tensor ids)
{
    struct qn_dropout none = {.p = 0};
    if (d_table.buffer)
        qn_cpu_embed_grad(be, d_table, *d_x, ids, &none);
}
