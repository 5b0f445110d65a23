/* versus_lstm.c - QRNNs beside LSTMs of equal size. */
#include "bench/versus_lstm.h"

#include <stddef.h>

#define SIZES 2

enum qn_status qn_versus_shapes(const struct qn_bench_source *source,
                                struct qn_shapes *out, struct qn_err *err)
{
    static const char *const sizes[SIZES][2] = {
        {"model.hidden=250", "batch=128"}, {"model.hidden=256", "batch=24"}};
    static const char *const kinds[QN_VERSUS][2] = {
        {"model.cell=qrnn", "model.activation=drelu"},
        {"model.cell=qrnn", "model.activation=tanh"},
        {"model.cell=lstm", NULL}};
    *out = (struct qn_shapes){.n = 0};
    enum qn_status status = QN_OK;
    for (int i = 0; i < SIZES * QN_VERSUS && status == QN_OK; i++) {
        const char *const *size = sizes[i / QN_VERSUS];
        const char *const *kind = kinds[i % QN_VERSUS];
        const char *const settings[] = {
            "model.layers=4", "model.embed=50", "seq=100",
            size[0],          size[1],          "model.batch_norm=false",
            kind[0],          kind[1],          NULL};
        status = qn_bench_shape(source, settings, qn_shapes_add(out), err);
    }
    return status;
}

double qn_versus_times(const struct qn_shapes *shapes, int i)
{
    int lstm = i / QN_VERSUS * QN_VERSUS + QN_VERSUS - 1;
    double speed = shapes->list[lstm].tokens_per_s;
    return speed > 0 ? shapes->list[i].tokens_per_s / speed : 0;
}

double qn_versus_paper(int i)
{
    static const double figures[QN_VERSUS] = {2.5, 2.1, 0};
    return figures[i % QN_VERSUS];
}
