/* ref_ops.c - embedding, decoder and loss of the reference backend. */
#include "backend/ref.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void qn_ref_embed(struct qn_backend *be, struct qn_seq out,
                  struct qn_tensor table, struct qn_tensor ids,
                  const struct qn_dropout *dropout)
{
    (void)be;
    qn_check_embed(&out, table, ids);
    struct qn_mask mask = qn_mask_of(dropout);
    size_t width = (size_t)out.width;
    const int32_t *id = qn_ids(ids);
    for (int b = 0; b < out.batch; b++)
        for (int t = 0; t < out.steps; t++, id++) {
            float *to = qn_row(&out, b, t);
            if (*id < 0) {
                memset(to, 0, width * sizeof *to);
                continue;
            }
            const float *from = qn_floats(table) + (size_t)*id * width;
            uint32_t row = qn_mask_row(&mask, b, t);
            for (size_t j = 0; j < width; j++)
                to[j] = (float)qn_ref_dropped(&mask, row, j, (double)from[j]);
        }
}

void qn_ref_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                       struct qn_seq d_out, struct qn_tensor ids,
                       const struct qn_dropout *dropout)
{
    (void)be;
    qn_check_embed(&d_out, d_table, ids);
    struct qn_mask mask = qn_mask_of(dropout);
    size_t width = (size_t)d_out.width;
    double *sum = qn_xcalloc(d_table.count, sizeof *sum);
    const int32_t *id = qn_ids(ids);
    for (int b = 0; b < d_out.batch; b++)
        for (int t = 0; t < d_out.steps; t++, id++) {
            if (*id < 0)
                continue;
            double *to = sum + (size_t)*id * width;
            const float *dy = qn_row(&d_out, b, t);
            uint32_t row = qn_mask_row(&mask, b, t);
            for (size_t j = 0; j < width; j++)
                to[j] += qn_ref_dropped(&mask, row, j, (double)dy[j]);
        }
    float *d = qn_floats(d_table);
    for (size_t i = 0; i < d_table.count; i++)
        d[i] = (float)((double)d[i] + sum[i]);
    free(sum);
}

void qn_ref_table_grad(struct qn_backend *be, struct qn_tensor d_table,
                       const struct qn_seq *d_x, struct qn_tensor ids)
{
    struct qn_dropout none = {.p = 0};
    if (d_table.buffer)
        qn_ref_embed_grad(be, d_table, *d_x, ids, &none);
}

void qn_ref_linear(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias)
{
    (void)be;
    qn_check_linear(y, &x, weight, bias);
    const float *w = qn_floats(weight);
    const float *bs = qn_floats(bias);
    float *out = qn_floats(y);
    size_t width = (size_t)x.width;
    for (int b = 0; b < x.batch; b++)
        for (int t = 0; t < x.steps; t++) {
            const float *row = qn_row(&x, b, t);
            for (size_t v = 0; v < bias.count; v++) {
                double sum = (double)bs[v];
                for (size_t d = 0; d < width; d++)
                    sum += (double)w[v * width + d] * (double)row[d];
                *out++ = (float)sum;
            }
        }
}

/* Add the gradient of row v of the weight, and of its bias. */
static void linear_grad_output(double *sum, struct qn_tensor d_weight,
                               struct qn_tensor d_bias, const float *dy,
                               const struct qn_seq *x, size_t v)
{
    size_t width = (size_t)x->width;
    double bias = 0.0;
    for (size_t d = 0; d < width; d++)
        sum[d] = 0.0;
    for (int b = 0; b < x->batch; b++)
        for (int t = 0; t < x->steps; t++) {
            double g = (double)dy[v];
            const float *row = qn_row(x, b, t);
            dy += d_bias.count;
            bias += g;
            for (size_t d = 0; d < width; d++)
                sum[d] += g * (double)row[d];
        }
    float *dw = qn_floats(d_weight) + v * width;
    for (size_t d = 0; d < width; d++)
        dw[d] = (float)((double)dw[d] + sum[d]);
    float *db = qn_floats(d_bias);
    db[v] = (float)((double)db[v] + bias);
}

void qn_ref_linear_grad(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight)
{
    (void)be;
    qn_check_linear(d_y, &x, weight, d_bias);
    qn_check_linear(d_y, &d_x, d_weight, d_bias);
    size_t width = (size_t)x.width;
    double *sum = qn_xcalloc(width, sizeof *sum);
    for (size_t v = 0; v < d_bias.count; v++)
        linear_grad_output(sum, d_weight, d_bias, qn_floats(d_y), &x, v);
    free(sum);

    const float *w = qn_floats(weight);
    const float *dy = qn_floats(d_y);
    for (int b = 0; b < x.batch; b++)
        for (int t = 0; t < x.steps; t++) {
            float *row = qn_row(&d_x, b, t);
            for (size_t d = 0; d < width; d++) {
                double dx = 0.0;
                for (size_t v = 0; v < d_bias.count; v++)
                    dx += (double)dy[v] * (double)w[v * width + d];
                row[d] = (float)dx;
            }
            dy += d_bias.count;
        }
}

/* The loss of one row; its gradient, unless scale is 0, replaces the row. */
static double xent_row(float *x, size_t vocab, int32_t target, float scale,
                       double floor)
{
    double max = (double)x[0];
    for (size_t v = 1; v < vocab; v++)
        max = (double)x[v] > max ? (double)x[v] : max;
    double sum = 0.0;
    for (size_t v = 0; v < vocab; v++)
        sum += exp((double)x[v] - max);
    double loss = log(sum) + max - (double)x[target];
    if (floor > 0.0)
        loss = -log(exp(-loss) + floor);
    if (scale == 0.0f)
        return loss;
    for (size_t v = 0; v < vocab; v++) {
        double p = exp((double)x[v] - max) / sum;
        x[v] = (float)((double)scale * (p - ((int32_t)v == target)));
    }
    return loss;
}

void qn_ref_softmax_xent(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale,
                         double floor)
{
    struct qn_host *host = (struct qn_host *)be;
    qn_check_softmax(logits, targets, vocab);
    const int32_t *target = qn_ids(targets);
    float *row = qn_floats(logits);
    for (size_t i = 0; i < targets.count; i++, row += vocab) {
        if (target[i] >= 0) {
            host->loss_sum +=
                xent_row(row, (size_t)vocab, target[i], scale, floor);
            host->count += 1.0;
        } else if (scale != 0.0f) {
            for (int v = 0; v < vocab; v++)
                row[v] = 0.0f;
        }
    }
}
