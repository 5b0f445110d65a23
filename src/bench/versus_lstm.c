/* versus_lstm.c - QRNNs beside LSTMs of equal size. */
#include "bench/versus_lstm.h"

#include <stddef.h>
#include <string.h>

#define SIZES 2

static const char *const all[] = {"model.layers=4", "model.embed=50", "seq=100",
                                  "model.batch_norm=false"};
static const char *const sizes[SIZES][2] = {{"model.hidden=250", "batch=128"},
                                            {"model.hidden=256", "batch=24"}};
static const char *const kinds[QN_VERSUS][2] = {
    {"model.cell=qrnn", "model.activation=drelu"},
    {"model.cell=qrnn", "model.activation=tanh"},
    {"model.cell=lstm", NULL}};

enum qn_status qn_versus_shapes(const struct qn_bench_source *source,
                                struct qn_shapes *out, struct qn_err *err)
{
    *out = (struct qn_shapes){.n = 0};
    enum qn_status status = QN_OK;
    for (int i = 0; i < SIZES * QN_VERSUS && status == QN_OK; i++) {
        const char *const *size = sizes[i / QN_VERSUS];
        const char *const *kind = kinds[i % QN_VERSUS];
        const char *const settings[] = {all[0],  all[1],  all[2],
                                        all[3],  size[0], size[1],
                                        kind[0], kind[1], NULL};
        status = qn_bench_shape(source, settings, qn_shapes_add(out), err);
    }
    return status;
}

static bool is_of(const char *setting, const char *key)
{
    size_t len = strlen(key);
    return strncmp(setting, key, len) == 0 && setting[len] == '=';
}

bool qn_versus_sets(const char *key)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (is_of(all[i], key)) {
            return true;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (is_of(sizes[0][i], key) || is_of(kinds[0][i], key)) {
            return true;
        }
    }
    return false;
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
