/* lstm_agree.h - the cpu backend's LSTM layer against the reference's. */
#ifndef QN_TESTS_BACKEND_LSTM_AGREE_H
#define QN_TESTS_BACKEND_LSTM_AGREE_H

#include "lstm_layer.h"
#include "backend/cpu/lstm.h"

/* Everything that a layer of this shape computes agrees with the reference, on
 * 1, 2 and 3 slices, with threads and without, whatever was in the workspace.
 */
void lstm_check_slices(struct lstm_shape shape);
/* How the cpu backend, with so many slices, goes about a layer of this shape;
 * the layer itself and the backend are gone. */
struct qn_lstm_job lstm_job_of(const struct lstm_shape *shape, int slices);
/* Does the cpu backend, with so many slices, look this layer's product up? */
bool lstm_looks_up(const struct lstm_shape *shape, int slices);

#endif
