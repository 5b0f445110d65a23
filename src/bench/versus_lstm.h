/* versus_lstm.h - QRNNs beside LSTMs of equal size. */
#ifndef QN_BENCH_VERSUS_LSTM_H
#define QN_BENCH_VERSUS_LSTM_H

#include "bench/sweep.h"

/* Three for each size, in this order: DReLU, tanh, LSTM. */
#define QN_VERSUS 3

/* 4 layers of 250 units, 128 streams of 100 symbols, and 4 of 256, 24 of 100:
 * the source's network, whose settings these replace. A QRNN has no batch
 * normalisation here, since an LSTM has none. To be freed in any case. */
enum qn_status qn_versus_shapes(const struct qn_bench_source *source,
                                struct qn_shapes *out, struct qn_err *err);

/* As qn_sweep_sets. */
bool qn_versus_sets(const char *key);

/* How many times as fast as the LSTM of its size shape i is. */
double qn_versus_times(const struct qn_shapes *shapes, int i);
/* What the paper says of it (section 4.1, sentiment, on a GPU); 0 of an LSTM.
 */
double qn_versus_paper(int i);

#endif
