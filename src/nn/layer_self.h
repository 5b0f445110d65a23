/* layer_self.h - what the kinds of layers share; nobody above nn/ sees it. */
#ifndef QN_NN_LAYER_SELF_H
#define QN_NN_LAYER_SELF_H

#include "nn/layer.h"

/* A tensor [B, T, width] of the run as a sequence, without history. */
struct qn_seq qn_layer_rows(const struct qn_layer_run *run, struct qn_tensor t);

/* The last row of each stream into state [B, width]. */
void qn_layer_carry_rows(const struct qn_layer_run *run, struct qn_seq from,
                         struct qn_tensor state);

#endif
