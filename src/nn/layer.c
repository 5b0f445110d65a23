/* layer.c - which functions stand for which kind of cell. */
#include "nn/layer.h"

#include "base/assert.h"
#include "nn/layer_lstm.h"
#include "nn/layer_qrnn.h"
#include "nn/layer_self.h"

const struct qn_layer_ops *qn_layer_ops(const struct qn_spec *spec)
{
    const struct qn_layer_ops *ops = NULL;
    switch (spec->model.cell) {
    case QN_CELL_QRNN:
        ops = &qn_layer_qrnn;
        break;
    case QN_CELL_LSTM:
        ops = &qn_layer_lstm;
        break;
    }
    QN_ASSERT(ops != NULL);
    return ops;
}

void qn_layer_carry_rows(const struct qn_layer_run *run, struct qn_seq from,
                         struct qn_tensor state)
{
    struct qn_seq last = from;
    last.offset += (size_t)(from.steps - 1) * from.row_pitch;
    last.steps = 1;
    last.history = 0;
    struct qn_seq to = {.buffer = state.buffer,
                        .offset = state.offset,
                        .row_pitch = (size_t)from.width,
                        .seq_pitch = (size_t)from.width,
                        .batch = from.batch,
                        .steps = 1,
                        .width = from.width};
    run->be->ops->copy_seq(run->be, to, last);
}

struct qn_seq qn_layer_rows(const struct qn_layer_run *run, struct qn_tensor t)
{
    int batch = run->x.batch;
    int steps = run->x.steps;
    size_t width = t.count / ((size_t)batch * (size_t)steps);
    return (struct qn_seq){.buffer = t.buffer,
                           .offset = t.offset,
                           .row_pitch = width,
                           .seq_pitch = (size_t)steps * width,
                           .batch = batch,
                           .steps = steps,
                           .width = (int)width};
}
