/* layer_lstm.h - the LSTM layer behind the interface of layer.h. */
#ifndef QN_NN_LAYER_LSTM_H
#define QN_NN_LAYER_LSTM_H

#include "nn/layer.h"

extern const struct qn_layer_ops qn_layer_lstm;

#endif
