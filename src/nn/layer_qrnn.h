/* layer_qrnn.h - the quasi-recurrent layer behind the interface of layer.h. */
#ifndef QN_NN_LAYER_QRNN_H
#define QN_NN_LAYER_QRNN_H

#include "nn/layer.h"

extern const struct qn_layer_ops qn_layer_qrnn;

#endif
