/* lstm_agree.c - the cpu backend's LSTM layer against the reference's. */
#include "lstm_agree.h"

#include "base/pool.h"
#include "place.h"
#include "support/golden.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define BOUND QN_GOLDEN_BOUND

static void compare(const struct lstm_data *got, const struct lstm_data *want)
{
    const struct lstm_shape *s = &want->shape;
    for (int i = LSTM_D_WEIGHT_IH; i < LSTM_N_ARRAYS; i++) {
        double error =
            qn_max_error_f(got->array[i], want->array[i], want->count[i]);
        if (!(error <= BOUND))
            fail_msg("%s is off by %g: B %d, T %d, D %d, H %d, drop %g, extra "
                     "%d",
                     lstm_array_name((enum lstm_array)i), error, s->batch,
                     s->steps, s->in, s->hidden, s->drop, s->extra);
    }
}

static void spoil_workspace(struct qn_backend *be, struct lstm_shape shape)
{
    struct lstm_data *first = lstm_new(shape, 3);
    lstm_run(be, first, true);
    lstm_free(first);
    place_spoil_workspace(be);
}

void lstm_check_slices(struct lstm_shape shape)
{
    struct lstm_data *ref = lstm_new(shape, 3);
    struct qn_backend *oracle = place_backend("ref", NULL, 1);
    lstm_run(oracle, ref, true);
    qn_backend_free(oracle);
    struct qn_pool *pool = qn_pool_new(3);
    for (int slices = 1; slices <= 3; slices++)
        for (int threads = 0; threads <= 1; threads++) {
            struct qn_backend *be =
                place_backend("cpu", threads ? pool : NULL, slices);
            struct lstm_data *cpu = lstm_new(shape, 3);
            spoil_workspace(be, shape);
            lstm_run(be, cpu, true);
            compare(cpu, ref);
            lstm_free(cpu);
            qn_backend_free(be);
        }
    qn_pool_free(pool);
    lstm_free(ref);
}

struct qn_lstm_job lstm_job_of(const struct lstm_shape *shape, int slices)
{
    struct qn_lstm layer = {.hidden = shape->hidden,
                            .n_symbols = shape->n_symbols,
                            .n_real = shape->n_real,
                            .x = {.batch = shape->batch,
                                  .steps = shape->steps,
                                  .width = shape->in}};
    struct qn_backend *be = place_backend("cpu", NULL, slices);
    struct qn_lstm_job job = qn_lstm_open((struct qn_cpu *)be, &layer);
    qn_backend_free(be);
    return job;
}

bool lstm_looks_up(const struct lstm_shape *shape, int slices)
{
    return lstm_job_of(shape, slices).looks_up;
}
