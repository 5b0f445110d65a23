/* layer_agree.c - a QRNN layer of the cpu backend against ref. */
#include "layer_agree.h"

#include "place.h"
#include "backend/cpu/qrnn.h"
#include "base/pool.h"
#include "support/numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void compare(const struct layer_data *cpu, const struct layer_data *ref)
{
    const struct layer_shape *s = &ref->shape;
    for (int i = LAYER_D_WEIGHT; i < LAYER_N_ARRAYS; i++) {
        double error =
            qn_max_error_f(cpu->array[i], ref->array[i], ref->count[i]);
        if (!(error <= LAYER_BOUND))
            fail_msg("%s is off by %g: B %d, T %d, D %d, H %d, n %d, pooling "
                     "%d, activation %d, drop %g, extra %d",
                     layer_array_name((enum layer_array)i), error, s->batch,
                     s->steps, s->in, s->hidden, s->window, (int)s->pooling,
                     (int)s->activation, s->drop, s->extra);
    }
}

static void spoil_workspace(struct qn_backend *be, struct layer_shape shape)
{
    struct layer_data *first = layer_new(shape, 3);
    layer_run(be, first, true);
    layer_free(first);
    place_spoil_workspace(be);
}

bool layer_pairs_up(const struct layer_shape *shape, int slices)
{
    struct qn_qrnn layer = {
        .hidden = shape->hidden,
        .window = shape->window,
        .pooling = shape->pooling,
        .activation = shape->activation,
        .bias_steps = 1,
        .x = {.batch = shape->batch, .steps = shape->steps, .width = shape->in},
    };
    struct qn_backend *be = place_backend("cpu", NULL, slices);
    bool pairs_up = qn_qrnn_open((struct qn_cpu *)be, &layer).pairs_up;
    qn_backend_free(be);
    return pairs_up;
}

void layer_check_slices(struct layer_shape shape, int most)
{
    struct layer_data *ref = layer_new(shape, 3);
    struct qn_backend *oracle = place_backend("ref", NULL, 1);
    layer_run(oracle, ref, true);
    qn_backend_free(oracle);
    struct qn_pool *pool = qn_pool_new(3);
    for (int slices = 1; slices <= most; slices++)
        for (int threads = 0; threads <= 1; threads++) {
            struct qn_backend *be =
                place_backend("cpu", threads ? pool : NULL, slices);
            struct layer_data *cpu = layer_new(shape, 3);
            spoil_workspace(be, shape);
            layer_run(be, cpu, true);
            compare(cpu, ref);
            layer_free(cpu);
            qn_backend_free(be);
        }
    qn_pool_free(pool);
    layer_free(ref);
}
