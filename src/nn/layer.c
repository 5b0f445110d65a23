/* layer.c - which functions stand for which kind of cell. */
#include "nn/layer.h"

#include "base/assert.h"
#include "nn/layer_qrnn.h"

const struct qn_layer_ops *qn_layer_ops(const struct qn_spec *spec)
{
    const struct qn_layer_ops *ops = NULL;
    switch (spec->model.cell) {
    case QN_CELL_LSTM:
    case QN_CELL_QRNN:
        ops = &qn_layer_qrnn;
        break;
    }
    QN_ASSERT(ops != NULL);
    return ops;
}
